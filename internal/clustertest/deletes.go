package clustertest

import (
	"slices"
	"time"

	"weedlc/engine"
)

func deleteCases() []testCase {
	return slices.Concat(plainDeletes(), versionDeletes(), suspendedDeletes(), lockedDeletes(), abortDeletes())
}

func plainDeletes() []testCase {
	return []testCase{
		{"plain object", func(w *world) {
			b := w.bucket(engine.Unversioned)
			for _, kind := range []engine.Kind{engine.ExpirationDays, engine.ExpirationDate} {
				w.Driver.Put(b, "d/k", 3, map[string]string{"a": "1"})
				w.wantEvents(b, func() { w.expire(b, "d/k", "", kind, "done", "") }, "- d/k 3B tag:a=1")
				w.Driver.Put(b, "empty", 0, nil)
				w.wantEvents(b, func() { w.expire(b, "empty", "", kind, "done", "") }, "- empty")
			}
		}},
		{"changed meanwhile", func(w *world) {
			b := w.bucket(engine.Unversioned)
			changes := map[string]func(key string){
				"overwritten":   func(k string) { w.Driver.Put(b, k, 3, nil) },
				"other size":    func(k string) { w.Driver.Put(b, k, 4, nil) },
				"tagged":        func(k string) { w.Driver.SetTags(b, k, "", map[string]string{"a": "1"}) },
				"touched":       func(k string) { w.Driver.SetMtime(b, k, time.Unix(1_500_000_000, 1)) },
				"empty, again":  func(k string) { w.Driver.Put(b, k, 0, nil) },
				"renamed over":  func(k string) { w.Driver.Put(b, "from", 3, nil); w.Driver.Rename(b, "from", k) },
				"child put":     func(k string) { w.Driver.Put(b, k+"/x", 1, nil) },
				"deleted, anew": func(k string) { w.Driver.Delete(b, k); w.Driver.Put(b, k, 3, nil) },
			}
			for name, change := range changes {
				key := "k " + name
				size := 3
				if name == "empty, again" {
					size = 0
				}
				w.Driver.Put(b, key, size, nil)
				e := w.lookup(b, key)
				change(key)
				w.wantEvents(b, func() {
					w.send(b, key, "", engine.ExpirationDays, identityOf(&e), "noop_resolved", "STALE_IDENTITY")
				})
			}
		}},
		{"gone", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 3, nil)
			e := w.lookup(b, "k")
			w.Driver.Delete(b, "k")
			w.send(b, "k", "", engine.ExpirationDays, identityOf(&e), "noop_resolved", "NOT_FOUND")
			w.send(w.newName(), "k", "", engine.ExpirationDays, identityOf(&e), "noop_resolved", "NOT_FOUND")
		}},
		{"folder marker with a child", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "d/", 0, nil)
			w.Driver.Put(b, "d/k", 1, nil)
			w.wantEvents(b, func() { w.expire(b, "d/", "", engine.ExpirationDays, "done", "") }, "~ d folder")
			w.wantTree(b, "d folder", "d/k 1B")
		}},
		{"empty folder marker", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "d/", 0, nil)
			w.wantEvents(b, func() { w.expire(b, "d/", "", engine.ExpirationDays, "done", "") }, "- d folder-marker")
		}},
		{"prefix object", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "p", 2, nil)
			w.Driver.Put(b, "p/k", 1, nil)
			w.wantEvents(b, func() { w.expire(b, "p", "", engine.ExpirationDays, "done", "") }, "~ p folder")
			w.wantTree(b, "p folder", "p/k 1B")
		}},
		{"no version id where one is needed", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 2, nil)
			for _, kind := range []engine.Kind{engine.NoncurrentDays, engine.NewerNoncurrent, engine.ExpiredDeleteMarker} {
				w.expire(b, "k", "", kind, "blocked", "FATAL_EVENT_ERROR: version_id required for noncurrent / delete-marker delete")
			}
			w.wantTree(b, "k 2B")
		}},
	}
}

func versionDeletes() []testCase {
	return []testCase{
		{"current version", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			v2 := w.put(b, "k", "v2", 2)
			w.wantEvents(b, func() { w.expire(b, "k", v2, engine.ExpirationDays, "done", "") },
				"+ k.versions/v_new id=new delete-marker", "~ k.versions folder latest=new", "~ k.versions/v_v2 2B id=v2 demoted")
			w.expire(b, "k", v2, engine.ExpirationDays, "noop_resolved", "VERSION_NOT_LATEST")
		}},
		{"current version without its id", func(w *world) {
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			e := w.lookup(b, "k.versions/v_"+w.names.id("v1"))
			w.wantEvents(b, func() {
				w.send(b, "k", "", engine.ExpirationDate, identityOf(&e), "done", "")
			}, "+ k.versions/v_new id=new delete-marker", "~ k.versions folder latest=new", "~ k.versions/v_v1 1B id=v1 demoted")
			w.send(b, "k", "", engine.ExpirationDate, identityOf(&e), "noop_resolved", "STALE_IDENTITY")
		}},
		{"a version that is not current does not expire", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			w.put(b, "k", "v2", 2)
			w.wantEvents(b, func() { w.expire(b, "k", v1, engine.ExpirationDays, "noop_resolved", "VERSION_NOT_LATEST") })
		}},
		{"noncurrent version", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1, v2 := w.put(b, "k", "v1", 1), w.put(b, "k", "v2", 2)
			v3 := w.put(b, "k", "v3", 3)
			w.wantEvents(b, func() { w.expire(b, "k", v1, engine.NoncurrentDays, "done", "") }, "- k.versions/v_v1 1B id=v1 demoted")
			w.wantEvents(b, func() { w.expire(b, "k", v2, engine.NewerNoncurrent, "done", "") }, "- k.versions/v_v2 2B id=v2 demoted")
			for _, kind := range []engine.Kind{engine.NoncurrentDays, engine.NewerNoncurrent} {
				w.wantEvents(b, func() { w.expire(b, "k", v3, kind, "noop_resolved", "VERSION_IS_LATEST") })
				w.send(b, "k", v1, kind, engine.Identity{}, "noop_resolved", "NOT_FOUND")
			}
		}},
		{"noncurrent version changed meanwhile", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			e := w.lookup(b, "k.versions/v_"+v1)
			w.put(b, "k", "v2", 2)
			w.send(b, "k", v1, engine.NoncurrentDays, identityOf(&e), "noop_resolved", "STALE_IDENTITY")
		}},
		{"noncurrent delete marker", func(w *world) {
			b := w.bucket(engine.Enabled)
			m1 := w.delete(b, "k", "m1")
			w.put(b, "k", "v2", 2)
			w.wantEvents(b, func() { w.expire(b, "k", m1, engine.NoncurrentDays, "done", "") },
				"- k.versions/v_m1 id=m1 delete-marker demoted")
		}},
		{"object from before versioning", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "current", 1, nil)
			w.Driver.Put(b, "old", 2, nil)
			w.Driver.SetVersioning(b, engine.Enabled)
			w.put(b, "old", "v2", 3)
			w.wantEvents(b, func() { w.expire(b, "old", "null", engine.NoncurrentDays, "done", "") }, "- old 2B")
			w.expire(b, "current", "null", engine.NoncurrentDays, "noop_resolved", "NOT_FOUND")
			w.wantEvents(b, func() { w.expire(b, "current", "null", engine.ExpirationDays, "done", "") },
				"+ current.versions folder", "+ current.versions/v_new id=new delete-marker", "~ current.versions folder latest=new")
			w.expire(b, "current", "null", engine.ExpirationDays, "noop_resolved", "VERSION_NOT_LATEST")
			w.wantEvents(b, func() { w.expire(b, "current", "null", engine.NoncurrentDays, "done", "") }, "- current 1B")
		}},
		{"lone delete marker", func(w *world) {
			b := w.bucket(engine.Enabled)
			m1 := w.delete(b, "k", "m1")
			w.wantEvents(b, func() { w.expire(b, "k", m1, engine.ExpiredDeleteMarker, "done", "") },
				"~ k.versions folder", "- k.versions/v_m1 id=m1 delete-marker", "- k.versions folder")
			w.send(b, "k", m1, engine.ExpiredDeleteMarker, engine.Identity{}, "noop_resolved", "NOT_FOUND")
		}},
		{"delete marker that is not alone", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1, m2 := w.put(b, "k", "v1", 1), w.delete(b, "k", "m2")
			w.expire(b, "k", m2, engine.ExpiredDeleteMarker, "noop_resolved", "NOT_SOLE_SURVIVOR")
			w.Driver.DeleteVersion(b, "k", v1)
			w.expire(b, "k", m2, engine.ExpiredDeleteMarker, "done", "")
			w.wantTree(b)
		}},
		{"delete marker over an object from before versioning", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 1, nil)
			w.Driver.SetVersioning(b, engine.Enabled)
			m1 := w.delete(b, "k", "m1")
			w.expire(b, "k", m1, engine.ExpiredDeleteMarker, "noop_resolved", "NULL_VERSION_PRESENT")
			w.Driver.DeleteVersion(b, "k", "null")
			w.Driver.Put(b, "k/below", 1, nil)
			w.expire(b, "k", m1, engine.ExpiredDeleteMarker, "done", "")
		}},
		{"a version is not a lone marker", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			w.wantEvents(b, func() { w.expire(b, "k", v1, engine.ExpiredDeleteMarker, "done", "") },
				"~ k.versions folder", "- k.versions/v_v1 1B id=v1", "- k.versions folder")
		}},
		{"folder marker", func(w *world) {
			b := w.bucket(engine.Enabled)
			for _, version := range []string{"null", ""} {
				key := "d" + version + "/"
				w.Driver.Put(b, key, 0, nil)
				w.wantEvents(b, func() { w.expire(b, key, version, engine.ExpirationDays, "done", "") },
					"+ "+key+".versions folder", "+ "+key+".versions/v_new id=new delete-marker", "~ "+key+".versions folder latest=new")
			}
			w.wantEvents(b, func() { w.Driver.Delete(b, "d/") },
				"- d/.versions/v_new id=new delete-marker", "- d/.versions folder latest=new", "- d folder-marker")
		}},
	}
}

func suspendedDeletes() []testCase {
	return []testCase{
		{"current null version", func(w *world) {
			b := w.bucket(engine.Suspended)
			w.put(b, "k", "", 1)
			w.wantEvents(b, func() { w.expire(b, "k", "null", engine.ExpirationDays, "done", "") },
				"- k 1B id=null", "+ k.versions folder", "+ k.versions/v_new id=new delete-marker", "~ k.versions folder latest=new")
		}},
		{"current null version over versions, without its id", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.put(b, "k", "", 2)
			w.expire(b, "k", v1, engine.ExpirationDays, "noop_resolved", "VERSION_NOT_LATEST")
			w.wantEvents(b, func() { w.expire(b, "k", "", engine.ExpirationDays, "done", "") },
				"- k 2B id=null", "+ k.versions/v_new id=new delete-marker", "~ k.versions folder latest=new")
			w.expire(b, "k", v1, engine.NoncurrentDays, "done", "")
		}},
		{"current version from before", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.wantEvents(b, func() { w.expire(b, "k", v1, engine.ExpirationDays, "done", "") },
				"+ k.versions/v_new id=new delete-marker", "~ k.versions folder latest=new", "~ k.versions/v_v1 1B id=v1 demoted")
		}},
		{"null version that is current counts as noncurrent", func(w *world) {
			// The gateway tells a noncurrent version by the pointer alone, and
			// there is none to a null version: who sends this deletes it.
			b := w.bucket(engine.Enabled)
			w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.put(b, "k", "", 2)
			w.wantEvents(b, func() { w.expire(b, "k", "null", engine.NoncurrentDays, "done", "") }, "- k 2B id=null")
		}},
		{"a version below a null version that is gone", func(w *world) {
			b := w.bucket(engine.Enabled)
			v1 := w.put(b, "k", "v1", 1)
			w.Driver.SetVersioning(b, engine.Suspended)
			w.put(b, "k", "", 2)
			w.Driver.DeleteVersion(b, "k", "null")
			w.wantTree(b, "k.versions folder null-is-latest", "k.versions/v_v1 1B id=v1 demoted")
			// The gateway finds the newest version and mends the pointer.
			w.wantEvents(b, func() { w.expire(b, "k", v1, engine.ExpirationDays, "done", "") },
				"~ k.versions folder latest=v1 null-is-latest", "+ k.versions/v_new id=new delete-marker",
				"~ k.versions folder latest=new", "~ k.versions/v_v1 1B id=v1 demoted")
		}},
		{"null marker is out of reach", func(w *world) {
			b := w.bucket(engine.Suspended)
			w.delete(b, "k", "")
			e := w.lookup(b, "k.versions/v_null")
			w.wantEvents(b, func() {
				w.send(b, "k", "null", engine.ExpiredDeleteMarker, identityOf(&e), "noop_resolved", "NOT_FOUND")
			})
		}},
		{"noncurrent null marker is out of reach", func(w *world) {
			b := w.bucket(engine.Suspended)
			w.delete(b, "k", "")
			e := w.lookup(b, "k.versions/v_null")
			w.Driver.SetVersioning(b, engine.Enabled)
			w.put(b, "k", "", 1)
			w.send(b, "k", "null", engine.NoncurrentDays, identityOf(&e), "noop_resolved", "NOT_FOUND")
		}},
	}
}

func lockedDeletes() []testCase {
	hour := time.Hour
	return []testCase{
		{"retention and hold", func(w *world) {
			b := w.lockedBucket()
			for _, c := range []struct {
				name, mode string
				until      time.Duration
				hold       bool
				want       engine.Outcome
			}{
				{"governance", "GOVERNANCE", hour, false, "skipped_object_lock"},
				{"compliance", "COMPLIANCE", hour, false, "skipped_object_lock"},
				{"over", "COMPLIANCE", -hour, false, "done"},
				{"hold", "", 0, true, "skipped_object_lock"},
				{"over but held", "GOVERNANCE", -hour, true, "skipped_object_lock"},
				{"free", "", 0, false, "done"},
			} {
				current, old := "current "+c.name, "old "+c.name
				ids := map[string]string{current: w.Driver.Put(b, current, 1, nil), old: w.Driver.Put(b, old, 1, nil)}
				w.Driver.Put(b, old, 2, nil)
				for key, id := range ids {
					if c.mode != "" {
						w.Driver.SetRetention(b, key, id, c.mode, time.Unix(0, w.now()).Add(c.until))
					}
					if c.hold {
						w.Driver.SetHold(b, key, id, true)
					}
				}
				w.expireLocked(b, current, ids[current], engine.ExpirationDays, c.want)
				w.expireLocked(b, old, ids[old], engine.NoncurrentDays, c.want)
			}
		}},
		{"a lifted hold", func(w *world) {
			b := w.lockedBucket()
			v1 := w.Driver.Put(b, "k", 1, nil)
			w.Driver.SetHold(b, "k", v1, true)
			w.expireLocked(b, "k", v1, engine.ExpirationDays, "skipped_object_lock")
			w.Driver.SetHold(b, "k", v1, false)
			w.expireLocked(b, "k", v1, engine.ExpirationDays, "done")
		}},
	}
}

func abortDeletes() []testCase {
	return []testCase{
		{"upload", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.startUpload(b, "k", "u1", 1)
			at := ".uploads/" + w.names.id("u1")
			w.wantEvents(b, func() { w.send(b, at, "", engine.AbortMPU, engine.Identity{}, "done", "") },
				"- .uploads/u1/part0001 1B", "- .uploads/u1 folder upload-of=k")
			w.send(b, at, "", engine.AbortMPU, engine.Identity{}, "noop_resolved", "NOT_FOUND")
		}},
		{"paths that are no upload", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.startUpload(b, "k", "u1", 1)
			for path, reason := range map[string]string{
				"k":             "FATAL_EVENT_ERROR: ABORT_MPU object_path missing .uploads/ prefix",
				".uploads":      "FATAL_EVENT_ERROR: ABORT_MPU object_path missing .uploads/ prefix",
				".uploads/":     "FATAL_EVENT_ERROR: ABORT_MPU object_path malformed: .uploads/",
				".uploads/..":   "FATAL_EVENT_ERROR: ABORT_MPU object_path malformed: .uploads/..",
				".uploads/u1/x": "FATAL_EVENT_ERROR: ABORT_MPU object_path malformed: .uploads/u1/x",
			} {
				w.send(b, path, "", engine.AbortMPU, engine.Identity{}, "blocked", reason)
			}
			w.wantTree(b, ".uploads folder", ".uploads/u1 folder upload-of=k", ".uploads/u1/part0001 1B")
		}},
	}
}

// entryPath is where a version lies.
func entryPath(key, versionID string) string {
	if versionID == "" || versionID == "null" {
		return key
	}
	return key + ".versions/v_" + versionID
}

// expire sends a delete of the live entry and compares the answer.
func (w *world) expire(bucket, key, versionID string, kind engine.Kind, outcome engine.Outcome, reason string) {
	w.Helper()
	e := w.lookup(bucket, entryPath(key, versionID))
	w.send(bucket, key, versionID, kind, identityOf(&e), outcome, reason)
}

// expireLocked compares the outcome alone: the reason of a lock is prose.
func (w *world) expireLocked(bucket, key, versionID string, kind engine.Kind, outcome engine.Outcome) {
	w.Helper()
	e := w.lookup(bucket, entryPath(key, versionID))
	if resp := w.answer(bucket, key, versionID, kind, identityOf(&e)); resp.Outcome != outcome {
		w.Errorf("%s of %q: %+v, want %s", kind, key, resp, outcome)
	}
}

func (w *world) send(bucket, key, versionID string, kind engine.Kind, id engine.Identity, outcome engine.Outcome, reason string) {
	w.Helper()
	want := engine.DeleteResponse{Outcome: outcome, Reason: reason}
	if got := w.answer(bucket, key, versionID, kind, id); got != want {
		w.Errorf("%s of %q: %+v, want %+v", kind, key, got, want)
	}
}

func (w *world) answer(bucket, key, versionID string, kind engine.Kind, id engine.Identity) engine.DeleteResponse {
	w.Helper()
	resp, err := w.Gateway.Delete(w.ctx, engine.DeleteRequest{
		Bucket: bucket, Path: key, VersionID: versionID, Kind: kind, Identity: id,
	})
	w.check(err)
	return resp
}
