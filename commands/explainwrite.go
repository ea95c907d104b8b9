package commands

import (
	"fmt"
	"strings"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

// explainJSON is the documented form of explain-rule (docs/json-output.md).
type explainJSON struct {
	Bucket     string    `json:"bucket"`
	Versioning string    `json:"versioning"`
	Now        time.Time `json:"now"`
	DayClock   string    `json:"day_clock"`
	// File is where the rules come from; empty for those that are installed.
	File string `json:"file"`
	// Rules are those of the bucket; with a key, those that its name falls under.
	Rules    []explain.RuleExplanation `json:"rules"`
	Findings []findingJSON             `json:"findings"`
	Key      *explainKeyJSON           `json:"key"`
}

type explainKeyJSON struct {
	explain.KeyExplanation
	// LeftoverUploads were completed; they are never aborted.
	LeftoverUploads []string `json:"leftover_uploads"`
	CursorsKnown    bool     `json:"cursors_known"`
}

// write renders the explanation. With a key it is about the key alone.
func (o *explainOptions) write(a *app, x *explained, k *explainedKey) error {
	var err error
	if o.form == formJSON {
		err = writeJSON(a.host.Out, o.document(x, k))
	} else {
		_, err = fmt.Fprint(a.host.Out, o.text(x, k, a.textWidth()))
	}
	if err != nil {
		return err
	}
	if tallyRules(x.rules, x.findings).errors > 0 {
		return ending{exitUndone}
	}
	return nil
}

func (o *explainOptions) document(x *explained, k *explainedKey) explainJSON {
	doc := explainJSON{
		Bucket: x.bucket.Name, Versioning: x.bucket.Versioning.String(), Now: x.now.UTC(), DayClock: o.rules.dayClock,
		File: x.candidate, Rules: []explain.RuleExplanation{}, Findings: newFindingsJSON(x.findings),
	}
	for _, r := range x.rules {
		if k == nil || strings.HasPrefix(o.key, r.Prefix) {
			doc.Rules = append(doc.Rules, explain.Rule(r, x.bucket, x.ctx))
		}
	}
	if k != nil {
		doc.Key = &explainKeyJSON{k.KeyExplanation, append([]string{}, k.leftovers...), k.schedule}
	}
	return doc
}

// text is the explanation for people, broken into lines of a width.
func (o *explainOptions) text(x *explained, k *explainedKey, width int) string {
	var b strings.Builder
	say := func(lines ...string) { b.WriteString(wrapped(lines, width)) }
	if k != nil {
		say(o.keyText(x, k)...)
	} else {
		say(o.heading(x))
		for _, r := range x.rules {
			e := explain.Rule(r, x.bucket, x.ctx)
			say("")
			say(e.Lines()...)
			say("  canonical XML")
			for line := range strings.Lines(e.XML) { // to be copied: not broken
				b.WriteString("    " + escape(strings.TrimSuffix(line, "\n")) + "\n")
			}
		}
	}
	var refused []string
	for _, f := range x.findings {
		if !f.Warning {
			f.Bucket = ""
			refused = append(refused, "  "+f.String())
		}
	}
	if len(refused) > 0 {
		say("", "refused, so it does nothing:")
		say(refused...)
	}
	return b.String()
}

func (o *explainOptions) heading(x *explained) string {
	rules := plural(len(x.rules), "rule")
	switch {
	case x.bucket.Name == "" && o.versioning == "":
		return fmt.Sprintf("%s of %s, as in an unversioned bucket (--bucket-versioning tells of others)", rules, displayName(x.candidate))
	case x.bucket.Name == "":
		return fmt.Sprintf("%s of %s, as in a bucket whose versioning is %s", rules, displayName(x.candidate), x.bucket.Versioning)
	case x.candidate != "":
		return fmt.Sprintf("%s of %s, for bucket %q (%s)", rules, displayName(x.candidate), x.bucket.Name, x.bucket.Versioning)
	}
	return fmt.Sprintf("%s of bucket %q (%s)", rules, x.bucket.Name, x.bucket.Versioning)
}

func (o *explainOptions) keyText(x *explained, k *explainedKey) []string {
	lines := k.Lines()
	for _, id := range k.leftovers {
		lines = append(lines, fmt.Sprintf("  upload %q was completed and left behind: it shares its parts with an object and is never aborted", id))
	}
	if len(x.rules) == 0 && len(x.findings) == 0 {
		lines = append(lines, "  The bucket has no lifecycle rules.")
	}
	if len(k.Versions) == 0 && len(x.rules) > 0 {
		lines = append(lines, o.fallsUnder(x)...)
	}
	if !k.schedule && len(k.Versions) > 0 {
		lines = append(lines, "  No cursors are known here, so nothing is said of which pass handles it.")
	}
	return lines
}

// fallsUnder says of a key with nothing at it which rules could have been about
// it.
func (o *explainOptions) fallsUnder(x *explained) []string {
	var lines []string
	for _, r := range x.rules {
		if r.Enabled && strings.HasPrefix(o.key, r.Prefix) {
			lines = append(lines, fmt.Sprintf("  rule %d %q: %s", r.Number, r.Label(), strings.Join(explain.Words(r, x.bucket.Versioning), " ")))
		}
	}
	if len(lines) == 0 {
		return []string{"  No enabled rule has a prefix that its name begins with."}
	}
	return append([]string{"  Rules whose prefix its name begins with:"}, lines...)
}

// textWidth is how wide a text for people is.
func (a *app) textWidth() int {
	const narrowest, usual = 40, 80
	if w := a.host.width(); w > 0 {
		return min(max(w, narrowest), usual)
	}
	return usual
}

// wrapped are lines, escaped and broken between words where they are wider
// than width. What follows a break is a step deeper than the line.
func wrapped(lines []string, width int) string {
	var b strings.Builder
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(text)]
		column := 0
		for i, w := range strings.Split(escape(text), " ") {
			switch n := displayWidth(w); {
			case i == 0:
				b.WriteString(indent)
				column = len(indent) + n
			case column+1+n > width:
				b.WriteString("\n" + indent + "  ")
				column = len(indent) + 2 + n
			default:
				b.WriteByte(' ')
				column += 1 + n
			}
			b.WriteString(w)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// clock is the day clock that was chosen.
func (o *ruleOptions) clock() engine.DayClock {
	if o.dayClock == midnight {
		return engine.MidnightClock
	}
	return engine.ExactClock
}
