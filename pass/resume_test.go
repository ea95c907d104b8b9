package pass_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// orchard is a cluster with folders, versions, markers, uploads and keys whose
// version folders sort behind other names, half of it due.
func orchard(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, memcluster.Config{Start: start})
	w.opts.Concurrency, w.opts.PageSize = 2, 2
	rules := []string{rule(everything, expireAfter(10)+noncurrentAfter(10, 0)), rule(everything, abortAfter(10))}
	w.bucket("plain", engine.Unversioned, false, rules...)
	w.bucket("prefixed", engine.Unversioned, false, rule("<Prefix>a/b/</Prefix>", expireAfter(10)), rule("<Prefix>c</Prefix>", expireAfter(10)))
	w.bucket("versioned", engine.Suspended, false, rules...)
	keys := []string{"a/b/1", "a/b/2", "a/b/3", "a/c", "a-b", "c", "c1/x", "c1/y", "d/e/f/g", "k", "k-1", "k.a", "z/"}
	put := func(bucket string, keys ...string) {
		for _, k := range keys {
			_, err := w.c.PutObject(bucket, k, memcluster.Object{Size: 1})
			w.must(err)
		}
	}
	half := func(odd int) (some []string) {
		for i, k := range keys {
			if i%2 == odd {
				some = append(some, k)
			}
		}
		return some
	}
	put("versioned", "k", "k-1", "a/c")
	w.must(w.c.SetVersioning("versioned", engine.Enabled))
	for _, b := range []string{"plain", "prefixed", "versioned"} {
		put(b, half(0)...)
	}
	for i := range 3 {
		_, err := w.c.CreateUpload("plain", fmt.Sprintf("u%d", i), memcluster.Object{})
		w.must(err)
	}
	w.at(5)
	for _, b := range []string{"plain", "prefixed", "versioned"} {
		put(b, half(1)...)
	}
	put("versioned", "a/b/1", "k")
	w.at(12)
	return w
}

// survivors lists what is there, version files without the ids that tell when
// they were made.
func survivors(w *world) []string {
	var out []string
	for _, b := range w.c.Stored() {
		for p := range maps.Keys(w.c.Tree(b.Name)) {
			folder, _, _ := strings.Cut(p, ".versions/v_")
			out = append(out, b.Name+"/"+folder)
		}
	}
	slices.Sort(out)
	return out
}

// A walk that is interrupted at any point, and any number of times, goes on
// where it stopped: what survives is the same, each object gets one call, and a
// folder is listed at most once more for each interruption.
func TestWalk_GoesOnWhereItStopped(t *testing.T) {
	whole := orchard(t)
	var mu sync.Mutex
	pages := func(w *world, counts map[string]int) memcluster.Hook {
		return func(c memcluster.Call) error {
			if c.Op == memcluster.OpList && !c.Done {
				mu.Lock()
				counts[c.Bucket+"/"+c.Path]++
				mu.Unlock()
			}
			return nil
		}
	}
	once := map[string]int{}
	whole.c.SetHook(pages(whole, once))
	whole.okPass()
	whole.c.SetHook(nil)
	want := survivors(whole)
	calls := whole.c.Counts().Deletes

	resumed, extra := 0, 0.0
	for at := 100; at < 260; at++ {
		w := orchard(t)
		counts := map[string]int{}
		interruptions := 0
		for {
			w.interruptAfter(at, pages(w, counts))
			rep := w.pass()
			w.uninterrupted()
			if rep.Status == pass.OK {
				break
			}
			if !rep.Interrupted || rep.Status != pass.CutShort {
				t.Fatalf("interrupted after %d calls: ended %q: %+v", at, rep.Status, rep.Errors)
			}
			if walkPoints(w) > 0 {
				resumed++
			}
			if interruptions++; interruptions > 50 {
				t.Fatalf("no end with %d calls at a time", at)
			}
			w.c.Advance(time.Minute)
		}
		if got := survivors(w); !slices.Equal(got, want) {
			t.Fatalf("interrupted %d times after %d calls:\n got %v\nwant %v", interruptions, at, got, want)
		}
		if n := w.c.Counts().Deletes; n != calls {
			t.Fatalf("interrupted %d times after %d calls: %d deletes, want %d", interruptions, at, n, calls)
		}
		if interruptions > 0 {
			extra = max(extra, float64(sum(counts)-sum(once))/float64(interruptions))
		}
	}
	t.Logf("%d pages at once, at most %.1f more for each interruption", sum(once), extra)
	if extra > 25 {
		t.Fatalf("%.1f pages more for each interruption", extra)
	}
	if resumed < 20 {
		t.Fatalf("only %d of the interruptions left a point to go on from", resumed)
	}
}

// A pass that is killed at any point goes on from what it saved on its way.
func TestWalk_GoesOnAfterAKill(t *testing.T) {
	whole := orchard(t)
	whole.okPass()
	want, calls := survivors(whole), whole.c.Counts().Deletes

	resumed := 0
	for at := 150; at < 1500; at += 10 {
		w := orchard(t)
		w.opts.SaveInterval = 200 * time.Microsecond
		for kills := 0; ; kills++ {
			if kills > 50 {
				t.Fatalf("no end with %d calls at a time", at)
			}
			var killed bool
			w.c.SetHook(memcluster.KillAfter(at+100*kills, &killed))
			rep := w.pass()
			w.c.SetHook(nil)
			if !killed {
				if rep.Status != pass.OK {
					t.Fatalf("ended %q: %+v", rep.Status, rep.Errors)
				}
				break
			}
			if walkPoints(w) > 0 {
				resumed++
			}
			w.c.Advance(time.Minute)
		}
		if got := survivors(w); !slices.Equal(got, want) {
			t.Fatalf("killed after %d calls:\n got %v\nwant %v", at, got, want)
		}
		if n := w.c.Counts().Deletes; n > calls {
			t.Fatalf("killed after %d calls: %d deletes, want %d", at, n, calls)
		}
	}
	if resumed < 20 {
		t.Fatalf("only %d of the kills left a point to go on from", resumed)
	}
}

// walkPoints counts the shards that remember a walk to go on with.
func walkPoints(w *world) (n int) {
	for sh := range 16 {
		side, _ := w.store.Side(sh)
		for _, m := range side.Buckets {
			if m.Walk != nil {
				n++
			}
		}
	}
	return n
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// A walk in one huge folder makes progress with each pass, however short.
func TestWalk_ProgressesWithShortPasses(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.opts.PageSize, w.opts.Concurrency = 10, 1
	for i := range 200 {
		w.put(fmt.Sprintf("o%03d", i), memcluster.Object{Size: 1})
	}
	w.at(0.5)
	w.okPass()
	w.setRules("buk", rule(everything, expireAfter(2)))
	w.at(1)
	listed := 0
	for passes := 1; ; passes++ {
		ctx, cancel := context.WithCancel(context.Background())
		w.ctx = ctx
		pages := 0
		w.c.SetHook(func(c memcluster.Call) error {
			if c.Op == memcluster.OpList && !c.Done {
				if pages++; pages == 4 {
					cancel()
				}
			}
			return nil
		})
		rep := w.pass()
		w.uninterrupted()
		listed += pages
		if rep.Status == pass.OK {
			break
		}
		if passes > 15 {
			t.Fatal("no end")
		}
		w.c.Advance(time.Minute)
	}
	if listed > 20+15*2 {
		t.Fatalf("%d pages listed for 20", listed)
	}
	for d := 1.5; d <= 3; d += 0.5 {
		w.at(d)
		w.okPass()
	}
	if left := len(w.c.Tree("buk")); left > 0 {
		t.Fatalf("%d entries are left", left)
	}
}

// cutAfter makes passes until one is cut with the walk past a key, and another
// one's shard to tell.
func (w *world) cutAfter(key, another string) {
	w.t.Helper()
	for n := 20; ; n++ {
		w.interruptAfter(n, nil)
		w.pass()
		w.uninterrupted()
		side, _ := w.store.Side(engine.ShardOf("buk", another))
		if p := side.Buckets["buk"].Walk; p != nil && p.From > key {
			return
		}
		if n > 300 {
			w.t.Fatalf("never stopped in the middle")
		}
	}
}

// With other rules a walk starts anew.
func TestWalk_StartsAnewWithOtherRules(t *testing.T) {
	w := plainWorld(t, rule("<Prefix>m</Prefix>", expireAfter(1)))
	w.opts.PageSize, w.opts.Concurrency = 2, 1
	for _, k := range []string{"a", "b", "m1", "m2", "m3", "m4", "m5"} {
		w.put(k, memcluster.Object{Size: 1})
	}
	w.at(2)
	w.c.SetHook(nil)
	w.cutAfter("m2", "m5")
	w.setRules("buk", rule(everything, expireAfter(1)))
	w.at(2.1)
	w.okPass()
	w.mustBeGone("a")
	w.mustBeGone("b")
}

// A walk that goes on with less log than it started with is made again: what it
// passed may have been written since, and have lost its event.
func TestWalk_WithLessLogIsMadeAgain(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(1)))
	w.opts.PageSize, w.opts.Concurrency = 2, 1
	for _, k := range []string{"a", "b", "c", "m1", "m2", "m3", "m4", "m5"} {
		w.put(k, memcluster.Object{Size: 1})
	}
	w.at(0.1)
	w.cutAfter("b", "m5")
	w.at(0.5)
	w.put("a", memcluster.Object{Size: 2})
	w.at(0.6)
	w.c.Trim(w.c.Time())
	w.put("c", memcluster.Object{Size: 2})
	w.at(0.7)
	if rep := w.pass(); rep.Status != pass.CutShort {
		t.Fatalf("%s while another walk is due", rep.Status)
	}
	w.at(0.8)
	if rep := w.okPass(); len(rep.Walks) != 1 {
		t.Fatalf("walks %+v", rep.Walks)
	}
	w.at(0.9)
	if rep := w.okPass(); len(rep.Walks) != 0 {
		t.Fatalf("walks %+v", rep.Walks)
	}
	w.at(1.6)
	w.okPass()
	w.mustBeGone("a")
}
