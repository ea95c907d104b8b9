package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// replayRules fills a cluster that has rules for replay only: fresh objects of
// every shard, and versions.
func replayRules(r *rig, plain, versioned string) (young []string) {
	r.CreateBucket(plain, weedtest.Plain, document(
		rule("days", prefix(""), expire(2)), rule("later", both(prefix("k"), tag("a", "1")), expire(30)), rule("abort", prefix("u/"), abort(7))))
	r.CreateBucket(versioned, weedtest.Versioned, document(rule("nc", prefix(""), noncurrent(3, 2))))
	for i := range 40 {
		key := fmt.Sprintf("young%02d", i)
		r.Put(plain, key, weedtest.Object{})
		young = append(young, key)
	}
	r.StartUpload(plain, "u/x")
	for range 4 {
		r.Put(versioned, "k", weedtest.Object{})
	}
	return young
}

// A built-in pass after ours takes the cursors as its own: it sees no change of
// the rules, walks nothing, and goes on from our position.
func TestBuiltInAfterOurs(t *testing.T) {
	r := newRig(t)
	const plain, versioned = "after-ours", "after-ours-versioned"
	young := replayRules(r, plain, versioned)
	old := func() {
		for i := range 20 {
			r.Put(plain, fmt.Sprintf("old%02d", i), weedtest.Object{Age: 5 * day})
		}
	}
	old()
	wantRecovery(t, r.run(t.Context()), "cold_start")
	r.wantKeys(plain, young...)
	ours := r.cursors()
	if len(ours) != len(allShards) || ours[0].RuleSetHash.IsZero() {
		t.Fatalf("the pass left %d cursors, the first %+v", len(ours), ours[0])
	}

	old()
	out := r.RunBuiltIn()
	r.wantKeys(plain, young...)
	for sh, c := range r.cursors() {
		was := ours[sh]
		if c.RuleSetHash != was.RuleSetHash || c.PromotedHash != was.PromotedHash {
			t.Errorf("shard %d: the hashes became %v and %v, they were %v and %v\n%s",
				sh, c.RuleSetHash, c.PromotedHash, was.RuleSetHash, was.PromotedHash, out)
		}
		if c.LastWalkedNs != was.LastWalkedNs {
			t.Errorf("shard %d: the built-in pass has walked\n%s", sh, out)
		}
		// A recovery would put it at the longest delay before now.
		if c.TsNs < was.TsNs {
			t.Errorf("shard %d: the position went back from %d to %d", sh, was.TsNs, c.TsNs)
		}
	}

	rep := r.pass(pass.OK)
	wantQuiet(t, rep)
	r.wantKeys(plain, young...)
	same(t, "uploads", r.Uploads(plain), []string{"u/x"})
	if got := r.versions(versioned); len(got) != 4 {
		t.Errorf("the versions are %v", got)
	}
}

// Our pass after a built-in one walks nothing, and goes on from its position;
// what was not due then goes when it is.
func TestOursAfterBuiltIn(t *testing.T) {
	r := newRig(t)
	const plain, versioned = "after-builtin", "after-builtin-versioned"
	young := replayRules(r, plain, versioned)
	r.Put(plain, "old", weedtest.Object{Age: 5 * day})
	out := r.RunBuiltIn()
	r.wantKeys(plain, young...)
	theirs := r.cursors()
	if len(theirs) != len(allShards) {
		t.Fatalf("the built-in pass left %d cursors\n%s", len(theirs), out)
	}

	wantQuiet(t, r.pass(pass.OK))
	for sh, c := range r.cursors() {
		if was := theirs[sh]; c.RuleSetHash != was.RuleSetHash || c.PromotedHash != was.PromotedHash || c.LastWalkedNs != was.LastWalkedNs {
			t.Errorf("shard %d: the cursor became %+v, it was %+v", sh, c, was)
		}
	}
	r.wantKeys(plain, young...)

	var due []sent
	for _, key := range young {
		due = append(due, sent{plain, key, "", engine.ExpirationDays})
	}
	r.passAt(time.Now().Add(2*day), pass.OK, due...)
	r.wantKeys(plain)
}

// Rules that changed under the built-in worker are walked for by ours, in their
// bucket only, though the cursor's hash is today's.
func TestOursAfterRulesChangedUnderTheBuiltIn(t *testing.T) {
	r := newRig(t)
	const plain, versioned = "edited", "edited-versioned"
	young := replayRules(r, plain, versioned)
	r.pass(pass.OK)
	r.PutRules(versioned, document(rule("nc", prefix(""), noncurrent(3, 2)), rule("days", prefix("x"), expire(9))))
	r.RunBuiltIn()
	r.wantKeys(plain, young...)
	rep := r.pass(pass.OK)
	wantRecovery(t, rep, "rules_changed")
	if got := rep.Totals.EntriesWalked; got != 4 {
		t.Errorf("%d entries were walked, want the 4 versions of the bucket with other rules", got)
	}
	wantQuiet(t, r.pass(pass.OK))
}
