package pass_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// dueWorld has a bucket with so many objects that are due and so many that are
// not. They are met by a walk, by replay, or by one of each.
func dueWorld(t *testing.T, way string, due, young int) *world {
	t.Helper()
	w := plainWorld(t, rule(everything, expireAfter(1)))
	if way == "both" {
		w.bucket("walked", engine.Unversioned, false, rule(everything, expireAfter(400)))
		w.opts.MetaLogRetention = 30 * day
		for i := range due / 2 {
			_, err := w.c.PutObject("walked", fmt.Sprintf("w%03d", i), memcluster.Object{Size: 1, Mtime: start.Add(-500 * day)})
			w.must(err)
		}
		due -= due / 2
	}
	if way != "walk" {
		w.opts.WalkerInterval = 100 * day
		w.c.SetHook(func(c memcluster.Call) error {
			if c.Op == memcluster.OpDelete {
				return errors.New("the first pass deletes nothing")
			}
			return nil
		})
		if way == "replay" {
			w.okPass()
		}
		w.c.SetHook(nil)
	}
	for i := range due {
		w.put(fmt.Sprintf("k%03d", i), memcluster.Object{Size: 1})
	}
	w.c.Advance(25 * hour)
	if way == "walk" {
		w.c.Advance(5 * hour) // out of replay's reach
	}
	for i := range young {
		w.put(fmt.Sprintf("young%03d", i), memcluster.Object{Size: 1})
	}
	return w
}

// deleted are the paths of the deletes that the gateway carried out, in order.
func (w *world) deleted() []string {
	var paths []string
	for _, d := range w.c.Deletes() {
		if d.Response.Outcome == pass.Done {
			paths = append(paths, d.Request.Bucket+"/"+d.Request.Path)
		}
	}
	return paths
}

// guardProblem is the one problem of a guard; the report must have it and no
// other.
func guardProblem(t *testing.T, rep *pass.Report, want pass.Guard) pass.Problem {
	t.Helper()
	if rep.Status != pass.Partial || rep.CutShort || rep.Failed {
		t.Fatalf("the pass ended %q, cut short %v: %+v", rep.Status, rep.CutShort, rep.Errors)
	}
	if len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategoryGuard || rep.Errors[0].Guard != want {
		t.Fatalf("the errors are %+v, want one of guard %q", rep.Errors, want)
	}
	return rep.Errors[0]
}

// eachOnce fails when an object is there twice, or their number is another.
func eachOnce(t *testing.T, deleted []string, want int) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(deleted))
	if n := len(slices.Compact(sorted)); n != len(deleted) || n != want {
		t.Errorf("%d deletes of %d objects, want %d", len(deleted), n, want)
	}
}

func TestScenario54_MaxDeletesIsExact(t *testing.T) {
	const due = 60
	for _, way := range []string{"walk", "replay", "both"} {
		for _, concurrency := range []int{1, 32} {
			for _, most := range []int{1, 10, due - 1, due, due + 1} {
				t.Run(fmt.Sprintf("%s/%d of %d/%d at a time", way, most, due, concurrency), func(t *testing.T) {
					w := dueWorld(t, way, due, 5)
					w.opts.Concurrency, w.opts.Guards.MaxDeletes = concurrency, int64(most)
					rep := w.pass()
					eachOnce(t, w.deleted(), min(most, due))
					if most >= due {
						if rep.Status != pass.OK {
							t.Fatalf("the pass ended %q: %+v", rep.Status, rep.Errors)
						}
						return
					}
					p := guardProblem(t, rep, pass.GuardMaxDeletes)
					if p.RuleID == "" || p.Bucket == "" || !strings.HasPrefix(p.Message, fmt.Sprintf("%d delete", most)) {
						t.Errorf("the problem is %+v", p)
					}
					w.opts.Guards.MaxDeletes = 0
					w.okPass()
					eachOnce(t, w.deleted(), due)
				})
			}
		}
	}
}

// What deletes nothing is not counted, whatever comes first.
func TestMaxDeletesCountsDeletesOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		answer memcluster.Answer
		counts bool
	}{
		"no-op":       {memcluster.Answer{Outcome: engine.NoopResolved, Reason: "NOT_FOUND: gone"}, false},
		"blocked":     {memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"}, false},
		"retry later": {memcluster.Answer{Outcome: engine.RetryLater, Reason: "busy"}, false},
		"locked":      {memcluster.Answer{Outcome: engine.SkippedObjectLock}, false},
		"lost":        {memcluster.Answer{Err: memcluster.Unavailable{What: "gateway"}, Outcome: engine.Done, Applied: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := dueWorld(t, "walk", 30, 0)
			w.opts.Concurrency, w.opts.Guards.MaxDeletes = 32, 10
			for i := range 5 {
				w.c.AnswerDeletes("buk", fmt.Sprintf("k%03d", i), tc.answer)
			}
			rep := w.pass()
			gone := 30 - len(w.c.Tree("buk"))
			if gone != 10 {
				t.Errorf("%d objects are gone, want 10: %+v", gone, rep.Errors)
			}
			lost := strings.Contains(fmt.Sprint(rep.Errors), "the answer was lost")
			if lost != tc.counts {
				t.Errorf("the errors are %+v", rep.Errors)
			}
		})
	}
}

func TestScenario54_MaxFractionCountsBeforeTheFirstDelete(t *testing.T) {
	for _, tc := range []struct {
		due, young int
		fraction   float64
		refused    bool
	}{
		{90, 10, 0.5, true},
		{49, 51, 0.5, false},
		{50, 50, 0.5, false},
		{51, 49, 0.5, true},
		{29, 71, 0.29, false},
		{30, 70, 0.29, true},
		{20, 0, 1, false},
		{20, 0, 0.999, true},
		{0, 20, 0.001, false},
	} {
		t.Run(fmt.Sprintf("%d of %d above %v", tc.due, tc.due+tc.young, tc.fraction), func(t *testing.T) {
			w := dueWorld(t, "walk", tc.due, tc.young)
			w.bucket("other", engine.Unversioned, false, rule(everything, expireAfter(3)))
			w.opts.Guards.MaxFraction = tc.fraction
			rep := w.pass()
			if !tc.refused {
				if rep.Status != pass.OK || len(w.deleted()) != tc.due {
					t.Fatalf("the pass ended %q after %d deletes: %+v", rep.Status, len(w.deleted()), rep.Errors)
				}
				return
			}
			p := guardProblem(t, rep, pass.GuardMaxFraction)
			if len(w.deleted()) > 0 {
				t.Errorf("%v were deleted", w.deleted())
			}
			counts := fmt.Sprintf("%d of its %d objects", tc.due, tc.due+tc.young)
			if p.Bucket != "buk" || !strings.Contains(p.Message, counts) || !strings.Contains(p.Message, fmt.Sprintf("rule %q %d", p.RuleID, tc.due)) {
				t.Errorf("the problem is %+v", p)
			}
			// It stays refused as long as the share does, and nothing is lost.
			guardProblem(t, w.pass(), pass.GuardMaxFraction)
			w.opts.Guards.MaxFraction = 0
			w.okPass()
			eachOnce(t, w.deleted(), tc.due)
		})
	}
}

// The share is that of the bucket, not of what a rule's prefix selects; a walk
// that is narrowed is measured by what it covers.
func TestMaxFractionOfWhat(t *testing.T) {
	w := plainWorld(t, rule("<Prefix>tmp/</Prefix>", expireAfter(1)), rule("<Prefix>never/</Prefix>", expireAfter(400)))
	for i := range 10 {
		w.put(fmt.Sprintf("tmp/%d", i), memcluster.Object{Size: 1})
		w.put(fmt.Sprintf("keep/%d", i), memcluster.Object{Size: 1})
	}
	w.c.Advance(25 * hour)
	walk := func(narrow pass.WalkOptions) *pass.Report {
		o := w.opts
		o.Now, o.Guards.MaxFraction = w.c.HostTime(), 0.6
		narrow.Options, narrow.Buckets = o, []string{"buk"}
		return pass.Walk(context.Background(), narrow, pass.Deps{Filer: w.c, Gateway: w.c})
	}
	guardProblem(t, walk(pass.WalkOptions{Prefix: "tmp/"}), pass.GuardMaxFraction)
	guardProblem(t, walk(pass.WalkOptions{ExcludePrefixes: []string{"keep/"}}), pass.GuardMaxFraction)
	if n := len(w.deleted()); n > 0 {
		t.Errorf("%d deletes", n)
	}
	if rep := walk(pass.WalkOptions{}); rep.Status != pass.OK || len(w.deleted()) != 10 {
		t.Errorf("the walk ended %q after %d deletes: %+v", rep.Status, len(w.deleted()), rep.Errors)
	}
}

// A bucket above the fraction is left alone by replay too, in a pass that walks
// it; the other buckets are not.
func TestMaxFractionHoldsReplayToo(t *testing.T) {
	w := dueWorld(t, "replay", 20, 0)
	w.bucket("other", engine.Unversioned, false, rule(everything, expireAfter(1)))
	_, err := w.c.PutObject("other", "x", memcluster.Object{Size: 1})
	w.must(err)
	w.c.Advance(25 * hour)
	w.setRules("buk", rule(everything, expireAfter(1)), rule("<Prefix>more/</Prefix>", expireAfter(2)))
	w.put("young", memcluster.Object{Size: 1})
	w.opts.Guards.MaxFraction = 0.9
	_, err = w.c.PutObject("other", "y", memcluster.Object{Size: 1})
	w.must(err)
	guardProblem(t, w.pass(), pass.GuardMaxFraction)
	if got := fmt.Sprint(w.deleted()); got != "[other/x]" {
		t.Errorf("deleted were %s", got)
	}
	w.opts.Guards.MaxFraction = 0
	w.okPass()
	eachOnce(t, w.deleted(), 21)
}

// A bucket that cannot be counted is refused.
func TestMaxFractionRefusesWhatItCannotCount(t *testing.T) {
	w := dueWorld(t, "walk", 1, 9)
	w.opts.Guards.MaxFraction = 0.5
	w.c.FailLists("buk", "", 1)
	p := guardProblem(t, w.pass(), pass.GuardMaxFraction)
	if !strings.Contains(p.Message, "could not be counted") || len(w.deleted()) > 0 {
		t.Errorf("the problem is %+v, %d deletes", p, len(w.deleted()))
	}
	w.okPass()
}

func TestScenario55_PauseStopsBetweenTwoDeletes(t *testing.T) {
	for _, way := range []string{"walk", "replay"} {
		for _, concurrency := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s/%d at a time", way, concurrency), func(t *testing.T) {
				w := dueWorld(t, way, 100, 0)
				var paused atomic.Bool
				var sent, after atomic.Int64
				w.opts.Concurrency, w.opts.Clock = concurrency, time.Now
				w.opts.Guards.Paused = func(context.Context) (string, error) {
					if paused.Load() {
						return "paused by a test", nil
					}
					return "", nil
				}
				w.c.SetHook(func(c memcluster.Call) error {
					if c.Op != memcluster.OpDelete || c.Done {
						return nil
					}
					if paused.Load() {
						after.Add(1)
					}
					if sent.Add(1) == 3 {
						paused.Store(true)
					}
					return nil
				})
				p := guardProblem(t, w.pass(), pass.GuardPause)
				if p.Message != "paused by a test" {
					t.Errorf("the problem is %+v", p)
				}
				if n := after.Load(); n > int64(concurrency) {
					t.Errorf("%d deletes were sent after the pause, with %d slots", n, concurrency)
				}
				if int64(len(w.deleted())) != sent.Load() {
					t.Errorf("%d deletes were sent and %d answered", sent.Load(), len(w.deleted()))
				}
				before := len(w.deleted())
				files := w.files()
				guardProblem(t, w.pass(), pass.GuardPause)
				if len(w.deleted()) != before || w.files() != files {
					t.Errorf("a pass that is paused has changed something")
				}
				paused.Store(false)
				w.okPass()
				eachOnce(t, w.deleted(), 100)
			})
		}
	}
}

// files tells the states of all shards apart.
func (w *world) files() string {
	w.t.Helper()
	var all []string
	for _, sh := range allShards {
		st, err := w.store.Load(context.Background(), sh, w.c.HostTime())
		w.must(err)
		all = append(all, fmt.Sprintf("%+v", st))
	}
	return strings.Join(all, "\n")
}

// While nobody can tell whether there is a pause, nothing is sent.
func TestUnreadablePauseSendsNothing(t *testing.T) {
	w := dueWorld(t, "walk", 3, 0)
	var asked atomic.Int64
	w.opts.Guards.Paused = func(context.Context) (string, error) {
		if asked.Add(1) == 1 {
			return "", nil // as the pass begins
		}
		return "", errors.New("no answer")
	}
	rep := w.pass()
	if rep.Status != pass.Partial || len(w.deleted()) > 0 || rep.Totals.Outcomes[pass.RetryLater] != 3 {
		t.Errorf("the pass ended %q after %d deletes: %+v", rep.Status, len(w.deleted()), rep.Errors)
	}
	w.opts.Guards.Paused = func(context.Context) (string, error) { return "", errors.New("no answer") }
	if rep := w.pass(); !rep.Failed || len(w.deleted()) > 0 {
		t.Errorf("the pass ended %q after %d deletes: %+v", rep.Status, len(w.deleted()), rep.Errors)
	}
	w.opts.Guards.Paused = nil
	w.okPass()
}

func TestClosedEndsThePass(t *testing.T) {
	for _, way := range []string{"walk", "replay"} {
		t.Run(way, func(t *testing.T) {
			w := dueWorld(t, way, 10, 0)
			w.opts.Concurrency = 1
			closing := w.c.HostTime().Add(time.Minute)
			w.opts.Guards.Closed = func(now time.Time) string {
				if now.Before(closing) {
					return ""
				}
				return "closed"
			}
			w.c.SetHook(func(c memcluster.Call) error {
				if c.Op == memcluster.OpDelete && c.Done {
					w.c.Advance(20 * time.Second)
				}
				return nil
			})
			guardProblem(t, w.pass(), pass.GuardHours)
			if n := len(w.deleted()); n != 3 {
				t.Errorf("%d deletes, want 3", n)
			}
			files := w.files()
			guardProblem(t, w.pass(), pass.GuardHours)
			if len(w.deleted()) != 3 || w.files() != files {
				t.Error("a pass out of hours has changed something")
			}
			w.opts.Guards.Closed = nil
			w.okPass()
			eachOnce(t, w.deleted(), 10)
		})
	}
}

// audit is an audit log in memory.
type audit struct {
	mu      sync.Mutex
	lines   []pass.Deletion
	keys    []string
	synced  int // how many lines a sync has seen
	failAt  int // Append fails from this line on; 0 is never
	syncErr error
}

func (a *audit) Append(d pass.Deletion) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failAt > 0 && len(a.lines)+1 >= a.failAt {
		return errors.New("no space left")
	}
	a.lines, a.keys = append(a.lines, d), append(a.keys, d.Object.Bucket+"/"+d.Object.Path)
	return nil
}

func (a *audit) Sync() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.synced = len(a.lines)
	return a.syncErr
}

func TestScenario56_AuditComesBeforeThePosition(t *testing.T) {
	for _, way := range []string{"walk", "replay", "both"} {
		t.Run(way, func(t *testing.T) {
			w := dueWorld(t, way, 40, 5)
			a := &audit{}
			w.opts.Concurrency, w.opts.Guards.Audit = 16, a
			w.c.SetHook(func(c memcluster.Call) error {
				if c.Op == memcluster.OpSaveSide && !c.Done {
					a.mu.Lock()
					defer a.mu.Unlock()
					if a.synced != len(w.c.Deletes()) {
						t.Errorf("a position is saved with %d of %d calls on record", a.synced, len(w.c.Deletes()))
					}
				}
				return nil
			})
			w.okPass()
			eachOnce(t, a.keys, 40)
		})
	}
}

// Every end of a call has its line, and only a delete says that it is one.
func TestScenario56_AuditTellsOutcomesApart(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	for _, key := range []string{"done", "gone", "changed", "later"} {
		w.put(key, memcluster.Object{Size: 1})
	}
	w.put("locked", memcluster.Object{Size: 1, Mode: "COMPLIANCE", RetainUntil: start.Add(90 * day)})
	w.c.Advance(30 * hour)
	a := &audit{}
	w.opts.Guards.Audit = a
	answer := func(key string, o engine.Outcome, reason string) {
		w.c.AnswerDeletes("buk", key, memcluster.Answer{Outcome: o, Reason: reason})
	}
	answer("gone", engine.NoopResolved, "NOT_FOUND: version")
	answer("changed", engine.NoopResolved, "STALE_IDENTITY")
	answer("later", engine.RetryLater, "busy")
	w.pass()
	outcomes := map[string][]pass.Outcome{}
	for i, d := range a.lines {
		outcomes[a.keys[i]] = append(outcomes[a.keys[i]], d.Outcome)
	}
	for key, want := range map[string][]pass.Outcome{
		"buk/done": {pass.Done}, "buk/gone": {pass.NoopResolved}, "buk/later": {pass.RetryLater},
		"buk/locked": {pass.SkippedObjectLock}, "buk/changed": {pass.NoopResolved},
	} {
		if got := outcomes[key]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// An audit log that cannot be written ends the pass, and no position moves.
func TestBrokenAuditLogEndsThePass(t *testing.T) {
	for _, way := range []string{"walk", "replay"} {
		for name, a := range map[string]*audit{
			"append": {failAt: 4},
			"sync":   {syncErr: errors.New("no space left")},
		} {
			t.Run(way+"/"+name, func(t *testing.T) {
				w := dueWorld(t, way, 30, 0)
				w.opts.Concurrency, w.opts.Guards.Audit = 4, a
				files := w.files()
				rep := w.pass()
				if !rep.Failed || len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategoryAudit || rep.Errors[0].Message != "no space left" {
					t.Errorf("the pass failed %v: %+v", rep.Failed, rep.Errors)
				}
				if n := len(w.deleted()); a.failAt > 0 && n > 3+4 {
					t.Errorf("%d deletes, with the log broken at the fourth", n)
				}
				// What replay found is saved before the walk begins.
				if w.files() != files && way == "replay" {
					t.Error("a position has moved")
				}
				w.opts.Guards.Audit = nil
				w.okPass()
				eachOnce(t, w.deleted(), 30)
			})
		}
	}
}

// Each attempt takes a token of the bucket's limiter and of the one of all.
func TestBucketLimiter(t *testing.T) {
	for _, way := range []string{"walk", "replay"} {
		t.Run(way, func(t *testing.T) {
			w := dueWorld(t, way, 10, 0)
			w.bucket("free", engine.Unversioned, false, rule(everything, expireAfter(1)))
			for i := range 10 {
				_, err := w.c.PutObject("free", fmt.Sprint(i), memcluster.Object{Size: 1, Mtime: start})
				w.must(err)
			}
			w.c.Advance(25 * hour)
			slow, all := rate.NewLimiter(rate.Every(hour), 4), rate.NewLimiter(rate.Every(hour), 100)
			w.opts.Concurrency, w.opts.Limiter = 2, all
			w.opts.Until = w.c.HostTime().Add(10 * time.Minute)
			w.opts.Guards.BucketLimiter = func(bucket string) *rate.Limiter {
				if bucket == "buk" {
					return slow
				}
				return nil
			}
			w.c.AnswerDeletes("buk", "k000", memcluster.Answer{Err: memcluster.Unavailable{What: "gateway"}})
			rep := w.pass()
			if rep.Status != pass.CutShort {
				t.Errorf("the pass ended %q: %+v", rep.Status, rep.Errors)
			}
			inSlow, inFree := 0, 0
			for _, path := range w.deleted() {
				if strings.HasPrefix(path, "buk/") {
					inSlow++
				} else {
					inFree++
				}
			}
			if rep.Totals.DeleteCalls != 14 || inFree != 10 {
				t.Errorf("%d calls, %d of them in the bucket without a limit", rep.Totals.DeleteCalls, inFree)
			}
			if left := all.Tokens(); left < 85.9 || left > 86.1 {
				t.Errorf("the limiter of all has %v of 100 tokens left after 14 calls", left)
			}
			w.opts.Guards, w.opts.Until, w.opts.Limiter = pass.Guards{}, time.Time{}, nil
			w.okPass()
		})
	}
}

func TestWalkLeavesAloneWhatIsExcluded(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.bucket("other", engine.Enabled, false, rule(everything, expireAfter(1)))
	w.bucket("precious", engine.Unversioned, false, rule(everything, expireAfter(1)))
	for _, b := range []string{"buk", "other", "precious"} {
		for _, key := range []string{"a", "keep", "keep/x", "keep/deep/y", "keeper", "z/keep"} {
			_, err := w.c.PutObject(b, key, memcluster.Object{Size: 1})
			w.must(err)
		}
	}
	w.c.Advance(25 * hour)
	walk := func(o pass.WalkOptions) *pass.Report {
		o.Options = w.opts
		o.Now = w.c.HostTime()
		return pass.Walk(context.Background(), o, pass.Deps{Filer: w.c, Gateway: w.c})
	}
	if rep := walk(pass.WalkOptions{ExcludeBuckets: []string{"precius"}}); !rep.Failed || len(w.deleted()) > 0 {
		t.Fatalf("a bucket that does not exist is excluded: %q, %d deletes", rep.Status, len(w.deleted()))
	}
	rep := walk(pass.WalkOptions{ExcludeBuckets: []string{"precious"}, ExcludePrefixes: []string{"keep/"}})
	if rep.Status != pass.OK {
		t.Fatalf("the walk ended %q: %+v", rep.Status, rep.Errors)
	}
	var paths []string
	for _, path := range w.deleted() {
		paths = append(paths, strings.Split(path, ".versions")[0])
	}
	slices.Sort(paths)
	want := []string{"buk/a", "buk/keep", "buk/keeper", "buk/z/keep", "other/a", "other/keep", "other/keeper", "other/z/keep"}
	if !slices.Equal(paths, want) {
		t.Errorf("deleted were %v, want %v", paths, want)
	}
}

// Replay and walk draw on one rate; what waits for it when the pass is
// interrupted is not sent.
func TestScenario36_OneRateForReplayAndWalk(t *testing.T) {
	w := dueWorld(t, "both", 50, 0)
	w.opts.Concurrency, w.opts.Limiter = 16, rate.NewLimiter(rate.Every(hour), 30)
	ctx, cancel := context.WithCancel(context.Background())
	w.ctx = ctx
	var done atomic.Int64
	w.c.SetHook(func(c memcluster.Call) error {
		if c.Op == memcluster.OpDelete && c.Done && done.Add(1) == 30 {
			cancel()
		}
		return nil
	})
	rep := w.pass()
	if rep.Status != pass.CutShort || !rep.Interrupted || rep.Totals.DeleteCalls != 30 {
		t.Errorf("the pass ended %q after %d calls: %+v", rep.Status, rep.Totals.DeleteCalls, rep.Errors)
	}
	w.uninterrupted()
	w.opts.Limiter = nil
	w.okPass()
	eachOnce(t, w.deleted(), 50)
}

// A walk that a guard ended does not count as made, and is gone on with.
func TestScenario39_GuardedWalkIsNotFinished(t *testing.T) {
	w := dueWorld(t, "walk", 40, 40)
	w.opts.Concurrency, w.opts.Guards.MaxDeletes = 4, 15
	var walked []int64
	for range 2 {
		rep := w.pass()
		guardProblem(t, rep, pass.GuardMaxDeletes)
		walked = append(walked, rep.Totals.EntriesWalked)
		for _, s := range rep.Shards {
			st, err := w.store.Load(context.Background(), s.Shard, w.c.HostTime())
			w.must(err)
			if s.LastWalkedNs != 0 || !st.Cursor.RuleSetHash.IsZero() {
				t.Errorf("shard %d: the walk counts as made", s.Shard)
			}
		}
	}
	rep := w.okPass()
	walked = append(walked, rep.Totals.EntriesWalked)
	if walked[0]+walked[1]+walked[2] > 80+2*8 {
		t.Errorf("80 entries were walked as %v", walked)
	}
	eachOnce(t, w.deleted(), 40)
}
