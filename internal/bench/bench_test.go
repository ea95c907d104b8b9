package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/internal/weedtest"
)

func readings(seconds ...float64) []reading {
	var list []reading
	for _, s := range seconds {
		list = append(list, reading{Seconds: s})
	}
	return list
}

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		want float64
		of   []float64
	}{{0, nil}, {3, []float64{3}}, {2, []float64{4, 2}}, {4, []float64{9, 4, 1}}} {
		if got := median(readings(tc.of...), func(r reading) float64 { return r.Seconds }); got != tc.want {
			t.Errorf("median of %v is %v, want %v", tc.of, got, tc.want)
		}
	}
}

// The ceiling is the longest part in its fastest way, of its own case alone.
func TestCeilingAndGoals(t *testing.T) {
	bare := func(of, tool string, p part, seconds float64) *row {
		return &row{Scenario: "cold-all", Case: of, Tool: tool, Part: p, Readings: readings(seconds)}
	}
	r := &result{Rows: []*row{
		bare("", nameListOne, listing, 5), bare("", nameListFour, listing, 1), bare("", nameDeletes, deleting, 2),
		bare("other", nameStream, streaming, 9),
		{Scenario: "cold-all", Tool: nameWeedlc, Readings: readings(2.4, 2.5, 2.3)},
		{Scenario: "cold-all", Tool: nameBuiltIn, Readings: readings(11.9)},
	}}
	if got := r.ceiling("cold-all", ""); got != 2 {
		t.Errorf("the ceiling is %v, want 2", got)
	}
	if got := r.ceiling("cold-all", "none"); got != 0 {
		t.Errorf("the ceiling of nothing is %v", got)
	}
	var told []string
	for _, g := range r.judge(goals()) {
		told = append(told, g.String())
	}
	want := []string{
		"cold-all: time as a multiple of the ceiling: 1.20, at most 1.2: met",
		"cold-all: times faster than s3.lifecycle.run-shard: 4.96, at least 5: NOT MET",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("goals:\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

// A table says what a tool left and what it took wrongly.
func TestTableTellsFaults(t *testing.T) {
	bad := reading{Seconds: 1, Left: 3, Wrong: 2}
	bad.note("exit %d:\n  why", 1)
	r := &result{Rows: []*row{{Scenario: "x", Tool: nameWeedlc, Units: 1500, Unit: "objects", Readings: []reading{{Seconds: 1}, bad}}}}
	var b bytes.Buffer
	if err := r.text(&b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{b.String(), r.markdown()} {
		for _, want := range []string{"run 2: LEFT 3; WRONGLY TOOK 2; exit 1: why", "1,500 objects/s"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

func TestBetweenMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a\n" + beginMark + "\nold\n" + endMark + "\nb\n")
	for range 2 {
		if err := putBetweenMarks(file, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(file)
	if want := "a\n" + beginMark + "\nnew\n" + endMark + "\nb\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	write("no marks")
	if err := putBetweenMarks(file, "new"); err == nil {
		t.Error("a file without marks was taken")
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil || strings.Count(string(page), beginMark) != 1 || strings.Count(string(page), endMark) != 1 {
		t.Errorf("docs/performance.md does not have both marks once: %v", err)
	}
}

func TestOptions(t *testing.T) {
	var errs bytes.Buffer
	for _, args := range [][]string{{"-runs", "0"}, {"-scale", "0"}, {"-scenario", "none"}, {"x"}, {"-entries", "-1"}} {
		if _, err := parseOptions(args, &errs); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	o, err := parseOptions(nil, &errs)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range o.scenarios {
		if sc.byHand {
			t.Errorf("%s is measured unasked", sc.name)
		}
	}
	o, err = parseOptions([]string{"-scenario", "one-key,cold-all", "-tool", "bare,weedlc"}, &errs)
	if err != nil || len(o.scenarios) != 2 || o.scenarios[0].name != "one-key" {
		t.Errorf("%+v, %v", o.scenarios, err)
	}
	b := &bench{options: o}
	if !b.wants(nameDryRun) || !b.wants(nameDeletes) || b.wants(nameRclone) {
		t.Error("-tool does not choose by parts of names")
	}
}

func TestFileID(t *testing.T) {
	for _, text := range []string{"3,01637037d6", "2,1773fdb27e88", "65536,0fffffffffffffff00000001"} {
		id, err := parseFileID(text)
		if err != nil || fileID(id) != text {
			t.Errorf("%q became %q, %v", text, fileID(id), err)
		}
	}
	for _, text := range []string{"", "3", "3,37037d6f", "x,01637037d6", "3,0g637037d6"} {
		if _, err := parseFileID(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestTrees(t *testing.T) {
	lies := flatTree("b", 2000, 10, time.Unix(1, 0))
	seen := map[string]bool{}
	for _, it := range lies.items {
		seen[it.path] = true
	}
	if lies.due() != 200 || len(seen) != 2000 {
		t.Errorf("%d due, %d distinct, want 200 and 2000", lies.due(), len(seen))
	}
}

func TestEach(t *testing.T) {
	var calls atomic.Int64
	if err := each(t.Context(), 100, 7, func(context.Context, int) error { calls.Add(1); return nil }); err != nil || calls.Load() != 100 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	failed := errors.New("failed")
	if err := each(t.Context(), 100, 7, func(context.Context, int) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
}

func TestStopwatch(t *testing.T) {
	w := &stopwatch{begin: "running shards", end: "complete"}
	for _, p := range []string{"running ", "shards 0-15\n", "shards 0-15 comp", "lete\n"} {
		if w.took != 0 {
			t.Errorf("stopped before %q", p)
		}
		_, _ = w.Write([]byte(p))
	}
	if w.took <= 0 {
		t.Error("not stopped")
	}
}

// A child's memory and exit code are its own.
func TestCommand(t *testing.T) {
	e, err := command{argv: []string{"/bin/sh", "-c", "cat; echo err >&2; exit 3"}, in: "in", dir: t.TempDir()}.run(t.Context())
	if err != nil || e.code != 3 || string(e.out) != "in" || string(e.errs) != "err\n" || e.wall <= 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if got := highWater("/proc/self/status"); got <= 0 {
		t.Errorf("this process has had %v MB resident", got)
	}
	if got := highWater("/proc/none"); got != 0 {
		t.Errorf("no process has had %v MB resident", got)
	}
}

func TestDecodeBare(t *testing.T) {
	for _, name := range []string{"b.meta", "b.meta.gz"} {
		file := filepath.Join(t.TempDir(), name)
		err := weedtest.WriteBackup(file, func(yield func(*filer_pb.FullEntry) bool) {
			for range 5 {
				yield(&filer_pb.FullEntry{Dir: "/", Entry: &filer_pb.Entry{Name: "x"}})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := decodeBare(file)
		if err != nil || *r.Entries != 5 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		data, _ := os.ReadFile(file)
		if err := os.WriteFile(file, data[:len(data)-2], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := decodeBare(file); err == nil {
			t.Errorf("%s was taken though it is cut", name)
		}
	}
}
