package clustertest

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"

	"weedlc/engine"
)

func eventCases() []testCase {
	return slices.Concat(plainEvents(), versionEvents(), suspendedEvents(), uploadEvents())
}

func plainEvents() []testCase {
	return []testCase{
		{"put, overwrite, delete", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.wantEvents(b, func() { w.Driver.Put(b, "k", 1, nil) }, "+ k 1B")
			w.wantEvents(b, func() { w.Driver.Put(b, "k", 2, nil) }, "~ k 2B")
			w.wantEvents(b, func() { w.Driver.Put(b, "k", 2, nil) }, "~ k 2B")
			w.wantEvents(b, func() { w.Driver.Put(b, "k", 0, nil) }, "~ k")
			w.wantEvents(b, func() { w.Driver.Delete(b, "k") }, "- k")
			w.wantEvents(b, func() { w.Driver.Delete(b, "k") })
		}},
		{"folders come before what lies in them", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.wantEvents(b, func() { w.Driver.Put(b, "a/b/k", 1, nil) }, "+ a folder", "+ a/b folder", "+ a/b/k 1B")
			w.wantEvents(b, func() { w.Driver.Put(b, "a/c/k", 1, nil) }, "+ a/c folder", "+ a/c/k 1B")
			w.wantEvents(b, func() { w.Driver.Delete(b, "a/b/k") }, "- a/b/k 1B")
		}},
		{"tags", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.wantEvents(b, func() { w.Driver.Put(b, "k", 1, map[string]string{"a": "1"}) }, "+ k 1B tag:a=1")
			w.wantEvents(b, func() { w.Driver.SetTags(b, "k", "", map[string]string{"b": "2", "c": ""}) }, "~ k 1B tag:b=2 tag:c=")
			w.wantEvents(b, func() { w.Driver.SetTags(b, "k", "", map[string]string{"b": "2", "c": ""}) })
			w.wantEvents(b, func() { w.Driver.SetTags(b, "k", "", nil) }, "~ k 1B")
		}},
		{"folder markers", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.wantEvents(b, func() { w.Driver.Put(b, "d/", 0, nil) }, "+ d folder-marker")
			w.wantEvents(b, func() { w.Driver.Put(b, "d/k", 1, nil) }, "+ d/k 1B")
			w.wantEvents(b, func() { w.Driver.Delete(b, "d/") }, "~ d folder")
			w.wantEvents(b, func() { w.Driver.Put(b, "d/", 0, nil) }, "~ d folder-marker")
			w.Driver.Delete(b, "d/k")
			w.wantEvents(b, func() { w.Driver.Delete(b, "d/") }, "- d folder-marker")
		}},
		{"prefix objects", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "p", 1, nil)
			w.wantEvents(b, func() { w.Driver.Put(b, "p/k", 2, nil) }, "+ p prefix-object 1B", "+ p/k 2B")
			w.wantEvents(b, func() { w.Driver.Delete(b, "p") }, "~ p folder")
			w.wantEvents(b, func() { w.Driver.Put(b, "p", 3, nil) }, "~ p prefix-object 3B")
		}},
		{"touch", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 1, nil)
			for _, t := range []time.Time{time.Unix(1_500_000_000, 0), time.Unix(4_000_000_000, 5)} {
				w.wantEvents(b, func() { w.Driver.SetMtime(b, "k", t) }, "~ k 1B")
				if got := w.lookup(b, "k").MtimeNs; got != t.UnixNano() {
					w.Errorf("mtime is %d, want %d", got, t.UnixNano())
				}
				w.wantEvents(b, func() { w.Driver.SetMtime(b, "k", t) })
			}
		}},
		{"rename", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 1, map[string]string{"a": "1"})
			w.Driver.SetMtime(b, "k", time.Unix(1_500_000_000, 0))
			w.wantEvents(b, func() { w.Driver.Rename(b, "k", "moved/to") }, "> k moved/to 1B tag:a=1")
			if e := w.lookup(b, "moved/to"); e.MtimeNs != 1_500_000_000e9 {
				w.Errorf("mtime is %d: a rename keeps it", e.MtimeNs)
			}
			w.wantTree(b, "moved folder", "moved/to 1B tag:a=1")
			w.Driver.Put(b, "other", 2, nil)
			w.wantEvents(b, func() { w.Driver.Rename(b, "other", "moved/to") }, "- moved/to 1B tag:a=1", "> other moved/to 2B")
		}},
		{"rename of a folder", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "a/x", 1, nil)
			w.Driver.Put(b, "a/y/z", 2, nil)
			w.wantEvents(b, func() { w.Driver.Rename(b, "a", "b") },
				"> a b folder", "> a/x b/x 1B", "> a/y b/y folder", "> a/y/z b/y/z 2B")
			w.wantTree(b, "b folder", "b/x 1B", "b/y folder", "b/y/z 2B")
		}},
	}
}

func versionEvents() []testCase {
	return []testCase{
		{"versions", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.wantEvents(b, func() { w.put(b, "k", "v1", 1) },
				"+ k.versions folder", "+ k.versions/v_v1 1B id=v1", "~ k.versions folder latest=v1")
			w.wantEvents(b, func() { w.put(b, "k", "v2", 2) },
				"+ k.versions/v_v2 2B id=v2", "~ k.versions folder latest=v2", "~ k.versions/v_v1 1B id=v1 demoted")
			w.wantEvents(b, func() { w.delete(b, "k", "m3") },
				"+ k.versions/v_m3 id=m3 delete-marker", "~ k.versions folder latest=m3", "~ k.versions/v_v2 2B id=v2 demoted")
			w.wantEvents(b, func() { w.put(b, "k", "v4", 4) },
				"+ k.versions/v_v4 4B id=v4", "~ k.versions folder latest=v4", "~ k.versions/v_m3 id=m3 delete-marker demoted")
		}},
		{"version deletes and promotions", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1, v2, m3 := w.put(b, "k", "v1", 1), w.put(b, "k", "v2", 2), w.delete(b, "k", "m3")
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", m3) },
				"~ k.versions folder latest=v2", "- k.versions/v_m3 id=m3 delete-marker")
			w.wantEvents(b, func() { w.put(b, "k", "v4", 4) },
				"+ k.versions/v_v4 4B id=v4", "~ k.versions folder latest=v4", "~ k.versions/v_v2 2B id=v2 demoted")
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", v1) }, "- k.versions/v_v1 1B id=v1 demoted")
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", w.names.id("v4")) },
				"~ k.versions folder latest=v2", "- k.versions/v_v4 4B id=v4")
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", v2) },
				"~ k.versions folder", "- k.versions/v_v2 2B id=v2 demoted", "- k.versions folder")
			w.wantTree(b)
		}},
		{"a promoted version keeps its stamp", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			w.Driver.DeleteVersion(b, "k", w.put(b, "k", "v2", 2))
			w.wantTree(b, "k.versions folder latest=v1", "k.versions/v_v1 1B id=v1 demoted")
		}},
		{"marker without an object", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.wantEvents(b, func() { w.delete(b, "k", "m1") },
				"+ k.versions folder", "+ k.versions/v_m1 id=m1 delete-marker", "~ k.versions folder latest=m1")
			w.wantEvents(b, func() { w.delete(b, "k", "m2") },
				"+ k.versions/v_m2 id=m2 delete-marker", "~ k.versions folder latest=m2", "~ k.versions/v_m1 id=m1 delete-marker demoted")
		}},
		{"over an object from before versioning", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 1, nil)
			w.Driver.SetVersioning(b, engine.Enabled)
			w.wantEvents(b, func() { w.put(b, "k", "v2", 2) },
				"+ k.versions folder", "+ k.versions/v_v2 2B id=v2", "~ k.versions folder latest=v2")
			w.wantTree(b, "k 1B", "k.versions folder latest=v2", "k.versions/v_v2 2B id=v2")
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", "null") }, "- k 1B")
		}},
		{"tags and locks of one version", func(w *world) {
			b := w.lockedBucket()
			v1 := w.put(b, "k", "v1", 1)
			w.put(b, "k", "v2", 2)
			w.wantEvents(b, func() { w.Driver.SetTags(b, "k", v1, map[string]string{"a": "1"}) },
				"~ k.versions/v_v1 1B id=v1 demoted tag:a=1")
			w.wantEvents(b, func() { w.Driver.SetTags(b, "k", "", map[string]string{"b": "2"}) },
				"~ k.versions/v_v2 2B id=v2 tag:b=2")
			w.wantEvents(b, func() { w.Driver.SetRetention(b, "k", v1, "COMPLIANCE", time.Unix(1_900_000_000, 0)) },
				"~ k.versions/v_v1 1B id=v1 demoted tag:a=1 COMPLIANCE")
			w.wantEvents(b, func() { w.Driver.SetHold(b, "k", "", true) }, "~ k.versions/v_v2 2B id=v2 tag:b=2 hold=ON")
			w.wantEvents(b, func() { w.Driver.SetHold(b, "k", "", false) }, "~ k.versions/v_v2 2B id=v2 tag:b=2 hold=OFF")
		}},
		{"a version folder may lie in a folder", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.wantEvents(b, func() { w.put(b, "d/k", "v1", 1) },
				"+ d folder", "+ d/k.versions folder", "+ d/k.versions/v_v1 1B id=v1", "~ d/k.versions folder latest=v1")
		}},
		{"folder markers have no versions", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.wantEvents(b, func() { w.Driver.Put(b, "d/", 0, nil) }, "+ d folder-marker")
			w.wantEvents(b, func() { w.Driver.Delete(b, "d/") }, "- d folder-marker")
		}},
	}
}

func suspendedEvents() []testCase {
	return []testCase{
		{"null versions", func(w *world) {
			b := w.bucket(engine.Suspended)
			w.wantEvents(b, func() { w.put(b, "k", "", 1) }, "+ k 1B id=null")
			w.wantEvents(b, func() { w.put(b, "k", "", 2) }, "~ k 2B id=null")
			w.wantEvents(b, func() { w.delete(b, "k", "") },
				"- k 2B id=null", "+ k.versions folder", "+ k.versions/v_null id=null delete-marker", "~ k.versions folder latest=null")
			w.wantEvents(b, func() { w.delete(b, "k", "") },
				"~ k.versions/v_null id=null delete-marker", "~ k.versions folder latest=null")
			w.wantEvents(b, func() { w.put(b, "k", "", 3) },
				"+ k 3B id=null", "~ k.versions/v_null id=null delete-marker demoted", "~ k.versions folder null-is-latest",
				"- k.versions/v_null id=null delete-marker demoted")
			w.wantTree(b, "k 3B id=null", "k.versions folder null-is-latest")
		}},
		{"null version over versions", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.wantEvents(b, func() { w.put(b, "k", "", 2) },
				"+ k 2B id=null", "~ k.versions/v_v1 1B id=v1 demoted", "~ k.versions folder null-is-latest")
			w.wantEvents(b, func() { w.delete(b, "k", "") },
				"- k 2B id=null", "+ k.versions/v_null id=null delete-marker", "~ k.versions folder latest=null")
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", "null") })
			w.wantEvents(b, func() { w.Driver.DeleteVersion(b, "k", v1) }, "- k.versions/v_v1 1B id=v1 demoted")
			w.wantTree(b, "k.versions folder latest=null", "k.versions/v_null id=null delete-marker")
		}},
		{"null marker over versions", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.wantEvents(b, func() { w.delete(b, "k", "") },
				"+ k.versions/v_null id=null delete-marker", "~ k.versions/v_v1 1B id=v1 demoted", "~ k.versions folder latest=null")
		}},
		{"enabled again over a null object", func(w *world) {
			b := w.bucket(engine.Suspended)
			w.delete(b, "k", "")
			w.put(b, "k", "", 1)
			w.Driver.SetVersioning(b, engine.Enabled)
			w.wantEvents(b, func() { w.put(b, "k", "v2", 2) },
				"+ k.versions/v_v2 2B id=v2", "~ k.versions folder latest=v2")
		}},
		{"enabled again over a null marker", func(w *world) {
			b := w.bucket(engine.Suspended)
			w.delete(b, "k", "")
			w.Driver.SetVersioning(b, engine.Enabled)
			w.wantEvents(b, func() { w.put(b, "k", "", 1) },
				"+ k.versions/v_new-old-format 1B id=new-old-format", "~ k.versions folder latest=null")
			w.wantEvents(b, func() { w.delete(b, "k", "") },
				"+ k.versions/v_new-old-format id=new-old-format delete-marker", "~ k.versions folder latest=null")
		}},
	}
}

func uploadEvents() []testCase {
	return []testCase{
		{"upload", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.wantEvents(b, func() { w.startUpload(b, "d/k", "u1", 1) },
				"+ .uploads folder", "+ .uploads/u1 folder upload-of=d/k", "+ .uploads/u1/part0001 1B")
			w.wantEvents(b, func() { w.startUpload(b, "k", "u2") }, "+ .uploads/u2 folder upload-of=k")
			part := w.parts(b, w.names.id("u1"))
			w.wantEvents(b, func() { w.Driver.CompleteUpload(b, "d/k", w.names.id("u1")) },
				"+ d folder", "+ d/k 1B uploaded-as=u1", "- .uploads/u1/part0001 1B", "- .uploads/u1 folder upload-of=d/k")
			if e := w.lookup(b, "d/k"); !slices.Equal(e.Chunks, part) {
				w.Errorf("the object has chunks %q, its part had %q", e.Chunks, part)
			}
			w.wantTree(b, ".uploads folder", ".uploads/u2 folder upload-of=k", "d folder", "d/k 1B uploaded-as=u1")
			w.wantEvents(b, func() { w.Driver.AbortUpload(b, "k", w.names.id("u2")) }, "- .uploads/u2 folder upload-of=k")
		}},
		{"aborted upload with parts", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.startUpload(b, "k", "u1", 2)
			w.wantEvents(b, func() { w.Driver.AbortUpload(b, "k", w.names.id("u1")) },
				"- .uploads/u1/part0001 2B", "- .uploads/u1 folder upload-of=k")
		}},
		{"upload of a version", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			w.startUpload(b, "k", "u1", 2)
			w.wantEvents(b, func() { w.Driver.CompleteUpload(b, "k", w.names.id("u1")) },
				"+ k.versions/v_new 2B id=new uploaded-as=u1", "- .uploads/u1/part0001 2B", "- .uploads/u1 folder upload-of=k",
				"~ k.versions folder latest=new", "~ k.versions/v_v1 1B id=v1 demoted")
		}},
		{"upload of a null version", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.startUpload(b, "k", "u1", 2)
			w.wantEvents(b, func() { w.Driver.CompleteUpload(b, "k", w.names.id("u1")) },
				"+ k 2B id=null uploaded-as=u1", "- .uploads/u1/part0001 2B", "- .uploads/u1 folder upload-of=k",
				"~ k.versions/v_v1 1B id=v1 demoted", "~ k.versions folder null-is-latest")
		}},
	}
}

func (w *world) startUpload(bucket, key, name string, parts ...int) {
	w.Helper()
	w.names.add(w.Driver.StartUpload(bucket, key, parts...), name)
}

// parts are the chunks of an upload's parts.
func (w *world) parts(bucket, id string) []string {
	w.Helper()
	entries, err := w.Filer.List(w.ctx, engine.Page{Bucket: bucket, Folder: ".uploads/" + id, Limit: 100})
	w.check(err)
	var chunks []string
	for _, e := range entries {
		chunks = append(chunks, e.Chunks...)
	}
	return chunks
}

// wantEvents compares what do logs of a bucket, and holds every event to what
// all have in common.
func (w *world) wantEvents(bucket string, do func(), want ...string) {
	w.Helper()
	mark := w.now()
	do()
	events := w.events(bucket, mark)
	var got []string
	for i := range events {
		got = append(got, w.names.in(describeEvent(&events[i])))
	}
	if !slices.Equal(got, want) {
		w.Errorf("logged\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	w.checkEvents(bucket, mark, events)
}

// checkEvents: positions rise, an entry's commit stamp is about its event's
// position, and the last event of a path shows the entry as it is.
func (w *world) checkEvents(bucket string, last int64, events []engine.Event) {
	w.Helper()
	final := map[string]*engine.Entry{}
	for i := range events {
		ev := &events[i]
		if ev.Bucket != bucket {
			w.Errorf("event of bucket %q", ev.Bucket)
		}
		if ev.TsNs <= last {
			w.Errorf("position %d of %q does not come after %d", ev.TsNs, ev.Path, last)
		}
		last = ev.TsNs
		if ev.OldPath != "" {
			final[ev.OldPath] = nil
		}
		final[ev.Path] = ev.New
		for at, e := range map[string]*engine.Entry{ev.Path: ev.New, eventSource(ev): ev.Old} {
			if e != nil && e.Name != path.Base(at) {
				w.Errorf("entry at %q is named %q", at, e.Name)
			}
		}
		if ev.New != nil {
			if behind := ev.TsNs - ev.New.CommitNs; behind < 0 || behind > int64(time.Minute) {
				w.Errorf("commit stamp %d of %q is not about its position %d", ev.New.CommitNs, ev.Path, ev.TsNs)
			}
		}
	}
	for at, logged := range final {
		live, err := w.Filer.Lookup(w.ctx, bucket, at)
		switch {
		case logged == nil:
			if !errors.Is(err, engine.ErrNotFound) {
				w.Errorf("%q is there after its removal: %v", at, err)
			}
		case err != nil:
			w.Error(err)
		default:
			w.sameEntry(at, logged, &live)
		}
	}
}

// eventSource is where an event's old entry was.
func eventSource(ev *engine.Event) string {
	if ev.OldPath != "" {
		return ev.OldPath
	}
	return ev.Path
}

// sameEntry compares an entry as two calls show it: identity and clocks.
func (w *world) sameEntry(at string, a, b *engine.Entry) {
	w.Helper()
	if describe(at, a) != describe(at, b) {
		w.Errorf("shown as %q and as %q", describe(at, a), describe(at, b))
	}
	x, y := identityOf(a), identityOf(b)
	if x.MtimeNs != y.MtimeNs || x.Size != y.Size || x.HeadChunk != y.HeadChunk || !bytes.Equal(x.ExtendedHash, y.ExtendedHash) {
		w.Errorf("%q has identities %+v and %+v", at, x, y)
	}
	if a.CommitNs != b.CommitNs || a.CreatedNs != b.CreatedNs || a.TTL != b.TTL {
		w.Errorf("%q has clocks %d, %d, %v and %d, %d, %v", at, a.CommitNs, a.CreatedNs, a.TTL, b.CommitNs, b.CreatedNs, b.TTL)
	}
}

func identityOf(e *engine.Entry) engine.Identity {
	id := engine.Identity{MtimeNs: e.MtimeNs, Size: e.Size, ExtendedHash: s3lifecycle.HashExtended(e.Extended)}
	if len(e.Chunks) > 0 {
		id.HeadChunk = e.Chunks[0]
	}
	return id
}
