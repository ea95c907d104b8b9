package commands

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// sweepHost is a host with a queue, at the time of the day: a queue has timers.
// Its buckets have one-day rules and objects that are due.
func sweepHost(t *testing.T) *testHost {
	h := newTestHost(t)
	h.cluster = memcluster.New(memcluster.Config{Start: time.Now()})
	h.Now, h.Sleep = time.Now, sleep
	h.Env = append(h.Env, "WEEDLC_QUEUE=sqlite:"+filepath.Join(t.TempDir(), "queue.db"), "WEEDLC_RETRY_DELAY=50ms")
	var mu sync.Mutex // shards are worked on side by side
	h.Dial = func(ctx context.Context, o DialOptions) (*Cluster, error) {
		mu.Lock()
		defer mu.Unlock()
		c, err := h.dial(ctx, o)
		c.LockShards = func(context.Context, []int, time.Duration) (Lock, error) {
			mu.Lock()
			defer mu.Unlock()
			if h.heldBy != nil {
				return nil, h.heldBy
			}
			return noLock{}, nil
		}
		return c, err
	}
	return h
}

func (h *testHost) due(bucket string, keys ...string) {
	h.t.Helper()
	h.bucket(bucket)
	for _, key := range keys {
		_, err := h.cluster.PutObject(bucket, key, memcluster.Object{Size: 1, Mtime: time.Now().Add(-9 * day)})
		check(h.t, err)
	}
}

// A sweep with a blocked object, a damaged cursor and a bucket whose rules cannot
// be read: the rest is done, two jobs wait for a person, and the finding is kept
// once.
func TestSweepRunLeavesWhatItCannotDo(t *testing.T) {
	h := sweepHost(t)
	h.due("logs", "a", "b", "stuck")
	check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
	check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
	h.cluster.AnswerDeletes("logs", "stuck", memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"})
	stuck := engine.ShardOf("logs", "stuck")
	damaged := (stuck + 1) % engine.ShardCount
	for damaged == engine.ShardOf("logs", "a") || damaged == engine.ShardOf("logs", "b") || damaged == stuck {
		damaged = (damaged + 1) % engine.ShardCount
	}
	h.write(cursorfile.CursorName(damaged), "{torn")

	h.must(exitUndone, "sweep", "run", "--sweep", "one", "--output", "json", "--metrics-file", "sweep.prom")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "status", "queue", "now", "duration_seconds", "steps", "lost", "deletes", "dead_letters", "left")
	found := map[string]int{}
	for _, l := range doc["dead_letters"].([]any) {
		equalFields(t, "dead letter", l, "job", "sweep", "shard", "category", "state", "bucket", "key", "version_id", "policy", "attempts",
			"first_seen", "last_seen", "dead_since", "redrive_of", "closed", "closed_by")
		letter := l.(map[string]any)
		found[letter["category"].(string)+" "+letter["key"].(string)] = int(letter["shard"].(float64))
	}
	if len(found) != 2 || found["blocked stuck"] != stuck || found["policy_or_input "] != damaged {
		t.Errorf("dead letters are %v", found)
	}
	if n := doc["deletes"].(map[string]any)["logs"]; n != 2.0 {
		t.Errorf("%v objects were deleted", n)
	}
	contains(t, h.err.String(), "sweep_run: status=partial done=14 dead=2 left=0 deletes=2 duration=")
	text, err := os.ReadFile("sweep.prom")
	check(t, err)
	contains(t, string(text), `s3_lifecycle_last_pass_status{status="partial"} 1`, `s3_lifecycle_last_pass_errors 2`, `s3_lifecycle_last_pass_objects{outcome="done"} 2`)

	h.must(exitUndone, "sweep", "status", "--check", "--output", "json")
	status := object(t, h.out.Bytes())
	sweeps := status["sweeps"].([]any)
	if findings := sweeps[0].(map[string]any)["findings"].([]any); len(sweeps) != 1 || len(findings) != 1 || findings[0].(map[string]any)["bucket"] != "torn" {
		t.Errorf("sweeps are %v", sweeps)
	}
	h.must(exitDone, "sweep", "status", "--output", "table")
	contains(t, h.out.String(), "dead letters  ", "attention  2, the oldest for 0, +2 in 1d", "1 line needs attention")

	// On a pipe: what was left undone, and how to go on.
	h.must(exitDone, "sweep", "work")
	equal(t, "stdout of a worker without work", h.out.String(), "")
	h.must(exitUndone, "sweep", "run", "--sweep", "two")
	contains(t, h.out.String(), "policy_or_input", "partial in ", "jobs done 15, dead 1, left 0", "hint: weedlc sweep dead-letters show 17; ")
}

// What a job waits for is no attempt.
func TestSweepWorkWaitsForALock(t *testing.T) {
	h := sweepHost(t)
	h.due("logs", "a")
	h.must(exitDone, "sweep", "enqueue", "--sweep", "one")
	h.heldBy = heldByCron
	ctx, interrupt := context.WithCancel(t.Context())
	dial, dials := h.Dial, atomic.Int32{}
	h.Dial = func(ctx context.Context, o DialOptions) (*Cluster, error) {
		if dials.Add(1) == 3*engine.ShardCount {
			interrupt()
		}
		return dial(ctx, o)
	}
	if code := h.runContext(ctx, "sweep", "work", "--max-attempts", "1"); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	contains(t, h.out.String(), "left 16", "go on with weedlc sweep work --max-attempts 1")
	contains(t, h.err.String(), "is held by process 4711", "jobs wait: locked")
	h.heldBy = nil
	h.must(exitDone, "sweep", "work", "--max-attempts", "1")
	if n := len(h.cluster.Deletes()); n != 1 {
		t.Errorf("%d deletes", n)
	}
}

// An interruption ends a worker that would serve for ever.
func TestSweepWorkIsInterrupted(t *testing.T) {
	h := sweepHost(t)
	h.due("logs", "a")
	h.must(exitDone, "sweep", "enqueue", "--sweep", "one")
	ctx, interrupt := context.WithCancel(t.Context())
	h.cluster.SetHook(func(call memcluster.Call) error {
		interrupt()
		return nil
	})
	if code := h.runContext(ctx, "sweep", "work", "--serve"); code != exitInterrupted {
		t.Errorf("exit %d\n%s", code, &h.err)
	}
	h.cluster.SetHook(nil)
	h.must(exitDone, "sweep", "work")
	if n := len(h.cluster.Deletes()); n != 1 {
		t.Errorf("%d deletes", n)
	}
}
