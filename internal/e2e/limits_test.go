package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// In any stretch of time the gateway sees at most the burst and the rate's part
// of it, from replay and walk together.
func TestDeletesPerSecond_HoldsAtTheGateway(t *testing.T) {
	const perSecond, burst, objects = 60.0, 6, 48
	// jitter is how much later one call may arrive than another after both were
	// sent.
	const jitter = 50 * time.Millisecond
	for _, concurrency := range []int{1, 32} {
		t.Run(fmt.Sprintf("concurrency %d", concurrency), func(t *testing.T) {
			r := newRig(t)
			r.CreateBucket("limited", weedtest.Plain, document(rule("some", prefix("arrived/"), expire(1))))
			put := func(format string) {
				for i := range objects {
					r.Put("limited", fmt.Sprintf(format, i), weedtest.Object{Age: 2 * day})
				}
			}
			put("walked/%02d")
			r.opts.Settle = 0
			r.pass(pass.OK)
			// What is written from now on is met by its events, and what was there
			// before by a walk for the new rule.
			put("arrived/%02d")
			r.PutRules("limited", document(rule("all", prefix(""), expire(1))))
			r.opts.Concurrency, r.opts.Limiter = concurrency, rate.NewLimiter(perSecond, burst)

			rep := r.run(t.Context())
			if rep.Status != pass.OK {
				t.Fatalf("the pass ended %q: %+v", rep.Status, rep.Errors)
			}
			if rep.Totals.EventsScanned == 0 || rep.Totals.EntriesWalked == 0 {
				t.Fatalf("%d events and %d entries: replay and walk were to share the limit", rep.Totals.EventsScanned, rep.Totals.EntriesWalked)
			}
			calls := r.proxy.Calls(weedtest.LifecycleDelete)
			if len(calls) != 2*objects {
				t.Fatalf("%d calls, want %d", len(calls), 2*objects)
			}
			for i := range calls {
				for j := i; j < len(calls); j++ {
					stretch := calls[j].At.Sub(calls[i].At) + jitter
					if n, most := j-i+1, burst+perSecond*stretch.Seconds(); float64(n) > most {
						t.Fatalf("%d calls in %v, at most %.1f", n, stretch-jitter, most)
					}
				}
			}
		})
	}
}
