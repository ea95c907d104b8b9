package main

import "fmt"

// goal is what weedlc is to reach, as a ratio within one run of this command.
type goal struct {
	Words  string  `json:"goal"`
	Bound  float64 `json:"bound"`
	Got    float64 `json:"got"`
	AtMost bool    `json:"at_most"`
	Met    bool    `json:"met"`

	// value is false when not everything was measured.
	value func(*result) (float64, bool)
}

func goals() []goal {
	return []goal{
		{Words: "cold-all: time as a multiple of the ceiling", Bound: 1.2, AtMost: true, value: overCeiling("cold-all", "", nameWeedlc)},
		{Words: "cold-all: times faster than " + nameBuiltIn, Bound: 5, value: faster("cold-all", "", nameWeedlc, nameBuiltIn)},
		{Words: "cold-all: times faster than " + nameRclone32, Bound: 2, value: faster("cold-all", "", nameWeedlc, nameRclone32)},
		{Words: "steady, nothing due: delete calls", Bound: 0, AtMost: true, value: callsOf("steady", caseIdle)},
		{Words: "steady, nothing due: times faster than " + nameBuiltIn, Bound: 10, value: faster("steady", caseIdle, nameWeedlc, nameBuiltIn)},
		{Words: "dry-run: rate as a part of a " + nameListOne, Bound: 0.8, value: faster("dry-run", caseLive, nameDryRun, nameListOne)},
		{Words: "dry-run: rate as a part of a " + nameListFour, Bound: 0.8, value: faster("dry-run", caseLive, nameDryRun, nameListFour)},
		{Words: "replay: rate as a part of a bare stream's", Bound: 0.8, value: inverse(overCeiling("replay", "", nameWeedlc))},
	}
}

// judge is the goals that were measured.
func (r *result) judge(all []goal) []goal {
	list := []goal{}
	for _, g := range all {
		var ok bool
		if g.Got, ok = g.value(r); !ok {
			continue
		}
		g.Met = g.Got >= g.Bound
		if g.AtMost {
			g.Met = g.Got <= g.Bound
		}
		list = append(list, g)
	}
	return list
}

func (g goal) String() string {
	bound, verdict := "at least", "met"
	if g.AtMost {
		bound = "at most"
	}
	if !g.Met {
		verdict = "NOT MET"
	}
	return fmt.Sprintf("%s: %.2f, %s %g: %s", g.Words, g.Got, bound, g.Bound, verdict)
}

type measured = func(*result) (float64, bool)

func overCeiling(scenario, of, tool string) measured {
	return func(r *result) (float64, bool) {
		row, ceiling := r.find(scenario, of, tool), r.ceiling(scenario, of)
		if row == nil || ceiling == 0 {
			return 0, false
		}
		return row.seconds() / ceiling, true
	}
}

func inverse(value measured) measured {
	return func(r *result) (float64, bool) {
		v, ok := value(r)
		if !ok || v == 0 {
			return 0, false
		}
		return 1 / v, true
	}
}

// faster is how many times a tool is faster than another one.
func faster(scenario, of, tool, than string) measured {
	return func(r *result) (float64, bool) {
		ours, theirs := r.find(scenario, of, tool), r.find(scenario, of, than)
		if ours == nil || theirs == nil || ours.seconds() == 0 {
			return 0, false
		}
		return theirs.seconds() / ours.seconds(), true
	}
}

func callsOf(scenario, of string) measured {
	return func(r *result) (float64, bool) {
		row := r.find(scenario, of, nameWeedlc)
		if row == nil {
			return 0, false
		}
		n, ok := row.calls()
		return float64(n), ok
	}
}
