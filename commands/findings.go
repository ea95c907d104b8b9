package commands

import (
	"fmt"

	"weedlc/engine"
)

// findingJSON is one finding about a lifecycle document.
type findingJSON struct {
	Severity string `json:"severity"`
	// Rule is 0 for a finding about the document.
	Rule   int    `json:"rule"`
	RuleID string `json:"rule_id"`
	// OtherRule is a second rule that the same defect refuses; 0 is none.
	OtherRule int    `json:"other_rule"`
	Path      string `json:"path"`
	Line      int    `json:"line"`
	Value     string `json:"value"`
	Message   string `json:"message"`
	Allowed   string `json:"allowed"`
}

func newFindingsJSON(findings []engine.Finding) []findingJSON {
	out := []findingJSON{}
	for _, f := range findings {
		out = append(out, findingJSON{
			Severity: severity(f), Rule: f.Rule, RuleID: f.RuleID, OtherRule: f.Other, Path: f.Path, Line: f.Line,
			Value: f.Value, Message: f.Message, Allowed: f.Allowed,
		})
	}
	return out
}

func severity(f engine.Finding) string {
	if f.Warning {
		return "warning"
	}
	return "error"
}

// findingLine is a finding behind the place where it is, as compilers print it.
func findingLine(source string, f engine.Finding) string {
	if f.Line > 0 {
		source = fmt.Sprintf("%s:%d", source, f.Line)
	}
	f.Bucket = ""
	if f.Rule == 0 {
		f.Line = 0
	}
	return fmt.Sprintf("%s: %s: %s", source, severity(f), f)
}

// ruleTally counts the rules of a document and what was found about them.
type ruleTally struct {
	// rules are those of the document, accepted or refused. Both are 0 when the
	// document as a whole is refused: unreadable.
	rules, refused   int
	enabled          int
	errors, warnings int
	unreadable       bool
}

func tallyRules(rules []*engine.Rule, findings []engine.Finding) ruleTally {
	var t ruleTally
	refused := map[int]bool{}
	for _, f := range findings {
		if f.Warning {
			t.warnings++
			continue
		}
		t.errors++
		t.unreadable = t.unreadable || f.RefusesBucket()
		refused[f.Rule] = true
		if f.Other > 0 {
			refused[f.Other] = true
		}
	}
	for _, r := range rules {
		if r.Enabled {
			t.enabled++
		}
	}
	if !t.unreadable {
		t.refused = len(refused)
		t.rules = len(rules) + t.refused
	}
	return t
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
