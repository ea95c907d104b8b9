package clustertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weedlc/engine"
)

func logCases() []testCase {
	return []testCase{
		{"bounds", func(w *world) {
			b := w.bucket(engine.Unversioned)
			mark := w.now()
			for i := range 4 {
				w.Driver.Put(b, fmt.Sprintf("k%d", i), 1, nil)
			}
			all := w.events(b, mark)
			if len(all) != 4 {
				w.Fatalf("%d events, want 4", len(all))
			}
			at := func(i int) int64 { return all[i].TsNs }
			for _, c := range []struct {
				name         string
				after, until int64
				want         []string
			}{
				{"the end is part of it, the beginning is not", at(0), at(2), []string{"k1", "k2"}},
				{"one nanosecond less at the end", at(0), at(2) - 1, []string{"k1"}},
				{"one nanosecond more at the beginning", at(0) - 1, at(2), []string{"k0", "k1", "k2"}},
				{"one position", at(1) - 1, at(1), []string{"k1"}},
				{"nothing between", at(1), at(2) - 1, nil},
				{"empty", at(2), at(2), nil},
				{"reversed", at(3), at(0), nil},
				{"from long ago", 1, at(0), []string{"k0"}},
			} {
				got := w.paths(engine.LogRange{AfterNs: c.after, UntilNs: c.until, Paths: []string{b + "/"}})
				if !slices.Equal(got, c.want) {
					w.Errorf("%s: got %q, want %q", c.name, got, c.want)
				}
			}
		}},
		{"a quiet log ends", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 1, nil)
			after := w.events(b, 0)[0].TsNs
			if got := w.paths(engine.LogRange{AfterNs: after, UntilNs: w.now(), Paths: []string{b + "/"}}); got != nil {
				w.Errorf("got %q", got)
			}
			if got := w.paths(engine.LogRange{AfterNs: w.now() - int64(time.Hour), UntilNs: w.now(), Paths: []string{w.newName() + "/"}}); got != nil {
				w.Errorf("got %q", got)
			}
		}},
		{"prefixes", func(w *world) {
			b, other := w.bucket(engine.Unversioned), w.bucket(engine.Unversioned)
			mark := w.now()
			w.Driver.Put(b, "a/k", 1, nil)
			w.Driver.Put(b, "ab", 1, nil)
			w.Driver.Put(b, "c/k", 1, nil)
			w.Driver.Put(other, "a/k", 1, nil)
			w.Driver.Rename(b, "ab", "z")
			for _, c := range []struct {
				paths []string
				want  []string
			}{
				{[]string{b + "/a/"}, []string{"a/k"}},
				{[]string{b + "/a"}, []string{"a", "a/k", "ab", "z"}},
				{[]string{b + "/z"}, []string{"z"}},
				{[]string{b + "/c/", b + "/a/"}, []string{"a/k", "c/k"}},
				{[]string{b + "/c/", b + "/nowhere", other + "/"}, []string{"c/k", "a", "a/k"}},
				{[]string{b + "/c", b + "/c/k"}, []string{"c", "c/k"}},
				{[]string{b + "/nowhere"}, nil},
				{manyPaths(b+"/c/", 100), []string{"c/k"}},
			} {
				got := w.paths(engine.LogRange{AfterNs: mark, UntilNs: w.now(), Paths: c.paths})
				if !slices.Equal(got, c.want) {
					w.Errorf("%d prefixes, the first %q: got %q, want %q", len(c.paths), c.paths[0], got, c.want)
				}
			}
		}},
		{"without prefixes there is everything", func(w *world) {
			b := w.newName()
			mark := w.now()
			w.Driver.CreateBucket(b, engine.Enabled, false)
			w.put(b, "k", "v1", 1)
			w.Driver.SetRules(b, someRules)
			var got []string
			for _, ev := range w.read(engine.LogRange{AfterNs: mark, UntilNs: w.now()}) {
				if ev.Bucket == b {
					got = append(got, w.names.in(ev.Path))
				}
			}
			// The bucket itself has the empty path: made, enabled, given rules.
			got = slices.Compact(got)
			want := []string{"", "k.versions", "k.versions/v_v1", "k.versions", ""}
			if !slices.Equal(got, want) {
				w.Errorf("got %q, want %q", got, want)
			}
		}},
		{"an error of the reader ends it", func(w *world) {
			b := w.bucket(engine.Unversioned)
			mark := w.now()
			w.Driver.Put(b, "a", 1, nil)
			w.Driver.Put(b, "b", 1, nil)
			stop, seen := errors.New("enough"), 0
			err := w.Filer.ReadLog(w.ctx, engine.LogRange{AfterNs: mark, UntilNs: w.now(), Paths: []string{b + "/"}}, func(*engine.Event) error {
				seen++
				return stop
			})
			if !errors.Is(err, stop) || seen != 1 {
				w.Errorf("%d events and %v", seen, err)
			}
		}},
		{"a cancelled context ends it", func(w *world) {
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			if err := w.Filer.ReadLog(ctx, engine.LogRange{UntilNs: w.now()}, func(*engine.Event) error { return nil }); !errors.Is(err, context.Canceled) {
				w.Errorf("got %v", err)
			}
		}},
		{"the horizon is not after what is in the log", func(w *world) {
			b := w.bucket(engine.Unversioned)
			w.Driver.Put(b, "k", 1, nil)
			horizon, err := w.Filer.LogHorizon(w.ctx)
			w.check(err)
			if first := w.events(b, 0)[0].TsNs; horizon > first || horizon%int64(time.Minute) != 0 {
				w.Errorf("horizon is %d, first event at %d", horizon, first)
			}
		}},
	}
}

// manyPaths is n prefixes of which only the first has anything.
func manyPaths(first string, n int) []string {
	paths := []string{first}
	for i := range n - 1 {
		paths = append(paths, fmt.Sprintf("%snowhere-%d", first, i))
	}
	return paths
}

func (w *world) paths(r engine.LogRange) []string {
	w.Helper()
	var out []string
	for _, ev := range w.read(r) {
		out = append(out, w.names.in(ev.Path))
	}
	return out
}
