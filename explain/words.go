package explain

import (
	"maps"
	"slices"
	"strings"

	"weedlc/engine"
)

// Selects says what a rule's filter takes, for a table cell: the whole bucket,
// or its conditions.
func Selects(r *engine.Rule) string {
	var parts []string
	if r.Prefix != "" {
		parts = append(parts, "prefix "+quote(r.Prefix))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
		parts = append(parts, "tag "+tag(key, r.Tags[key]))
	}
	if s := sizes(r); s != "" {
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "the whole bucket: every key"
	}
	return strings.Join(parts, ", ")
}

// Words says in whole sentences what a rule does in a bucket of that
// versioning state: one sentence an action, then what is not carried out.
func Words(r *engine.Rule, v engine.Versioning) []string {
	var out []string
	kinds := r.Kinds()
	if !r.Enabled {
		text := "The rule is disabled: it deletes nothing."
		if len(kinds) > 0 {
			text += " Enabled, it would do this:"
		}
		out = append(out, text)
	}
	for _, k := range kinds {
		out = append(out, sentence(k, r, v))
	}
	if len(kinds) == 0 && len(r.Unsupported) == 0 {
		out = append(out, "Does nothing: the rule has no action.")
	}
	if len(r.Unsupported) > 0 {
		text := "SeaweedFS does not carry out its " + list(r.Unsupported) + ": no object changes its storage class."
		if len(kinds) == 0 {
			text = "Does nothing: " + text
		}
		out = append(out, text)
	}
	return out
}

// sentence says what one action does.
func sentence(k engine.Kind, r *engine.Rule, v engine.Versioning) string {
	what := things(k, r)
	switch k {
	case engine.ExpirationDays:
		return expires(v) + " " + what + ", " + days(r.ExpirationDays) + " after they were last modified."
	case engine.ExpirationDate:
		return expires(v) + " " + what + ", from " + stamp(r.ExpirationDate) + " on, whatever their age."
	case engine.NoncurrentDays:
		text := "Deletes " + what + ", " + days(r.NoncurrentDays) + " after they became noncurrent"
		if r.NewerNoncurrent > 0 {
			text += ", except " + newest(r.NewerNoncurrent) + " of each key"
		}
		return text + "."
	case engine.NewerNoncurrent:
		return "Deletes " + what + ", at once, except " + newest(r.NewerNoncurrent) + " of each key."
	case engine.AbortMPU:
		return "Aborts " + what + ", " + days(r.AbortDays) + " after they were begun."
	case engine.ExpiredDeleteMarker:
		return "Deletes " + what + ", once they are all that is left of their key."
	}
	return ""
}

// expires says what becomes of a current object that is due.
func expires(v engine.Versioning) string {
	if v == engine.Unversioned {
		return "Deletes"
	}
	return "Puts a delete marker on top of"
}

// things names what a kind acts on, narrowed by a rule's filter.
func things(k engine.Kind, r *engine.Rule) string {
	noun := "current objects"
	switch k {
	case engine.NoncurrentDays, engine.NewerNoncurrent:
		noun = "noncurrent versions"
	case engine.AbortMPU:
		noun = "unfinished uploads"
	case engine.ExpiredDeleteMarker:
		noun = "delete markers"
	}
	var clauses []string
	if r.Prefix != "" {
		clauses = append(clauses, "whose key begins with "+quote(r.Prefix))
	}
	if len(r.Tags) > 0 {
		var tags []string
		for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
			tags = append(tags, tag(key, r.Tags[key]))
		}
		carry := "that carry the tag "
		if len(tags) > 1 {
			carry = "that carry the tags "
		}
		clauses = append(clauses, carry+list(tags))
	}
	if s := sizes(r); s != "" {
		clauses = append(clauses, "that are "+s)
	}
	if len(clauses) == 0 {
		return "all " + noun + " in the bucket"
	}
	return noun + " " + list(clauses)
}

func tag(key, value string) string { return quote(key) + "=" + quote(value) }

// sizes names the size bounds; empty when there are none.
func sizes(r *engine.Rule) string {
	switch low, high := r.SizeGreaterThan, r.SizeLessThan; {
	case low != nil && high != nil:
		return "larger than " + number(*low) + " and smaller than " + counted(*high, "byte")
	case low != nil:
		return "larger than " + counted(*low, "byte")
	case high != nil:
		return "smaller than " + counted(*high, "byte")
	}
	return ""
}

func days(n int) string { return counted(int64(n), "day") }

// newest names the noncurrent versions that a rule keeps.
func newest(n int) string {
	if n == 1 {
		return "the newest one"
	}
	return "the newest " + number(int64(n))
}
