package e2e_test

import (
	"slices"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// wantSkipped fails unless the pass counts so many objects as locked.
func wantSkipped(t *testing.T, rep *pass.Report, want int64) {
	t.Helper()
	if got := rep.Totals.Outcomes[pass.SkippedObjectLock]; got != want {
		t.Errorf("%d objects count as locked, want %d: %v", got, want, rep.Totals.Outcomes)
	}
}

// A locked object that is due is skipped without a call, which is no failure,
// and the end of its lock is kept in mind.
func TestScenario32_LockedCurrentVersion(t *testing.T) {
	r := newRig(t)
	r.opts.Settle = 0
	const b = "s32"
	r.CreateBucket(b, weedtest.Locked, document(rule("days", prefix(""), expire(7))))
	until := time.Now().Add(20 * day).Truncate(time.Second)
	v1 := r.Put(b, "k", weedtest.Object{Body: "locked", Compliance: until, Age: 10 * day})
	r.Put(b, "held", weedtest.Object{LegalHold: true, Age: 10 * day})
	free := r.Put(b, "free", weedtest.Object{Age: 10 * day})

	rep := r.pass(pass.OK, sent{b, "free", free, engine.ExpirationDays})
	wantSkipped(t, rep, 2)
	if got := r.getVersion(b, "k", v1); got != "locked" {
		t.Errorf("the version reads %q", got)
	}
	r.wantKeys(b, "k", "held")
	var ends []int64
	for _, sh := range allShards {
		ends = append(ends, r.state(sh).Side.Buckets[b].WalkAtNs...)
	}
	if !slices.Contains(ends, until.UnixNano()) {
		t.Errorf("walks are planned for %v, none for the end of the lock %v", ends, until)
	}
	r.pass(pass.OK)
}

// Locked versions stay, to the second, and a governance lock is as good as any.
// A hold outlasts an expired retention.
func TestScenario33_LockedNoncurrentVersions(t *testing.T) {
	r := newRig(t)
	const b = "s33"
	r.CreateBucket(b, weedtest.Locked, document(rule("nc", prefix(""), noncurrent(30, 0))))
	// The pass runs at whole seconds that are over, since the gateway looks at
	// the lock by its own clock.
	at := time.Now().Truncate(time.Second).Add(-time.Second)
	old := map[string]string{}
	var kept []version
	for _, k := range []struct {
		key, mode string
		until     time.Time
		hold      bool
	}{
		{key: "free"},
		{key: "governance", mode: "GOVERNANCE", until: at.Add(day)},
		{key: "over", mode: "COMPLIANCE", until: at.Add(-time.Second)},
		{key: "at", mode: "COMPLIANCE", until: at},
		{key: "after", mode: "COMPLIANCE", until: at.Add(time.Second)},
		{key: "hold", mode: "COMPLIANCE", until: at.Add(-time.Hour), hold: true},
	} {
		v1 := r.Put(b, k.key, weedtest.Object{LegalHold: k.hold})
		v2 := r.Put(b, k.key, weedtest.Object{})
		r.SetDemoted(b, k.key, v1, at.Add(-60*day))
		r.SetVersionMtime(b, k.key, v2, at.Add(-60*day))
		if k.mode != "" {
			r.SetRetention(b, k.key, v1, k.mode, k.until)
		}
		old[k.key] = v1
		kept = append(kept, version{k.key, v2, true, false})
	}
	for _, key := range []string{"governance", "after", "hold"} {
		kept = append(kept, version{key, old[key], false, false})
	}
	r.opts.Settle = 0
	rep := r.passAt(at, pass.OK,
		sent{b, "free", old["free"], engine.NoncurrentDays},
		sent{b, "over", old["over"], engine.NoncurrentDays},
		sent{b, "at", old["at"], engine.NoncurrentDays})
	wantSkipped(t, rep, 3)
	r.wantVersions(b, kept...)

	// The lock that ends next is met when it does; the hold is lifted.
	r.SetHold(b, "hold", old["hold"], false)
	r.opts.Settle = 5 * time.Minute
	r.passAt(time.Now(), pass.OK,
		sent{b, "after", old["after"], engine.NoncurrentDays},
		sent{b, "hold", old["hold"], engine.NoncurrentDays})
}
