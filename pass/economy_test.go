package pass_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// seed writes n objects within a moment.
func (w *world) seed(bucket, format string, n int) {
	w.t.Helper()
	for i := range n {
		_, err := w.c.PutObject(bucket, fmt.Sprintf(format, i), memcluster.Object{Size: 1})
		w.must(err)
	}
}

func (w *world) remove(key string) error {
	_, err := w.c.DeleteObject("buk", key)
	return err
}

// What the log shows to be due is sent as the log shows it: no look-up.
func TestReplay_SendsWhatTheLogShows(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(10)))
	w.okPass()
	w.at(1)
	w.seed("buk", "k%03d", 200)
	w.at(5)
	w.okPass()
	w.at(12)
	w.c.TakeCounts()
	w.okPass()
	if n := w.c.Counts(); n.Deletes != 200 || n.Lookups != 0 {
		t.Fatalf("%d calls and %d look-ups for 200 objects, want 200 and none", n.Deletes, n.Lookups)
	}
}

// A removal that is read meanwhile spares the look-up and the call.
func TestReplay_PassesOverWhatTheLogRemoves(t *testing.T) {
	for _, tc := range []struct {
		name   string
		remove func(w *world, key string) error
	}{
		{"deleted", func(w *world, key string) error { return w.remove(key) }},
		{"moved out of the rule's reach", func(w *world, key string) error { return w.c.Rename("buk", key, "kept/"+key) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := plainWorld(t, rule("<Prefix>k0</Prefix>", expireAfter(10)))
			w.okPass()
			w.at(1)
			w.seed("buk", "k%03d", 50)
			for i := range 50 {
				w.must(tc.remove(w, fmt.Sprintf("k%03d", i)))
			}
			w.at(12)
			w.c.TakeCounts()
			w.okPass()
			if n := w.c.Counts(); n.Deletes != 0 || n.Lookups != 0 {
				t.Fatalf("%d calls and %d look-ups for what is gone", n.Deletes, n.Lookups)
			}
		})
	}
}

// No look-up waits for the end of a log that takes long to read: a pass that may
// not take that long would never get on.
func TestReplay_LooksBeforeALongLogEnds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		each  time.Duration // that reading an event takes
		calls int64
	}{
		{"quick", 0, 60},
		{"slow", time.Second, 61},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := plainWorld(t, rule(everything, expireAfter(10)))
			w.okPass()
			w.at(1)
			w.seed("buk", "k%03d", 61)
			w.must(w.remove("k000"))
			w.at(5)
			w.okPass()
			w.at(12)
			w.c.TakeCounts()
			var reads atomic.Int64
			host := w.c.HostTime()
			w.opts.Clock = func() time.Time { return host.Add(tc.each * time.Duration(reads.Add(1))) }
			w.okPass()
			if n := w.c.Counts(); n.Deletes != tc.calls {
				t.Errorf("%d calls for 60 objects and one that the log's end removes, want %d", n.Deletes, tc.calls)
			}
		})
	}
}

// Where the log's entries are mostly gone, a pass looks before it sends.
func TestReplay_LooksWhereTheLogIsOutdated(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(10)))
	w.okPass()
	w.at(1)
	w.seed("buk", "k%04d", 3000)
	w.at(5)
	w.okPass()
	for i := range 3000 {
		w.must(w.remove(fmt.Sprintf("k%04d", i)))
	}
	w.at(6)
	w.okPass()
	w.at(12)
	w.c.TakeCounts()
	w.okPass()
	// Until the first answers are in, as much goes to the workers as they take.
	n := w.c.Counts()
	if most := int64(w.opts.Concurrency) * 70; n.Deletes > int64(w.opts.Concurrency) || n.Deletes+n.Lookups > most {
		t.Errorf("%d calls and %d look-ups for 3000 objects that are gone, want at most %d", n.Deletes, n.Lookups, most)
	}
	if n.Pages < 1 || n.Pages > 8 || n.Entries > 100 {
		t.Errorf("%d listings of %d entries in place of look-ups", n.Pages, n.Entries)
	}
}

// A listing in place of look-ups tells the same, and where it cannot they are
// made.
func TestReplay_ListsInPlaceOfLookups(t *testing.T) {
	for _, tc := range []struct {
		name  string
		keys  string // of what was written; every tenth is still there
		other int    // objects beside them
		fault bool
	}{
		{name: "all of a folder", keys: "d/k%04d"},
		{name: "the bucket's own folder", keys: "k%04d"},
		{name: "names of other letters", keys: "d/ä%04d"},
		{name: "more than is listed", keys: "d/k%04d", other: 9000},
		{name: "no listing", keys: "d/k%04d", fault: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := plainWorld(t, rule("<And><Prefix></Prefix><Tag><Key>t</Key><Value>1</Value></Tag></And>", expireAfter(10)))
			w.okPass()
			w.at(1)
			for i := range 1000 {
				w.put(fmt.Sprintf(tc.keys, i), memcluster.Object{Size: 1, Tags: map[string]string{"t": "1"}})
			}
			w.seed("buk", "d/k00%04d", tc.other)
			w.at(5)
			w.okPass()
			for i := range 1000 {
				if key := fmt.Sprintf(tc.keys, i); i%10 != 0 {
					w.must(w.remove(key))
				} else if i%20 == 0 {
					w.tag(key, "2")
				}
			}
			w.at(6)
			w.okPass()
			w.at(12)
			w.c.TakeCounts()
			if tc.fault {
				w.c.SetHook(func(c memcluster.Call) error {
					if c.Op == memcluster.OpList && c.Path != "" {
						return errors.New("no listing")
					}
					return nil
				})
			}
			w.okPass()
			n := w.c.Counts()
			if n.Deletes != 50 {
				t.Errorf("%d deletes, 50 are due", n.Deletes)
			}
			if told := tc.other == 0 && !tc.fault; told != (n.Lookups == 0) {
				t.Errorf("%d look-ups", n.Lookups)
			}
			for i := range 1000 {
				if key := fmt.Sprintf(tc.keys, i); w.gone(key) == (i%20 == 0) && i%10 == 0 {
					t.Fatalf("%q gone: %v", key, w.gone(key))
				}
			}
		})
	}
}

// Folders are listed before the walk comes to them, as many at once as is
// allowed and each once.
func TestWalk_ListsFoldersAhead(t *testing.T) {
	for _, most := range []int{1, 4} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			w := plainWorld(t, rule(everything, expireAfter(10)))
			w.opts.ListConcurrency = most
			for i := range 40 {
				w.seed("buk", fmt.Sprintf("d%02d/k%%d", i), 2)
			}
			w.at(12)
			var mu sync.Mutex
			inFlight, peak, lists := 0, 0, map[string]int{}
			gather := newGather(most)
			w.c.SetHook(func(c memcluster.Call) error {
				if c.Op != memcluster.OpList {
					return nil
				}
				mu.Lock()
				if c.Done {
					inFlight--
				} else {
					inFlight++
					peak = max(peak, inFlight)
					lists[c.Path]++
				}
				mu.Unlock()
				if !c.Done && c.Path != "" {
					gather.wait()
				}
				return nil
			})
			w.okPass()
			w.c.SetHook(nil)
			if peak != most {
				t.Errorf("%d listings at once, want %d", peak, most)
			}
			for folder, n := range lists {
				if n != 1 {
					t.Errorf("folder %q listed %d times", folder, n)
				}
			}
			if len(lists) != 41 {
				t.Errorf("%d folders listed, want 41", len(lists))
			}
		})
	}
}

// gather holds callers until so many are there, for the first time only.
type gather struct {
	left atomic.Int64
	all  chan struct{}
}

func newGather(n int) *gather {
	g := &gather{all: make(chan struct{})}
	g.left.Store(int64(n))
	return g
}

func (g *gather) wait() {
	if g.left.Add(-1) == 0 {
		close(g.all)
	}
	<-g.all
}

// A small bucket is done early beside many huge ones.
func TestWalk_SmallBucketsAreDoneEarly(t *testing.T) {
	w := newWorld(t, memcluster.Config{Start: start})
	w.opts.PageSize = 10
	for i := range 6 {
		name := fmt.Sprintf("huge%d", i)
		w.bucket(name, engine.Unversioned, false, rule(everything, expireAfter(400)))
		w.seed(name, "k%06d", 1000)
	}
	w.bucket("small", engine.Unversioned, false, rule(everything, expireAfter(1)))
	w.seed("small", "k%d", 3)
	w.at(2)
	var listed, atDelete atomic.Int64
	w.c.SetHook(func(c memcluster.Call) error {
		switch {
		case c.Op == memcluster.OpList && c.Done:
			listed.Add(1)
		case c.Op == memcluster.OpDelete && c.Done:
			atDelete.Store(listed.Load())
		}
		return nil
	})
	w.okPass()
	w.c.SetHook(nil)
	pages := listed.Load()
	if got := atDelete.Load(); got == 0 || got > pages*3/4 {
		t.Fatalf("the small bucket was done after %d of %d pages", got, pages)
	}
}

// A change of an entry does not spare the look-up that the event of its
// writing asks for: the change may lie in a window of other rules.
func TestReplay_LooksAtWhatTheLogChanges(t *testing.T) {
	w := plainWorld(t, rule(everything, expireAfter(10)), rule("<Prefix>other/</Prefix>", expireAfter(5)))
	w.okPass()
	w.at(1)
	w.put("k", memcluster.Object{Size: 1})
	w.at(3)
	w.tag("k", "1")
	w.at(6)
	w.okPass()
	w.at(12)
	w.okPass()
	w.mustBeGone("k")
}
