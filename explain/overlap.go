package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
)

// Overlap is two rules that act on the same objects.
type Overlap struct {
	// First and Second are in the order of their numbers.
	First  OverlapSide `json:"first"`
	Second OverlapSide `json:"second"`
	// Winner is the label of the rule that is always due first; empty when they
	// are due together or when it depends on the object.
	Winner string `json:"winner"`
	// Idle is the label of the rule whose action never comes first on any
	// object; empty when each can.
	Idle  string `json:"idle"`
	Words string `json:"words"`
}

// OverlapSide is one of the two rules.
type OverlapSide struct {
	RuleID string `json:"rule_id"`
	Number int    `json:"number"`
	Action string `json:"action"`
}

// MaxOverlaps is how many overlaps Overlaps spells out.
const MaxOverlaps = 200

// Overlaps lists the pairs of enabled rules that can select the same object and
// do the same sort of thing to it, in the order of their numbers, and which
// one wins: the one that is due first, however wide it is. It stops at
// MaxOverlaps and counts the rest.
func Overlaps(rules []*engine.Rule) (found []Overlap, more int) {
	sides := sidesOf(rules, false)
	for i := range sides {
		for j := i + 1; j < len(sides); j++ {
			if !sides[i].meets(sides[j]) {
				continue
			}
			if len(found) == MaxOverlaps {
				more++
				continue
			}
			found = append(found, overlap(sides[i], sides[j]))
		}
	}
	return found, more
}

// overlapsOf lists the overlaps of one rule with the enabled others, most at
// most, and counts the rest. Of a disabled rule they are those that it would
// have.
func overlapsOf(r *engine.Rule, rules []*engine.Rule, most int) (found []Overlap, more int) {
	own := sidesOf([]*engine.Rule{r}, true)
	for _, other := range sidesOf(rules, false) {
		for _, side := range own {
			if other.rule == r || other.rule.Number == r.Number || !side.meets(other) {
				continue
			}
			if len(found) == most {
				more++
				continue
			}
			if other.rule.Number < r.Number {
				found = append(found, overlap(other, side))
			} else {
				found = append(found, overlap(side, other))
			}
		}
	}
	return found, more
}

// side is one action of a rule.
type side struct {
	rule *engine.Rule
	kind engine.Kind
}

// sidesOf are the actions of rules, of disabled ones if asked for.
func sidesOf(rules []*engine.Rule, disabled bool) []side {
	var sides []side
	for _, r := range rules {
		if !r.Enabled && !disabled {
			continue
		}
		for _, k := range r.Kinds() {
			sides = append(sides, side{r, k})
		}
	}
	slices.SortStableFunc(sides, func(a, b side) int { return cmp.Compare(a.rule.Number, b.rule.Number) })
	return sides
}

// meets reports whether two actions of different rules can be about the same
// object.
func (s side) meets(t side) bool {
	if s.rule == t.rule || !meet(s.rule, t.rule) {
		return false
	}
	if s.kind == engine.ExpiredDeleteMarker && s.kind == t.kind {
		return s.rule.SizeGreaterThan == nil && t.rule.SizeGreaterThan == nil // a marker has no bytes
	}
	return s.kind == t.kind ||
		isCurrentExpiry(s.kind) && isCurrentExpiry(t.kind) ||
		isNoncurrentExpiry(s.kind) && isNoncurrentExpiry(t.kind)
}

// terms are the days that an action waits, 0 for none, and how many noncurrent
// versions of a key it keeps.
func (s side) terms() (wait, keep int) {
	switch s.kind {
	case engine.ExpirationDays:
		return s.rule.ExpirationDays, 0
	case engine.AbortMPU:
		return s.rule.AbortDays, 0
	case engine.NoncurrentDays, engine.NewerNoncurrent:
		return s.rule.NoncurrentDays, s.rule.NewerNoncurrent
	}
	return 0, 0
}

func overlap(a, b side) Overlap {
	o := Overlap{
		First:  OverlapSide{a.rule.Label(), a.rule.Number, a.kind.String()},
		Second: OverlapSide{b.rule.Label(), b.rule.Number, b.kind.String()},
	}
	what := things(a.kind, both(a.rule, b.rule))
	o.Words = fmt.Sprintf("%s and %s both act on %s.", capital(ref(a.rule)), ref(b.rule), what)
	switch {
	case a.kind == engine.ExpirationDate && b.kind == engine.ExpirationDate:
		o.dates(a, b)
	case a.kind == engine.ExpirationDate:
		o.dateAndDays(a, b)
	case b.kind == engine.ExpirationDate:
		o.dateAndDays(b, a)
	default:
		o.delays(a, b)
	}
	return o
}

func (o *Overlap) say(format string, args ...any) { o.Words += " " + fmt.Sprintf(format, args...) }

// wins notes the winner, and whether the loser is left without an object.
func (o *Overlap) wins(winner, loser side, why string) {
	o.Winner = winner.rule.Label()
	o.say("%s wins: %s.", capital(ref(winner.rule)), why)
	if len(loser.rule.Prefix) > len(winner.rule.Prefix) {
		o.say("The narrower prefix of %s does not shield them.", ref(loser.rule))
	}
	o.idles(loser, winner)
}

func (o *Overlap) idles(loser, winner side) {
	if covers(winner.rule, loser.rule) {
		o.Idle = loser.rule.Label()
		o.say("%s never comes to act.", capital(ref(loser.rule)))
	}
}

func (o *Overlap) dates(a, b side) {
	switch c := a.rule.ExpirationDate.Compare(b.rule.ExpirationDate); {
	case c == 0:
		o.together(a, b)
	case c > 0:
		a, b = b, a
		fallthrough
	default:
		o.wins(a, b, "its date is the earlier one, "+stamp(a.rule.ExpirationDate))
	}
}

// dateAndDays says which of the two comes first for which objects. At the same
// instant the days win.
func (o *Overlap) dateAndDays(date, byDays side) {
	epoch := time.Unix(0, 0)
	span := date.rule.ExpirationDate.Sub(epoch)
	if byDays.rule.ExpirationDays > int(span/engine.Day()) {
		o.wins(date, byDays, "no object is old enough for the days to be over before "+stamp(date.rule.ExpirationDate))
		return
	}
	limit := date.rule.ExpirationDate.Add(-time.Duration(byDays.rule.ExpirationDays) * engine.Day())
	o.say("It depends: %s wins for objects last modified at or before %s, %s for later ones.",
		ref(byDays.rule), stamp(limit), ref(date.rule))
}

// delays compares days, and the counts that noncurrent actions keep.
func (o *Overlap) delays(a, b side) {
	daysA, keepA := a.terms()
	daysB, keepB := b.terms()
	if daysB < daysA || daysB == daysA && keepB < keepA {
		a, b = b, a
		daysA, keepA, daysB, keepB = daysB, keepB, daysA, keepA
	}
	switch {
	case daysA == daysB && keepA == keepB:
		o.together(a, b)
	case daysA == daysB:
		o.wins(a, b, fmt.Sprintf("it keeps fewer noncurrent versions of a key, %d against %d", keepA, keepB))
	case keepA > keepB:
		o.keeps(a, b)
	case daysA == 0:
		o.wins(a, b, fmt.Sprintf("it acts at once, %s after %s", ref(b.rule), days(daysB)))
	default:
		o.wins(a, b, fmt.Sprintf("it is due after %s, %s after %s", days(daysA), ref(b.rule), days(daysB)))
	}
}

// keeps says what the rule that keeps fewer versions, and waits longer, has
// left to do.
func (o *Overlap) keeps(soon, late side) {
	_, keepSoon := soon.terms()
	daysLate, keepLate := late.terms()
	rest := newest(keepSoon)
	if keepLate > 0 {
		rest += ", except its own " + strings.TrimPrefix(newest(keepLate), "the ") + ","
	}
	o.say("It depends: %s wins beyond %s of each key and leaves %s to %s, after %s.",
		ref(soon.rule), newest(keepSoon), rest, ref(late.rule), days(daysLate))
}

// together says that the rules do the same at the same time.
func (o *Overlap) together(a, b side) {
	o.say("They are due together; it makes no difference to the object which one is named.")
	switch {
	case covers(a.rule, b.rule) && covers(b.rule, a.rule):
		o.say("One of them is enough.")
	case covers(a.rule, b.rule):
		o.Idle = b.rule.Label()
		o.say("%s adds nothing.", capital(ref(b.rule)))
	case covers(b.rule, a.rule):
		o.Idle = a.rule.Label()
		o.say("%s adds nothing.", capital(ref(a.rule)))
	}
}
