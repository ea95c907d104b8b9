package memcluster_test

import (
	"slices"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

func TestLateEventsShowUpInTheirPlace(t *testing.T) {
	c := memcluster.New(memcluster.Config{Late: func(ev *engine.Event) time.Duration {
		if ev.Path == "late" {
			return time.Minute
		}
		return 0
	}})
	must(t, c.CreateBucket("b", engine.Unversioned, false))
	put(t, c, "late", memcluster.Object{})
	at := c.FilerTime()
	put(t, c, "prompt", memcluster.Object{})
	all := engine.LogRange{UntilNs: c.FilerTime().Add(hour).UnixNano(), Paths: []string{"b/"}}
	for _, step := range []struct {
		until time.Time
		want  []string
	}{
		{c.Time(), []string{"prompt"}},
		{at.Add(time.Minute - 1), []string{"prompt"}},
		{at.Add(time.Minute), []string{"late", "prompt"}},
	} {
		c.AdvanceTo(step.until)
		if got := paths(readLog(t, c, all)); !slices.Equal(got, step.want) {
			t.Errorf("at %v: got %q, want %q", step.until, got, step.want)
		}
	}
}

func TestPositionsRiseWhenTheFilersClockGoesBack(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "a", memcluster.Object{})
	c.SetSkews(-hour, 0, 0)
	put(t, c, "b", memcluster.Object{})
	events := c.Events()
	a, b := events[len(events)-2], events[len(events)-1]
	if b.TsNs != a.TsNs+1 || b.New.CommitNs != b.TsNs {
		t.Errorf("positions %d and %d, commit stamp %d", a.TsNs, b.TsNs, b.New.CommitNs)
	}
}

func TestHorizon(t *testing.T) {
	c := memcluster.New(memcluster.Config{Start: time.Date(2030, 1, 1, 10, 0, 30, 0, time.UTC)})
	want := func(when string, want time.Time) {
		t.Helper()
		got, err := c.LogHorizon(t.Context())
		must(t, err)
		if want.IsZero() && got != 0 || !want.IsZero() && got != want.UnixNano() {
			t.Errorf("%s: horizon %v, want %v", when, time.Unix(0, got).UTC(), want)
		}
	}
	want("without events", time.Time{})
	must(t, c.CreateBucket("b", engine.Unversioned, false))
	c.Advance(59 * time.Second)
	want("before the first flush", time.Time{})
	c.Advance(time.Second)
	want("after it", time.Date(2030, 1, 1, 10, 0, 0, 0, time.UTC))
	c.Advance(day)
	put(t, c, "k", memcluster.Object{})
	c.Advance(hour)
	c.Trim(time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC))
	want("trimmed", time.Date(2030, 1, 2, 10, 1, 0, 0, time.UTC))
	c.Trim(c.Time())
	want("trimmed to nothing", time.Time{})
	if got := readLog(t, c, engine.LogRange{UntilNs: c.FilerTime().UnixNano()}); got != nil {
		t.Errorf("still in the log: %+v", got)
	}
}

func TestLostEvents(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	for _, k := range []string{"a", "b", "c"} {
		put(t, c, k, memcluster.Object{})
	}
	if n := c.Lose(func(ev *engine.Event) bool { return ev.Path == "b" }); n != 1 {
		t.Errorf("lost %d", n)
	}
	got := paths(readLog(t, c, engine.LogRange{UntilNs: c.FilerTime().UnixNano(), Paths: []string{"b/"}}))
	if want := []string{"a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if e := lookup(t, c, "b"); e.Name != "b" {
		t.Errorf("the entry went with its event: %+v", e)
	}
}

func TestDeletedBucketLogsWhatWasInIt(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "d/k", memcluster.Object{})
	c.Advance(time.Second)
	mark := c.FilerTime().UnixNano() - 1
	must(t, c.DeleteBucket("b"))
	got := paths(readLog(t, c, engine.LogRange{AfterNs: mark, UntilNs: c.FilerTime().Add(time.Second).UnixNano()}))
	if want := []string{"d/k", "d", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
