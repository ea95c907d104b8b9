package e2e_test

import (
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// kinds are the kinds of bucket that a rule of current objects meets.
var kinds = map[string]weedtest.BucketKind{
	"plain": weedtest.Plain, "versioned": weedtest.Versioned, "suspended": weedtest.Suspended,
}

// versionOf is the version id that a delete carries for what Put returned id
// for.
func versionOf(kind weedtest.BucketKind, id string) string {
	if id == "" && kind != weedtest.Plain {
		return "null"
	}
	return id
}

// An expiration date takes every current object from that instant on, however
// old it is, and markers never.
func TestExpirationDate(t *testing.T) {
	r := newRig(t)
	date := time.Now().UTC().Truncate(day).Add(2 * day)
	var due []sent
	for name, kind := range kinds {
		bucket := "date-" + name
		r.CreateBucket(bucket, kind, document(rule("date", prefix("in/"), expireOn(date))))
		due = append(due, sent{bucket, "in/k", versionOf(kind, r.Put(bucket, "in/k", weedtest.Object{Body: "x"})), engine.ExpirationDate})
		r.Put(bucket, "out", weedtest.Object{})
		if kind != weedtest.Plain {
			r.Put(bucket, "in/gone", weedtest.Object{})
			r.Delete(bucket, "in/gone")
		}
	}
	r.passAt(date.Add(-step), pass.OK)
	r.passAt(date, pass.OK, due...)
	r.passAt(date, pass.OK)
	for name := range kinds {
		r.wantKeys("date-"+name, "out")
	}
}

// A count without days keeps the newest noncurrent versions; a null version
// and a delete marker are versions like others.
func TestNewerNoncurrentAlone(t *testing.T) {
	r := newRig(t)
	rules := document(rule("newest", prefix(""), noncurrent(0, 2)))

	r.CreateBucket("newer-versioned", weedtest.Versioned, rules)
	var v []string
	for range 5 {
		v = append(v, r.Put("newer-versioned", "k", weedtest.Object{}))
	}
	few := r.Put("newer-versioned", "few", weedtest.Object{})
	fewer := r.Put("newer-versioned", "few", weedtest.Object{})
	last := r.Put("newer-versioned", "few", weedtest.Object{})

	r.CreateBucket("newer-marker", weedtest.Versioned, rules)
	m1 := r.Put("newer-marker", "k", weedtest.Object{})
	m2 := r.Delete("newer-marker", "k")
	m3 := r.Put("newer-marker", "k", weedtest.Object{})
	m4 := r.Delete("newer-marker", "k")

	r.CreateBucket("newer-null", weedtest.Plain, rules)
	r.Put("newer-null", "k", weedtest.Object{Body: "null", Age: day})
	r.SetVersioning("newer-null", true)
	var n []string
	for range 3 {
		n = append(n, r.Put("newer-null", "k", weedtest.Object{}))
	}

	r.CreateBucket("newer-suspended", weedtest.Versioned, rules)
	var s []string
	for range 3 {
		s = append(s, r.Put("newer-suspended", "k", weedtest.Object{}))
	}
	r.SetVersioning("newer-suspended", false)
	r.Put("newer-suspended", "k", weedtest.Object{Body: "null"})

	r.pass(pass.OK,
		sent{"newer-versioned", "k", v[1], engine.NewerNoncurrent},
		sent{"newer-versioned", "k", v[0], engine.NewerNoncurrent},
		sent{"newer-marker", "k", m1, engine.NewerNoncurrent},
		sent{"newer-null", "k", "null", engine.NewerNoncurrent},
		sent{"newer-suspended", "k", s[0], engine.NewerNoncurrent},
	)
	if rep := r.pass(pass.OK); rep.Totals.EntriesWalked == 0 {
		t.Error("the second pass has walked nothing, so it has not looked")
	}
	r.wantVersions("newer-versioned",
		version{"k", v[4], true, false}, version{"k", v[3], false, false}, version{"k", v[2], false, false},
		version{"few", last, true, false}, version{"few", fewer, false, false}, version{"few", few, false, false})
	r.wantVersions("newer-marker", version{"k", m4, true, true}, version{"k", m3, false, false}, version{"k", m2, false, true})
	r.wantVersions("newer-null", version{"k", n[2], true, false}, version{"k", n[1], false, false}, version{"k", n[0], false, false})
	r.wantVersions("newer-suspended", version{"k", "null", true, false}, version{"k", s[2], false, false}, version{"k", s[1], false, false})
}

// A delete marker goes when it is current and alone: no version beside it, and
// no object from before versioning.
func TestScenario23_ExpiredDeleteMarkers(t *testing.T) {
	r := newRig(t)
	const bucket, only, old, susp = "marker-both", "marker-none", "marker-bare", "marker-suspended"
	marker := rule("marker", prefix(""), expireMarker)
	both := document(rule("nc", prefix(""), noncurrent(1, 0)), marker)

	// a: a marker alone. b: a marker and a version that is not due. d: a marker
	// and a version that is due.
	r.CreateBucket(bucket, weedtest.Versioned, both)
	lone := func(bucket, key string) string {
		v := r.Put(bucket, key, weedtest.Object{})
		m := r.Delete(bucket, key)
		r.DeleteVersion(bucket, key, v)
		return m
	}
	a := lone(bucket, "a")
	b1 := r.Put(bucket, "b", weedtest.Object{})
	b2 := r.Delete(bucket, "b")
	d1 := r.Put(bucket, "d", weedtest.Object{})
	d2 := r.Delete(bucket, "d")
	for _, id := range []string{d1, d2} {
		r.AgeVersion(bucket, "d", id, 5*day)
	}

	// c: a marker on an object from before versioning.
	r.CreateBucket(old, weedtest.Plain, document(marker))
	r.Put(old, "c", weedtest.Object{Body: "bare"})
	r.SetVersioning(old, true)
	c := r.Delete(old, "c")

	// Without a rule for markers one stays.
	r.CreateBucket(only, weedtest.Versioned, document(rule("nc", prefix(""), noncurrent(1, 0))))
	kept := lone(only, "a")

	// A suspended bucket has a null marker, which the gateway cannot remove.
	r.CreateBucket(susp, weedtest.Suspended, document(marker))
	r.Delete(susp, "a")

	r.pass(pass.OK,
		sent{bucket, "a", a, engine.ExpiredDeleteMarker},
		sent{bucket, "d", d1, engine.NoncurrentDays},
		sent{bucket, "d", d2, engine.ExpiredDeleteMarker},
	)
	r.pass(pass.OK)
	r.pass(pass.OK)
	r.wantVersions(bucket, version{"b", b2, true, true}, version{"b", b1, false, false})
	r.wantVersions(old, version{"c", c, true, true}, version{"c", "null", false, false})
	r.wantVersions(only, version{"a", kept, true, true})
	r.wantVersions(susp, version{"a", "null", true, true})
}
