package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/memcluster"
)

func TestRunOnAPipeIsSilentWhenAllIsDone(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "b")
	h.cluster.Advance(25 * time.Hour)
	h.must(exitDone, "run")
	equal(t, "stdout", h.out.String(), "")
	lines := strings.Split(strings.TrimSuffix(h.err.String(), "\n"), "\n")
	equal(t, "the last line of stderr", lines[len(lines)-1],
		"daily_run: status=ok shards=16 errors=0 duration=0s cursor_lag_max=23h0m0s walked_max_age=0s")
	contains(t, h.err.String(), `first pass: walking 1 bucket over all rules: "logs"`)
	if got := len(h.cluster.Deletes()); got != 2 {
		t.Errorf("%d delete calls, want 2", got)
	}
	h.must(exitDone, "run", "--quiet")
	equal(t, "stderr of a second pass", h.err.String(),
		"daily_run: status=ok shards=16 errors=0 duration=0s cursor_lag_max=23h0m0s walked_max_age=0s\n")
}

func TestRunWithoutRulesIsCold(t *testing.T) {
	h := newTestHost(t)
	h.must(exitDone, "run")
	equal(t, "stderr", h.err.String(),
		"daily_run: status=ok shards=16 errors=0 duration=0s cursor_lag_max=cold walked_max_age=cold\n")
}

func TestRunOnATerminalIsATable(t *testing.T) {
	h := newTestHost(t)
	h.terminal("")
	h.bucket("logs", "a")
	h.cluster.Advance(25 * time.Hour)
	h.must(exitDone, "run", "--shard", fmt.Sprint(engine.ShardOf("logs", "a")))
	equal(t, "stdout", h.out.String(), `SHARD  STATUS  POSITION              LAG  EVENTS  WALKED  CALLS  RECOVERY    BLOCKED
5      ok      2026-11-30T14:00:00Z  23h  1       0       1      cold_start  -

ok in 0s: 2 events, 0 entries walked, 1 delete calls (done 1)
`)
}

// TestRunJSONFields pins the documented shape of run --output json.
func TestRunJSONFields(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "stuck")
	h.cluster.AnswerDeletes("logs", "stuck", memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"})
	check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
	check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
	h.cluster.Advance(25 * time.Hour)
	h.run("run", "--output", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "status", "now", "duration_seconds", "totals", "shards", "errors")
	equalFields(t, "totals", doc["totals"], "events_scanned", "entries_walked", "delete_calls", "outcomes")
	for _, s := range doc["shards"].([]any) {
		equalFields(t, "shard", s, "shard", "status", "ts_ns", "lag_seconds", "events_scanned", "entries_walked", "delete_calls", "recovery", "blocked")
	}
	errs := doc["errors"].([]any)
	if len(errs) == 0 {
		t.Error("a bucket with unreadable rules is no error")
	}
	for _, e := range errs {
		equalFields(t, "error", e, "shard", "bucket", "rule_id", "category", "message")
	}
	if n := len(doc["shards"].([]any)); n != engine.ShardCount {
		t.Errorf("%d shards, want %d", n, engine.ShardCount)
	}
	if strings.Count(h.out.String(), "\n{") != 0 {
		t.Error("more than one document")
	}
}

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return doc
}

func equalFields(t *testing.T, what string, value any, want ...string) {
	t.Helper()
	var got []string
	for name := range value.(map[string]any) {
		got = append(got, name)
	}
	sort.Strings(got)
	sort.Strings(want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("fields of %s are %v, want %v", what, got, want)
	}
}

func TestScenario52_ExitCodesOfRun(t *testing.T) {
	t.Run("a failed delete is 3, told on stdout", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "stuck\x1b[31m", "fine")
		h.cluster.Advance(25 * time.Hour)
		h.cluster.AnswerDeletes("logs", "stuck\x1b[31m", memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"})
		h.must(exitUndone, "run")
		contains(t, h.out.String(), `bucket "logs"`, `stuck\x1b[31m`, "busy",
			"hint: the next pass tries again; to do so now: weedlc run\n")
		contains(t, h.err.String(), "daily_run: status=partial ")
		h.must(exitDone, "run")
		equal(t, "stdout of the next pass", h.out.String(), "")
	})
	t.Run("unreadable rules are 3 and stop no other bucket", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a")
		check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
		check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
		h.cluster.Advance(25 * time.Hour)
		h.must(exitUndone, "run")
		contains(t, h.out.String(), `rules: bucket "torn"`)
		if got := len(h.cluster.Deletes()); got != 1 {
			t.Errorf("%d delete calls, want 1", got)
		}
	})
	t.Run("a corrupt cursor is 10, the other shards run", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a")
		h.cluster.Advance(25 * time.Hour)
		damaged := (engine.ShardOf("logs", "a") + 1) % engine.ShardCount
		name := fmt.Sprintf("shard-%02d.json", damaged)
		h.write(name, "")
		h.must(exitCorrupt, "run")
		contains(t, h.out.String(), name+" is empty", "hint: weedlc cursor show")
		if got := len(h.cluster.Deletes()); got != 1 {
			t.Errorf("%d delete calls, want 1", got)
		}
	})
	t.Run("a lock that another holds is 11 and names it", func(t *testing.T) {
		h := newTestHost(t)
		h.heldBy = heldByCron
		h.must(exitHeld, "run")
		equal(t, "stdout", h.out.String(), "")
		equal(t, "stderr", h.err.String(), `weedlc: shard 3 is held by process 4711 on host "cron1" since 2026-11-30T11:00:00Z
hint: --wait 10m waits for it
`)
	})
	t.Run("a budget of events is 4", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a", "b", "c")
		h.must(exitDone, "run")
		h.cluster.Advance(25 * time.Hour)
		h.must(exitCutShort, "run", "--events", "1")
		contains(t, h.out.String(), "hint: progress is saved; go on with weedlc run --events 1\n")
		contains(t, h.err.String(), "daily_run: status=cut_short ")
	})
	t.Run("an interruption is 130", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a")
		h.cluster.Advance(25 * time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		h.cluster.SetHook(func(c memcluster.Call) error {
			if c.Op == memcluster.OpDelete {
				cancel()
			}
			return nil
		})
		if got := h.runContext(ctx, "run"); got != exitInterrupted {
			t.Errorf("exit %d, want %d\n%s", got, exitInterrupted, &h.err)
		}
		contains(t, h.out.String(), "hint: progress is saved; go on with weedlc run\n")
	})
	t.Run("an interruption before the pass is 130", func(t *testing.T) {
		h := newTestHost(t)
		ctx, cancel := context.WithCancel(t.Context())
		h.Dial = func(context.Context, DialOptions) (*Cluster, error) { cancel(); return nil, ctx.Err() }
		if got := h.runContext(ctx, "run"); got != exitInterrupted {
			t.Errorf("exit %d, want %d", got, exitInterrupted)
		}
		equal(t, "stderr", h.err.String(), "weedlc: interrupted\n")
	})
	t.Run("a lost lock is 1", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a")
		h.lost = fmt.Errorf("lock of shard 0 lost")
		h.must(exitFailed, "run")
		contains(t, h.err.String(), "daily_run: status=error ")
	})
}

func TestRunResumesTheSameShards(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "b", "c")
	h.must(exitDone, "run")
	h.cluster.Advance(25 * time.Hour)
	h.must(exitCutShort, "run", "--shards", "0-3,9-15", "--events", "1")
	contains(t, h.out.String(), "go on with weedlc run --shards 0-3,9-15 --events 1\n")
}

func TestRunTakesTheLocksOfItsShards(t *testing.T) {
	h := newTestHost(t)
	var during []int
	h.cluster.SetHook(func(memcluster.Call) error { during = h.locked; return nil })
	h.must(exitDone, "run", "--shards", "2,5")
	if !reflect.DeepEqual(during, []int{2, 5}) || h.locked != nil {
		t.Errorf("locked %v during the pass and %v after it, want 2 and 5, then none", during, h.locked)
	}
	during = nil
	h.must(exitDone, "run", "--no-lock")
	if during != nil {
		t.Errorf("locked %v with --no-lock", during)
	}
	contains(t, h.err.String(), "running without locks")
}

func TestRunRefresh(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a")
	start := h.cluster.HostTime()
	h.must(exitDone, "run", "--refresh", "6h", "--runtime", "25h", "--output", "json")
	dec := json.NewDecoder(bytes.NewReader(h.out.Bytes()))
	var passes []time.Duration
	for dec.More() {
		var doc passJSON
		check(t, dec.Decode(&doc))
		passes = append(passes, doc.Now.Sub(start))
	}
	want := []time.Duration{0, 6 * time.Hour, 12 * time.Hour, 18 * time.Hour, 24 * time.Hour}
	if !reflect.DeepEqual(passes, want) {
		t.Errorf("passes began after %v, want %v", passes, want)
	}
	if n := strings.Count(h.err.String(), "daily_run: status=ok "); n != len(want) {
		t.Errorf("%d heartbeats, want %d", n, len(want))
	}
	if len(h.dialed) != 1 {
		t.Errorf("dialled %d times", len(h.dialed))
	}
}

func TestRunRefreshGoesOnAfterAHeldLock(t *testing.T) {
	h := newTestHost(t)
	h.heldBy = &cluster.HeldError{Shard: 0, Text: "other"}
	sleeps := 0
	h.Sleep = func(_ context.Context, d time.Duration) error {
		sleeps++
		h.heldBy = nil
		h.cluster.Advance(d)
		return nil
	}
	h.must(exitDone, "run", "--refresh", "1h", "--runtime", "90m")
	if sleeps != 1 {
		t.Errorf("slept %d times, want once", sleeps)
	}
	contains(t, h.err.String(), `weedlc: shard 0 is held by "other"`, "daily_run: status=ok ")
}

func TestRunRefreshInterruptedBetweenPasses(t *testing.T) {
	h := newTestHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.Sleep = func(context.Context, time.Duration) error { cancel(); return ctx.Err() }
	if got := h.runContext(ctx, "run", "--refresh", "1h"); got != exitInterrupted {
		t.Errorf("exit %d, want %d", got, exitInterrupted)
	}
}

func TestScenario55_WalkOneBucket(t *testing.T) {
	h := newTestHost(t)
	h.bucket("a", "x/1", "y/1")
	h.bucket("b", "x/1")
	h.cluster.Advance(25 * time.Hour)
	h.write("shard-00.json", cursorText(t, 0, noon))
	before, beforeVersion, err := h.cursors.Read(t.Context(), "shard-00.json")
	check(t, err)
	h.must(exitDone, "walk", "--bucket", "a", "--prefix", "x/")
	deletes := h.cluster.Deletes()
	if len(deletes) != 1 || deletes[0].Request.Bucket != "a" || deletes[0].Request.Path != "x/1" {
		t.Errorf("deletes are %+v, want a's x/1", deletes)
	}
	after, afterVersion, err := h.cursors.Read(t.Context(), "shard-00.json")
	check(t, err)
	names, err := h.cursors.List(t.Context())
	check(t, err)
	if !bytes.Equal(before, after) || beforeVersion != afterVersion || len(names) != 1 {
		t.Error("the walk touched the cursors")
	}
	h.must(exitDone, "walk", "--all-buckets")
	if got := len(h.cluster.Deletes()); got != 3 {
		t.Errorf("%d delete calls in all, want 3", got)
	}
}

func TestWalkOfABucketThatIsNotThere(t *testing.T) {
	h := newTestHost(t)
	h.must(exitFailed, "walk", "--bucket", "nope")
	contains(t, h.out.String(), `bucket "nope" does not exist`)
}

func TestTheResultSurvivesAClosedPipe(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a")
	h.Out = brokenPipe{}
	h.must(exitDone, "run", "--output", "json")
	contains(t, h.err.String(), "daily_run: status=ok ")
	h.Out = fullDisk{}
	h.must(exitFailed, "run", "--output", "json")
	contains(t, h.err.String(), "weedlc: standard output: no space left on device")
}
