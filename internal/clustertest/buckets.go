package clustertest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
)

const someRules = `<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter><Prefix>x/</Prefix></Filter><Expiration><Days>3</Days></Expiration></Rule></LifecycleConfiguration>`

func bucketCases() []testCase {
	return []testCase{
		{"versioning", func(w *world) {
			for _, v := range []engine.Versioning{engine.Unversioned, engine.Enabled, engine.Suspended} {
				w.wantBucket(engine.Bucket{Name: w.bucket(v), Versioning: v})
			}
		}},
		{"object lock implies versioning", func(w *world) {
			w.wantBucket(engine.Bucket{Name: w.lockedBucket(), Versioning: engine.Enabled, ObjectLock: true})
		}},
		{"versioning suspended and enabled again", func(w *world) {
			b := w.bucket(engine.Enabled)
			for _, v := range []engine.Versioning{engine.Suspended, engine.Enabled} {
				w.Driver.SetVersioning(b, v)
				w.wantBucket(engine.Bucket{Name: b, Versioning: v})
			}
		}},
		{"rules come and go", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.SetRules(b, someRules)
			got, err := w.Filer.Bucket(w.ctx, b)
			w.check(err)
			if !strings.Contains(string(got.Rules), "<Days>3</Days>") {
				w.Errorf("rules are %q", got.Rules)
			}
			w.Driver.SetRules(b, "")
			w.wantBucket(engine.Bucket{Name: b})
		}},
		{"in the order of their names", func(w *world) {
			made := []string{w.bucket(engine.Unversioned), w.bucket(engine.Enabled), w.bucket(engine.Suspended)}
			all, err := w.Filer.Buckets(w.ctx)
			w.check(err)
			var names []string
			for _, b := range all {
				names = append(names, b.Name)
			}
			if !slices.IsSorted(names) {
				w.Errorf("not sorted: %q", names)
			}
			for _, name := range made {
				if !slices.Contains(names, name) {
					w.Errorf("%q is not in %q", name, names)
				}
			}
		}},
		{"created about now", func(w *world) {
			b, err := w.Filer.Bucket(w.ctx, w.bucket(engine.Unversioned))
			w.check(err)
			if age := time.Duration(w.now() - b.CreatedNs); age < -time.Minute || age > time.Minute {
				w.Errorf("created %v ago", age)
			}
		}},
		{"missing", func(w *world) {
			if b, err := w.Filer.Bucket(w.ctx, w.newName()); !errors.Is(err, engine.ErrNotFound) {
				w.Errorf("got %+v, %v", b, err)
			}
		}},
	}
}

// wantBucket compares all but the time of creation.
func (w *world) wantBucket(want engine.Bucket) {
	w.Helper()
	got, err := w.Filer.Bucket(w.ctx, want.Name)
	w.check(err)
	all, err := w.Filer.Buckets(w.ctx)
	w.check(err)
	i := slices.IndexFunc(all, func(b engine.Bucket) bool { return b.Name == want.Name })
	if i < 0 {
		w.Fatalf("bucket %q is not listed", want.Name)
	}
	for _, b := range []engine.Bucket{got, all[i]} {
		if b.Name != want.Name || b.Versioning != want.Versioning || b.ObjectLock != want.ObjectLock || string(b.Rules) != string(want.Rules) {
			w.Errorf("got %+v, want %+v", b, want)
		}
	}
}
