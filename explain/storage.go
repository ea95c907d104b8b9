package explain

import (
	"cmp"
	"slices"

	"weedlc/engine"
)

// storage says whether what an action deletes gives storage back, and where it
// does not, which of the bucket's rules will.
func storage(k engine.Kind, r *engine.Rule, b engine.Bucket, rules []*engine.Rule) (frees bool, lines []string) {
	const vacuum = "vacuuming the volumes returns the space."
	switch {
	case k == engine.ExpiredDeleteMarker:
		return false, []string{"Frees nothing: a delete marker holds no data."}
	case k == engine.AbortMPU:
		return true, []string{"Its storage comes back: the parts uploaded so far are removed, and " + vacuum}
	case isNoncurrentExpiry(k) && !b.Versioned():
		return false, []string{"Frees nothing: the bucket has no versions."}
	case !b.Versioned(), isNoncurrentExpiry(k):
		return true, []string{"Its storage comes back: the data of what it deletes is removed, and " + vacuum}
	case b.Versioning == engine.Suspended:
		lines = []string{
			"A null version is replaced by a delete marker: its data is removed, and " + vacuum,
			"A version with an ID of its own stays, as a noncurrent version: that frees nothing by itself.",
		}
	default:
		lines = []string{"Frees nothing by itself: the data stays, as a noncurrent version."}
	}
	if rules == nil {
		return false, lines
	}
	return false, append(lines, freeing(r, rules)...)
}

// freeing names the rules that delete the noncurrent versions that an expiry by
// r leaves behind.
func freeing(r *engine.Rule, rules []*engine.Rule) []string {
	var whole, part, disabled []*engine.Rule
	for _, f := range rules {
		if f.NoncurrentDays == 0 && f.NewerNoncurrent == 0 || !meet(f, r) {
			continue
		}
		switch {
		case !f.Enabled:
			disabled = append(disabled, f)
		case covers(f, r):
			whole = append(whole, f)
		default:
			part = append(part, f)
		}
	}
	if len(whole) > 0 {
		best := slices.MinFunc(whole, func(a, b *engine.Rule) int {
			return cmp.Or(cmp.Compare(a.NewerNoncurrent, b.NewerNoncurrent), cmp.Compare(a.NoncurrentDays, b.NoncurrentDays))
		})
		return []string{frees(best, "that version", "it")}
	}
	var lines []string
	for i, f := range part {
		if i == maxNamed {
			lines = append(lines, "And "+counted(int64(len(part)-maxNamed), "more rule")+" for some of them.")
			break
		}
		lines = append(lines, frees(f, "some of these versions, those that its filter selects,", "they"))
	}
	if len(part) == 0 {
		lines = append(lines, "No rule of the bucket deletes that version: its data stays until one does.")
		if len(disabled) > 0 {
			lines = append(lines, capital(ref(disabled[0]))+" would, but it is disabled.")
		}
	}
	return lines
}

// frees says when a rule deletes noncurrent versions: what they are called, and
// the pronoun that goes with it.
func frees(f *engine.Rule, what, they string) string {
	text := capital(ref(f)) + " deletes " + what
	if f.NoncurrentDays > 0 {
		text += " " + days(f.NoncurrentDays) + " after " + they + " became noncurrent"
	}
	switch {
	case f.NewerNoncurrent == 1:
		text += ", except the newest noncurrent one of each key"
	case f.NewerNoncurrent > 1:
		text += ", except the newest " + number(int64(f.NewerNoncurrent)) + " noncurrent ones of each key"
	}
	return text + "."
}
