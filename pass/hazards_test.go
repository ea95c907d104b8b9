package pass_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// at moves the world to a number of days after its start.
func (w *world) at(days float64) {
	w.t.Helper()
	to := start.Add(time.Duration(days * float64(day)))
	if to.Before(w.c.Time()) {
		w.t.Fatalf("day %v is past", days)
	}
	w.c.AdvanceTo(to)
}

var start = time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)

func plainWorld(t *testing.T, rules ...string) *world {
	t.Helper()
	w := newWorld(t, memcluster.Config{Start: start})
	w.bucket("buk", engine.Unversioned, false, rules...)
	return w
}

func (w *world) put(key string, o memcluster.Object) {
	w.t.Helper()
	_, err := w.c.PutObject("buk", key, o)
	w.must(err)
}

func (w *world) tag(key, value string) {
	w.t.Helper()
	w.must(w.c.SetTags("buk", key, "", map[string]string{"t": value}))
}

func (w *world) gone(key string) bool {
	_, there := w.c.Tree("buk")[key]
	return !there
}

// mustBeGone and mustBeThere state the end of a history.
func (w *world) mustBeGone(key string) {
	w.t.Helper()
	if !w.gone(key) {
		w.t.Fatalf("%v: %q is still there", w.c.Time(), key)
	}
}

func (w *world) mustBeThere(key string) {
	w.t.Helper()
	if w.gone(key) {
		w.t.Fatalf("%v: %q is gone", w.c.Time(), key)
	}
}

const everything = "<Prefix></Prefix>"

// The event's entry is older than the live one: its identity would be stale,
// and the position would pass.
func TestHazardA_TaggedAfterThePut(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(10)))
	w.okPass()
	w.at(4.96)
	w.put("k", memcluster.Object{Size: 1})
	w.at(6)
	w.tag("k", "1")
	w.at(14.9)
	w.okPass()
	w.mustBeThere("k")
	w.at(15)
	if rep := w.okPass(); rep.Totals.Outcomes[pass.Done] != 1 {
		t.Fatalf("outcomes %v, want one done", rep.Totals.Outcomes)
	}
	w.mustBeGone("k")
}

// A later event of the same key in another group's window does not stand for
// the earlier one.
func TestHazardB_TwoWindowsOneKey(t *testing.T) {
	w := plainWorld(t, rule(tagFilter("t", "2"), expireAfter(1)), rule(everything, expireAfter(20)))
	w.okPass()
	w.at(0.01)
	w.put("k", memcluster.Object{Size: 1})
	w.at(18.77)
	w.okPass()
	w.tag("k", "1")
	w.at(19.5)
	w.okPass()
	w.at(21.97)
	w.okPass()
	w.mustBeGone("k")
}

// A match that no event of its own meets: the put went by unmatched shortly
// before the tag made it match.
func TestHazardC_TaggedShortlyBeforeDue(t *testing.T) {
	w := plainWorld(t, rule(tagFilter("t", "1"), expireAfter(5)))
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1})
	w.at(6 - 40.0/1440)
	w.okPass()
	w.at(6 - 30.0/1440)
	w.tag("k", "1")
	w.at(6 - 20.0/1440)
	w.okPass()
	w.at(6)
	w.okPass()
	w.mustBeGone("k")
}

// An odd entry that does not match yet.
func TestHazardD_OddBeforeItMatches(t *testing.T) {
	w := plainWorld(t, rule(tagFilter("t", "1"), expireAfter(5)))
	w.okPass()
	w.at(1.2)
	w.put("k", memcluster.Object{Size: 1, Mtime: start.Add(-time.Duration(2.4 * float64(day)))})
	w.at(1.3)
	w.okPass()
	w.at(1.56)
	w.tag("k", "1")
	w.at(1.6)
	w.okPass()
	w.mustBeThere("k")
	w.at(2.6)
	w.okPass()
	w.mustBeGone("k")
}

// builtin makes a cursor as the built-in worker leaves it: a position and
// today's hashes, no side file of ours.
func (w *world) builtin(ts time.Time) {
	snap, _ := w.snapshot()
	for _, sh := range allShards {
		cur, _ := w.store.Cursor(sh)
		cur.TsNs, cur.RuleSetHash = ts.UnixNano(), engine.ReplayContentHash(snap)
		cur.PromotedHash = engine.PromotedHash(snap, engine.MaxEffectiveTTL(snap))
		w.store.PutCursor(sh, cur)
	}
}

// Rules that change there and back while the built-in worker is in charge leave
// ours with a memory that looks right.
func TestHazardE1_RulesThereAndBackUnderTheBuiltin(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(20)))
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1})
	w.at(5)
	w.okPass()
	w.setRules("buk", rule("<Prefix>x</Prefix>", expireAfter(1)))
	w.builtin(w.c.Time().Add(-day))
	w.setRules("buk", rule(everything, expireAfter(20)))
	w.at(6)
	w.okPass()
	w.at(21.5)
	w.okPass()
	w.mustBeGone("k")
}

// killAfterFirstSave lets the first file of a shard's save through and nothing
// after it.
func (w *world) killAfterFirstSave(shard int) {
	var dead atomic.Bool
	w.c.SetHook(func(c memcluster.Call) error {
		if dead.Load() {
			return memcluster.Killed{}
		}
		if c.Done && c.Shard == shard && (c.Op == memcluster.OpSaveSide || c.Op == memcluster.OpSaveCursor) {
			dead.Store(true)
		}
		return nil
	})
}

// A pass that dies between the two files of a save, with a new rule.
func TestHazardE2_KilledBetweenTheSaves(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1})
	w.setRules("buk", rule(everything, expireAfter(20)))
	w.at(2)
	w.killAfterFirstSave(engine.ShardOf("buk", "k"))
	if rep := w.pass(); rep.Status != pass.Failed {
		t.Fatalf("the killed pass ended %q", rep.Status)
	}
	w.c.SetHook(nil)
	for d := 3.0; d <= 21; d++ {
		w.at(d)
		w.okPass()
	}
	w.mustBeGone("k")
}

// The same in our first pass after the built-in worker: the cursor must not be
// ahead of what only the side file knows.
func TestHazardE2_KilledBetweenTheSavesOfTheFirstTakeover(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(2)))
	w.at(0.5)
	w.builtin(w.c.Time())
	w.at(1)
	w.put("k", memcluster.Object{Size: 1, Mtime: start.Add(84 * hour)})
	w.at(4)
	w.killAfterFirstSave(engine.ShardOf("buk", "k"))
	if rep := w.pass(); rep.Status != pass.Failed {
		t.Fatalf("the killed pass ended %q", rep.Status)
	}
	w.c.SetHook(nil)
	w.at(4.5)
	w.okPass()
	w.mustBeThere("k")
	w.at(5.5)
	w.okPass()
	w.mustBeGone("k")
}

// The gateway's clock is ahead of the filer's: an object that the walk for a new
// rule keeps has its event further back than its age.
func TestSlack_WhereAWalkPutsTheGroups(t *testing.T) {
	w := newWorld(t, memcluster.Config{Start: start, GatewaySkew: 40 * time.Minute})
	w.bucket("buk", engine.Unversioned, false, rule(everything, expireAfter(10)))
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1})
	w.setRules("buk", rule(everything, expireAfter(3)))
	w.at(4 + 20.0/1440)
	w.okPass()
	w.mustBeThere("k")
	w.at(4 + 50.0/1440)
	w.okPass()
	w.mustBeGone("k")
}

// A walk that finds a version due and locked has it met when its retention
// ends.
func TestWalk_MeetsTheEndOfARetention(t *testing.T) {
	w := newWorld(t, memcluster.Config{Start: start})
	w.bucket("buk", engine.Enabled, true, rule(everything, noncurrentAfter(1, 0)))
	id, err := w.c.PutObject("buk", "k", memcluster.Object{Size: 1, Mode: "COMPLIANCE", RetainUntil: start.Add(8 * day)})
	w.must(err)
	_, err = w.c.PutObject("buk", "k", memcluster.Object{Size: 2})
	w.must(err)
	w.at(3)
	if rep := w.okPass(); rep.Totals.Outcomes[pass.SkippedObjectLock] != 1 {
		t.Fatalf("outcomes %v", rep.Totals.Outcomes)
	}
	w.at(7.9)
	if rep := w.okPass(); rep.Totals.EntriesWalked != 0 {
		t.Fatal("walked before the retention ended")
	}
	w.at(8)
	w.okPass()
	w.mustBeGone("k.versions/v_" + id)
}

// A rule that came under the built-in worker, and an entry that no event of its
// own time announces.
func TestHazardE3_RuleAddedUnderTheBuiltin(t *testing.T) {
	w := plainWorld(t, rule("<Prefix>x</Prefix>", expireAfter(3)))
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1, Mtime: start.Add(-4 * day)})
	w.at(2)
	w.okPass()
	w.setRules("buk", rule("<Prefix>x</Prefix>", expireAfter(3)), rule(everything, expireAfter(10)))
	w.builtin(w.c.Time().Add(-10 * day))
	w.at(3)
	w.okPass()
	w.at(6)
	w.okPass()
	w.mustBeGone("k")
}

// The built-in worker counts its recovery without slack.
func TestHazardF_BuiltinRecoveryHasNoSlack(t *testing.T) {
	w := newWorld(t, memcluster.Config{Start: start, GatewaySkew: 40 * time.Minute})
	w.bucket("buk", engine.Unversioned, false, rule(everything, expireAfter(1)))
	w.put("k", memcluster.Object{Size: 1})
	w.at(1.01) // the mtime is 40 minutes after the event
	w.builtin(w.c.Time().Add(-day))
	w.at(1.02)
	w.okPass()
	w.at(1.03)
	w.okPass()
	w.mustBeGone("k")
}

// A retention that outlasts the due time is met when it ends, whoever passed
// over the object meanwhile.
func TestHazardG_LockedBeforeItIsDue(t *testing.T) {
	for _, byBuiltin := range []bool{false, true} {
		w := newWorld(t, memcluster.Config{Start: start})
		w.bucket("buk", engine.Enabled, true, rule(everything, noncurrentAfter(5, 0)))
		w.okPass()
		w.at(0.5)
		id, err := w.c.PutObject("buk", "k", memcluster.Object{Size: 1, Mode: "COMPLIANCE", RetainUntil: start.Add(10 * day)})
		w.must(err)
		_, err = w.c.PutObject("buk", "k", memcluster.Object{Size: 2})
		w.must(err)
		w.at(1)
		w.okPass()
		w.at(6)
		if byBuiltin {
			w.builtin(w.c.Time())
		} else if rep := w.okPass(); rep.Totals.DeleteCalls != 0 || rep.Totals.Outcomes[pass.SkippedObjectLock] != 1 {
			t.Fatalf("a locked version: %d calls, outcomes %v", rep.Totals.DeleteCalls, rep.Totals.Outcomes)
		}
		w.at(7)
		w.okPass()
		w.at(10.1)
		w.okPass()
		w.mustBeGone("k.versions/v_" + id)
		w.mustBeThere("k.versions")
	}
}

// A legal hold has no end of its own: lifting it is an event.
func TestHazardG_HoldLifted(t *testing.T) {
	w := newWorld(t, memcluster.Config{Start: start})
	w.bucket("buk", engine.Enabled, true, rule(everything, noncurrentAfter(2, 0)))
	w.okPass()
	id, err := w.c.PutObject("buk", "k", memcluster.Object{Size: 1, LegalHold: true})
	w.must(err)
	_, err = w.c.PutObject("buk", "k", memcluster.Object{Size: 2})
	w.must(err)
	w.at(3)
	w.okPass()
	w.mustBeThere("k.versions/v_" + id)
	w.at(4)
	w.must(w.c.SetLegalHold("buk", "k", id, false))
	w.at(4.1)
	w.okPass()
	w.mustBeGone("k.versions/v_" + id)
}

// What was known nowhere, because the side file was lost, waits for its
// bucket's reconciliation and no longer.
func TestHazardH_LostSideFile(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(20)))
	w.opts.ReconcileInterval = 7 * day
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1, Mtime: start.Add(-15 * day)})
	w.at(2)
	w.okPass()
	for _, sh := range allShards {
		w.store.RemoveSide(sh)
	}
	for d := 3.0; d <= 12; d++ {
		w.at(d)
		if rep := w.pass(); rep.Status != pass.OK {
			t.Fatalf("day %v ended %q: %+v", d, rep.Status, rep.Errors)
		}
	}
	w.mustBeGone("k")
}

// A late object of the log's first days: its event is cut off while it waits.
func TestTrimmedLog_WalksForWhatItLost(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(5)))
	w.put("k", memcluster.Object{Size: 1})
	w.at(1)
	w.okPass()
	w.put("other", memcluster.Object{Size: 1})
	w.at(3)
	w.okPass()
	w.c.Trim(start.Add(12 * hour))
	w.at(3.5)
	rep := w.okPass()
	if rep.Totals.EntriesWalked == 0 {
		t.Fatal("the log lost what a group still needs, and nothing was walked")
	}
	if !slices.ContainsFunc(rep.Shards, func(s pass.ShardReport) bool { return s.Recovery == "log_trimmed" }) {
		t.Fatalf("no shard says log_trimmed: %+v", rep.Shards)
	}
	w.at(4)
	if rep := w.okPass(); rep.Totals.EntriesWalked != 0 {
		t.Fatal("walked again for the same trimming")
	}
	w.at(5)
	w.okPass()
	w.mustBeGone("k")
	w.mustBeThere("other")
}

// A young cluster's log begins with the cluster: nothing is missing.
func TestYoungCluster_IsNotATrimmedOne(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(5)))
	w.put("k", memcluster.Object{Size: 1})
	w.c.Advance(10 * time.Minute)
	w.builtin(w.c.Time().Add(-5 * day))
	rep := w.okPass()
	if rep.Totals.EntriesWalked != 0 {
		t.Fatalf("walked %d entries after the built-in worker", rep.Totals.EntriesWalked)
	}
}

// A rule edit in one bucket concerns that bucket alone.
func TestRecovery_IsScopedToTheChangedBucket(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(5)))
	w.bucket("other", engine.Unversioned, false, rule(everything, expireAfter(5)))
	for _, b := range []string{"buk", "other"} {
		_, err := w.c.PutObject(b, "k", memcluster.Object{Size: 1})
		w.must(err)
	}
	w.at(1)
	w.okPass()
	w.setRules("other", rule(everything, expireAfter(4)))
	w.at(2)
	if rep := w.okPass(); rep.Totals.EntriesWalked != 1 {
		t.Fatalf("walked %d entries, want the one of the changed bucket", rep.Totals.EntriesWalked)
	}
}

// Scenario 44: a long and a short rule on one cluster. Each object goes once,
// in its time, and events are read only when they arrive and when they are due.
func TestScenario44_LongAndShortRules(t *testing.T) {
	w := plainWorld(t, rule("<Prefix>s/</Prefix>", expireAfter(1)), rule("<Prefix>l/</Prefix>", expireAfter(30)))
	w.okPass()
	w.at(0.1)
	w.put("l/a", memcluster.Object{Size: 1})
	for d := 1.0; d <= 45; d++ {
		if d == 10 {
			w.put("s/b", memcluster.Object{Size: 1})
		}
		w.at(d)
		if d > 25 && d < 45 {
			continue // passes paused
		}
		w.okPass()
		if d == 12 {
			w.mustBeGone("s/b")
		}
		if d == 25 {
			w.mustBeThere("l/a")
		}
	}
	w.mustBeGone("l/a")
	if n := w.c.Counts().Deletes; n != 2 {
		t.Fatalf("%d calls, want one an object", n)
	}
}

// Scenario 49: an event that the log lost is found by reconciliation; a bucket
// made anew without rules is left alone.
func TestScenario49_LostAndStaleEvents(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(7)))
	w.opts.ReconcileInterval = 10 * day
	w.okPass()
	w.at(0.5)
	w.put("x", memcluster.Object{Size: 1})
	w.c.Lose(func(ev *engine.Event) bool { return ev.Path == "x" })
	w.at(9)
	if rep := w.pass(); rep.Status != pass.OK {
		t.Fatalf("ended %q", rep.Status)
	}
	for d := 10.0; d <= 21; d++ {
		w.at(d)
		w.pass()
	}
	w.mustBeGone("x")

	w = plainWorld(t, rule(everything, expireAfter(7)))
	w.okPass()
	w.at(0.5)
	w.put("x", memcluster.Object{Size: 1})
	w.at(1)
	w.okPass()
	w.must(w.c.DeleteBucket("buk"))
	w.bucket("buk", engine.Unversioned, false)
	w.put("x", memcluster.Object{Size: 1, Mtime: start})
	w.at(9)
	w.okPass()
	w.mustBeThere("x")
}

// Scenario 45: rules that are disabled while a walk is in the first bucket send
// nothing in the second, and are walked for when they come back unchanged.
func TestScenario45_RulesDisabledDuringTheWalk(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.bucket("second", engine.Unversioned, false, rule(everything, expireAfter(1)))
	w.opts.Concurrency = 1
	for _, b := range []string{"buk", "second"} {
		_, err := w.c.PutObject(b, "k", memcluster.Object{Size: 1})
		w.must(err)
	}
	w.at(2)
	w.c.SetHook(func(c memcluster.Call) error {
		if c.Op == memcluster.OpBucket && c.Bucket == "second" && !c.Done {
			w.setRules("second", strings.Replace(rule(everything, expireAfter(1)), "Enabled", "Disabled", 1))
		}
		return nil
	})
	if rep := w.pass(); rep.Status != pass.OK {
		t.Fatalf("ended %q: %+v", rep.Status, rep.Errors)
	}
	w.c.SetHook(nil)
	w.mustBeGone("k")
	if _, there := w.c.Tree("second")["k"]; !there {
		t.Fatal("a disabled rule deleted")
	}
	w.setRules("second", rule(everything, expireAfter(1)))
	w.at(2.1)
	w.okPass()
	if _, there := w.c.Tree("second")["k"]; there {
		t.Fatal("the rule is back and the object is still there")
	}
}

// An object that cannot be deleted stops its shard in front of it in replay,
// and the others go on.
func TestBlocked_StopsItsShardOnly(t *testing.T) {
	for _, outcome := range []engine.Outcome{engine.Blocked, engine.RetryLater} {
		w := plainWorld(t, rule(everything, expireAfter(1)))
		w.okPass()
		for _, k := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			w.c.Advance(time.Minute)
			w.put(k, memcluster.Object{Size: 1})
		}
		w.c.AnswerDeletes("buk", "d", memcluster.Answer{Outcome: outcome, Reason: "stuck"}, memcluster.Answer{Outcome: outcome, Reason: "stuck"})
		w.at(1.5)
		stuck := engine.ShardOf("buk", "d")
		for attempt := 1; attempt <= 2; attempt++ {
			w.c.Advance(hour)
			rep := w.pass()
			if rep.Status != pass.Partial {
				t.Fatalf("ended %q", rep.Status)
			}
			side, _ := w.store.Side(stuck)
			if b := side.Blocked; b == nil || b.Key != "d" || b.Outcome != string(outcome) || b.Attempts != attempt {
				t.Fatalf("attempt %d: blocked is %+v", attempt, b)
			}
			for _, k := range []string{"a", "b", "c", "e", "f", "g", "h"} {
				if engine.ShardOf("buk", k) != stuck && !w.gone(k) {
					t.Fatalf("%q of another shard is still there", k)
				}
			}
		}
		w.c.Advance(hour)
		w.okPass()
		if side, _ := w.store.Side(stuck); side.Blocked != nil {
			t.Fatalf("still blocked: %+v", side.Blocked)
		}
	}
}

// In a walk what failed is kept and tried first in the next pass; the walk goes
// on around it and counts as made.
func TestFailed_IsTriedFirstNextTime(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	for _, k := range []string{"a", "b", "c"} {
		w.put(k, memcluster.Object{Size: 1})
	}
	w.at(2)
	w.c.AnswerDeletes("buk", "b", memcluster.Answer{Outcome: engine.RetryLater, Reason: "busy"})
	rep := w.pass()
	if rep.Status != pass.Partial || !w.gone("a") || !w.gone("c") || w.gone("b") {
		t.Fatalf("ended %q", rep.Status)
	}
	side, _ := w.store.Side(engine.ShardOf("buk", "b"))
	if len(side.Failed) != 1 || side.Failed[0].Key != "b" {
		t.Fatalf("failed is %+v", side.Failed)
	}
	w.c.TakeCounts()
	w.at(2.1)
	w.okPass()
	w.mustBeGone("b")
	if n := w.c.Counts(); n.Folders != 0 || n.Deletes != 1 {
		t.Fatalf("the retry listed %d folders and sent %d calls", n.Folders, n.Deletes)
	}
}

// A skip for a lock that the entry does not show is not believed: the gateway
// also answers it when it could not read the lock.
func TestSkippedForAnUnseenLock_CountsAsRetryLater(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.put("k", memcluster.Object{Size: 1})
	w.at(2)
	w.c.AnswerDeletes("buk", "k", memcluster.Answer{Outcome: engine.SkippedObjectLock, Reason: "cannot tell"})
	rep := w.pass()
	if rep.Status != pass.Partial || rep.Totals.Outcomes[pass.RetryLater] != 1 {
		t.Fatalf("ended %q, outcomes %v", rep.Status, rep.Totals.Outcomes)
	}
	w.at(2.1)
	w.okPass()
}

// A folder left behind by a completed upload shares its chunks with the object
// that the upload made.
func TestLeftoverUpload_IsNeverAborted(t *testing.T) {
	for _, v := range []engine.Versioning{engine.Unversioned, engine.Enabled} {
		w := newWorld(t, memcluster.Config{Start: start})
		w.bucket("buk", v, false, rule(everything, abortAfter(1)))
		id, err := w.c.CreateUpload("buk", "k", memcluster.Object{})
		w.must(err)
		w.must(w.c.UploadPart("buk", id, 1, 5))
		_, err = w.c.CompleteUpload("buk", id, true)
		w.must(err)
		other, err := w.c.CreateUpload("buk", "k2", memcluster.Object{})
		w.must(err)
		w.must(w.c.UploadPart("buk", other, 1, 5))
		w.at(2)
		rep := w.pass()
		if rep.Status != pass.Partial || len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategoryUpload {
			t.Fatalf("ended %q: %+v", rep.Status, rep.Errors)
		}
		if lost := w.c.LostData(); len(lost) > 0 {
			t.Fatalf("data lost: %v", lost)
		}
		w.mustBeThere(".uploads/" + id)
		w.mustBeGone(".uploads/" + other)
	}
}

// Events, walks and calls of a pass do not grow over 90 days.
func TestFlatOver90Days(t *testing.T) {
	type flow struct {
		name  string
		rules string
		lock  bool
		do    func(w *world, day int, key string)
	}
	for _, f := range []flow{
		{"plain", rule(everything, expireAfter(7)), false, func(*world, int, string) {}},
		{"tags five hours after the upload, rules edited once", rule(everything, expireAfter(7)), false, func(w *world, d int, key string) {
			w.c.Advance(5 * hour)
			w.tag(key, "1")
			if d == 20 {
				w.setRules("buk", rule(everything, expireAfter(8)))
			}
		}},
		{"retention of 30 days under a rule of 7", rule(everything, noncurrentAfter(7, 0)), true, func(w *world, d int, key string) {
			_, err := w.c.PutObject("buk", key, memcluster.Object{Size: 2})
			w.must(err)
		}},
		{"one entry of the far future", rule(everything, expireAfter(7)), false, func(w *world, d int, key string) {
			if d == 1 {
				w.put("future", memcluster.Object{Size: 1, Mtime: start.AddDate(5, 0, 0)})
			}
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			w := newWorld(t, memcluster.Config{Start: start})
			v := engine.Unversioned
			if f.lock {
				v = engine.Enabled
			}
			w.bucket("buk", v, f.lock, f.rules)
			var early, late memcluster.Counts
			walks := 0
			for d := 1; d <= 90; d++ {
				w.at(float64(d))
				for i := range 5 {
					o := memcluster.Object{Size: 1}
					if f.lock {
						o.Mode, o.RetainUntil = "COMPLIANCE", w.c.Time().Add(30*day)
					}
					key := string(rune('a'+i)) + w.c.Time().Format("0102")
					w.put(key, o)
					if i == 0 {
						f.do(w, d, key)
					}
				}
				w.c.TakeCounts()
				w.at(float64(d) + 0.9)
				rep := w.okPass()
				n := w.c.TakeCounts()
				if d > 70 && rep.Totals.EntriesWalked > 0 {
					walks++
				}
				switch {
				case d > 40 && d <= 60:
					add(&early, n)
				case d > 70:
					add(&late, n)
				}
			}
			t.Logf("20 passes each: days 41 to 60 %+v; days 71 to 90 %+v, %d walks", early, late, walks)
			if late.Events > early.Events+early.Events/10 || late.Lookups > early.Lookups+early.Lookups/10 || late.Deletes > early.Deletes+early.Deletes/10 {
				t.Fatalf("grows: days 41 to 60 %+v; days 71 to 90 %+v", early, late)
			}
			// Each locked version that comes due needs the walk at the end of its
			// retention: one walk a pass, which is inherent.
			if want := map[bool]int{false: 0, true: 20}[f.lock]; walks != want {
				t.Fatalf("%d walks in 20 passes, want %d", walks, want)
			}
			if late.Deletes != 100 && !f.lock {
				t.Fatalf("%d calls for the 100 objects that came due", late.Deletes)
			}
		})
	}
}

func add(sum *memcluster.Counts, n memcluster.Counts) {
	sum.Deletes += n.Deletes
	sum.Events += n.Events
	sum.Folders += n.Folders
	sum.Lookups += n.Lookups
	sum.Entries += n.Entries
}

// The mixed cluster of the design: a rule of 1 day and one of 400. In steady
// state a pass reads the new windows, walks nothing and sends nothing.
func TestMixedDelays_ThirdPassSendsNothing(t *testing.T) {
	w := plainWorld(t, rule("<Prefix>s/</Prefix>", expireAfter(1)), rule("<Prefix>l/</Prefix>", expireAfter(400)))
	for i := range 50 {
		w.put("s/"+string(rune('a'+i)), memcluster.Object{Size: 1})
		w.put("l/"+string(rune('a'+i)), memcluster.Object{Size: 1})
	}
	w.at(2)
	w.okPass()
	w.at(3)
	w.okPass()
	w.c.TakeCounts()
	w.at(4)
	rep := w.okPass()
	n := w.c.TakeCounts()
	if n.Deletes != 0 || rep.Totals.EntriesWalked != 0 || n.Events != 0 {
		t.Fatalf("the third pass: %+v", n)
	}
}

var errBoom = errors.New("boom")

// A filer that fails in the middle of the log ends the pass as failed, and
// nothing that was read and settled is lost.
func TestReadLogFails_ProgressIsSaved(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.okPass()
	for _, k := range []string{"a", "b", "c", "d"} {
		w.c.Advance(time.Minute)
		w.put(k, memcluster.Object{Size: 1})
	}
	w.at(1.5)
	events := 0
	w.c.SetHook(func(c memcluster.Call) error {
		if c.Op == memcluster.OpEvent && !c.Done {
			if events++; events > 3 {
				return errBoom
			}
		}
		return nil
	})
	if rep := w.pass(); rep.Status != pass.Failed {
		t.Fatalf("ended %q", rep.Status)
	}
	w.c.SetHook(nil)
	w.at(1.6)
	w.okPass()
	if n := w.c.Counts().Deletes; n != 4 {
		t.Fatalf("%d calls, want 4", n)
	}
}

// A position that a person moved back is honoured: everything since is read
// again. One moved forward skips nothing.
func TestMovedBackByHand(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(30)))
	w.okPass()
	for d := 1.0; d <= 5; d++ {
		w.at(d)
		w.put("k"+string(rune('0'+int(d))), memcluster.Object{Size: 1})
		w.okPass()
	}
	w.at(6)
	w.okPass()
	w.at(6.1)
	if rep := w.okPass(); rep.Totals.EventsScanned != 0 {
		t.Fatalf("%d events in a quiet pass", rep.Totals.EventsScanned)
	}
	for _, sh := range allShards {
		cur, _ := w.store.Cursor(sh)
		cur.TsNs = start.Add(36 * hour).UnixNano()
		w.store.PutCursor(sh, cur)
	}
	w.at(6.2)
	if rep := w.okPass(); rep.Totals.EventsScanned != 4 {
		t.Fatalf("%d events since the time that a person set, want 4", rep.Totals.EventsScanned)
	}
}
