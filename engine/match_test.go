package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weedlc/engine"
)

// TestMatchingFindsEveryPrefixOfAKey compares with looking at every rule, on
// prefixes that are prefixes of each other.
func TestMatchingFindsEveryPrefixOfAKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/é")), 0, 6, -1)
		var rules []*engine.Rule
		for i, p := range rapid.SliceOfN(text, 0, 12).Draw(t, "prefixes") {
			rules = append(rules, rule(prefix(p), expire(i+1)))
		}
		s := compile(source("b", rules...))
		key := rapid.StringOfN(rapid.SampledFrom([]rune("ab/é")), 0, 8, -1).Draw(t, "key")
		var want []*engine.Action
		for _, a := range s.BucketActions("b") {
			if strings.HasPrefix(key, a.Rule.Prefix) {
				want = append(want, a)
			}
		}
		if got := s.Matching("b", key); !slices.Equal(got, want) {
			t.Fatalf("key %q: %v, want %v", key, listing(got), listing(want))
		}
	})
}

// TestMatchingCostsNoMemory holds the cost of a key to its path: nothing is
// gathered for a key, however many rules its bucket has.
func TestMatchingCostsNoMemory(t *testing.T) {
	s := compile(source("b", manyPrefixes(1000)...))
	if n := testing.AllocsPerRun(100, func() { s.Matching("b", "team-0500/logs/2026/11/30/x.gz") }); n != 0 {
		t.Errorf("%v allocations for one key, want none", n)
	}
}

func manyPrefixes(n int) []*engine.Rule {
	rules := []*engine.Rule{rule(prefix(""), abort(7))}
	for i := range n - 1 {
		rules = append(rules, rule(prefix(fmt.Sprintf("team-%04d/", i)), expire(i+1)))
	}
	return rules
}

func BenchmarkMatching(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			s := compile(source("b", manyPrefixes(n)...))
			keys := make([]string, 1024)
			for i := range keys {
				keys[i] = fmt.Sprintf("team-%04d/logs/2026/11/30/%d.gz", i%max(n, 2), i)
			}
			i := 0
			for b.Loop() {
				s.Matching("b", keys[i%len(keys)])
				i++
			}
		})
	}
}
