package e2e_test

import (
	"strings"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// An upload's age is that of its start, its key the one that it would make; a
// part that came in an hour ago changes nothing, and an upload of no key is
// left alone.
func TestScenario29_AbortByInitiationAndKey(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			b := way.name + "-s29"
			r.CreateBucket(b, weedtest.Plain, document(rule("abort", prefix("video/"), abort(7))))
			way.ready(r)
			u1 := r.StartUpload(b, "video/a", "part")
			r.AgeUpload(b, u1, 10*day) // the part is new
			r.AgeUpload(b, r.StartUpload(b, "docs/b"), 30*day)
			r.AgeUpload(b, r.StartUpload(b, "video/c"), 3*day)
			u4 := r.StartUpload(b, "video/d")
			r.AgeUpload(b, u4, 30*day)
			r.Update("/buckets/"+b+"/.uploads/"+u4, func(e *filer_pb.Entry) {
				delete(e.Extended, s3_constants.ExtMultipartObjectKey)
			})
			way.taken(t, r.pass(pass.OK, sent{b, ".uploads/" + u1, "", engine.AbortMPU}))
			r.pass(pass.OK)
			left := r.List("/buckets/" + b + "/.uploads")
			if len(left) != 3 {
				t.Errorf("%d uploads are left, want 3", len(left))
			}
			for _, e := range left {
				if e.GetName() == u1 {
					t.Error("the aborted upload is left")
				}
			}
		})
	}
}

// Rules for objects and versions are not about uploads and their parts.
func TestScenario31_UploadsAreNoObjects(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			for of, kind := range kinds {
				r.CreateBucket(way.name+"-s31-"+of, kind, document(rule("all", prefix(""), expire(1)+noncurrent(1, 0)+abort(7))))
			}
			way.ready(r)
			for of := range kinds {
				b := way.name + "-s31-" + of
				r.StartUpload(b, "k", "one", "two")
				r.AgeTree(b, "", 3*day)
			}
			way.taken(t, r.pass(pass.OK))
			r.pass(pass.OK)
			for of := range kinds {
				same(t, "uploads", r.Uploads(way.name+"-s31-"+of), []string{"k"})
			}
		})
	}
}

// The folder of a completed upload can be left behind. Its parts are the
// object's chunks: aborting it would destroy the object.
func TestLeftoverUploadIsNotAborted(t *testing.T) {
	r := newRig(t)
	const b = "leftover"
	r.CreateBucket(b, weedtest.Plain, document(rule("abort", prefix(""), abort(7))))
	id := r.leftover(b, "k")
	r.AgeUpload(b, id, 30*day)

	rep := r.pass(pass.Partial)
	if len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategoryUpload || rep.Errors[0].Bucket != b || !strings.Contains(rep.Errors[0].Message, id) {
		t.Errorf("the report says %+v", rep.Errors)
	}
	if got, ok := r.Get(b, "k"); !ok || got != leftoverBody {
		t.Errorf("the object reads %d bytes, %v", len(got), ok)
	}
}

// leftoverBody is what an object of leftover holds, in two parts.
var leftoverBody = strings.Repeat("x", 5<<20) + "end"

// leftover makes an object by an upload whose folder stays behind, and returns
// the upload's id.
func (r *rig) leftover(bucket, key string) string {
	r.t.Helper()
	id := r.StartUpload(bucket, key, leftoverBody[:5<<20], leftoverBody[5<<20:])
	uploads := "/buckets/" + bucket + "/.uploads"
	upload, parts := r.Lookup(uploads+"/"+id), r.List(uploads+"/"+id)
	if upload == nil || len(parts) != 2 {
		r.t.Fatalf("the upload is %v with %d parts", upload, len(parts))
	}
	r.CompleteUpload(bucket, key, id)
	r.Create(uploads, upload)
	for _, p := range parts {
		r.Create(uploads+"/"+id, p)
	}
	return id
}
