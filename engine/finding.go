package engine

import (
	"fmt"
	"strings"
)

// Finding is one thing wrong, or odd, with a lifecycle document. A defect
// refuses the whole rule that it is found in, and only that rule; a defect of
// the document refuses all rules of the bucket. A warning refuses nothing.
type Finding struct {
	// Bucket is empty for a document that belongs to none.
	Bucket string
	// Rule is the rule's place in its document, from 1; 0 is the document.
	Rule int
	// RuleID is the rule's ID as written; empty when it has none.
	RuleID string
	// Other is a second rule that the same defect refuses; 0 is none.
	Other int
	// Path leads to the element, for example "Rule[2]/Expiration/Days". An
	// element among several of its name carries its place, from 1. Empty is the
	// document as a whole.
	Path string
	// Line is where the element starts, from 1; 0 is unknown.
	Line int
	// Value is the text at fault as written; empty when the fault is not one of
	// a value.
	Value string
	// Message says what is wrong, Allowed what would not be; Allowed is empty
	// when the message leaves no choice.
	Message string
	Allowed string
	// Warning marks a finding that refuses nothing.
	Warning bool
}

// RefusesBucket reports whether the finding refuses every rule of the bucket.
func (f Finding) RefusesBucket() bool { return f.Rule == 0 && !f.Warning }

// String is one line for people. Values are quoted, long ones cut.
func (f Finding) String() string {
	var b strings.Builder
	if f.Bucket != "" {
		fmt.Fprintf(&b, "bucket %q: ", f.Bucket)
	}
	switch {
	case f.Rule > 0:
		fmt.Fprintf(&b, "rule %d", f.Rule)
		if f.RuleID != "" {
			b.WriteString(" " + quoteCut(f.RuleID))
		}
	case f.Line > 0:
		fmt.Fprintf(&b, "line %d", f.Line)
	default:
		b.WriteString("document")
	}
	if f.Path != "" {
		b.WriteString(": " + f.Path)
	}
	if f.Value != "" {
		b.WriteString(" " + quoteCut(f.Value))
	}
	b.WriteString(": " + f.Message)
	if f.Allowed != "" {
		b.WriteString("; allowed: " + f.Allowed)
	}
	return b.String()
}

// quotedRunes is how much of a user's value a message repeats.
const quotedRunes = 64

// quoteCut quotes s, control characters escaped, and cuts a long one.
func quoteCut(s string) string {
	count := 0
	for i := range s {
		if count == quotedRunes {
			return fmt.Sprintf("%q...", s[:i])
		}
		count++
	}
	return fmt.Sprintf("%q", s)
}
