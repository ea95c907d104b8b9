package engine

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxIDRunes = 255
	maxNewer   = 100
)

// ruleParser reads one Rule element.
type ruleParser struct {
	doc  *documentParser
	rule Rule
}

// rule reads a Rule element and keeps it unless it has a defect.
func (p *documentParser) rule(e *element, number int) {
	e.path = fmt.Sprintf("Rule[%d]", number)
	r := &ruleParser{doc: p, rule: Rule{Number: number}}
	for _, child := range e.children {
		if child.name == "ID" && child.isKnown() {
			r.rule.ID = child.text
			break
		}
	}
	r.read(e)
	if !p.refused[number] {
		p.rules = append(p.rules, &r.rule)
	}
}

func (r *ruleParser) defect(at *element, value, allowed, format string, args ...any) {
	r.doc.report(r.finding(at, value, allowed, format, args...))
}

func (r *ruleParser) warn(at *element, value, format string, args ...any) {
	f := r.finding(at, value, "", format, args...)
	f.Warning = true
	r.doc.report(f)
}

func (r *ruleParser) finding(at *element, value, allowed, format string, args ...any) Finding {
	return Finding{
		Rule: r.rule.Number, RuleID: r.rule.ID, Path: at.path, Line: at.line,
		Value: value, Message: fmt.Sprintf(format, args...), Allowed: allowed,
	}
}

// clash refuses two elements that exclude each other.
func (r *ruleParser) clash(a, b *element) {
	if a != nil && b != nil {
		r.defect(a, "", "", "%s and %s exclude each other", a.name, b.name)
	}
}

func (r *ruleParser) read(e *element) {
	g, ok := r.fields(e,
		field{name: "ID"}, field{name: "Status"}, field{name: "Filter"}, field{name: "Prefix"},
		field{name: "Expiration"}, field{name: "NoncurrentVersionExpiration"},
		field{name: "AbortIncompleteMultipartUpload"},
		field{name: "Transition", repeats: true}, field{name: "NoncurrentVersionTransition", repeats: true},
	)
	r.id(g.one("ID"))
	r.status(e, g.one("Status"), ok)
	selected := r.selection(e, g, ok)

	marker := r.expiration(g.one("Expiration"))
	r.noncurrent(g.one("NoncurrentVersionExpiration"))
	abort := g.one("AbortIncompleteMultipartUpload")
	r.abort(abort)
	r.transitions(e, g)

	if r.rule.ExpiredMarker {
		r.clash(marker, selected.tag)
		if bound := r.rule.SizeGreaterThan; bound != nil {
			r.warn(marker, "", "no effect: a delete marker has no bytes, so none is larger than %d", *bound)
		}
	}
	r.clash(abort, selected.tag)
	r.clash(abort, selected.size)

	actions := []string{
		"Expiration", "NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload",
		"Transition", "NoncurrentVersionTransition",
	}
	if ok && !slices.ContainsFunc(actions, func(name string) bool { return len(g[name]) > 0 }) {
		r.defect(e, "", strings.Join(actions[:3], ", "), "no action")
	}
}

// id checks the ID. Every rule that shares one with another is refused.
func (r *ruleParser) id(e *element) {
	if e == nil {
		return
	}
	id, ok := r.leaf(e)
	if !ok || id == "" {
		return
	}
	if n := utf8.RuneCountInString(id); n > maxIDRunes {
		r.defect(e, id, fmt.Sprintf("up to %d characters", maxIDRunes), "ID of %d characters is too long", n)
	}
	first, taken := r.doc.firstOf[id]
	if !taken {
		r.doc.firstOf[id] = r.rule.Number
		return
	}
	f := r.finding(e, id, "an ID of its own for each rule", "same ID as rule %d", first)
	f.Other = first
	r.doc.report(f)
}

func (r *ruleParser) status(parent, e *element, complete bool) {
	const allowed = `"Enabled" or "Disabled"`
	if e == nil {
		if complete {
			r.defect(parent, "", allowed, "no Status")
		}
		return
	}
	switch text, ok := r.leaf(e); {
	case !ok:
	case text == "Enabled":
		r.rule.Enabled = true
	case text == "Disabled":
	case text == "":
		r.defect(e, "", allowed, "empty status")
	default:
		r.defect(e, text, allowed, "unknown status")
	}
}

// expiration reads Expiration and returns its ExpiredObjectDeleteMarker.
func (r *ruleParser) expiration(e *element) *element {
	if e == nil {
		return nil
	}
	g, ok := r.fields(e, field{name: "Days"}, field{name: "Date"}, field{name: "ExpiredObjectDeleteMarker"})
	days, date, marker := g.one("Days"), g.one("Date"), g.one("ExpiredObjectDeleteMarker")
	if ok && len(g) == 0 {
		r.defect(e, "", "Days, Date or ExpiredObjectDeleteMarker", "empty Expiration")
	}
	r.clash(days, date)
	r.clash(days, marker)
	r.clash(date, marker)
	r.rule.ExpirationDays = r.days(days)
	r.rule.ExpirationDate = r.date(date)
	if marker == nil {
		return nil
	}
	switch text, ok := r.leaf(marker); {
	case !ok:
	case text == "true":
		r.rule.ExpiredMarker = true
		r.needsVersions(marker)
	case text == "false":
		if days == nil && date == nil {
			r.warn(marker, text, "no effect")
		}
	default:
		r.defect(marker, text, `"true" or "false"`, "not a truth value")
	}
	return marker
}

func (r *ruleParser) noncurrent(e *element) {
	if e == nil {
		return
	}
	g, ok := r.fields(e, field{name: "NoncurrentDays"}, field{name: "NewerNoncurrentVersions"})
	days, newer := g.one("NoncurrentDays"), g.one("NewerNoncurrentVersions")
	if ok && len(g) == 0 {
		r.defect(e, "", "NoncurrentDays, NewerNoncurrentVersions or both", "empty NoncurrentVersionExpiration")
	}
	r.rule.NoncurrentDays = r.days(days)
	count, _ := r.number(newer, 1, maxNewer)
	r.rule.NewerNoncurrent = int(count)
	if count > 0 && days == nil && ok {
		r.warn(newer, newer.text, "a count without NoncurrentDays is not S3's: what is beyond it goes at once")
	}
	r.needsVersions(e)
}

func (r *ruleParser) abort(e *element) {
	if e == nil {
		return
	}
	g, ok := r.fields(e, field{name: "DaysAfterInitiation"})
	days := g.one("DaysAfterInitiation")
	if ok && days == nil {
		r.defect(e, "", "DaysAfterInitiation", "empty AbortIncompleteMultipartUpload")
	}
	r.rule.AbortDays = r.days(days)
}

// needsVersions warns of an action that an unversioned bucket has no use for.
func (r *ruleParser) needsVersions(e *element) {
	if r.doc.opt.KnownVersioning && r.doc.opt.Versioning == Unversioned {
		r.warn(e, "", "no effect: the bucket has no versions")
	}
}
