package engine

import (
	"slices"
	"time"
)

// transitions checks the elements that SeaweedFS does not carry out. They are
// read as strictly as the others: a rule that S3 would refuse for its
// transition is refused.
func (r *ruleParser) transitions(e *element, g group) {
	for _, t := range g["Transition"] {
		r.transition(t)
	}
	for _, t := range g["NoncurrentVersionTransition"] {
		r.noncurrentTransition(t)
	}
	idle := len(g["Expiration"])+len(g["NoncurrentVersionExpiration"])+len(g["AbortIncompleteMultipartUpload"]) == 0
	for _, child := range e.children {
		if child.name != "Transition" && child.name != "NoncurrentVersionTransition" ||
			!child.isKnown() || slices.Contains(r.rule.Unsupported, child.name) {
			continue
		}
		r.rule.Unsupported = append(r.rule.Unsupported, child.name)
		if idle {
			r.warn(child, "", "no effect: SeaweedFS does not carry out a %s, and the rule has no other action", child.name)
		} else {
			r.warn(child, "", "no effect: SeaweedFS does not carry out a %s", child.name)
		}
	}
}

func (r *ruleParser) transition(e *element) {
	g, ok := r.fields(e, field{name: "Days"}, field{name: "Date"}, field{name: "StorageClass"})
	days, date := g.one("Days"), g.one("Date")
	if ok && days == nil && date == nil {
		r.defect(e, "", "Days or Date", "Transition without a time")
	}
	r.clash(days, date)
	r.storageClass(e, g, ok)
	n, isNumber := r.number(days, 0, maxDays)
	at := r.date(date)
	const later = "a time before that of Expiration"
	switch {
	case isNumber && r.rule.ExpirationDays > 0 && n >= int64(r.rule.ExpirationDays):
		r.defect(days, days.text, later, "not before Expiration, %d days", r.rule.ExpirationDays)
	case !at.IsZero() && !r.rule.ExpirationDate.IsZero() && !at.Before(r.rule.ExpirationDate):
		r.defect(date, date.text, later, "not before Expiration, %s", r.rule.ExpirationDate.Format(time.RFC3339))
	case isNumber && !r.rule.ExpirationDate.IsZero():
		r.defect(days, "", "the same unit for both", "Transition by Days beside Expiration by Date")
	case !at.IsZero() && r.rule.ExpirationDays > 0:
		r.defect(date, "", "the same unit for both", "Transition by Date beside Expiration by Days")
	}
}

func (r *ruleParser) noncurrentTransition(e *element) {
	g, ok := r.fields(e,
		field{name: "NoncurrentDays"}, field{name: "NewerNoncurrentVersions"}, field{name: "StorageClass"})
	days := g.one("NoncurrentDays")
	if ok && days == nil {
		r.defect(e, "", "NoncurrentDays", "NoncurrentVersionTransition without a time")
	}
	r.number(g.one("NewerNoncurrentVersions"), 1, maxNewer)
	r.storageClass(e, g, ok)
	n, isNumber := r.number(days, 0, maxDays)
	if isNumber && r.rule.NoncurrentDays > 0 && n >= int64(r.rule.NoncurrentDays) {
		r.defect(days, days.text, "a time before that of NoncurrentVersionExpiration",
			"not before NoncurrentVersionExpiration, %d days", r.rule.NoncurrentDays)
	}
}

// storageClass asks for a name, not for one of S3's: stores have their own.
func (r *ruleParser) storageClass(parent *element, g group, complete bool) {
	e := g.one("StorageClass")
	if e == nil {
		if complete {
			r.defect(parent, "", "", "%s without a StorageClass", parent.name)
		}
		return
	}
	if text, ok := r.leaf(e); ok && text == "" {
		r.defect(e, "", "", "empty StorageClass")
	}
}
