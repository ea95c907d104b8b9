package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// Of two passes at once one works. The other is told who does, or waits and
// finds nothing left: every object gets one call.
func TestTwoPassesAtOnce(t *testing.T) {
	r := newRig(t)
	r.opts.Settle = 0
	const b = "two-passes"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	var due []sent
	for i := range 30 {
		key := fmt.Sprintf("k%02d", i)
		r.Put(b, key, weedtest.Object{Age: 2 * day})
		due = append(due, sent{b, key, "", engine.ExpirationDays})
	}
	owner := func(pid int) cluster.Owner {
		return cluster.Owner{Host: "host.example", PID: pid, Since: time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)}
	}
	second := r.dial()
	r.proxy.Forget()

	held, err := r.cluster.LockShards(t.Context(), allShards, owner(1), 0)
	r.must(err)
	waited := make(chan *cluster.Held, 1)
	r.opts.Held = held.Err
	rep := r.meanwhile(t.Context(), 1, func() {
		_, err := second.LockShards(t.Context(), []int{2, 3}, owner(2), 0)
		var refused *cluster.HeldError
		if !errors.As(err, &refused) || refused.Shard != 2 || refused.Owner != owner(1) {
			t.Errorf("the second pass got its lock: %v", err)
		}
		go func() {
			lock, err := second.LockShards(t.Context(), allShards, owner(2), time.Minute)
			if err != nil {
				t.Errorf("the second pass has waited in vain: %v", err)
			}
			waited <- lock
		}()
	})
	if rep.Status != pass.OK {
		t.Errorf("the first pass ended %q: %+v", rep.Status, rep.Errors)
	}
	select {
	case <-waited:
		t.Fatal("the second pass got the locks under the first")
	default:
	}
	held.Release()

	lock := <-waited
	if lock == nil {
		t.FailNow()
	}
	defer lock.Release()
	r.opts.Held = lock.Err
	o := r.opts
	o.Now = time.Now()
	if rep := pass.Run(t.Context(), o, pass.Deps{Filer: second, Gateway: second, Store: r.store}); rep.Status != pass.OK {
		t.Errorf("the second pass ended %q: %+v", rep.Status, rep.Errors)
	}
	r.wantSent(due...)
	r.wantKeys(b)
}

// A shard whose lock was lost is not saved; the others are.
func TestLostLockSavesNothing(t *testing.T) {
	r := newRig(t)
	const b = "lost-lock"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	r.pass(pass.OK)
	before := r.cursors()
	r.opts.Held = func(shard int) error {
		if shard == 4 {
			return errors.New("lost by the test")
		}
		return nil
	}
	r.opts.Settle = time.Minute // positions move
	rep := r.run(t.Context())
	if rep.Status != pass.Failed || len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategoryLock || rep.Errors[0].Shard != 4 {
		t.Errorf("the pass ended %q: %+v", rep.Status, rep.Errors)
	}
	var kept []int
	for sh, c := range r.cursors() {
		if c == before[sh] {
			kept = append(kept, sh)
		}
	}
	if !slices.Equal(kept, []int{4}) {
		t.Errorf("the cursors of shards %v are what they were, want that of shard 4", sorted(kept))
	}
}
