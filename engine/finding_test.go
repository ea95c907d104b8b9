package engine_test

import (
	"strings"
	"testing"

	"weedlc/engine"
)

func TestFinding_String(t *testing.T) {
	for _, tc := range []struct {
		f    engine.Finding
		want string
	}{
		{engine.Finding{Bucket: "b", Rule: 2, RuleID: "x", Path: "Rule[2]/Status", Value: "on", Message: "unknown status", Allowed: "a"},
			`bucket "b": rule 2 "x": Rule[2]/Status "on": unknown status; allowed: a`},
		{engine.Finding{Rule: 2, Path: "Rule[2]", Message: "no action"}, `rule 2: Rule[2]: no action`},
		{engine.Finding{Bucket: "b", Message: "document is empty"}, `bucket "b": document: document is empty`},
		{engine.Finding{Line: 3, Message: "malformed XML"}, `line 3: malformed XML`},
		{engine.Finding{Rule: 1, RuleID: "a\n\x1b[2J", Value: "\r", Message: "m"}, `rule 1 "a\n\x1b[2J" "\r": m`},
		{engine.Finding{Rule: 1, Value: strings.Repeat("é", 64), Message: "m"}, `rule 1 "` + strings.Repeat("é", 64) + `": m`},
		{engine.Finding{Rule: 1, Value: strings.Repeat("é", 65), Message: "m"}, `rule 1 "` + strings.Repeat("é", 64) + `"...: m`},
	} {
		if got := tc.f.String(); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}
