package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
)

// judgement is what the rules of an object's bucket say of it at one time.
type judgement struct {
	// goes is set when a rule is due and no lock forbids it.
	goes bool
	why  string
}

// judge asks the engine about every action of the bucket and puts its answer
// into words.
func judge(actions []*engine.Action, o *engine.Object, now time.Time) judgement {
	if a, v, due := engine.FirstDue(actions, o, now, engine.ExactClock); due {
		was := fmt.Sprintf("%s: due %s ago", a.Rule.Label(), days(now.Sub(v.Due)))
		if a.Kind == engine.ExpiredDeleteMarker {
			was = a.Rule.Label() + ": no version is left below it"
		}
		if v.Locked {
			return judgement{why: was + ", but " + lockWords(o.Lock)}
		}
		return judgement{goes: true, why: was}
	}
	return judgement{why: whyNot(actions, o, now)}
}

func lockWords(l engine.Lock) string {
	if l.LegalHold {
		return "under legal hold"
	}
	return fmt.Sprintf("locked (%s) until %s", l.Mode, l.RetainUntil.UTC().Format(time.DateOnly))
}

// whyNot is what keeps an object under the rule that comes nearest to taking
// it; when none selects it, what each would want.
func whyNot(actions []*engine.Action, o *engine.Object, now time.Time) string {
	type candidate struct {
		action *engine.Action
		// selection and state are the checks that failed, in their order: of the
		// rule's filter, and of everything else.
		selection, state []string
	}
	var all []candidate
	for _, a := range actions {
		c := candidate{action: a}
		for _, check := range engine.Evaluate(a, o, now, engine.ExactClock).Checks {
			if check.OK {
				continue
			}
			words, filter := checkWords(a, check, now)
			if filter {
				c.selection = append(c.selection, words)
			} else {
				c.state = append(c.state, words)
			}
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if d := len(a.selection) - len(b.selection); d != 0 {
			return d
		}
		if d := len(a.state) - len(b.state); d != 0 {
			return d
		}
		return a.action.Rule.Number - b.action.Rule.Number
	})
	if len(all) == 0 {
		return "the bucket has no rules"
	}
	if nearest := all[0]; len(nearest.selection) == 0 {
		return nearest.action.Rule.Label() + ": " + nearest.state[0]
	}
	var wants []string
	for _, c := range all {
		wants = append(wants, c.action.Rule.Label()+" takes "+strings.Join(c.selection, " and "))
	}
	return "no rule selects it: " + strings.Join(wants, ", ")
}

// checkWords says what a check that failed wants; filter is set for a condition
// of the rule's filter.
func checkWords(a *engine.Action, c engine.Check, now time.Time) (words string, filter bool) {
	switch c.Name {
	case "prefix":
		return fmt.Sprintf("%q", c.Want), true
	case "tag":
		return "tag " + c.Want, true
	case "size_greater_than":
		return "sizes above " + c.Want, true
	case "size_less_than":
		return "sizes below " + c.Want, true
	case "rank":
		if a.Rule.NewerNoncurrent == 1 {
			return "the newest replaced version is kept", false
		}
		return fmt.Sprintf("the newest %d replaced versions are kept", a.Rule.NewerNoncurrent), false
	case "due":
		if due, err := time.Parse(time.RFC3339Nano, c.Want); err == nil {
			return "due in " + days(due.Sub(now)), false
		}
	case "upload":
		return "takes unfinished uploads, this is an object", false
	case "noncurrent":
		return "takes replaced versions, this one is " + c.Have, false
	}
	return fmt.Sprintf("%s: %s is wanted, this is %s", c.Name, c.Want, c.Have), false
}

// days is a span in whole days.
func days(d time.Duration) string {
	n := int((d + day/2) / day)
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", n)
}
