package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"golang.org/x/sync/errgroup"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// Folders, keys and version folders of more than a page are read to their end:
// a folder of pages without a rest, a key that is the last of a page with its
// versions on the next, a key with more versions than a page.
func TestScenario37_Paging(t *testing.T) {
	for _, tc := range []struct{ size, pages int }{{4, 2}, {pass.DefaultPageSize, 1}} {
		t.Run(fmt.Sprint(tc.size), func(t *testing.T) {
			r := newRig(t)
			r.opts.Settle, r.opts.Concurrency, r.opts.PageSize = 0, 32, tc.size
			b := fmt.Sprintf("paging-%d", tc.size)
			due := r.paged(b, tc.size, tc.pages)
			rep := r.pass(pass.OK, due...)
			if rep.Totals.EntriesWalked < int64(len(due)) {
				t.Errorf("%d entries were walked for %d deletes", rep.Totals.EntriesWalked, len(due))
			}
			r.pass(pass.OK)
		})
	}
}

// paged fills a versioned bucket for pages of a size, one folder of it with
// exactly so many.
func (r *rig) paged(b string, size, pages int) (due []sent) {
	r.t.Helper()
	r.CreateBucket(b, weedtest.Versioned, document(rule("all", prefix(""), expire(1)+noncurrent(1, 0))))
	root := "/buckets/" + b
	young := time.Now()
	old := young.Add(-3 * day)

	// The last name of the first page is the key "m", whose versions follow: a
	// null version and two others.
	var entries []entry
	for i := range size - 1 {
		entries = append(entries, entry{root, file(fmt.Sprintf("a%04d", i), young)})
	}
	entries = append(entries, entry{root, file("m", old)})
	m1 := r.Put(b, "m", weedtest.Object{Body: "one"})
	m2 := r.Put(b, "m", weedtest.Object{Body: "two"})
	due = append(due,
		sent{b, "m", m1, engine.NoncurrentDays}, sent{b, "m", "null", engine.NoncurrentDays}, sent{b, "m", m2, engine.ExpirationDays})

	// Pages to the last entry, of which each tenth is due, and the last.
	for i := range pages * size {
		f := file(fmt.Sprintf("f%04d", i), young)
		if i%10 == 0 || i == pages*size-1 {
			f.Attributes.Mtime = old.Unix()
			due = append(due, sent{b, "n/" + f.Name, "null", engine.ExpirationDays})
		}
		entries = append(entries, entry{root + "/n", f})
	}

	// A key with a page of noncurrent versions and one more.
	// An id begins with the time, which counts down.
	current := r.Put(b, "o", weedtest.Object{})
	for i := range size + 1 {
		id := fmt.Sprintf("%s%016x", "7"+current[1:16], i)
		v := file("v_"+id, old)
		v.Extended = map[string][]byte{s3_constants.ExtVersionIdKey: []byte(id)}
		entries = append(entries, entry{root + "/o" + s3_constants.VersionsFolder, v})
		due = append(due, sent{b, "o", id, engine.NoncurrentDays})
	}
	r.createAll(entries)
	r.AgeVersion(b, "m", m1, 5*day)
	r.SetDemoted(b, "m", m1, old)
	r.SetVersionMtime(b, "m", m2, old)
	r.SetVersionMtime(b, "o", current, old)

	names := r.List(root)
	at := slices.IndexFunc(names, func(e *filer_pb.Entry) bool { return e.GetName() == "m" })
	if at != size-1 || names[at+1].GetName() != "m"+s3_constants.VersionsFolder {
		r.t.Fatalf("%q is entry %d, followed by %q", "m", at+1, names[at+1].GetName())
	}
	return append(due, sent{b, "o", current, engine.ExpirationDays})
}

// entry is one to create in a folder.
type entry struct {
	folder string
	entry  *filer_pb.Entry
}

// file is an empty file.
func file(name string, mtime time.Time) *filer_pb.Entry {
	return &filer_pb.Entry{Name: name, Attributes: &filer_pb.FuseAttributes{Mtime: mtime.Unix(), FileMode: 0o644}}
}

// createAll is Create for many.
func (r *rig) createAll(entries []entry) {
	r.t.Helper()
	g, ctx := errgroup.WithContext(r.t.Context())
	g.SetLimit(8)
	for _, e := range entries {
		g.Go(func() error {
			resp, err := r.Filer.CreateEntry(ctx, &filer_pb.CreateEntryRequest{Directory: e.folder, Entry: e.entry})
			if err == nil && resp.GetError() != "" {
				err = errors.New(resp.GetError())
			}
			return err
		})
	}
	r.must(g.Wait())
}

// Nine buckets, and uploads of more than a page.
func TestScenario37_BucketsAndUploads(t *testing.T) {
	r := newRig(t)
	r.opts.Settle, r.opts.PageSize = 0, 4
	var due []sent
	for i := range 9 {
		b := fmt.Sprintf("nine-%d", i)
		r.CreateBucket(b, weedtest.Plain, document(rule("all", prefix(""), expire(1)+abort(1))))
		r.Put(b, "k", weedtest.Object{Age: 2 * day})
		due = append(due, sent{b, "k", "", engine.ExpirationDays})
	}
	for i := range 9 {
		id := r.StartUpload("nine-4", fmt.Sprintf("k%d", i))
		if i%2 == 0 {
			r.AgeUpload("nine-4", id, 2*day)
			due = append(due, sent{"nine-4", ".uploads/" + id, "", engine.AbortMPU})
		}
	}
	r.pass(pass.OK, due...)
	r.pass(pass.OK)
	same(t, "uploads", r.Uploads("nine-4"), []string{"k1", "k3", "k5", "k7"})
}

// Rules added later reach objects of any age. The same rules in other words do
// not make a pass walk, and a rule that is disabled does nothing any more.
func TestScenario45_WhenAWalkIsDue(t *testing.T) {
	r := newRig(t)
	const b, other = "s45", "s45-other"
	r.opts.Settle = 0
	r.CreateBucket(b, weedtest.Plain, "")
	r.CreateBucket(other, weedtest.Plain, document(rule("days", prefix(""), expire(7))))
	r.Put(b, "ancient", weedtest.Object{Age: 400 * day})
	r.Put(b, "young", weedtest.Object{})
	r.Put(other, "young", weedtest.Object{})
	r.pass(pass.OK)

	one, two := rule("one", prefix(""), expire(7)), rule("two", prefix("x/"), expire(3))
	r.PutRules(b, document(one, two))
	rep := r.pass(pass.OK, sent{b, "ancient", "", engine.ExpirationDays})
	wantRecovery(t, rep, "rules_changed")
	if got := rep.Totals.EntriesWalked; got != 2 {
		t.Errorf("%d entries were walked, want the 2 of the bucket with new rules", got)
	}

	for _, text := range []string{
		document(two, one),
		strings.NewReplacer("></Prefix>", "></Prefix>", "><", ">\n  <").Replace(document(one, two)),
		document(rule("uno", prefix(""), expire(7)), rule("due", prefix("x/"), expire(3))),
		strings.Replace(document(one, two), "<LifecycleConfiguration>", `<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`, 1),
	} {
		r.PutRules(b, text)
		if rep := r.pass(pass.OK); rep.Totals.EntriesWalked != 0 {
			t.Errorf("the same rules made the pass walk %d entries: %s", rep.Totals.EntriesWalked, text)
		}
	}

	r.Put(b, "ancient", weedtest.Object{Age: 400 * day})
	r.PutRules(b, strings.ReplaceAll(document(one, two), "Enabled", "Disabled"))
	r.pass(pass.OK)
	r.wantKeys(b, "ancient", "young")
	r.PutRules(b, document(one, two))
	r.pass(pass.OK, sent{b, "ancient", "", engine.ExpirationDays})
}

// A walk that fails half-way is not a walk: the hash of the rules is not saved,
// the report names the bucket, and the next pass walks again.
func TestScenario45_FailedWalkIsRepeated(t *testing.T) {
	r := newRig(t)
	r.opts.Settle = 0
	const b = "half-way"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(7))))
	r.Put(b, "a/k", weedtest.Object{Age: 9 * day})
	r.Put(b, "b/k", weedtest.Object{Age: 9 * day})
	var mu sync.Mutex
	broken := true
	r.filer.lists = func(p pass.Page) error {
		mu.Lock()
		defer mu.Unlock()
		if broken && p.Folder == "b" {
			return errors.New("no answer, by the test")
		}
		return nil
	}
	call := func(key string) sent { return sent{b, key, "", engine.ExpirationDays} }
	rep := r.pass(pass.Partial, call("a/k"))
	if len(rep.Errors) != 1 || rep.Errors[0].Bucket != b || rep.Errors[0].Category != pass.CategoryTransport {
		t.Errorf("the errors are %+v", rep.Errors)
	}
	for sh, c := range r.cursors() {
		if !c.RuleSetHash.IsZero() || c.LastWalkedNs != 0 {
			t.Errorf("shard %d counts as walked: %+v", sh, c)
		}
	}
	broken = false
	rep = r.pass(pass.OK, call("b/k"))
	wantRecovery(t, rep, "rules_changed")
	wantQuiet(t, r.pass(pass.OK))
}

// A bucket whose rules cannot be read is left alone, by name, and the others
// are not.
func TestScenario09_UnreadableRulesOfOneBucket(t *testing.T) {
	r := newRig(t)
	for _, b := range []string{"bad-cut", "bad-two", "good"} {
		r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
		r.Put(b, "k", weedtest.Object{Age: 2 * day})
	}
	whole := document(rule("days", prefix(""), expire(1)))
	r.StoreRules("bad-cut", whole[:len(whole)/2])
	r.StoreRules("bad-two", whole+whole)
	rep := r.pass(pass.Partial, sent{"good", "k", "", engine.ExpirationDays})
	var named []string
	for _, p := range rep.Errors {
		if p.Category != pass.CategoryRules {
			t.Errorf("unexpected error %+v", p)
		}
		named = append(named, p.Bucket)
	}
	same(t, "buckets named", named, []string{"bad-cut", "bad-two"})
	r.wantKeys("bad-cut", "k")
	r.wantKeys("bad-two", "k")
}

// One walk covers what it is asked for and moves no cursor.
func TestWalkOnly(t *testing.T) {
	r := newRig(t)
	rules := document(rule("days", prefix(""), expire(1)))
	for _, b := range []string{"only-a", "only-b"} {
		r.CreateBucket(b, weedtest.Plain, rules)
		for _, key := range []string{"p/1", "p/2", "q/1"} {
			r.Put(b, key, weedtest.Object{Age: 2 * day})
		}
	}
	walk := func(prefix string, buckets ...string) *pass.Report {
		r.proxy.Forget()
		o := r.opts
		o.Now = time.Now()
		return pass.Walk(t.Context(), pass.WalkOptions{Options: o, Buckets: buckets, Prefix: prefix}, r.deps())
	}
	call := func(b, key string) sent { return sent{b, key, "", engine.ExpirationDays} }
	if rep := walk("p/", "only-a"); rep.Status != pass.OK {
		t.Errorf("the walk ended %q: %+v", rep.Status, rep.Errors)
	}
	r.wantSent(call("only-a", "p/1"), call("only-a", "p/2"))
	walk("")
	r.wantSent(call("only-a", "q/1"), call("only-b", "p/1"), call("only-b", "p/2"), call("only-b", "q/1"))
	if rep := walk("", "only-none"); rep.Status != pass.Failed || !containsQuoted(rep.Errors[0].Message, "only-none") {
		t.Errorf("the walk of no bucket ended %q: %+v", rep.Status, rep.Errors)
	}
	if got := r.cursors(); len(got) != 0 {
		t.Errorf("the walks have left %d cursors", len(got))
	}
}
