package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// refusals are the two answers that leave an object undone.
var refusals = map[string]s3_lifecycle_pb.LifecycleDeleteOutcome{
	string(pass.Blocked):    s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED,
	string(pass.RetryLater): s3_lifecycle_pb.LifecycleDeleteOutcome_RETRY_LATER,
}

// In replay an object that cannot be deleted stops its shard in front of it:
// what comes behind it in the log waits, the other shards go on. When it can
// be deleted, the next pass does the rest.
func TestBlockedInReplay(t *testing.T) {
	for outcome, answer := range refusals {
		t.Run(outcome, func(t *testing.T) {
			r := newRig(t)
			// A shard's events are dealt with in their order, and positions move.
			r.opts.Concurrency, r.opts.Settle = 1, time.Millisecond
			bucket := "replay-" + outcome[:5]
			r.CreateBucket(bucket, weedtest.Plain, document(rule("the rule", prefix(""), expire(1))))
			r.pass(pass.OK)

			// The shard's third object of five, among so many of other shards that
			// the log has not been read to its end when the third fails.
			const shard = 6
			keys := keysInShard(bucket, shard, 5)
			var others []sent
			i := 0
			for n := 0; len(others) < 160; n++ {
				key := fmt.Sprintf("other%03d", n)
				if engine.ShardOf(bucket, key) == shard {
					continue
				}
				if len(others)%16 == 8 && i < len(keys) {
					r.Put(bucket, keys[i], weedtest.Object{Age: 2 * day})
					i++
				}
				r.Put(bucket, key, weedtest.Object{Age: 2 * day})
				others = append(others, sent{bucket, key, "", engine.ExpirationDays})
			}
			call := func(i int) sent { return sent{bucket, keys[i], "", engine.ExpirationDays} }
			r.proxy.Add(weedtest.Rule{Bucket: bucket, Path: keys[2], Outcome: answer, Reason: "because of the test"})

			rep := r.pass(pass.Partial, append(slices.Clone(others), call(0), call(1), call(2))...)
			r.wantKeys(bucket, keys[2:]...)
			first := r.wantBlocked(rep, shard, bucket, keys[2], outcome)
			if first.Attempts != 1 {
				t.Errorf("after one pass there are %d attempts", first.Attempts)
			}
			behind := r.state(shard).Side
			if behind.ArrivalsNs >= first.TsNs {
				t.Errorf("arrivals are at %d, behind the event at %d", behind.ArrivalsNs, first.TsNs)
			}

			// Nothing is tried but the one that blocks.
			rep = r.pass(pass.Partial, call(2))
			again := r.wantBlocked(rep, shard, bucket, keys[2], outcome)
			if again.Attempts != 2 || again.SinceNs != first.SinceNs {
				t.Errorf("after two passes: %d attempts since %d, want 2 since %d", again.Attempts, again.SinceNs, first.SinceNs)
			}

			r.proxy.Clear()
			rep = r.pass(pass.OK, call(2), call(3), call(4))
			if s := shardReport(t, rep, shard); s.Blocked != nil {
				t.Errorf("the shard is still blocked: %+v", s.Blocked)
			}
			if blocked := r.state(shard).Side.Blocked; blocked != nil {
				t.Errorf("the side file still says blocked: %+v", blocked)
			}
			r.wantKeys(bucket)
			r.pass(pass.OK)
		})
	}
}

// wantBlocked fails unless one shard of the report is blocked by the key, and
// the errors and the side file say so too.
func (r *rig) wantBlocked(rep *pass.Report, shard int, bucket, key, outcome string) engine.Failure {
	r.t.Helper()
	for _, s := range rep.Shards {
		switch {
		case s.Shard != shard:
			if s.Status != pass.OK || s.Blocked != nil {
				r.t.Errorf("shard %d ended %q, %+v", s.Shard, s.Status, s.Blocked)
			}
		case s.Status != pass.Partial || s.Blocked == nil:
			r.t.Fatalf("shard %d ended %q, %+v", s.Shard, s.Status, s.Blocked)
		}
	}
	f := r.state(shard).Side.Blocked
	if f == nil {
		r.t.Fatalf("the side file of shard %d names nothing that blocks", shard)
	}
	if f.Bucket != bucket || f.Key != key || f.Outcome != outcome || f.RuleID != "the rule" ||
		f.Action != engine.ExpirationDays.String() || f.Reason != "because of the test" || f.RuleHash == "" {
		r.t.Errorf("what blocks is %+v", f)
	}
	r.wantNamed(rep, shard, bucket, key)
	return *f
}

// wantNamed fails unless the report's only error is about the key.
func (r *rig) wantNamed(rep *pass.Report, shard int, bucket, key string) {
	r.t.Helper()
	if len(rep.Errors) != 1 {
		r.t.Fatalf("the report has %d errors, want 1: %+v", len(rep.Errors), rep.Errors)
	}
	p := rep.Errors[0]
	if p.Shard != shard || p.Bucket != bucket || p.Category != pass.CategoryBlocked || p.RuleID != "the rule" || !containsQuoted(p.Message, key) {
		r.t.Errorf("the error is %+v", p)
	}
}

// A walk goes on around an object that cannot be deleted, keeps it, and the
// next pass tries it first and nothing else again.
func TestFailedInAWalk(t *testing.T) {
	for outcome, answer := range refusals {
		t.Run(outcome, func(t *testing.T) {
			r := newRig(t)
			r.opts.Settle = 0
			bucket := "walk-" + outcome[:5]
			r.CreateBucket(bucket, weedtest.Plain, document(rule("the rule", prefix(""), expire(1))))
			const shard = 9
			keys := keysInShard(bucket, shard, 3)
			var rest []sent
			for _, key := range append(keysInShard(bucket, 2, 10), keys...) {
				r.Put(bucket, key, weedtest.Object{Age: 2 * day})
				if key != keys[1] {
					rest = append(rest, sent{bucket, key, "", engine.ExpirationDays})
				}
			}
			failing := sent{bucket, keys[1], "", engine.ExpirationDays}
			r.proxy.Add(weedtest.Rule{Bucket: bucket, Path: keys[1], Outcome: answer, Reason: "because of the test"})

			rep := r.pass(pass.Partial, append(rest, failing)...)
			r.wantKeys(bucket, keys[1])
			first := r.wantFailed(rep, shard, bucket, keys[1], outcome)
			rep = r.pass(pass.Partial, failing)
			wantRecovery(t, rep, "")
			again := r.wantFailed(rep, shard, bucket, keys[1], outcome)
			if again.Attempts != first.Attempts+1 || again.SinceNs != first.SinceNs {
				t.Errorf("after two passes: %d attempts since %d, after one %d since %d", again.Attempts, again.SinceNs, first.Attempts, first.SinceNs)
			}
			r.proxy.Clear()
			r.pass(pass.OK, failing)
			if failed := r.state(shard).Side.Failed; len(failed) != 0 {
				t.Errorf("the side file still has %+v", failed)
			}
			r.wantKeys(bucket)
			r.pass(pass.OK)
		})
	}
}

// wantFailed fails unless the shard keeps exactly the key as failed.
func (r *rig) wantFailed(rep *pass.Report, shard int, bucket, key, outcome string) engine.Failure {
	r.t.Helper()
	if s := shardReport(r.t, rep, shard); s.Status != pass.Partial || len(s.Failed) != 1 {
		r.t.Errorf("shard %d ended %q, %+v", shard, s.Status, s.Failed)
	}
	failed := r.state(shard).Side.Failed
	if len(failed) != 1 {
		r.t.Fatalf("the side file of shard %d keeps %d failures: %+v", shard, len(failed), failed)
	}
	f := failed[0]
	if f.Bucket != bucket || f.Key != key || f.Outcome != outcome || f.RuleID != "the rule" || f.Reason != "because of the test" {
		r.t.Errorf("what failed is %+v", f)
	}
	r.wantNamed(rep, shard, bucket, key)
	return f
}

// A call that fails on the way is made again, after the pause that the server
// asks for; one that was carried out and not heard of is no failure.
func TestTransportErrorsAreTriedAgain(t *testing.T) {
	r := newRig(t)
	const b = "transport"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	for _, key := range []string{"twice", "paused", "lost"} {
		r.Put(b, key, weedtest.Object{Age: 2 * day})
	}
	const pause = time.Second
	r.proxy.Add(weedtest.Rule{Path: "twice", Err: status.Error(codes.Unavailable, "by the test"), Times: 2})
	r.proxy.Add(weedtest.Rule{Path: "paused", Err: weedtest.RetryAfter(codes.ResourceExhausted, pause), Times: 1})
	r.proxy.Add(weedtest.Rule{Path: "lost", Err: status.Error(codes.Unavailable, "by the test"), Carried: true, Times: 1})
	call := func(key string) sent { return sent{b, key, "", engine.ExpirationDays} }
	rep := r.pass(pass.OK, call("twice"), call("twice"), call("twice"), call("paused"), call("paused"), call("lost"), call("lost"))
	r.wantKeys(b)
	if got := rep.Totals.Outcomes; got[pass.Done] != 2 || got[pass.NoopResolved] != 1 || len(got) != 2 {
		t.Errorf("the outcomes are %v", got)
	}
	var at []time.Time
	for _, c := range r.proxy.Calls(weedtest.LifecycleDelete) {
		if c.Delete.GetObjectPath() == "paused" {
			at = append(at, c.At)
		}
	}
	if len(at) == 2 && at[1].Sub(at[0]) < pause {
		t.Errorf("the second attempt came after %s, the server asked for %s", at[1].Sub(at[0]), pause)
	}
}

// A gateway that refuses us ends the pass: nothing is sent again and again.
func TestRefusingGatewayEndsThePass(t *testing.T) {
	r := newRig(t)
	const b = "refused"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	for i := range 50 {
		r.Put(b, fmt.Sprintf("k%02d", i), weedtest.Object{Age: 2 * day})
	}
	r.proxy.Add(weedtest.Rule{Err: status.Error(codes.PermissionDenied, "by the test")})
	r.proxy.Forget()
	rep := r.run(t.Context())
	if rep.Status != pass.Failed || len(rep.Errors) == 0 {
		t.Errorf("the pass ended %q: %+v", rep.Status, rep.Errors)
	}
	if got := len(r.deletes()); got < 1 || got > r.opts.Concurrency {
		t.Errorf("%d calls were made to a gateway that refuses them", got)
	}
	r.proxy.Clear()
	r.run(t.Context())
	r.wantKeys(b)
}
