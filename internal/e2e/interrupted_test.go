package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// A pass that is interrupted keeps what it has done: the next one does the
// rest and sends no object a second call. What was in flight is heard.
func TestInterruptedPassSavesItsProgress(t *testing.T) {
	for _, tc := range []struct {
		name        string
		way         way
		concurrency int
		rate        rate.Limit
	}{
		{"walk", ways[0], 2, rate.Inf},
		{"walk listed to its end", ways[0], 100, 50},
		{"replay", ways[1], 2, rate.Inf},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, way := newRig(t), tc.way
			r.opts.Settle, r.opts.Concurrency, r.opts.Limiter = time.Millisecond, tc.concurrency, rate.NewLimiter(tc.rate, 1)
			b := fmt.Sprintf("interrupted-%s-%d", way.name, tc.concurrency)
			r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
			way.ready(r)
			// The young ones come first in a walk.
			var young []entry
			var kept []string
			for i := range 40 {
				kept = append(kept, fmt.Sprintf("a%02d", i))
				young = append(young, entry{"/buckets/" + b, file(kept[i], time.Now())})
			}
			r.createAll(young)
			var due []sent
			for i := range 60 {
				key := fmt.Sprintf("k%02d", i)
				r.Put(b, key, weedtest.Object{Age: 2 * day})
				due = append(due, sent{b, key, "", engine.ExpirationDays})
			}
			r.proxy.Forget()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			rep := r.meanwhile(ctx, 20, cancel)
			if rep.Status != pass.CutShort || !rep.Interrupted || rep.CutShort {
				t.Errorf("the pass ended %q, interrupted %v, cut short %v: %+v", rep.Status, rep.Interrupted, rep.CutShort, rep.Errors)
			}
			got := int64(len(r.deletes()))
			if got < 20 || got > 30 {
				t.Errorf("%d calls were made, want few after the twentieth", got)
			}
			if rep.Totals.Outcomes[pass.Done] != got {
				t.Errorf("of %d calls these were heard: %v", got, rep.Totals.Outcomes)
			}
			if left := len(r.Keys(b)); int64(left) != 100-got {
				t.Errorf("%d objects are left after %d calls", left, got)
			}
			if !way.replay {
				for sh, c := range r.cursors() {
					if !c.RuleSetHash.IsZero() {
						t.Errorf("shard %d: the walk that was cut counts as done", sh)
					}
				}
			}
			rep = r.run(t.Context())
			if rep.Status != pass.OK {
				t.Errorf("the next pass ended %q: %+v", rep.Status, rep.Errors)
			}
			if rep.Totals.EntriesWalked > 45 {
				t.Errorf("%d of 100 entries were walked after some twenty were done", rep.Totals.EntriesWalked)
			}
			r.wantSent(due...)
			r.wantKeys(b, kept...)
			r.pass(pass.OK)
		})
	}
}

// A budget of events ends a pass with its progress saved; passes that go on
// from there come to the end.
func TestEventBudget(t *testing.T) {
	r := newRig(t)
	r.opts.Settle = time.Millisecond
	const b = "budget"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	r.pass(pass.OK)
	var due []sent
	for i := range 30 {
		key := fmt.Sprintf("k%02d", i)
		r.Put(b, key, weedtest.Object{Age: 2 * day})
		due = append(due, sent{b, key, "", engine.ExpirationDays})
	}
	r.proxy.Forget()
	r.opts.Events = 25
	cut := 0
	for cut < 10 {
		rep := r.run(t.Context())
		if rep.Totals.EventsScanned > 25 {
			t.Errorf("a pass has read %d events", rep.Totals.EventsScanned)
		}
		if rep.Status == pass.OK {
			break
		}
		if rep.Status != pass.CutShort || !rep.CutShort {
			t.Fatalf("the pass ended %q: %+v", rep.Status, rep.Errors)
		}
		cut++
	}
	if cut < 2 || cut == 10 {
		t.Errorf("%d passes were cut short before one came to the end", cut)
	}
	r.wantSent(due...)
	r.wantKeys(b)
}

// A filer that is killed in the middle of a pass ends it, named and in time,
// and nothing is lost: the next pass finishes. What the crash takes from the
// log, which the filer holds in memory for up to a minute, reconciliation makes
// up for.
func TestKilledFilerEndsThePass(t *testing.T) {
	server := weedtest.New(t, weedtest.Config{Separate: true})
	for _, way := range []struct {
		name      string
		settle    time.Duration
		reconcile time.Duration
	}{{name: "walk"}, {name: "replay", settle: 5 * time.Minute, reconcile: 1}} {
		t.Run(way.name, func(t *testing.T) {
			r := rigOn(t, server.Client(t))
			r.Remove(cursorfile.FilerDir)
			r.opts.Settle, r.opts.Concurrency = way.settle, 32
			b := "killed-" + way.name
			r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
			if way.settle > 0 {
				r.pass(pass.OK) // what follows is replayed
			}
			for i := range 200 {
				r.Put(b, fmt.Sprintf("k%03d", i), weedtest.Object{Age: 2 * day})
			}
			r.endsInTime(server.Addr(weedtest.Filer).String(), func() { r.must(server.Kill(weedtest.Filer)) })

			r.must(server.Restart(t.Context(), weedtest.Filer))
			r = rigOn(t, server.Client(t))
			r.opts.Settle, r.opts.ReconcileInterval = way.settle, way.reconcile
			if rep := r.run(t.Context()); rep.Status != pass.OK {
				t.Errorf("the next pass ended %q: %+v", rep.Status, rep.Errors)
			}
			r.wantKeys(b)
			r.pass(pass.OK)
		})
	}
}

// A filer that cannot be reached any more ends a pass in the same way; its log
// is still there afterwards, so the next pass finishes.
func TestUnreachableFilerEndsThePass(t *testing.T) {
	for name, settle := range map[string]time.Duration{"walk": 0, "replay": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			// Pages are small, so that the walk still has to list.
			r.opts.Settle, r.opts.Concurrency, r.opts.PageSize = settle, 32, 16
			b := "unreachable-" + name
			r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
			if settle > 0 {
				r.pass(pass.OK)
			}
			for i := range 200 {
				r.Put(b, fmt.Sprintf("k%03d", i), weedtest.Object{Age: 2 * day})
			}
			link := weedtest.NewLink(t, r.server.Addr(weedtest.Filer).GRPC())
			address := fmt.Sprintf("127.0.0.1:1.%d", link.Port())
			through := r.dialVia(address)
			direct := r.filer.Filer
			r.filer.Filer, r.store = through, cursorfile.NewStore(through.Files(cursorfile.FilerDir), nil)
			r.endsInTime(address, link.Cut)
			// Replay needs no filer for what the log has shown it.
			if left := len(r.Keys(b)); left == 0 && name == "walk" || left > 150 {
				t.Errorf("%d objects are left, want some of those after the fiftieth", left)
			}

			r.filer.Filer, r.store = direct, cursorfile.NewStore(r.cluster.Files(cursorfile.FilerDir), nil)
			if rep := r.run(t.Context()); rep.Status != pass.OK {
				t.Errorf("the next pass ended %q: %+v", rep.Status, rep.Errors)
			}
			r.wantKeys(b)
			r.pass(pass.OK)
		})
	}
}

// endsInTime runs a pass in the middle of which the filer gets lost. It must
// fail within a minute and name the filer.
func (r *rig) endsInTime(filer string, lose func()) {
	r.t.Helper()
	start := time.Now()
	rep := r.meanwhile(r.t.Context(), 50, lose)
	if took := time.Since(start); took > time.Minute {
		r.t.Errorf("the pass took %s", took)
	}
	if rep.Status != pass.Failed {
		r.t.Errorf("the pass ended %q", rep.Status)
	}
	if !slices.ContainsFunc(rep.Errors, func(p pass.Problem) bool { return containsQuoted(p.Message, filer) }) {
		r.t.Errorf("no error names filer %q: %+v", filer, rep.Errors)
	}
}
