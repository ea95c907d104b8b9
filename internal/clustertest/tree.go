package clustertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"weedlc/engine"
)

func treeCases() []testCase {
	return []testCase{
		{"listing in byte order", func(w *world) {
			b := w.bucket(engine.Unversioned)
			names := []string{"Z", "a", "a b", "a-", "a.b", "a0", "aa", "é", "日"}
			for _, n := range []int{4, 0, 8, 2, 6, 1, 7, 3, 5} {
				w.Driver.Put(b, "f/"+names[n], 1, nil)
			}
			slices.Sort(names)
			w.wantList(engine.Page{Bucket: b, Folder: "f", Limit: 100}, names...)
		}},
		{"pages", func(w *world) {
			b := w.bucket(engine.Unversioned)
			for i := range 6 {
				w.Driver.Put(b, fmt.Sprintf("f/%d", i), 1, nil)
			}
			page := engine.Page{Bucket: b, Folder: "f", Limit: 3}
			w.wantList(page, "0", "1", "2")
			page.After = "2"
			w.wantList(page, "3", "4", "5")
			page.After = "5"
			w.wantList(page)
			page.After, page.Limit = "3", 4
			w.wantList(page, "4", "5")
			page.After = "3x"
			w.wantList(page, "4", "5")
			page.After, page.Limit = "", 7
			w.wantList(page, "0", "1", "2", "3", "4", "5")
			page.Limit = 6
			w.wantList(page, "0", "1", "2", "3", "4", "5")
			page.Limit = 1
			w.wantList(page, "0")
		}},
		{"name prefix", func(w *world) {
			b := w.bucket(engine.Unversioned)
			for _, k := range []string{"a", "ab", "ab.c", "abd", "b"} {
				w.Driver.Put(b, "f/"+k, 1, nil)
			}
			w.wantList(engine.Page{Bucket: b, Folder: "f", Prefix: "ab", Limit: 10}, "ab", "ab.c", "abd")
			w.wantList(engine.Page{Bucket: b, Folder: "f", Prefix: "ab", Limit: 2}, "ab", "ab.c")
			w.wantList(engine.Page{Bucket: b, Folder: "f", Prefix: "ab", After: "ab", Limit: 2}, "ab.c", "abd")
			w.wantList(engine.Page{Bucket: b, Folder: "f", Prefix: "ab", After: "abd", Limit: 2})
			w.wantList(engine.Page{Bucket: b, Folder: "f", Prefix: "ab", After: "a", Limit: 2}, "ab", "ab.c")
			w.wantList(engine.Page{Bucket: b, Folder: "f", Prefix: "x", Limit: 2})
			w.wantList(engine.Page{Bucket: b, Prefix: "f", Limit: 2}, "f")
		}},
		{"missing folders are empty", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "file", 1, nil)
			w.wantList(engine.Page{Bucket: b, Folder: "nowhere", Limit: 5})
			w.wantList(engine.Page{Bucket: b, Folder: "file", Limit: 5})
			w.wantList(engine.Page{Bucket: w.newName(), Limit: 5})
		}},
		{"natures", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "plain/x", 1, nil)
			w.Driver.Put(b, "marker/", 0, nil)
			w.Driver.Put(b, "marker/x", 2, nil)
			w.Driver.Put(b, "folder-first/x", 3, nil)
			w.Driver.Put(b, "folder-first", 4, nil)
			w.Driver.Put(b, "file-first", 5, nil)
			w.Driver.Put(b, "file-first/x", 6, nil)
			w.Driver.Put(b, "late/x", 7, nil)
			w.Driver.Put(b, "late/", 0, nil)
			w.Driver.Put(b, "empty", 0, nil)
			w.wantTree(b,
				"empty",
				"file-first prefix-object 5B", "file-first/x 6B",
				"folder-first prefix-object 4B", "folder-first/x 3B",
				"late folder-marker", "late/x 7B",
				"marker folder-marker", "marker/x 2B",
				"plain folder", "plain/x 1B",
			)
		}},
		{"deleting a folder's object leaves the folder", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "marker/", 0, nil)
			w.Driver.Put(b, "marker/x", 1, nil)
			w.Driver.Put(b, "prefix", 2, nil)
			w.Driver.Put(b, "prefix/x", 3, nil)
			w.Driver.Put(b, "lone/", 0, nil)
			for _, key := range []string{"marker/", "prefix", "lone/"} {
				w.Driver.Delete(b, key)
			}
			w.wantTree(b, "marker folder", "marker/x 1B", "prefix folder", "prefix/x 3B")
		}},
		{"a look-up ignores a trailing slash", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "d/", 0, nil)
			w.Driver.Put(b, "d/k", 1, nil)
			for path, want := range map[string]string{"d": "d", "d/": "d", "d/k": "k", "d/k/": "k"} {
				if e := w.lookup(b, path); e.Name != want {
					w.Errorf("%q is %q", path, e.Name)
				}
			}
		}},
		{"missing entries", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "d/k", 1, nil)
			for _, at := range [][2]string{{b, "nowhere"}, {b, "d/nowhere"}, {b, "nowhere/k"}, {b, "d/k/below"}, {w.newName(), "k"}, {b, ".."}, {b, "d/../d/k"}} {
				if e, err := w.Filer.Lookup(w.ctx, at[0], at[1]); !errors.Is(err, engine.ErrNotFound) {
					w.Errorf("%q: got %+v, %v", at, e, err)
				}
			}
		}},
		{"listed as looked up", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "f/file", 7, map[string]string{"a": "1"})
			w.Driver.Put(b, "f/folder/x", 1, nil)
			w.Driver.Put(b, "f/marker/", 0, nil)
			entries, err := w.Filer.List(w.ctx, engine.Page{Bucket: b, Folder: "f", Limit: 10})
			w.check(err)
			for i := range entries {
				alone := w.lookup(b, "f/"+entries[i].Name)
				w.sameEntry("f/"+entries[i].Name, &entries[i], &alone)
			}
		}},
		{"clocks of an entry", func(w *world) {
			b := w.bucket(engine.Unversioned)
			before := w.now()
			w.Driver.Put(b, "k", 1, nil)
			e, after := w.lookup(b, "k"), w.now()
			if e.MtimeNs%int64(time.Second) != 0 {
				w.Errorf("S3 stamps mtimes in whole seconds, not %d", e.MtimeNs)
			}
			for name, ns := range map[string]int64{"mtime": e.MtimeNs, "created": e.CreatedNs} {
				if ns < before-int64(time.Minute) || ns > after+int64(time.Minute) {
					w.Errorf("%s is %d, not about %d", name, ns, before)
				}
			}
			if e.CommitNs <= before || e.CommitNs > after {
				w.Errorf("commit stamp %d is not within (%d, %d]", e.CommitNs, before, after)
			}
			mtime := time.Unix(1_600_000_000, 123456789)
			w.Driver.SetMtime(b, "k", mtime)
			if aged := w.lookup(b, "k"); aged.MtimeNs != mtime.UnixNano() || aged.CommitNs <= e.CommitNs || aged.CreatedNs != e.CreatedNs {
				w.Errorf("after a touch: %+v", aged)
			}
		}},
	}
}

func (w *world) wantList(page engine.Page, want ...string) {
	w.Helper()
	entries, err := w.Filer.List(w.ctx, page)
	w.check(err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name)
	}
	if !slices.Equal(got, want) {
		w.Errorf("%+v lists %q, want %q", page, got, want)
	}
}
