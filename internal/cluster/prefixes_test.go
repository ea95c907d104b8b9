package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPrefixes(t *testing.T) {
	for _, tc := range []struct {
		name     string
		prefixes []string
		match    []string
		other    []string
	}{
		{"none matches everything", nil, []string{"", "b/k"}, nil},
		{"one", []string{"b/logs"}, []string{"b/logs", "b/logs/x", "b/logs-old/x"}, []string{"b/log", "b", "b/", "a/logs", "c/logs"}},
		{"with a slash", []string{"b/logs/"}, []string{"b/logs/", "b/logs/x"}, []string{"b/logs", "b/logs-old/x"}},
		{"nested", []string{"b/a/x", "b/a"}, []string{"b/a", "b/a/x", "b/az"}, []string{"b/b"}},
		{"neighbours", []string{"b/a", "b/c"}, []string{"b/a/1", "b/c/1"}, []string{"b/b", "b/b/1", "b/"}},
		{"twice", []string{"b", "b"}, []string{"b", "bb"}, []string{"a"}},
		{"the empty one matches everything", []string{"b/a", ""}, []string{"", "z"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ps := newPrefixes(tc.prefixes)
			for _, path := range tc.match {
				if !ps.match(path) {
					t.Errorf("%q does not match %q", tc.prefixes, path)
				}
			}
			for _, path := range tc.other {
				if ps.match(path) {
					t.Errorf("%q matches %q", tc.prefixes, path)
				}
			}
		})
	}
}

func TestPrefixesMatchLikeAScan(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/-")), 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(text, 1, 8).Draw(t, "prefixes")
		path := text.Draw(t, "path")
		want := slices.ContainsFunc(given, func(p string) bool { return strings.HasPrefix(path, p) })
		if got := newPrefixes(given).match(path); got != want {
			t.Fatalf("match(%q) = %v, want %v", path, got, want)
		}
	})
}

func TestPrefixesRequest(t *testing.T) {
	numbered := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("b/%03d", i)
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		paths  []string
		first  string
		others int
	}{
		{"none", nil, "/buckets/", 0},
		{"one", []string{"b/a"}, "/buckets/b/a", 0},
		{"two", []string{"b/c", "b/a"}, "/buckets/b/a", 1},
		{"as many as are sent", numbered(maxPrefixes), "/buckets/b/000", maxPrefixes - 1},
		{"one more", numbered(maxPrefixes + 1), "/buckets/", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, others := newPrefixes(tc.paths).request("/buckets")
			if first != tc.first || len(others) != tc.others {
				t.Errorf("request = %q and %d others, want %q and %d", first, len(others), tc.first, tc.others)
			}
			if slices.Contains(others, "/buckets/") || slices.Contains(others, "") {
				t.Errorf("others %q has one that matches everything", others)
			}
		})
	}
}
