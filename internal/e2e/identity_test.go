package e2e_test

import (
	"testing"
	"time"

	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// An object that is replaced between its verdict and the delete is not what was
// judged: the gateway does nothing, and the pass judges what lies there now.
// One nanosecond of mtime tells an object from the one that it replaces.
func TestScenario48_ChangedBeforeTheDelete(t *testing.T) {
	at := time.Now().Truncate(time.Second).Add(-time.Minute).Add(500 * time.Millisecond)
	clock := at.Add(-9 * day)
	for _, tc := range []struct {
		name, rule string
		first      weedtest.Object
		change     func(r *rig, bucket string)
		body       string
	}{
		{
			name: "same size and second", rule: rule("days", prefix(""), expire(9)), first: weedtest.Object{Body: "old bytes"},
			change: func(r *rig, bucket string) {
				r.Put(bucket, "k", weedtest.Object{Body: "new bytes"})
				r.SetMtime(bucket, "k", clock.Add(step))
			}, body: "new bytes",
		},
		{
			name: "empty and empty", rule: rule("days", prefix(""), expire(9)),
			change: func(r *rig, bucket string) {
				r.Put(bucket, "k", weedtest.Object{})
				r.SetMtime(bucket, "k", clock.Add(step))
			},
		},
		{
			name: "tags", rule: rule("days", tag("tmp", "1"), expire(9)),
			first:  weedtest.Object{Body: "bytes", Tags: map[string]string{"tmp": "1"}},
			change: func(r *rig, bucket string) { r.SetTags(bucket, "k", "", map[string]string{"tmp": "2"}) }, body: "bytes",
		},
		{
			name: "written anew", rule: rule("days", prefix(""), expire(9)), first: weedtest.Object{Body: "old"},
			change: func(r *rig, bucket string) { r.Put(bucket, "k", weedtest.Object{Body: "newer"}) }, body: "newer",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Settle = 0
			const b = "changed"
			r.CreateBucket(b, weedtest.Plain, document(tc.rule))
			r.Put(b, "k", tc.first)
			r.SetMtime(b, "k", clock)
			r.filer.at = at
			rep := r.meanwhile(t.Context(), 1, func() { tc.change(r, b) })
			if rep.Status != pass.OK || rep.Totals.Outcomes[pass.NoopResolved] != 1 || rep.Totals.DeleteCalls != 1 {
				t.Errorf("the pass ended %q with %+v: %+v", rep.Status, rep.Totals, rep.Errors)
			}
			if body, ok := r.Get(b, "k"); !ok || body != tc.body {
				t.Errorf("the object reads %q, %v", body, ok)
			}
			id := r.proxy.Calls(weedtest.LifecycleDelete)[0].Delete.GetExpectedIdentity()
			if id.GetMtimeNs() != clock.UnixNano() || id.GetSize() != int64(len(tc.first.Body)) ||
				len(id.GetExtendedHash()) == 0 || (id.GetHeadFid() == "") != (tc.first.Body == "") {
				t.Errorf("the delete was sent with identity %+v", id)
			}
		})
	}
}

// What replaces an object and is due itself goes by a call of its own.
func TestChangedAndStillDue(t *testing.T) {
	r := newRig(t)
	r.opts.Settle = 0
	const b = "still-due"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(9))))
	r.Put(b, "k", weedtest.Object{Age: 20 * day})
	rep := r.meanwhile(t.Context(), 1, func() { r.Put(b, "k", weedtest.Object{Body: "other", Age: 10 * day}) })
	if rep.Status != pass.OK || rep.Totals.Outcomes[pass.NoopResolved] != 1 || rep.Totals.Outcomes[pass.Done] != 1 {
		t.Errorf("the pass ended %q with %+v: %+v", rep.Status, rep.Totals, rep.Errors)
	}
	r.wantKeys(b)
}

// A version that is no longer the current one is not expired for the one that
// has taken its place.
func TestVersionOnTopBeforeTheDelete(t *testing.T) {
	r := newRig(t)
	r.opts.Settle = 0
	const b = "on-top"
	r.CreateBucket(b, weedtest.Versioned, document(rule("days", prefix(""), expire(9))))
	v1 := r.Put(b, "k", weedtest.Object{Body: "one", Age: 20 * day})
	var v2 string
	rep := r.meanwhile(t.Context(), 1, func() { v2 = r.Put(b, "k", weedtest.Object{Body: "two"}) })
	if rep.Status != pass.OK || rep.Totals.Outcomes[pass.NoopResolved] != 1 || rep.Totals.DeleteCalls != 1 {
		t.Errorf("the pass ended %q with %+v: %+v", rep.Status, rep.Totals, rep.Errors)
	}
	r.wantVersions(b, version{"k", v2, true, false}, version{"k", v1, false, false})
}
