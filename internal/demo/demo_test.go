package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
)

// The story checks itself; what is left to see is that it is told to its end.
func TestStoryOnARealServer(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "weedlc")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "weedlc/cmd/weedlc").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var told strings.Builder
	if err := tell(t.Context(), binary, &told); err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	rest := told.String()
	for _, want := range []string{
		"1. Buckets", `below "app/", after 30 days`,
		"2. Where", "$ weedlc cursor show --master 127.0.0.1:",
		"3. The first pass", `first pass: walking 4 buckets`, " 7 delete calls (done 7,",
		"4. What is gone", "old-logs: due 15 days ago", "under legal hold",
		"5. Where", "$ weedlc cursor show",
		"6. A second pass", " 0 entries walked, 0 delete calls",
		"7. Clean-up", "The server has ended and its files are gone.",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q does not follow in\n%s", want, told.String())
		}
		rest = after
	}
}

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(days int) time.Time { return now.Add(-time.Duration(days) * day) }

// actionsOf are the actions of one of the story's buckets.
func actionsOf(t *testing.T, name string) []*engine.Action {
	return rulesOfTheStory(t).BucketActions(name)
}

func rulesOfTheStory(t *testing.T) *engine.Snapshot {
	t.Helper()
	var sources []engine.Source
	for _, b := range buckets() {
		rules, findings := engine.ParseXML(b.name, []byte(b.document()), engine.ParseOptions{})
		if len(findings) > 0 || len(rules) != len(b.rules) {
			t.Fatalf("%d of %d rules of bucket %q: %v", len(rules), len(b.rules), b.name, findings)
		}
		sources = append(sources, engine.Source{Bucket: engine.Bucket{Name: b.name}, Rules: rules})
	}
	return engine.New().Compile(sources)
}

func TestWhy(t *testing.T) {
	for _, c := range []struct {
		name, bucket string
		object       engine.Object
		goes         bool
		why          string
	}{
		{"due now", "logs", engine.Object{Key: "app/a", Latest: true, ModTime: ago(30)}, true, "old-logs: due 0 days ago"},
		{"due before", "logs", engine.Object{Key: "app/a", Latest: true, ModTime: ago(31)}, true, "old-logs: due 1 day ago"},
		{"not due", "logs", engine.Object{Key: "app/a", Latest: true, ModTime: ago(29)}, false, "old-logs: due in 1 day"},
		{"shortest rule", "logs", engine.Object{Key: "app/a", Latest: true, ModTime: ago(3), Tags: map[string]string{"class": "scratch"}},
			true, "scratch: due 2 days ago"},
		{"no rule", "logs", engine.Object{Key: "a", Latest: true, ModTime: ago(99)}, false,
			`no rule selects it: old-logs takes "app/", scratch takes tag class=scratch`},
		{"kept by its rank", "photos", engine.Object{Key: "a", Rank: 0, ModTime: ago(99), DemotedAt: ago(40)}, false,
			"old-versions: the newest replaced version is kept"},
		{"beyond the rank", "photos", engine.Object{Key: "a", Rank: 1, ModTime: ago(99), DemotedAt: ago(40)}, true,
			"old-versions: due 10 days ago"},
		{"current", "photos", engine.Object{Key: "a", Latest: true, Rank: engine.RankUnknown, ModTime: ago(99)}, false,
			"old-versions: takes replaced versions, this one is current"},
		{"lone marker", "photos", engine.Object{Key: "trash/a", Latest: true, DeleteMarker: true, Versions: 1, Rank: engine.RankUnknown, ModTime: ago(0)},
			true, "lone-markers: no version is left below it"},
		{"upload", "videos", engine.Object{Key: "a", UploadID: "u", ModTime: ago(6)}, false, "abandoned: due in 1 day"},
		{"no upload", "videos", engine.Object{Key: "a", Latest: true, ModTime: ago(99)}, false,
			"abandoned: takes unfinished uploads, this is an object"},
		{"held", "ledger", engine.Object{Key: "a", Latest: true, ModTime: ago(91), Lock: engine.Lock{LegalHold: true}}, false,
			"closed-books: due 1 day ago, but under legal hold"},
		{"locked", "ledger", engine.Object{Key: "a", Latest: true, ModTime: ago(91), Lock: engine.Lock{Mode: "GOVERNANCE", RetainUntil: ago(-1)}}, false,
			"closed-books: due 1 day ago, but locked (GOVERNANCE) until 2026-12-01"},
		{"lock over", "ledger", engine.Object{Key: "a", Latest: true, ModTime: ago(91), Lock: engine.Lock{Mode: "GOVERNANCE", RetainUntil: now}}, true,
			"closed-books: due 1 day ago"},
		{"no rules", "other", engine.Object{Key: "a", Latest: true, ModTime: ago(99)}, false, "the bucket has no rules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(actionsOf(t, c.bucket), &c.object, now)
			if got != (judgement{c.goes, c.why}) {
				t.Errorf("goes %v, %q; want %v, %q", got.goes, got.why, c.goes, c.why)
			}
		})
	}
}

// The check finds whatever does not go as told.
func TestCheck(t *testing.T) {
	old, young, sketch := handle{"logs", "app/old", ""}, handle{"logs", "app/young", ""}, handle{"photos", "drafts/s", "1"}
	marker := handle{"photos", "drafts/s", "2"}
	items := []item{{old, "object", deleted}, {young, "object", kept}, {sketch, "version", hidden}}
	before := func() map[handle]engine.Object {
		return map[handle]engine.Object{
			old:    {Key: old.key, Latest: true, ModTime: ago(40)},
			young:  {Key: young.key, Latest: true, ModTime: ago(4)},
			sketch: {Key: sketch.key, Latest: true, Rank: engine.RankUnknown, ModTime: ago(40)},
		}
	}
	after := func() map[handle]engine.Object {
		objects := before()
		delete(objects, old)
		objects[sketch] = engine.Object{Key: sketch.key, ModTime: ago(40)}
		objects[marker] = engine.Object{Key: marker.key, Latest: true, DeleteMarker: true, ModTime: now}
		return objects
	}
	stray := handle{"logs", "stray", ""}
	for _, c := range []struct {
		name   string
		change func(before, after map[handle]engine.Object)
		want   string
	}{
		{"as told", func(_, _ map[handle]engine.Object) {}, ""},
		{"one that stays goes", func(_, a map[handle]engine.Object) { delete(a, young) }, `object of "app/young" in bucket "logs" is deleted, not kept`},
		{"one that goes stays", func(b, a map[handle]engine.Object) { a[old] = b[old] }, `object of "app/old" in bucket "logs" is kept, not deleted`},
		{"data goes", func(_, a map[handle]engine.Object) { delete(a, sketch) }, `version of "drafts/s" in bucket "photos" is deleted, not hidden`},
		{"no marker", func(_, a map[handle]engine.Object) { delete(a, marker) }, `version of "drafts/s" in bucket "photos" is kept, not hidden`},
		{"missing before", func(b, _ map[handle]engine.Object) { delete(b, old) }, `object of "app/old" in bucket "logs" was not there before the pass`},
		{"nobody's", func(b, a map[handle]engine.Object) { b[stray], a[stray] = b[young], b[young] }, `"stray" in bucket "logs" was there before the pass`},
		{"came up", func(b, a map[handle]engine.Object) { a[stray] = b[young] }, `"stray" in bucket "logs" came up in the pass`},
		{"the engine disagrees", func(b, _ map[handle]engine.Object) {
			b[old] = engine.Object{Key: old.key, Latest: true, ModTime: ago(4)}
		},
			`is deleted; the engine says "old-logs: due in 26 days"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := rulesOfTheStory(t)
			b, a := &tree{rules, before()}, &tree{rules, after()}
			c.change(b.objects, a.objects)
			wantError(t, check(outcomes(items, b, a, now), b, a), c.want)
		})
	}

	quiet, changed := &tree{objects: after()}, &tree{objects: after()}
	wantError(t, same(quiet, changed), "")
	delete(changed.objects, young)
	wantError(t, same(quiet, changed), `the second pass changed "app/young"`)
	wantError(t, same(changed, quiet), `"app/young" in bucket "logs" came up`)
	if n := sent(items); n != 2 {
		t.Errorf("%d deletes are to be sent, want 2", n)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%v, want no error", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}

// A weedlc that fails, and one that a Ctrl-C has reached, end the story.
func TestRunOfWeedlc(t *testing.T) {
	script := filepath.Join(t.TempDir(), "weedlc")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho out; echo err >&2; exit $1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	teller := &teller{w: &told, weedlc: script, dir: t.TempDir()}
	out, err := teller.run(t.Context(), "0")
	if err != nil || out != "out\nerr\n" || told.String() != "$ weedlc 0\nout\nerr\n" {
		t.Errorf("returned %q, told %q: %v", out, told.String(), err)
	}
	_, err = teller.run(t.Context(), "3")
	wantError(t, err, "weedlc 3: exit status 3")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := teller.run(ctx, "0"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// A reader that goes away is an error, and nothing more is written.
func TestTellerKeepsTheFirstError(t *testing.T) {
	w := &brokenWriter{}
	teller := &teller{w: w}
	teller.line("one")
	teller.line("two")
	wantError(t, teller.err, "gone at write 1")
	if w.writes != 1 {
		t.Errorf("%d writes, want 1", w.writes)
	}
}

type brokenWriter struct{ writes int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, fmt.Errorf("gone at write %d", w.writes)
}
