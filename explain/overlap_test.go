package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

func TestScenario13_ANarrowerPrefixDoesNotShield(t *testing.T) {
	found, more := explain.Overlaps(numbered(
		rule(id("R1"), expire(30)), rule(id("R2"), prefix("logs/"), expire(15)), rule(id("R3"), prefix("logs/app/"), expire(60)),
	))
	var got []string
	for _, o := range found {
		got = append(got, fmt.Sprintf("%d %d, %s wins, %q idle: %s", o.First.Number, o.Second.Number, o.Winner, o.Idle, o.Words))
	}
	equal(t, "overlaps", got, []string{
		`1 2, R2 wins, "" idle: Rule 1 "R1" and rule 2 "R2" both act on current objects whose key begins with "logs/". Rule 2 "R2" wins: it is due after 15 days, rule 1 "R1" after 30 days.`,
		`1 3, R1 wins, "R3" idle: Rule 1 "R1" and rule 3 "R3" both act on current objects whose key begins with "logs/app/". Rule 1 "R1" wins: it is due after 30 days, rule 3 "R3" after 60 days. The narrower prefix of rule 3 "R3" does not shield them. Rule 3 "R3" never comes to act.`,
		`2 3, R2 wins, "R3" idle: Rule 2 "R2" and rule 3 "R3" both act on current objects whose key begins with "logs/app/". Rule 2 "R2" wins: it is due after 15 days, rule 3 "R3" after 60 days. The narrower prefix of rule 3 "R3" does not shield them. Rule 3 "R3" never comes to act.`,
	})
	if more != 0 {
		t.Errorf("%d more, want 0", more)
	}
}

// Of two rules the one that is said to win is the one that fires first.
func TestScenario13_TheWinnerFiresFirst(t *testing.T) {
	rules := numbered(
		rule(id("R1"), expire(30)), rule(id("R2"), prefix("logs/"), expire(15)), rule(id("R3"), prefix("logs/app/"), expire(60)),
	)
	o := plain("logs/app/a", aged(100))
	found, _ := explain.Overlaps(rules)
	for _, pair := range found {
		a, _, ok := engine.FirstDue(compiled(bucket(0), rules[pair.First.Number-1], rules[pair.Second.Number-1]), &o, scenarioNow, engine.ExactClock)
		if !ok || a.Rule.Label() != pair.Winner {
			t.Errorf("%s and %s: %v fires, said to win: %s", pair.First.RuleID, pair.Second.RuleID, a, pair.Winner)
		}
	}
}

func TestOverlapOfTwo(t *testing.T) {
	midnight := time.Date(2030, 6, 20, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		a, b         *engine.Rule
		winner, idle string
		words        string // behind "Rule 1 and rule 2 both act on "; empty: no overlap
	}{
		{"other prefixes", rule(prefix("a/"), expire(1)), rule(prefix("b/"), expire(1)), "", "", ""},
		{"other kinds", rule(expire(1), marker), rule(noncurrent(1), abort(1)), "", "", ""},
		{"disabled", rule(expire(1), disabled), rule(expire(2)), "", "", ""},
		{"tags that exclude each other", rule(tagged("t", "1"), expire(1)), rule(tagged("t", "2"), expire(1)), "", "", ""},
		{"sizes side by side", rule(below(101), expire(1)), rule(above(99), below(500), expire(2)), "1", "",
			"current objects that are larger than 99 and smaller than 101 bytes. Rule 1 wins: it is due after 1 day, rule 2 after 2 days."},
		{"no size in both", rule(below(100), expire(1)), rule(above(99), expire(2)), "", "", ""},
		{"tags that add up", rule(tagged("a", "1"), expire(3)), rule(tagged("b", "2"), expire(2)), "2", "",
			`current objects that carry the tags "a"="1" and "b"="2". Rule 2 wins: it is due after 2 days, rule 1 after 3 days.`},
		{"the same", rule(expire(3)), rule(expire(3)), "", "",
			"all current objects in the bucket. They are due together; it makes no difference to the object which one is named. One of them is enough."},
		{"the same days, one narrower", rule(expire(3)), rule(prefix("a"), expire(3)), "", "2",
			`current objects whose key begins with "a". They are due together; it makes no difference to the object which one is named. Rule 2 adds nothing.`},
		{"the same days, one with a tag", rule(tagged("t", "1"), expire(3)), rule(expire(3)), "", "1",
			`current objects that carry the tag "t"="1". They are due together; it makes no difference to the object which one is named. Rule 1 adds nothing.`},
		{"the same days, across", rule(tagged("t", "1"), expire(3)), rule(prefix("a"), expire(3)), "", "",
			`current objects whose key begins with "a" and that carry the tag "t"="1". They are due together; it makes no difference to the object which one is named.`},
		{"days and date", rule(expire(7)), rule(date(midnight)), "", "",
			"all current objects in the bucket. It depends: rule 1 wins for objects last modified at or before 2030-06-13T00:00:00Z, rule 2 for later ones."},
		{"date and too many days", rule(date(midnight)), rule(expire(40_000)), "1", "2",
			"all current objects in the bucket. Rule 1 wins: no object is old enough for the days to be over before 2030-06-20T00:00:00Z. Rule 2 never comes to act."},
		{"dates", rule(date(midnight.AddDate(0, 0, 1))), rule(date(midnight)), "2", "1",
			"all current objects in the bucket. Rule 2 wins: its date is the earlier one, 2030-06-20T00:00:00Z. Rule 1 never comes to act."},
		{"the same date", rule(date(midnight), prefix("a")), rule(date(midnight)), "", "1",
			`current objects whose key begins with "a". They are due together; it makes no difference to the object which one is named. Rule 1 adds nothing.`},
		{"uploads", rule(prefix("v/"), abort(7)), rule(abort(3)), "2", "1",
			`unfinished uploads whose key begins with "v/". Rule 2 wins: it is due after 3 days, rule 1 after 7 days. The narrower prefix of rule 1 does not shield them. Rule 1 never comes to act.`},
		{"markers", rule(prefix("v/"), marker), rule(marker), "", "1",
			`delete markers whose key begins with "v/". They are due together; it makes no difference to the object which one is named. Rule 1 adds nothing.`},
		{"markers have no bytes", rule(above(0), marker), rule(marker), "", "", ""},
		{"noncurrent days", rule(noncurrent(7)), rule(noncurrent(3)), "2", "1",
			"all noncurrent versions in the bucket. Rule 2 wins: it is due after 3 days, rule 1 after 7 days. Rule 1 never comes to act."},
		{"sooner, but keeps more", rule(noncurrent(3), newer(5)), rule(noncurrent(7), newer(1)), "", "",
			"all noncurrent versions in the bucket. It depends: rule 1 wins beyond the newest 5 of each key and leaves the newest 5, except its own newest one, to rule 2, after 7 days."},
		{"sooner, but keeps some", rule(noncurrent(30)), rule(noncurrent(3), newer(1)), "", "",
			"all noncurrent versions in the bucket. It depends: rule 2 wins beyond the newest one of each key and leaves the newest one to rule 1, after 30 days."},
		{"sooner, and keeps fewer", rule(noncurrent(3), newer(1)), rule(noncurrent(7), newer(5)), "1", "2",
			"all noncurrent versions in the bucket. Rule 1 wins: it is due after 3 days, rule 2 after 7 days. Rule 2 never comes to act."},
		{"the same days, keeps fewer", rule(noncurrent(3), newer(5)), rule(noncurrent(3), newer(2)), "2", "1",
			"all noncurrent versions in the bucket. Rule 2 wins: it keeps fewer noncurrent versions of a key, 2 against 5. Rule 1 never comes to act."},
		{"a count and days", rule(noncurrent(3), newer(5)), rule(newer(5)), "2", "1",
			"all noncurrent versions in the bucket. Rule 2 wins: it acts at once, rule 1 after 3 days. Rule 1 never comes to act."},
		{"a count and days that keep fewer", rule(noncurrent(3)), rule(newer(5)), "", "",
			"all noncurrent versions in the bucket. It depends: rule 2 wins beyond the newest 5 of each key and leaves the newest 5 to rule 1, after 3 days."},
		{"counts", rule(newer(2)), rule(newer(3)), "1", "2",
			"all noncurrent versions in the bucket. Rule 1 wins: it keeps fewer noncurrent versions of a key, 2 against 3. Rule 2 never comes to act."},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := numbered(c.a, c.b)
			found, _ := explain.Overlaps(rules)
			if c.words == "" {
				if len(found) > 0 {
					t.Errorf("overlap %q, want none", found[0].Words)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("%d overlaps, want 1", len(found))
			}
			if got, want := found[0].Words, "Rule 1 and rule 2 both act on "+c.words; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			label := func(number string) string {
				switch number {
				case "1":
					return c.a.Label()
				case "2":
					return c.b.Label()
				}
				return ""
			}
			if found[0].Winner != label(c.winner) || found[0].Idle != label(c.idle) {
				t.Errorf("winner %q, idle %q; want %q, %q", found[0].Winner, found[0].Idle, label(c.winner), label(c.idle))
			}
			mirrored, _ := explain.Overlaps([]*engine.Rule{c.b, c.a})
			if len(mirrored) != 1 || mirrored[0] != found[0] {
				t.Errorf("the order of the slice changes it: %+v", mirrored)
			}
		})
	}
}

// many are n rules of the whole bucket.
func many(n int) []*engine.Rule {
	var rules []*engine.Rule
	for i := range n {
		rules = append(rules, rule(expire(i+1)))
	}
	return numbered(rules...)
}

func TestOverlapsAreCapped(t *testing.T) {
	const n = 1000
	found, more := explain.Overlaps(many(n))
	if len(found) != explain.MaxOverlaps || more != n*(n-1)/2-explain.MaxOverlaps {
		t.Errorf("%d overlaps and %d more", len(found), more)
	}
	if first := found[0]; first.First.Number != 1 || first.Second.Number != 2 {
		t.Errorf("the first is of %d and %d", first.First.Number, first.Second.Number)
	}
}

func TestRuleNamesItsOverlaps(t *testing.T) {
	rules := many(30)
	rules[9].Enabled = false // rule 10 acts on nothing, and would on everything
	e := explain.Rule(rules[4], bucket(0), explain.RuleContext{Rules: rules})
	if len(e.Overlaps) != 20 || e.OverlapsMore != 8 {
		t.Errorf("%d overlaps and %d more, want 20 and 8", len(e.Overlaps), e.OverlapsMore)
	}
	if first, fifth := e.Overlaps[0], e.Overlaps[4]; first.First.Number != 1 || first.Second.Number != 5 ||
		fifth.First.Number != 5 || fifth.Second.Number != 6 {
		t.Errorf("overlaps are %+v, %+v", first, fifth)
	}
	if !strings.Contains(strings.Join(e.Lines(), "\n"), "\n    8 overlaps more.\n") {
		t.Errorf("lines do not count the others: %q", e.Lines())
	}
	off := explain.Rule(rules[9], bucket(0), explain.RuleContext{Rules: rules})
	if got := len(off.Overlaps) + off.OverlapsMore; got != 29 {
		t.Errorf("the disabled rule would overlap with %d, want 29", got)
	}
}

func BenchmarkOverlaps1000(b *testing.B) {
	rules := many(1000)
	for b.Loop() {
		explain.Overlaps(rules)
	}
}
