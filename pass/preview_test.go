package pass_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// line names one call of a pass, made or foreseen.
func line(o *engine.Object, a *engine.Action) string {
	return fmt.Sprintf("%s/%s@%s %s %s", o.Bucket, o.Path, o.VersionID, a.Kind, a.Hash)
}

func sentLine(d memcluster.DeleteRecord) string {
	return fmt.Sprintf("%s/%s@%s %s %s", d.Request.Bucket, d.Request.Path, d.Request.VersionID, d.Request.Kind, d.Request.RuleHash)
}

// preview is a preview at an instant, as lines of what would be sent.
func (w *world) preview(o pass.PreviewOptions) []string {
	w.t.Helper()
	var lines []string
	tell := o.Tell
	o.Tell = func(j pass.Judgement) {
		if j.Outcome == pass.Done {
			lines = append(lines, line(j.Object, j.Action))
		}
		if tell != nil {
			tell(j)
		}
	}
	shards := o.Shards
	o.Options = w.opts
	if shards != nil {
		o.Shards = shards
	}
	if o.Now.IsZero() {
		o.Now = w.c.FilerTime()
	}
	if rep := pass.Preview(context.Background(), o, w.c); rep.Status != pass.OK {
		w.t.Fatalf("the preview ended %q: %+v", rep.Status, rep.Errors)
	}
	return lines
}

// previewRun is a preview of the next pass, as lines of what it would send.
func (w *world) previewRun() []string {
	w.t.Helper()
	var lines []string
	o := w.opts
	o.Now = w.c.HostTime()
	o.Observe = func(d pass.Deletion) {
		if d.Outcome == pass.Done {
			lines = append(lines, line(d.Object, d.Action))
		}
	}
	if rep := pass.PreviewRun(context.Background(), o, w.c, w.store); rep.Status != pass.OK && !rep.Corrupt {
		w.t.Fatalf("the preview ended %q: %+v", rep.Status, rep.Errors)
	}
	return lines
}

// state is everything that is stored, and every call that was made.
func (w *world) state() string {
	var b strings.Builder
	for _, bucket := range w.c.Stored() {
		fmt.Fprintf(&b, "%+v\n", bucket)
		tree := w.c.Tree(bucket.Name)
		for _, p := range slices.Sorted(maps.Keys(tree)) {
			fmt.Fprintf(&b, "%s %+v\n", p, tree[p])
		}
	}
	for _, sh := range allShards {
		cursor, found := w.store.Cursor(sh)
		side, _ := w.store.Side(sh)
		fmt.Fprintf(&b, "%d %v %+v %+v\n", sh, found, cursor, side)
	}
	fmt.Fprintf(&b, "%d deletes, %d events\n", len(w.c.Deletes()), len(w.c.Events()))
	return b.String()
}

func difference(a, b []string) (only []string) {
	count := map[string]int{}
	for _, s := range b {
		count[s]++
	}
	for _, s := range a {
		if count[s]--; count[s] < 0 {
			only = append(only, s)
		}
	}
	return only
}

func sameSet(t fataler, what string, foreseen, sent []string) {
	t.Helper()
	missed, more := difference(sent, foreseen), difference(foreseen, sent)
	if len(missed)+len(more) > 0 {
		t.Fatalf("%s:\nsent and not foreseen: %v\nforeseen and not sent: %v", what, missed, more)
	}
}

// undisturbed is a random history in which nothing fails or dies.
func undisturbed(t *rapid.T) *history {
	hz := drawHazards(t)
	hz.failures, hz.kills, hz.late = false, false, false
	h := &history{T: t, h: hz, keys: []string{"a/1", "a/2", "b", "a", "c/d/e"}, calls: map[string]int{}}
	h.world = newWorld(t, memcluster.Config{})
	h.opts.MidnightClock = hz.midnight
	h.c.SetHook(h.hook)
	h.bucket("plain", engine.Unversioned, false, h.randomRules("plain", false)...)
	if hz.versions {
		h.bucket("versioned", engine.Enabled, hz.locks, h.randomRules("versioned", true)...)
		if hz.suspended && !hz.locks {
			h.must(h.c.SetVersioning("versioned", engine.Suspended))
		}
	}
	for range rapid.IntRange(5, 50).Draw(t, "steps") {
		h.step()
	}
	h.c.SetHook(nil)
	return h
}

// deletedSince are the calls after the first was that found what they were sent
// for. A pass may send for what the log shows and is gone; a preview looks.
func (h *history) deletedSince(was int) []string {
	var sent []string
	for _, d := range h.c.Deletes()[was:] {
		if d.Response.Outcome != pass.NoopResolved {
			sent = append(sent, sentLine(d))
		}
	}
	return sent
}

// TestScenario50_PreviewIsWhatRunDoes compares what is foreseen with what the
// first pass over the same cluster sends, after any history.
func TestScenario50_PreviewIsWhatRunDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := undisturbed(rt)
		before := h.state()
		h.opts.PageSize = rapid.IntRange(1, 5).Draw(rt, "page size")
		foreseen := h.preview(pass.PreviewOptions{SideBySide: rapid.IntRange(1, 3).Draw(rt, "side by side")})
		if after := h.state(); after != before {
			rt.Fatalf("the preview changed something:\n%s\nwas\n%s", after, before)
		}
		h.store = memcluster.NewStore(h.c)
		was := len(h.c.Deletes())
		h.c.SetSkews(0, h.gatewaySkew, 0)
		h.pass()
		sameSet(rt, "a first pass", foreseen, h.deletedSince(was))
	})
}

// TestPreviewRunIsWhatRunDoes compares what the next pass is said to do with
// what it does, from the cursors that a history left.
func TestPreviewRunIsWhatRunDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := undisturbed(rt)
		before := h.state()
		foreseen := h.previewRun()
		if after := h.state(); after != before {
			rt.Fatalf("the preview changed something:\n%s\nwas\n%s", after, before)
		}
		was := len(h.c.Deletes())
		h.pass()
		sameSet(rt, "the next pass", foreseen, h.deletedSince(was))
	})
}

// TestPreviewOrder wants the same lines in the same order, however many buckets
// are walked side by side and however small the pages are.
func TestPreviewOrder(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	for _, name := range []string{"d", "b", "a", "c"} {
		w.bucket(name, engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(1)))
		for i := range 400 {
			_, err := w.c.PutObject(name, fmt.Sprintf("%d/%d", i%7, i), memcluster.Object{Size: 1})
			w.must(err)
		}
	}
	w.c.Advance(2 * day)
	var want []string
	for _, tc := range []struct{ side, page int }{{1, 1000}, {4, 3}, {2, 50}, {9, 1}} {
		w.opts.PageSize = tc.page
		got := w.preview(pass.PreviewOptions{SideBySide: tc.side})
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d side by side with pages of %d told of another order", tc.side, tc.page)
		}
	}
	if !slices.IsSortedFunc(want, func(a, b string) int { return strings.Compare(a[:2], b[:2]) }) || len(want) != 1600 {
		t.Errorf("%d lines, not bucket by bucket", len(want))
	}
}

// TestPreviewOfABucketAskedForTwice tells of each object once.
func TestPreviewOfABucketAskedForTwice(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	w.bucket("b", engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(1)))
	_, err := w.c.PutObject("b", "k", memcluster.Object{})
	w.must(err)
	w.c.Advance(2 * day)
	got := w.preview(pass.PreviewOptions{WalkOptions: pass.WalkOptions{Buckets: []string{"b", "b"}}})
	if len(got) != 1 {
		t.Errorf("told of %v", got)
	}
}

// TestPreviewLater tells of what is not due yet, with its due time; what is due
// says so.
func TestPreviewLater(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	w.bucket("b", engine.Unversioned, false, rule("<Prefix>k</Prefix>", expireAfter(3)))
	for _, key := range []string{"k1", "other"} {
		_, err := w.c.PutObject("b", key, memcluster.Object{})
		w.must(err)
	}
	w.c.Advance(2 * day)
	_, err := w.c.PutObject("b", "k2", memcluster.Object{})
	w.must(err)
	w.c.Advance(1 * day)
	var got []string
	w.preview(pass.PreviewOptions{Later: true, Tell: func(j pass.Judgement) {
		got = append(got, fmt.Sprintf("%s %q in %v", j.Object.Key, j.Outcome, j.Due.Sub(w.c.FilerTime()).Round(hour)))
	}})
	want := []string{`k1 "done" in 0s`, `k2 "" in 48h0m0s`}
	if !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}

// TestPreviewCompare judges each object once under both rule sets.
func TestPreviewCompare(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	w.bucket("b", engine.Unversioned, false,
		rule("<Prefix>shorter/</Prefix>", expireAfter(5)), rule("<Prefix>longer/</Prefix>", expireAfter(1)),
		rule("<Prefix>gone/</Prefix>", expireAfter(1)), rule("<Prefix>same/</Prefix>", expireAfter(1)))
	for _, key := range []string{"shorter/k", "longer/k", "gone/k", "same/k", "new/k", "none/k"} {
		_, err := w.c.PutObject("b", key, memcluster.Object{})
		w.must(err)
	}
	w.c.Advance(2 * day)
	candidate, findings := engine.ParseXML("b", []byte(document(
		rule("<Prefix>shorter/</Prefix>", expireAfter(1)), rule("<Prefix>longer/</Prefix>", expireAfter(9)),
		rule("<Prefix>new/</Prefix>", expireAfter(1)), rule("<Prefix>same/</Prefix>", expireAfter(1)))), engine.ParseOptions{})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	got := map[string]string{}
	w.preview(pass.PreviewOptions{
		WalkOptions: pass.WalkOptions{Buckets: []string{"b"}}, Rules: map[string][]*engine.Rule{"b": candidate}, Compare: true,
		Tell: func(j pass.Judgement) {
			say := func(p pass.Prospect) string {
				if p.Action == nil {
					return "never"
				}
				return fmt.Sprintf("%d %s", p.Due.Sub(j.Object.ModTime)/day, p.Outcome)
			}
			if got[j.Object.Key] != "" {
				t.Errorf("told of %q twice", j.Object.Key)
			}
			got[j.Object.Key] = say(j.Installed) + " → " + say(j.Prospect)
		},
	})
	want := map[string]string{
		"shorter/k": "5  → 1 done", "longer/k": "1 done → 9 ", "gone/k": "1 done → never", "same/k": "1 done → 1 done", "new/k": "never → 1 done",
	}
	if !maps.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}

// TestPreviewIsComplete has a listing that fails end as a problem of transport,
// and a cancelled one as interrupted.
func TestPreviewIsComplete(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	w.bucket("b", engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(1)))
	for i := range 3 {
		_, err := w.c.PutObject("b", fmt.Sprintf("d/%d", i), memcluster.Object{})
		w.must(err)
	}
	w.c.Advance(2 * day)
	o := pass.PreviewOptions{WalkOptions: pass.WalkOptions{Options: w.opts}}
	o.Now = w.c.FilerTime()
	w.c.FailLists("b", "d", 1)
	rep := pass.Preview(context.Background(), o, w.c)
	if rep.Status != pass.Partial || len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategoryTransport {
		t.Errorf("after a failed listing: %s %+v", rep.Status, rep.Errors)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Tell = func(pass.Judgement) { cancel() }
	if rep := pass.Preview(ctx, o, w.c); !rep.Interrupted {
		t.Errorf("a cancelled preview ended %+v", rep)
	}
}

// TestPreviewMeetsEachDueTime sweeps the instant over a fixture: each verdict
// flips exactly at its due time, one nanosecond each side.
func TestPreviewMeetsEachDueTime(t *testing.T) {
	for _, midnight := range []bool{false, true} {
		w := newWorld(t, memcluster.Config{})
		w.opts.MidnightClock = midnight
		w.bucket("plain", engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(3)+abortAfter(2)),
			rule("<Prefix>d/</Prefix>", "<Expiration><Date>2031-01-01T00:00:00Z</Date></Expiration>"))
		w.bucket("versioned", engine.Enabled, false, rule("<Prefix></Prefix>", noncurrentAfter(4, 1)))
		for i, key := range []string{"a", "d/b", "c"} {
			_, err := w.c.PutObject("plain", key, memcluster.Object{Size: int64(i)})
			w.must(err)
			_, err = w.c.CreateUpload("plain", "u"+key, memcluster.Object{})
			w.must(err)
			for range 3 {
				w.c.Advance(7 * hour)
				_, err = w.c.PutObject("versioned", key, memcluster.Object{Size: 1})
				w.must(err)
			}
		}
		type prospect struct {
			line string
			due  time.Time
		}
		var all []prospect
		w.preview(pass.PreviewOptions{Later: true, Tell: func(j pass.Judgement) {
			all = append(all, prospect{line(j.Object, j.Action), j.Due})
		}})
		if len(all) != 3+3+3 {
			t.Fatalf("%d objects go, want 9: %v", len(all), all)
		}
		for _, p := range all {
			for _, at := range []time.Duration{-1, 0, 1} {
				o := pass.PreviewOptions{}
				o.Options = w.opts
				o.Now = p.due.Add(at)
				fires := false
				o.Tell = func(j pass.Judgement) {
					fires = fires || j.Outcome == pass.Done && line(j.Object, j.Action) == p.line
				}
				pass.Preview(context.Background(), o, w.c)
				if fires != (at >= 0) {
					t.Errorf("%s, due %v, midnight clock %v: %v ns after that fires: %v", p.line, p.due, midnight, at, fires)
				}
			}
		}
	}
}

// TestPreviewRunOrder tells of the same in the same order each time: of replay
// in the order of the log, then bucket by bucket.
func TestPreviewRunOrder(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	for _, name := range []string{"c", "a", "b"} {
		w.bucket(name, engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(1)))
		for i := range 60 {
			_, err := w.c.PutObject(name, fmt.Sprintf("%d/%d", i%7, i), memcluster.Object{Size: 1})
			w.must(err)
		}
	}
	w.c.Advance(2 * day)
	w.opts.Concurrency = 8
	want := w.previewRun()
	if len(want) != 180 || !slices.IsSortedFunc(want, func(a, b string) int { return strings.Compare(a[:2], b[:2]) }) {
		t.Errorf("%d lines, not bucket by bucket: %v", len(want), want)
	}
	for range 5 {
		if got := w.previewRun(); !slices.Equal(got, want) {
			t.Fatal("another order")
		}
	}
}

// TestPreviewRunSaysWhatItReadsAndWalks reports windows, walks and why.
func TestPreviewRunSaysWhatItReadsAndWalks(t *testing.T) {
	w := newWorld(t, memcluster.Config{})
	w.bucket("steady", engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(1)), rule("<Prefix>d</Prefix>", "<Expiration><Date>2031-01-01T00:00:00Z</Date></Expiration>"))
	w.bucket("changed", engine.Unversioned, false, rule("<Prefix></Prefix>", expireAfter(1)))
	w.okPass()
	w.c.Advance(day)
	w.setRules("changed", rule("<Prefix></Prefix>", expireAfter(3)))
	o := w.opts
	o.Now, o.Shards = w.c.HostTime(), []int{4, 9}
	before := w.state()
	rep := pass.PreviewRun(context.Background(), o, w.c, w.store)
	if w.state() != before {
		t.Error("something changed")
	}
	wantWalks := []pass.WalkReport{
		{Bucket: "changed", Why: []string{"rules_changed"}, Full: []int{4, 9}},
		{Bucket: "steady", Why: []string{"walk_bound"}, Bound: []int{4, 9}},
	}
	if !reflect.DeepEqual(rep.Walks, wantWalks) {
		t.Errorf("walks are %+v, want %+v", rep.Walks, wantWalks)
	}
	for _, s := range rep.Shards {
		var delays []time.Duration
		for _, win := range s.Windows {
			delays = append(delays, win.Delay)
			if end := o.Now.Add(-win.Delay); win.Delay > 0 && win.UntilNs != end.Add(engine.Slack()).UnixNano() || win.AfterNs >= win.UntilNs {
				t.Errorf("shard %d reads %+v", s.Shard, win)
			}
		}
		if want := []time.Duration{0, day, 3 * day}; !slices.Equal(delays, want) || s.Recovery != "rules_changed" {
			t.Errorf("shard %d reads for %v because of %q, want %v", s.Shard, delays, s.Recovery, want)
		}
	}
}
