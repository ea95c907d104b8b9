package e2e_test

import (
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// An expiration of a versioned key puts a marker on top and frees nothing;
// older versions are none of its business.
func TestScenario19_DaysAddAMarker(t *testing.T) {
	r := newRig(t)
	const b = "s19"
	r.CreateBucket(b, weedtest.Versioned, document(rule("days", prefix(""), expire(7))))
	v1 := r.Put(b, "k", weedtest.Object{Body: "one", Age: 50 * day})
	v2 := r.Put(b, "k", weedtest.Object{Body: "two", Age: 10 * day})
	r.pass(pass.OK, sent{b, "k", v2, engine.ExpirationDays})
	r.wantMarked(b, "k", version{"k", v2, false, false}, version{"k", v1, false, false})
	for id, want := range map[string]string{v1: "one", v2: "two"} {
		if got := r.getVersion(b, "k", id); got != want {
			t.Errorf("version %q reads %q, want %q", id, got, want)
		}
	}
	if _, ok := r.Get(b, "k"); ok {
		t.Error("the key can still be read")
	}

	// Scenario 20: a marker is no object that expires.
	r.pass(pass.OK)
	r.wantMarked(b, "k", version{"k", v2, false, false}, version{"k", v1, false, false})
}

func TestScenario20_NoMarkerOnAMarker(t *testing.T) {
	r := newRig(t)
	const b = "s20"
	r.CreateBucket(b, weedtest.Versioned, document(rule("days", prefix(""), expire(7))))
	v1 := r.Put(b, "k", weedtest.Object{})
	m := r.Delete(b, "k")
	r.AgeVersion(b, "k", v1, 20*day)
	r.AgeVersion(b, "k", m, 10*day)
	r.pass(pass.OK)
	r.pass(pass.OK)
	r.wantVersions(b, version{"k", m, true, true}, version{"k", v1, false, false})
}

// A version counts from the day on which it was followed, by a version or a
// marker; a stamp from an earlier such day does not count.
func TestScenario21_NoncurrentClock(t *testing.T) {
	r := newRig(t)
	const b = "s21"
	r.CreateBucket(b, weedtest.Versioned, document(rule("nc", prefix(""), noncurrent(30, 0))))
	now := time.Now()

	k1 := r.Put(b, "k", weedtest.Object{})
	k2 := r.Put(b, "k", weedtest.Object{})
	r.SetVersionMtime(b, "k", k1, now.Add(-400*day))
	r.SetVersionMtime(b, "k", k2, now.Add(-2*day))
	r.SetDemoted(b, "k", k1, now.Add(-2*day))

	m1 := r.Put(b, "m", weedtest.Object{})
	m2 := r.Delete(b, "m")
	r.SetVersionMtime(b, "m", m1, now.Add(-400*day))
	r.SetVersionMtime(b, "m", m2, now.Add(-40*day))
	r.SetDemoted(b, "m", m1, now.Add(-40*day))

	s1 := r.Put(b, "stale", weedtest.Object{})
	s2 := r.Put(b, "stale", weedtest.Object{})
	r.SetVersionMtime(b, "stale", s1, now.Add(-400*day))
	r.SetVersionMtime(b, "stale", s2, now.Add(-day))
	r.SetDemoted(b, "stale", s1, now.Add(-50*day))

	u1 := r.Put(b, "unstamped", weedtest.Object{})
	u2 := r.Put(b, "unstamped", weedtest.Object{})
	r.SetVersionMtime(b, "unstamped", u1, now.Add(-400*day))
	r.SetVersionMtime(b, "unstamped", u2, now.Add(-31*day))
	r.SetDemoted(b, "unstamped", u1, time.Time{})

	r.pass(pass.OK, sent{b, "m", m1, engine.NoncurrentDays}, sent{b, "unstamped", u1, engine.NoncurrentDays})
	r.pass(pass.OK)
	r.wantVersions(b, version{"k", k2, true, false}, version{"k", k1, false, false}, version{"m", m2, true, true},
		version{"stale", s2, true, false}, version{"stale", s1, false, false}, version{"unstamped", u2, true, false})
}

// The current null version of a suspended bucket is replaced by one marker,
// and a current version with an id of its own gets one on top. The gateway
// gives these markers ids of their own, unlike those of a delete by S3.
func TestScenario26_SuspendedVersioning(t *testing.T) {
	r := newRig(t)
	const b = "s26"
	r.CreateBucket(b, weedtest.Versioned, document(rule("days", prefix(""), expire(7))))
	v1 := r.Put(b, "k", weedtest.Object{Body: "v1"})
	v5 := r.Put(b, "m", weedtest.Object{Body: "v5", Age: 10 * day})
	r.SetVersioning(b, false)
	r.Put(b, "k", weedtest.Object{Body: "null", Age: 10 * day})
	r.pass(pass.OK, sent{b, "k", "null", engine.ExpirationDays}, sent{b, "m", v5, engine.ExpirationDays})
	left := r.versions(b)
	markers := map[string]string{}
	for _, v := range left {
		if v.marker {
			markers[v.key] = v.id
		}
	}
	r.wantVersions(b, version{"k", markers["k"], true, true}, version{"k", v1, false, false},
		version{"m", markers["m"], true, true}, version{"m", v5, false, false})
	r.pass(pass.OK)
	r.wantVersions(b, left...)
	if got := r.getVersion(b, "m", v5); got != "v5" {
		t.Errorf("the version reads %q", got)
	}

	// An upload after the marker is current again, and young.
	r.Put(b, "k", weedtest.Object{Body: "new"})
	r.pass(pass.OK)
	if body, ok := r.Get(b, "k"); !ok || body != "new" {
		t.Errorf("the new upload reads %q, %v", body, ok)
	}
}

// An object from before versioning is the version "null" of its key, once.
func TestScenario27_BareNullVersion(t *testing.T) {
	r := newRig(t)
	bucket := func(name, rules string) (v1 string) {
		r.CreateBucket(name, weedtest.Plain, rules)
		r.Put(name, "k", weedtest.Object{Body: "bare", Age: 100 * day})
		r.Put(name, "only", weedtest.Object{Age: 3 * day})
		r.SetVersioning(name, true)
		v1 = r.Put(name, "k", weedtest.Object{Body: "v1", Age: 50 * day})
		r.SetDemoted(name, "k", "null", time.Now().Add(-50*day))
		return v1
	}
	nc := bucket("s27-noncurrent", document(rule("nc", prefix(""), noncurrent(30, 0))))
	days := bucket("s27-current", document(rule("days", prefix(""), expire(7))))
	r.pass(pass.OK, sent{"s27-noncurrent", "k", "null", engine.NoncurrentDays}, sent{"s27-current", "k", days, engine.ExpirationDays})
	r.pass(pass.OK)
	only := version{"only", "null", true, false}
	r.wantVersions("s27-noncurrent", only, version{"k", nc, true, false})
	r.wantMarked("s27-current", "k", only, version{"k", days, false, false}, version{"k", "null", false, false})
}

// What looks internal and is not holds ordinary objects; what is internal and
// empty holds none.
func TestScenario28_FoldersThatLookInternal(t *testing.T) {
	r := newRig(t)
	const b, v = "s28", "s28-versioned"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(7))))
	old := weedtest.Object{Body: "x", Age: 9 * day}
	due := []sent{}
	for _, key := range []string{"reports.versions/a.csv", "reports.versions/v_1", "x/.uploads/readme", "x.versions/.versions/y"} {
		r.Put(b, key, old)
		due = append(due, sent{b, key, "", engine.ExpirationDays})
	}
	// A versioned bucket, with a folder of a user's and an empty container.
	r.CreateBucket(v, weedtest.Versioned, document(rule("days", prefix(""), expire(7))))
	id := r.Put(v, "reports.versions/a.csv", old)
	due = append(due, sent{v, "reports.versions/a.csv", id, engine.ExpirationDays})
	gone := r.Put(v, "empty", old)
	r.Remove("/buckets/" + v + "/empty.versions/v_" + gone)
	if r.Lookup("/buckets/"+v+"/empty.versions") == nil {
		t.Fatal("the container went with its only version")
	}
	r.pass(pass.OK, due...)
	r.pass(pass.OK)
	r.wantKeys(b)
	// The gateway's listings take the folder for a container too.
	if _, ok := r.Get(v, "reports.versions/a.csv"); ok {
		t.Error("the key in the look-alike can still be read")
	}
	if got := r.getVersion(v, "reports.versions/a.csv", id); got != "x" {
		t.Errorf("its version reads %q", got)
	}
	if r.Lookup("/buckets/"+v+"/empty.versions") == nil {
		t.Error("the pass has removed a container")
	}
}
