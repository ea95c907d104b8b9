package engine_test

import (
	"slices"
	"testing"
	"time"

	"weedlc/engine"
)

func TestRankedGroup(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2030, 6, day, 0, 0, 0, 0, time.UTC) }
	g := engine.RankedGroup("b", "k", []engine.Object{
		{VersionID: "v3", ModTime: at(9)}, {VersionID: "null", ModTime: at(5)}, {VersionID: "v1", ModTime: at(1)},
	})
	type place struct {
		latest    bool
		rank      int
		successor time.Time
		versions  int
	}
	var got []place
	for _, o := range g.Objects {
		got = append(got, place{o.Latest, o.Rank, o.SuccessorAt, o.Versions})
	}
	want := []place{{true, engine.RankUnknown, time.Time{}, 3}, {false, 0, at(9), 3}, {false, 1, at(5), 3}}
	if g.Bucket != "b" || g.Key != "k" || g.Unresolved != "" || !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if g := engine.RankedGroup("b", "k", nil); len(g.Objects) != 0 {
		t.Errorf("a group of nothing has %v", g.Objects)
	}
}

func TestParseBucket(t *testing.T) {
	b := engine.Bucket{Name: "b", Rules: []byte(document(enabled+afterWeek, inTmp+enabled+"<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"))}
	for _, c := range []struct {
		versioning      engine.Versioning
		allowUnfiltered bool
		rules, findings int
	}{{engine.Unversioned, false, 1, 2}, {engine.Enabled, false, 1, 1}, {engine.Suspended, true, 2, 1}, {engine.Unversioned, true, 2, 2}} {
		b.Versioning = c.versioning
		rules, findings := engine.ParseBucket(b, c.allowUnfiltered)
		if len(rules) != c.rules || len(findings) != c.findings || findings[0].Bucket != "b" {
			t.Errorf("%s, unfiltered %t: %d rules, findings %v", c.versioning, c.allowUnfiltered, len(rules), findings)
		}
	}
}
