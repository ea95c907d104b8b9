package pass_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// endless is a filer with one bucket: a folder of a million objects, every
// tenth of them due, and one key with 5,000 versions. Nothing of it is stored.
type endless struct {
	pass.Filer // for what a walk does not call
	now        time.Time
	objects    int
}

func (f *endless) Now(context.Context) (time.Time, error) { return f.now, nil }

func (f *endless) bucket() engine.Bucket {
	return engine.Bucket{Name: "big", Versioning: engine.Enabled, CreatedNs: f.now.UnixNano(),
		Rules: []byte(document(rule(everything, expireAfter(1)), rule(everything, noncurrentAfter(1, 100))))}
}

func (f *endless) Buckets(context.Context) ([]engine.Bucket, error) {
	return []engine.Bucket{f.bucket()}, nil
}
func (f *endless) Bucket(context.Context, string) (engine.Bucket, error) { return f.bucket(), nil }

func (f *endless) Lookup(_ context.Context, _, path string) (engine.Entry, error) {
	return engine.Entry{}, engine.ErrNotFound
}

func (f *endless) List(_ context.Context, p pass.Page) ([]engine.Entry, error) {
	switch p.Folder {
	case "":
		return []engine.Entry{{Name: "folder", Nature: engine.Folder}, f.container()}, nil
	case "versions.versions":
		return f.page(p, 5000, f.version), nil
	}
	return f.page(p, f.objects, f.object), nil
}

func (f *endless) page(p pass.Page, n int, entry func(int) engine.Entry) []engine.Entry {
	from := 0
	if p.After != "" {
		last, err := strconv.Atoi(p.After[len(p.After)-8:])
		if err != nil {
			panic(err)
		}
		from = last + 1
	}
	var out []engine.Entry
	for i := from; i < n && len(out) < p.Limit; i++ {
		out = append(out, entry(i))
	}
	return out
}

func (f *endless) object(i int) engine.Entry {
	age := time.Hour
	if i%10 == 0 {
		age = 48 * time.Hour
	}
	return engine.Entry{Name: fmt.Sprintf("o%08d", i), HasAttributes: true, MtimeNs: f.now.Add(-age).UnixNano(), Size: 1}
}

func (f *endless) versionID(i int) string { return fmt.Sprintf("6%015x%08d", i, i) }

func (f *endless) version(i int) engine.Entry {
	at := f.now.Add(-48*time.Hour - time.Duration(i)*time.Second)
	if i == 0 {
		at = f.now
	}
	ext := map[string][]byte{"Seaweed-X-Amz-Version-Id": []byte(f.versionID(i))}
	if i > 0 {
		ext["Seaweed-X-Amz-Noncurrent-Since-Ns"] = fmt.Appendf(nil, "%d", f.now.Add(-47*time.Hour).UnixNano())
	}
	return engine.Entry{Name: "v_" + f.versionID(i), HasAttributes: true, MtimeNs: at.UnixNano(), Size: 1, Extended: ext}
}

func (f *endless) container() engine.Entry {
	return engine.Entry{Name: "versions.versions", Nature: engine.Folder, HasAttributes: true, Extended: map[string][]byte{
		"Seaweed-X-Amz-Latest-Version-Id":        []byte(f.versionID(0)),
		"Seaweed-X-Amz-Latest-Version-File-Name": []byte("v_" + f.versionID(0)),
	}}
}

// A walk needs memory for its pages, its depth and its largest version group,
// whatever the number of objects; its totals are exact.
func TestScenario35_BoundedMemory(t *testing.T) {
	f := &endless{now: time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC), objects: 1_000_000}
	if testing.Short() {
		f.objects = 100_000
	}
	var most uint64
	kinds := map[engine.Kind]int{}
	seen := 0
	o := pass.PreviewOptions{
		WalkOptions: pass.WalkOptions{Options: pass.Options{Now: f.now, Shards: allShards}},
		Tell: func(j pass.Judgement) {
			kinds[j.Action.Kind]++
			if seen++; seen%10_000 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		},
	}
	rep := pass.Preview(context.Background(), o, f)
	if rep.Status != pass.OK {
		t.Fatalf("ended %q: %+v", rep.Status, rep.Errors)
	}
	if kinds[engine.ExpirationDays] != f.objects/10 || kinds[engine.NoncurrentDays] != 4999-100 {
		t.Fatalf("due: %v", kinds)
	}
	if want := int64(f.objects + 5000); rep.Totals.EntriesWalked != want {
		t.Fatalf("walked %d, want %d", rep.Totals.EntriesWalked, want)
	}
	if most > 64<<20 {
		t.Fatalf("%d MiB of heap", most>>20)
	}
	t.Logf("heap at most %d MiB", most>>20)
}

// Pages end anywhere: between buckets' objects, in the middle of a key's
// versions, between a key and its version folder.
func TestScenario37_PagingEverywhere(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 8, 9, 1024} {
		w := newWorld(t, memcluster.Config{Start: start})
		w.opts.PageSize = size
		for i := range 9 {
			name := fmt.Sprintf("bucket%d", i)
			w.bucket(name, engine.Unversioned, false, rule(everything, expireAfter(1)))
			for j := range 8 {
				_, err := w.c.PutObject(name, fmt.Sprintf("f/%d", j), memcluster.Object{Size: 1})
				w.must(err)
			}
		}
		w.bucket("versioned", engine.Enabled, false, rule(everything, noncurrentAfter(1, 3)))
		for range 9 {
			w.c.Advance(time.Second)
			_, err := w.c.PutObject("versioned", "nine", memcluster.Object{Size: 1})
			w.must(err)
		}
		// Bare objects from before versioning whose version folders sort behind
		// other names: m, m-1 and m.a stand between m and m.versions.
		w.must(w.c.SetVersioning("versioned", engine.Suspended))
		for _, k := range []string{"k1", "k2", "m", "m-1", "m.a"} {
			_, err := w.c.PutObject("versioned", k, memcluster.Object{Size: 1})
			w.must(err)
		}
		w.must(w.c.SetVersioning("versioned", engine.Enabled))
		w.c.Advance(time.Minute)
		for _, k := range []string{"m", "m-1"} {
			_, err := w.c.PutObject("versioned", k, memcluster.Object{Size: 1})
			w.must(err)
		}
		w.at(3)
		w.c.TakeCounts()
		rep := w.okPass()
		if n := rep.Totals.Outcomes[pass.Done]; n != 9*8+5 {
			t.Errorf("page size %d: %d deletes, want 72 objects and 5 versions", size, n)
		}
		if want := int64(9*8 + 9 + 5 + 2); rep.Totals.EntriesWalked != want {
			t.Errorf("page size %d: walked %d entries, want each of %d once", size, rep.Totals.EntriesWalked, want)
		}
	}
}

// notices collects what a person is told.
type notices struct{ lines []string }

func (n *notices) Notice(line string)   { n.lines = append(n.lines, line) }
func (n *notices) Update(_ pass.Totals) {}

// A rule that is longer than the log reaches is left to walks, a position from
// before the log's start brings a walk, and both are said.
func TestScenario46_LogShorterThanTheRule(t *testing.T) {
	w := plainWorld(t, rule("<Prefix>a/</Prefix>", expireAfter(5)), rule("<Prefix>b/</Prefix>", expireAfter(90)))
	w.opts.MetaLogRetention = 10 * day
	w.put("b/x", memcluster.Object{Size: 1})
	said := &notices{}
	w.opts.Progress = said
	w.at(1)
	w.okPass()
	if !slices.ContainsFunc(said.lines, func(l string) bool {
		return strings.Contains(l, "expiration_days is left to walks: 90 days is longer than the meta-log reaches")
	}) {
		t.Fatalf("said: %q", said.lines)
	}
	w.at(60)
	w.okPass()
	w.c.Trim(start.Add(80 * day))
	w.at(89)
	w.okPass()
	w.mustBeThere("b/x")
	w.at(95)
	w.okPass()
	w.mustBeGone("b/x")

	w = plainWorld(t, rule(everything, expireAfter(30)))
	w.put("k", memcluster.Object{Size: 1})
	w.at(1)
	w.okPass()
	w.at(20)
	w.put("other", memcluster.Object{Size: 1})
	w.c.Trim(start.Add(15 * day))
	said = &notices{}
	w.opts.Progress = said
	w.at(21)
	w.okPass()
	if len(said.lines) != 1 || !strings.HasPrefix(said.lines[0], "the meta-log was trimmed: walking 1 bucket over all rules") {
		t.Fatalf("said: %q", said.lines)
	}
}

// An object that is rewritten between the verdict and the call survives, also
// with the same size in the same second, and so does one whose tags change.
func TestScenario48_RewrittenMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(w *world)
	}{
		{"other nanoseconds", func(w *world) { w.must(w.c.Touch("buk", "k", start.Add(5))) }},
		{"written again", func(w *world) { w.put("k", memcluster.Object{Size: 1}) }},
		{"tag removed", func(w *world) { w.tag("k", "2") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, memcluster.Config{Start: start})
			w.bucket("buk", engine.Unversioned, false, rule(tagFilter("t", "1"), expireAfter(1)))
			w.put("k", memcluster.Object{Size: 1, Mtime: start, Tags: map[string]string{"t": "1"}})
			w.at(2)
			changed := false
			w.c.SetHook(func(c memcluster.Call) error {
				if c.Op == memcluster.OpDelete && !c.Done && !changed {
					changed = true
					tc.change(w)
					if tc.name == "other nanoseconds" {
						w.tag("k", "2")
					}
				}
				return nil
			})
			rep := w.pass()
			if rep.Status != pass.OK || rep.Totals.Outcomes[pass.NoopResolved] != 1 || rep.Totals.Outcomes[pass.Done] != 0 {
				t.Fatalf("ended %q, outcomes %v", rep.Status, rep.Totals.Outcomes)
			}
			w.mustBeThere("k")
		})
	}
}

// Nothing is sent for an entry without attributes: it has no identity.
func TestScenario48_NoAttributesNoCall(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.put("k", memcluster.Object{Size: 1})
	w.must(w.c.Edit("buk", "k", func(e *engine.Entry) { e.HasAttributes = false }))
	w.at(2)
	if rep := w.pass(); rep.Totals.DeleteCalls != 0 {
		t.Fatalf("%d calls", rep.Totals.DeleteCalls)
	}
	w.mustBeThere("k")
}
