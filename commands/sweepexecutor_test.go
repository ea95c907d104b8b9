package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/pass"
	"weedlc/sweep"
)

// What a pass over one shard came to, as the queue is told.
func TestOutcomeOfAReport(t *testing.T) {
	failure := func(outcome pass.Outcome) *engine.Failure {
		return &engine.Failure{Bucket: "b", Key: "k", VersionID: "v", Outcome: string(outcome)}
	}
	blocker := sweep.Blocker{Bucket: "b", Key: "k", VersionID: "v"}
	report := func(change func(*pass.Report)) *pass.Report {
		r := &pass.Report{Shards: make([]pass.ShardReport, 1), Totals: pass.Totals{Outcomes: map[pass.Outcome]int64{}}}
		change(r)
		return r
	}
	for _, tc := range []struct {
		name   string
		report *pass.Report
		want   sweep.Outcome
	}{
		{"ok", report(func(*pass.Report) {}), sweep.Outcome{Result: sweep.Done}},
		{"interrupted", report(func(r *pass.Report) {
			r.Interrupted, r.Shards[0].Blocked = true, failure(pass.Blocked)
		}), sweep.Outcome{Result: sweep.Cut}},
		{"cut short", report(func(r *pass.Report) { r.CutShort = true }), sweep.Outcome{Result: sweep.Cut}},
		{"cut short with a failure beside progress", report(func(r *pass.Report) {
			r.CutShort, r.Shards[0].Failed = true, []engine.Failure{*failure(pass.Blocked)}
			r.Totals.Outcomes[pass.Done] = 1
		}), sweep.Outcome{Result: sweep.Cut}},
		{"cut short with failures alone", report(func(r *pass.Report) {
			r.CutShort, r.Shards[0].Failed = true, []engine.Failure{*failure(pass.TransportError)}
		}), sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport, Blocker: blocker}},
		{"blocked", report(func(r *pass.Report) { r.Shards[0].Blocked = failure(pass.Blocked) }),
			sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryBlocked, Blocker: blocker}},
		{"blocked in a walk behind another failure", report(func(r *pass.Report) {
			r.Shards[0].Blocked = &engine.Failure{Bucket: "b", Key: "other", Outcome: string(pass.RetryLater)}
			r.Shards[0].Failed = []engine.Failure{*failure(pass.Blocked)}
		}), sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryBlocked, Blocker: blocker}},
		{"retry later", report(func(r *pass.Report) { r.Shards[0].Blocked = failure(pass.RetryLater) }),
			sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryRetryLater, Blocker: blocker}},
		{"transport", report(func(r *pass.Report) { r.Shards[0].Blocked = failure(pass.TransportError) }),
			sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport, Blocker: blocker}},
		{"failed", report(func(r *pass.Report) { r.Failed = true }),
			sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport}},
		{"corrupt", report(func(r *pass.Report) { r.Corrupt = true }),
			sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryInput}},
		{"lock lost", report(func(r *pass.Report) {
			r.Failed, r.Errors = true, []pass.Problem{{Category: pass.CategoryLock}}
		}), sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryLocked}},
		{"paused", report(func(r *pass.Report) {
			r.Errors = []pass.Problem{{Category: pass.CategoryGuard, Guard: pass.GuardPause}}
		}), sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryPaused}},
		{"outside the work time", report(func(r *pass.Report) {
			r.Errors = []pass.Problem{{Category: pass.CategoryGuard, Guard: pass.GuardHours}}
		}), sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryPaused}},
		{"too many deletes", report(func(r *pass.Report) {
			r.Errors = []pass.Problem{{Category: pass.CategoryGuard, Guard: pass.GuardMaxDeletes, Bucket: "b"}}
		}), sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryInput, Blocker: sweep.Blocker{Bucket: "b"}}},
		{"rules of one bucket", report(func(r *pass.Report) {
			r.Errors = []pass.Problem{{Category: pass.CategoryRules, Bucket: "b", RuleID: "r", Message: "text"}}
		}), sweep.Outcome{Result: sweep.Done, Findings: []sweep.Finding{{Bucket: "b", RuleID: "r", Kind: "rules"}}}},
	} {
		if got := outcomeOf(tc.report); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestOutcomeOfAnError(t *testing.T) {
	for _, tc := range []struct {
		err      error
		result   sweep.Result
		category sweep.Category
	}{
		{hint(coded{heldByCron, exitHeld}, "wait"), sweep.Waiting, sweep.CategoryLocked},
		{fmt.Errorf("dial: %w", &cluster.ConnectError{Role: cluster.Filer}), sweep.Waiting, sweep.CategoryNoFiler},
		{&cluster.ConnectError{Role: cluster.Master}, sweep.Waiting, sweep.CategoryNoFiler},
		{hint(cluster.ErrNoLockServer, "wait"), sweep.Waiting, sweep.CategoryNoFiler},
		{&cluster.ConnectError{Role: cluster.Gateway}, sweep.Retryable, sweep.CategoryTransport},
		{errors.New("anything else"), sweep.Retryable, sweep.CategoryTransport},
	} {
		if got := outcomeOfError(tc.err); got.Result != tc.result || got.Category != tc.category {
			t.Errorf("%v: %+v, want %s, %s", tc.err, got, tc.result, tc.category)
		}
	}
}

// The exit code and status of a worker.
func TestSweepResult(t *testing.T) {
	dead := []sweep.DeadLetter{{JobID: 1}}
	left := sweep.Unfinished{Waiting: 1}
	for _, tc := range []struct {
		name   string
		report sweep.Report
		failed bool
		code   int
		status pass.Status
	}{
		{"done", sweep.Report{}, false, exitDone, pass.OK},
		{"dead", sweep.Report{Dead: dead}, false, exitUndone, pass.Partial},
		{"still waits", sweep.Report{Left: left}, false, exitUndone, pass.Partial},
		{"runtime", sweep.Report{CutShort: true, Left: left}, false, exitCutShort, pass.CutShort},
		{"runtime with nothing left", sweep.Report{CutShort: true}, false, exitDone, pass.OK},
		{"runtime and dead", sweep.Report{CutShort: true, Left: left, Dead: dead}, false, exitUndone, pass.Partial},
		{"interrupted", sweep.Report{Interrupted: true, Left: left, Dead: dead}, false, exitInterrupted, pass.CutShort},
		{"failed", sweep.Report{Dead: dead}, true, exitFailed, pass.Failed},
	} {
		r := sweepResult{Report: tc.report, failed: tc.failed}
		if r.code() != tc.code || r.status() != tc.status {
			t.Errorf("%s: %d %s, want %d %s", tc.name, r.code(), r.status(), tc.code, tc.status)
		}
	}
}

type asksForPause struct {
	error
	after time.Duration
}

func (e asksForPause) RetryAfter() time.Duration { return e.after }

type gatewayOf func() error

func (g gatewayOf) Delete(context.Context, pass.DeleteRequest) (pass.DeleteResponse, error) {
	return pass.DeleteResponse{}, g()
}

// Of several wishes of a gateway the latest time counts for the job; each object
// waits for its own.
func TestPatientGateway(t *testing.T) {
	now := noon
	g := &patientGateway{now: func() time.Time { return now }, keys: newKeyLocks()}
	gone := errors.New("gone")
	// sent reports whether a delete reached the gateway, which answers so.
	sent := func(path string, answer error) bool {
		reached := false
		g.Gateway = gatewayOf(func() error { reached = true; return answer })
		_, err := g.Delete(t.Context(), pass.DeleteRequest{Bucket: "b", Path: path})
		if reached && !errors.Is(err, answer) || !reached && err == nil {
			t.Errorf("the answer %v became %v", answer, err)
		}
		return reached
	}
	for path, answer := range map[string]error{
		"a": asksForPause{errors.New("later"), time.Minute}, "b": asksForPause{errors.New("sooner"), time.Second}, "c": gone, "d": nil,
	} {
		if !sent(path, answer) {
			t.Errorf("%s was not sent", path)
		}
	}
	if got := g.wish(); got != time.Minute {
		t.Errorf("the gateway wants %s", got)
	}
	now = noon.Add(time.Second)
	for path, want := range map[string]bool{"a": false, "b": true, "c": true, "d": true} {
		if got := sent(path, nil); got != want {
			t.Errorf("after a second %s was sent: %v, want %v", path, got, want)
		}
	}
	now = noon.Add(time.Minute)
	if g.wish() != 0 || !sent("a", nil) {
		t.Errorf("after a minute the gateway still wants %s", g.wish())
	}
}

// Of two passes that delete one key at once, the second waits for the first;
// other keys do not.
func TestPatientGatewaysSendAKeyOneAtATime(t *testing.T) {
	locks, proceed, arrived := newKeyLocks(), make(chan struct{}), make(chan string, 3)
	send := func(ctx context.Context, path string) error {
		g := &patientGateway{now: time.Now, keys: locks, Gateway: gatewayOf(func() error {
			arrived <- path
			<-proceed
			return nil
		})}
		_, err := g.Delete(ctx, pass.DeleteRequest{Bucket: "b", Path: path})
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- send(t.Context(), "one") }()
	equal(t, "the first call", <-arrived, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := send(ctx, "one"); !errors.Is(err, context.Canceled) {
		t.Errorf("a second call of the key: %v", err)
	}
	go func() { ended <- send(t.Context(), "two") }()
	equal(t, "the second call", <-arrived, "two")
	close(proceed)
	for range 2 {
		check(t, <-ended)
	}
	check(t, send(t.Context(), "one"))
}

// Sixteen shards that meet the same are told of once an hour.
func TestSayOnce(t *testing.T) {
	var b strings.Builder
	log := sayOnce(slog.New(slog.NewTextHandler(&b, nil)))
	say := func(at time.Time, text string) {
		r := slog.NewRecord(at, slog.LevelWarn, text, 0)
		if err := log.With("shard", 1).Handler().Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	say(noon, "one")
	say(noon.Add(time.Minute), "two")
	say(noon.Add(sayAgain-time.Second), "one")
	if n := strings.Count(b.String(), "msg=one"); n != 1 {
		t.Errorf("told %d times", n)
	}
	say(noon.Add(sayAgain), "one")
	if n := strings.Count(b.String(), "msg=one"); n != 2 || !strings.Contains(b.String(), "msg=two") {
		t.Errorf("an hour later:\n%s", b.String())
	}
}

func TestStateDir(t *testing.T) {
	for _, tc := range []struct {
		host Host
		want string
	}{
		{Host{Root: true, Env: []string{"HOME=/root", "XDG_STATE_HOME=/state"}}, "/var/lib/weedlc"},
		{Host{Env: []string{"HOME=/home/ann"}}, "/home/ann/.local/state/weedlc"},
		{Host{Env: []string{"HOME=/home/ann", "XDG_STATE_HOME=/state"}}, "/state/weedlc"},
		{Host{}, "/var/lib/weedlc"},
	} {
		if got := tc.host.stateDir(); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.host.Env, got, tc.want)
		}
	}
}

// What status says of a queue, one step either side of late.
func TestSweepPageLate(t *testing.T) {
	page := func(admitted time.Duration, unfinished int) sweepPage {
		return sweepPage{late: lateOptions{after: time.Hour, every: day}, Status: sweep.Summarize(sweep.Figures{
			Now: noon, Window: day,
			Sweeps: []sweep.SweepRecord{{Sweep: "one", AdmittedAt: noon.Add(-admitted), Unfinished: unfinished, Done: 16 - unfinished}},
		})}
	}
	for _, tc := range []struct {
		page sweepPage
		want int
	}{
		{page(time.Hour, 1), 0},
		{page(time.Hour+1, 1), 1},
		{page(time.Hour+1, 0), 0},
		{page(25*time.Hour, 0), 0},
		{page(25*time.Hour+1, 0), 1},
		{sweepPage{late: lateOptions{every: day}}, 1},
		{sweepPage{}, 0},
	} {
		if got := attention(tc.page.lines()); len(got) != tc.want {
			t.Errorf("%+v: %q, want %d", tc.page.Sweeps, got, tc.want)
		}
	}
}
