package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weedlc/engine"
	"weedlc/internal/weedtest"
)

// Sweeps on a real cluster, with weedlc itself as its users start it, on both
// databases. It has a cluster of its own and runs while TestSweepWorkerIsKilled
// waits for timers.
func TestSweep(t *testing.T) {
	t.Parallel()
	kinds := queueKinds(t)
	server := weedtest.New(t, weedtest.Config{})
	emptied := func(t *testing.T) *rig {
		cl := server.Client(t)
		cl.Reset()
		return rigOn(t, cl)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for _, tc := range []struct {
			name string
			test func(*sweeper, string)
		}{
			{"due", sweepDue},
			{"blocked", sweepBlocked},
			{"retried", sweepRetried},
			{"answer lost", sweepAnswerLost},
			{"changed since admission", sweepChanged},
			{"paused", sweepPaused},
			{"stuck shard", sweepStuck},
		} {
			t.Run(kind+"/"+tc.name, func(t *testing.T) {
				s := newSweeper(emptied(t), kinds[kind](t))
				tc.test(s, "s-"+kind[:2]+"-"+strings.ReplaceAll(tc.name, " ", "-"))
			})
		}
	}
	t.Run("three workers", func(t *testing.T) {
		sweepThreeWorkers(newSweeper(emptied(t), kinds["postgres"](t)))
	})
}

// seed makes a bucket with n due objects and one that is not, and returns the
// keys of the due ones.
func (s *sweeper) seed(bucket string, n int) []string {
	s.t.Helper()
	s.CreateBucket(bucket, weedtest.Plain, document(rule("the rule", prefix(""), expire(1))))
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("k%04d", i))
		s.Put(bucket, keys[i], weedtest.Object{Age: 2 * day})
	}
	s.Put(bucket, "young", weedtest.Object{})
	s.proxy.Forget()
	return keys
}

// A sweep does what is due, once; the same slot again does nothing.
func sweepDue(s *sweeper, b string) {
	var want []sent
	for _, key := range s.seed(b, 40) {
		want = append(want, sent{b, key, "", engine.ExpirationDays})
	}
	s.weedlc(0, "sweep", "run", "--sweep", "one")
	s.wantSent(want...)
	s.wantKeys(b, "young")
	st := s.wantJobs(map[string]int{"done": 16})
	if len(st.Buckets) != 1 || st.Buckets[0].Bucket != b || st.Buckets[0].Deletes != 40 {
		s.t.Errorf("deletes by bucket are %+v", st.Buckets)
	}
	s.proxy.Forget()
	if f := s.weedlc(0, "sweep", "run", "--sweep", "one"); !strings.Contains(f.log, "admitted before") {
		s.t.Errorf("the second run says\n%s", f.log)
	}
	s.wantSent()
	s.wantJobs(map[string]int{"done": 16})
	s.weedlc(0, "sweep", "status", "--check")
}

// A blocked object makes a dead letter at once, which nothing touches; redriven
// under a new id once the fault is gone, its shard is finished.
func sweepBlocked(s *sweeper, b string) {
	keys := s.seed(b, 20)
	shard := engine.ShardOf(b, keys[7])
	s.proxy.Add(weedtest.Rule{Bucket: b, Path: keys[7], Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED, Reason: "because of the test"})
	s.weedlc(3, "sweep", "run", "--sweep", "one")
	s.wantKeys(b, "young", keys[7])
	s.wantJobs(map[string]int{"done": 15, "dead": 1})
	letters := s.letters()
	if len(letters) != 1 {
		s.t.Fatalf("the dead letters are %+v", letters)
	}
	l := letters[0]
	if l.Category != "blocked" || l.Shard != shard || l.Bucket != b || l.Key != keys[7] || l.Attempts != 1 || l.State != "open" {
		s.t.Errorf("the dead letter is %+v", l)
	}
	s.weedlc(3, "sweep", "status", "--check")

	s.proxy.Forget()
	s.weedlc(0, "sweep", "work")
	s.wantSent()
	id := fmt.Sprint(l.Job)
	s.weedlc(1, "sweep", "redrive", id)
	s.wantJobs(map[string]int{"done": 15, "dead": 1})
	s.proxy.Clear()
	s.weedlc(0, "sweep", "redrive", id, "--reason", "the fault is mended")
	if f := s.weedlc(1, "sweep", "redrive", id, "--reason", "again"); !strings.Contains(f.log, "is redriven by job") {
		s.t.Errorf("the second redrive says\n%s", f.log)
	}
	s.weedlc(1, "sweep", "discard", id, "--reason", "again")
	s.weedlc(0, "sweep", "work")
	s.wantKeys(b, "young")
	s.wantSent(sent{b, keys[7], "", engine.ExpirationDays})
	s.wantJobs(map[string]int{"done": 16, "redriven": 1})
	if open := s.letters(); len(open) != 0 {
		s.t.Errorf("open dead letters are %+v", open)
	}
	type event struct {
		What, Reason, User string
		Job                int64
		OtherJob           int64 `json:"other_job"`
	}
	history := decode[struct{ History []event }](s.t, s.weedlc(0, "sweep", "history", "-o", "json")).History
	if len(history) != 2 || history[0].What != "buried" || history[1].What != "redriven" ||
		history[1].Reason != "the fault is mended" || history[1].User == "" || history[1].OtherJob <= l.Job {
		s.t.Errorf("the history is %+v", history)
	}
}

// A server's wish for a pause is kept, by the pass and by the queue; what asks
// for another time for ever uses up the attempts.
func sweepRetried(s *sweeper, b string) {
	keys := s.seed(b, 20)
	const pause = 400 * time.Millisecond
	s.proxy.Add(weedtest.Rule{Bucket: b, Path: keys[3], Times: 3, Err: weedtest.RetryAfter(codes.ResourceExhausted, pause)})
	s.weedlc(0, "sweep", "run", "--sweep", "one")
	s.wantKeys(b, "young")
	st := s.wantJobs(map[string]int{"done": 16})
	if st.Retries["transport"] != 1 {
		s.t.Errorf("retries are %v", st.Retries)
	}
	var last time.Time
	n := 0
	for _, c := range s.calls() {
		if c.Delete.GetObjectPath() != keys[3] {
			continue
		}
		if wait := c.At.Sub(last); n > 0 && wait < pause {
			s.t.Errorf("call %d came %s after the one before it, want %s at least", n+1, wait, pause)
		}
		last, n = c.At, n+1
	}
	if n != 4 {
		s.t.Errorf("the object got %d calls, want 4", n)
	}

	s.proxy.Clear()
	s.proxy.Add(weedtest.Rule{Bucket: b, Path: "late", Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_RETRY_LATER})
	s.Put(b, "late", weedtest.Object{Age: 2 * day})
	s.weedlc(3, "sweep", "run", "--sweep", "two", "--max-attempts", "2")
	letters := s.letters()
	if len(letters) != 1 || letters[0].Category != "retry_budget_exhausted" || letters[0].Attempts != 2 || letters[0].Key != "late" {
		s.t.Errorf("the dead letters are %+v", letters)
	}
	// A later sweep that gets through closes it.
	s.proxy.Clear()
	s.weedlc(0, "sweep", "run", "--sweep", "three")
	if all := s.letters("--all"); len(all) != 1 || all[0].State != "superseded" {
		s.t.Errorf("the dead letters are %+v", all)
	}
}

// A delete that was carried out without an answer has its effect once: in a
// versioned bucket one delete marker.
func sweepAnswerLost(s *sweeper, b string) {
	s.CreateBucket(b, weedtest.Versioned, document(rule("the rule", prefix(""), expire(1))))
	id := s.Put(b, "key", weedtest.Object{Age: 2 * day})
	s.proxy.Add(weedtest.Rule{Bucket: b, Times: 3, Carried: true, Err: status.Error(codes.DeadlineExceeded, "no answer in time")})
	s.weedlc(0, "sweep", "run", "--sweep", "one")
	if st := s.wantJobs(map[string]int{"done": 16}); st.Retries["transport"] != 1 {
		s.t.Errorf("retries are %v", st.Retries)
	}
	s.wantMarked(b, "key", version{"key", id, false, false})
}

// What is done goes by the rules and holds of the moment of the execution.
func sweepChanged(s *sweeper, b string) {
	keys := s.seed(b, 5)
	narrowed, locked := b+"-narrowed", b+"-locked"
	s.seed(narrowed, 5)
	s.CreateBucket(locked, weedtest.Locked, document(rule("the rule", prefix(""), `<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>`)))
	held := s.Put(locked, "held", weedtest.Object{Age: 4 * day})
	free := s.Put(locked, "free", weedtest.Object{Age: 4 * day})
	for key, id := range map[string]string{"held": held, "free": free} {
		s.Put(locked, key, weedtest.Object{Age: 3 * day})
		s.SetDemoted(locked, key, id, time.Now().Add(-3*day))
	}
	s.weedlc(0, "sweep", "enqueue", "--sweep", "one")

	s.PutRules(narrowed, document(rule("the rule", prefix("young"), expire(1))))
	s.SetHold(locked, "held", held, true)
	s.proxy.Forget()
	s.weedlc(0, "sweep", "work")
	s.wantKeys(b, "young")
	s.wantKeys(narrowed, append(slices.Clone(keys), "young")...)
	for key, want := range map[string]int{"held": 2, "free": 1} {
		if n := len(s.Versions(locked, key)); n != want {
			s.t.Errorf("%d versions are left of key %q, want %d", n, key, want)
		}
	}
	for _, c := range s.calls() {
		if d := c.Delete; d.GetBucket() == narrowed || d.GetVersionId() == held {
			s.t.Errorf("%s/%s version %q was sent", d.GetBucket(), d.GetObjectPath(), d.GetVersionId())
		}
	}
	s.wantJobs(map[string]int{"done": 16})
	s.SetHold(locked, "held", held, false)
}

// A pause is no attempt: the jobs wait and go on when it is lifted. A worker that
// serves ends when it is told to.
func sweepPaused(s *sweeper, b string) {
	s.seed(b, 5)
	s.weedlc(0, "pause", "--reason", "the test")
	s.weedlc(0, "sweep", "enqueue", "--sweep", "one")
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	ended := make(chan finished, 1)
	go func() { ended <- s.command(ctx, "sweep", "work", "--serve", "--max-attempts", "1") }()
	s.await("all wait", func(st queueStatus) bool { return st.Waits["paused"] >= 16 })
	s.wantSent()
	s.weedlc(0, "resume")
	s.await("all are done", func(st queueStatus) bool { return st.Jobs["done"] == 16 })
	stop()
	if f := <-ended; f.code != 130 {
		s.t.Errorf("exit %d\n%s", f.code, f.log)
	}
	s.wantKeys(b, "young")
}

// A shard whose delete hangs keeps none of the others waiting.
func sweepStuck(s *sweeper, b string) {
	keys := s.seed(b, 60)
	hold := make(chan struct{})
	s.proxy.Add(weedtest.Rule{Bucket: b, Path: keys[0], Hold: hold})
	ended := make(chan finished, 1)
	s.weedlc(0, "sweep", "enqueue", "--sweep", "one")
	go func() { ended <- s.command(s.t.Context(), "sweep", "work", "--jobs", "2") }()
	s.await("the others are done", func(st queueStatus) bool { return st.Jobs["done"] == 15 })
	if left := s.Keys(b); !slices.Contains(left, keys[0]) {
		s.t.Errorf("the key that hangs is gone: %v", left)
	}
	close(hold)
	if f := <-ended; f.code != 0 {
		s.t.Errorf("exit %d\n%s", f.code, f.log)
	}
	s.wantKeys(b, "young")
}

// Three workers on one database stay below one limit in sum, and share the work.
func sweepThreeWorkers(s *sweeper) {
	const b, n, perSecond, workers = "s-three", 280, 40.0, 3
	s.seed(b, n)
	s.weedlc(0, "sweep", "enqueue", "--sweep", "one")
	var all sync.WaitGroup
	results := make([]finished, workers)
	for i := range workers {
		all.Go(func() {
			results[i] = s.command(s.t.Context(), "sweep", "work", "--jobs", "2", "-o", "json", "--cluster-deletes-per-second", fmt.Sprint(perSecond))
		})
	}
	all.Wait()
	busy := 0
	for _, f := range results {
		if f.code != 0 {
			s.t.Fatalf("exit %d\n%s", f.code, f.log)
		}
		if len(decode[struct{ Deletes map[string]int }](s.t, f).Deletes) > 0 {
			busy++
		}
	}
	if busy < 2 {
		s.t.Errorf("%d workers have deleted", busy)
	}
	s.wantKeys(b, "young")
	calls := s.calls()
	if len(calls) != n {
		s.t.Errorf("%d calls were made, want %d", len(calls), n)
	}
	// No limiter has more than one token, and a busy machine has calls arrive
	// late by up to half a second.
	const slack = workers + perSecond/2
	for i, first := range calls {
		for j := i; j < len(calls); j++ {
			allowed := perSecond*calls[j].At.Sub(first.At).Seconds() + slack
			if n := j - i + 1; float64(n) > allowed {
				s.t.Fatalf("%d calls within %s, %.1f are allowed", n, calls[j].At.Sub(first.At), allowed)
			}
		}
	}
}
