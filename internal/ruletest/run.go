package ruletest

import (
	"time"

	"weedlc/explain"
)

// Result is what came of one version.
type Result struct {
	Test      string
	Now       time.Time
	Line      int
	Key       string
	VersionID string
	UploadID  string
	// Diffs are the fields that are not as expected; none is a pass.
	Diffs []Diff
	// Got is the whole verdict, with reasons.
	Got explain.VersionExplanation
	// Want is the verdict that was expected.
	Want explain.Effect
}

// OK reports whether everything is as expected.
func (r Result) OK() bool { return len(r.Diffs) == 0 }

// Diff is one field that is not as expected; an empty value is none.
type Diff struct {
	Field     string
	Want, Got string
}

// Run judges every object of the suite, in the order of the file.
func (s *Suite) Run() []Result {
	var results []Result
	for _, c := range s.cases {
		e := explain.Key(explain.KeyInput{
			Bucket: s.bucket, Group: c.group, Uploads: c.uploads, Rules: s.rules, Now: c.now, DayClock: s.clock,
		})
		for i, v := range e.Versions {
			results = append(results, Result{
				Test: c.test, Now: c.now, Line: c.wants[i].line, Key: e.Key, VersionID: v.VersionID, UploadID: v.UploadID,
				Diffs: c.wants[i].compare(v), Got: v, Want: c.wants[i].verdict,
			})
		}
	}
	return results
}

// compare lists the fields that are not as wanted. Only what was written is
// compared.
func (w want) compare(v explain.VersionExplanation) []Diff {
	var diffs []Diff
	differ := func(field, want, got string) {
		if want != got {
			diffs = append(diffs, Diff{field, want, got})
		}
	}
	differ("verdict", string(w.verdict), string(v.Verdict))
	if w.rule != "" {
		differ("rule", w.rule, v.RuleID)
	}
	if w.action != "" {
		differ("action", w.action, v.Action)
	}
	if !w.due.IsZero() {
		got := ""
		if v.Due != nil {
			got = v.Due.UTC().Format(time.RFC3339Nano)
		}
		differ("due", w.due.UTC().Format(time.RFC3339Nano), got)
	}
	return diffs
}
