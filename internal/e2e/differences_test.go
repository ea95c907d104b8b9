package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// due is one object in a list of differences.
type due struct {
	path, version string
	kind          engine.Kind
}

// Where our walk and SeaweedFS's own differ, and how; docs/differences.md has
// the reasons. TestOracleWalks shows that there is nothing else.
func TestDifferencesFromTheBuiltInWalker(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	old := weedtest.Object{Age: 9 * day}
	days := document(rule("days", prefix(""), expire(1)))
	cases := []struct {
		name   string
		kind   weedtest.BucketKind
		rules  string
		grow   func(b string) names
		ours   []due // that the built-in does not find
		theirs []due // that we do not find
	}{
		{
			name: "folder marker", rules: days,
			grow: func(b string) names { r.Put(b, "p/", old); return nil },
			ours: []due{{"p/", "", engine.ExpirationDays}},
		},
		{
			name: "key above other keys", rules: days,
			grow: func(b string) names { r.Put(b, "o/child", weedtest.Object{}); r.Put(b, "o", old); return nil },
			ours: []due{{"o", "", engine.ExpirationDays}},
		},
		{
			name: "size above zero", rules: document(rule("size", "<ObjectSizeGreaterThan>0</ObjectSizeGreaterThan>", expire(1))),
			grow: func(b string) names {
				r.Put(b, "empty", old)
				r.Put(b, "full", weedtest.Object{Body: "x", Age: 9 * day})
				return nil
			},
			theirs: []due{{"empty", "", engine.ExpirationDays}},
		},
		{
			name: "objects below .uploads", rules: days,
			grow: func(b string) names {
				r.Create("/buckets/"+b+"/.uploads/stray", file("part", now.Add(-9*day)))
				return nil
			},
			theirs: []due{{".uploads/stray/part", "", engine.ExpirationDays}},
		},
		{
			name: "stamp of an earlier demotion", kind: weedtest.Versioned, rules: document(rule("nc", prefix(""), noncurrent(5, 0))),
			grow: func(b string) names {
				v1, v2 := r.Put(b, "k", weedtest.Object{}), r.Put(b, "k", weedtest.Object{})
				r.SetDemoted(b, "k", v1, now.Add(-9*day))
				r.SetVersionMtime(b, "k", v2, now.Add(-day))
				return names{"v1": v1}
			},
			theirs: []due{{"k", "v1", engine.NoncurrentDays}},
		},
		{
			name: "order of versions", kind: weedtest.Versioned, rules: document(rule("nc", prefix(""), noncurrent(0, 1))),
			grow: func(b string) names {
				v1, v2, v3 := r.Put(b, "k", weedtest.Object{}), r.Put(b, "k", weedtest.Object{}), r.Put(b, "k", weedtest.Object{})
				r.SetVersionMtime(b, "k", v1, now.Add(-5*day))
				r.SetVersionMtime(b, "k", v2, now.Add(-9*day)) // written later, with an older time
				r.SetVersionMtime(b, "k", v3, now.Add(-day))
				return names{"v1": v1, "v2": v2}
			},
			ours: []due{{"k", "v1", engine.NewerNoncurrent}}, theirs: []due{{"k", "v2", engine.NewerNoncurrent}},
		},
		{
			name: "null version within the second of a version", kind: weedtest.Plain, rules: document(rule("nc", prefix(""), noncurrent(0, 1))),
			grow: func(b string) names {
				r.Put(b, "k", weedtest.Object{})
				r.SetVersioning(b, true)
				v1, v2 := r.Put(b, "k", weedtest.Object{}), r.Put(b, "k", weedtest.Object{})
				second := now.Add(-9 * day).Truncate(time.Second)
				r.SetVersionMtime(b, "k", "null", second.Add(500*time.Millisecond))
				r.SetVersionMtime(b, "k", v1, second)
				r.SetVersionMtime(b, "k", v2, now.Add(-day))
				return names{"v1": v1}
			},
			ours: []due{{"k", "null", engine.NewerNoncurrent}}, theirs: []due{{"k", "v1", engine.NewerNoncurrent}},
		},
		{
			name: "null marker", kind: weedtest.Suspended, rules: document(rule("marker", prefix(""), expireMarker)),
			grow:   func(b string) names { r.Delete(b, "k"); return nil },
			theirs: []due{{"k", "null", engine.ExpiredDeleteMarker}},
		},
		{
			name: "no pointer to the current version", kind: weedtest.Versioned, rules: days,
			grow: func(b string) names {
				v1 := r.Put(b, "k", old)
				r.Create("/buckets/"+b, file("k", now.Add(-20*day)))
				r.Update("/buckets/"+b+"/k"+s3_constants.VersionsFolder, func(e *filer_pb.Entry) {
					delete(e.Extended, s3_constants.ExtLatestVersionIdKey)
					delete(e.Extended, s3_constants.ExtLatestVersionFileNameKey)
				})
				return names{"v1": v1}
			},
			theirs: []due{{"k", "v1", engine.ExpirationDays}},
		},
		{
			name: "folder of a completed upload", rules: document(rule("abort", prefix(""), abort(1))),
			grow: func(b string) names {
				id := r.leftover(b, "k")
				r.AgeUpload(b, id, 9*day)
				return names{"id": id}
			},
			theirs: []due{{".uploads/id", "", engine.AbortMPU}},
		},
	}
	named := map[string]names{}
	for i, tc := range cases {
		b := fmt.Sprintf("differs-%d", i)
		r.CreateBucket(b, tc.kind, tc.rules)
		named[b] = tc.grow(b)
	}
	ours, _ := r.ourWalk(now)
	onlyOurs, onlyTheirs := compare(ours, r.builtInWalk(now))
	for i, tc := range cases {
		b := fmt.Sprintf("differs-%d", i)
		same(t, tc.name+": only ours", named[b].of(b, onlyOurs), tc.ours)
		same(t, tc.name+": only the built-in's", named[b].of(b, onlyTheirs), tc.theirs)
	}
}

// names are what a case calls the ids of versions and uploads.
type names map[string]string

// of are the differences in a bucket, by these names.
func (n names) of(bucket string, list []verdict) (found []due) {
	for _, v := range list {
		if v.bucket != bucket {
			continue
		}
		d := due{v.path, v.version, v.kind}
		for name, id := range n {
			if d.version == id {
				d.version = name
			}
			if d.path == ".uploads/"+id {
				d.path = ".uploads/" + name
			}
		}
		found = append(found, d)
	}
	return found
}

// What a delete does to a key's other versions is looked at by our pass, and not
// by the built-in walker, which judges all of them as they were.
func TestDifferencesInTheOrderOfDeletes(t *testing.T) {
	r := newRig(t)
	now := time.Now()

	// The rule keeps one noncurrent version. The newer one goes by its tag, so
	// the older one is the one that is kept; the built-in deletes both.
	const ranked, alone = "order-ranked", "order-alone"
	r.CreateBucket(ranked, weedtest.Versioned, document(
		rule("keep", prefix(""), noncurrent(0, 1)), rule("tag", tag("tmp", "1"), noncurrent(1, 0))))
	v1 := r.Put(ranked, "k", weedtest.Object{})
	v2 := r.Put(ranked, "k", weedtest.Object{Tags: map[string]string{"tmp": "1"}})
	v3 := r.Put(ranked, "k", weedtest.Object{})
	for i, id := range []string{v1, v2, v3} {
		r.SetVersionMtime(ranked, "k", id, now.Add(time.Duration(i-9)*day))
	}
	r.SetDemoted(ranked, "k", v1, now.Add(-8*day))
	r.SetDemoted(ranked, "k", v2, now.Add(-7*day))

	// A marker whose last version goes is alone then, and goes in the same pass;
	// the built-in leaves it to the next.
	r.CreateBucket(alone, weedtest.Versioned, document(rule("nc", prefix(""), noncurrent(1, 0)), rule("marker", prefix(""), expireMarker)))
	a1 := r.Put(alone, "k", weedtest.Object{})
	a2 := r.Delete(alone, "k")
	r.AgeVersion(alone, "k", a1, 9*day)
	r.AgeVersion(alone, "k", a2, 8*day)

	var theirs []sent
	for _, v := range r.builtInWalk(now) {
		theirs = append(theirs, sent{v.bucket, v.path, v.version, v.kind})
	}
	same(t, "the built-in's verdicts", theirs, []sent{
		{ranked, "k", v1, engine.NewerNoncurrent}, {ranked, "k", v2, engine.NoncurrentDays}, {alone, "k", a1, engine.NoncurrentDays}})
	r.opts.Settle = 0
	r.pass(pass.OK, sent{ranked, "k", v2, engine.NoncurrentDays},
		sent{alone, "k", a1, engine.NoncurrentDays}, sent{alone, "k", a2, engine.ExpiredDeleteMarker})
	r.wantVersions(ranked, version{"k", v3, true, false}, version{"k", v1, false, false})
}
