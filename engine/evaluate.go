package engine

import (
	"strings"
	"time"
)

// DayClock is when within a day an object becomes due.
type DayClock int

const (
	// ExactClock counts a day as exactly 24 hours, as SeaweedFS does.
	ExactClock DayClock = iota
	// MidnightClock rounds a due time up to the next 00:00 UTC, as AWS does. A
	// time that is 00:00 already stays. Kinds without a delay are not rounded.
	MidnightClock
)

// round moves a due time to where the clock has it.
func (c DayClock) round(due time.Time) time.Time {
	if c == ExactClock {
		return due
	}
	midnight := due.UTC().Truncate(Day())
	if midnight.Equal(due) {
		return due
	}
	return midnight.Add(Day())
}

// ClockSource is where the time that an action counts from was found.
type ClockSource string

const (
	FromModTime    ClockSource = "mtime"           // the object's own
	FromDemotion   ClockSource = "demotion_stamp"  // when it became noncurrent, as the entry says
	FromSuccessor  ClockSource = "successor_mtime" // when the next newer version was written
	FromInitiation ClockSource = "initiation"      // when the upload began
	FromRuleDate   ClockSource = "rule_date"       // no clock of the object at all
)

// Verdict is what one action says of one object.
type Verdict struct {
	// Fires is set when the object matches and is due. A lock does not change
	// it: whoever deletes looks at Locked.
	Fires bool
	// Matches is set when everything fits, except perhaps the time.
	Matches bool
	// Due is when the action fires; zero is never. It is also set for a version
	// that only its rank keeps: it can fire from then on, once enough newer ones
	// have become noncurrent.
	Due time.Time
	// Clock is the time that Due counts from, ClockFrom where it was found. Both
	// are set together with Due.
	Clock     time.Time
	ClockFrom ClockSource
	// Checks are the conditions in the order in which they were looked at, those
	// behind a failed one too. Judge leaves them out.
	Checks []Check
	// Locked is set when the object's lock forbids a delete at now.
	Locked bool
}

// Judge says what an action does with an object at now, without the checks
// that led there. It does not allocate.
func Judge(a *Action, o *Object, now time.Time, clock DayClock) Verdict {
	return judge(a, o, now, clock, nil)
}

// Evaluate is Judge with the checks.
func Evaluate(a *Action, o *Object, now time.Time, clock DayClock) Verdict {
	var t trace
	v := judge(a, o, now, clock, &t)
	v.Checks = t.checks
	return v
}

// judge records every condition in t; without a trace it returns at the first
// that fails.
func judge(a *Action, o *Object, now time.Time, clock DayClock, t *trace) Verdict {
	v := Verdict{Locked: o.Lock.Locked(now)}
	selected := selects(a.Rule, o, t)
	if !selected && t == nil {
		return v
	}
	applies := appliesTo(a.Kind, o, t)
	beyond := beyondKept(a, o, t)
	if applies {
		from, source := clockOf(a, o)
		due := dueTime(a, from, now, clock)
		t.due(due, now)
		if selected {
			v.Due, v.Clock, v.ClockFrom = due, from, source
			v.Matches = beyond
			v.Fires = beyond && !now.Before(due)
		}
	} else if o.ModTime.IsZero() {
		t.undated()
	}
	t.lock(o, now)
	return v
}

// selects reports whether the rule is in force and its filter takes the object.
func selects(r *Rule, o *Object, t *trace) bool {
	t.status(r)
	prefix := strings.HasPrefix(o.Key, r.Prefix)
	t.prefix(prefix, r, o)
	tags := true
	mark := t.len()
	for key, value := range r.Tags {
		got, ok := o.Tags[key]
		ok = ok && got == value
		t.tag(ok, key, value, o)
		tags = tags && ok
	}
	t.sortFrom(mark)
	sizes := fitsSizes(r, o, t)
	return r.Enabled && prefix && tags && sizes
}

func fitsSizes(r *Rule, o *Object, t *trace) bool {
	above, below := true, true
	if r.SizeGreaterThan != nil {
		above = o.Size > *r.SizeGreaterThan
		t.size("size_greater_than", above, *r.SizeGreaterThan, o)
	}
	if r.SizeLessThan != nil {
		below = o.Size < *r.SizeLessThan
		t.size("size_less_than", below, *r.SizeLessThan, o)
	}
	return above && below
}

// appliesTo reports whether a kind is about objects of this sort, in this
// state. An entry without attributes has no mtime and is kept.
func appliesTo(k Kind, o *Object, t *trace) bool {
	dated := !o.ModTime.IsZero()
	if o.UploadID != "" || k == AbortMPU {
		upload := o.UploadID != ""
		t.upload(upload == (k == AbortMPU), k, o)
		return upload && k == AbortMPU && dated
	}
	switch k {
	case ExpirationDays, ExpirationDate:
		t.current(o)
		t.deleteMarker(!o.DeleteMarker, k, o)
		return o.Latest && !o.DeleteMarker && dated
	case NoncurrentDays, NewerNoncurrent:
		t.noncurrent(o)
		return isNoncurrent(o) && dated
	case ExpiredDeleteMarker:
		t.current(o)
		t.deleteMarker(o.DeleteMarker, k, o)
		t.soleSurvivor(o)
		return o.Latest && o.DeleteMarker && o.Versions == 1 && dated
	}
	return false
}

// isNoncurrent is not the opposite of Latest: of a key whose latest version is
// not known, no version is either.
func isNoncurrent(o *Object) bool { return !o.Latest && o.Rank >= 0 }

// beyondKept reports whether the object is not among the newest noncurrent
// versions that the rule keeps.
func beyondKept(a *Action, o *Object, t *trace) bool {
	keep := a.Rule.NewerNoncurrent
	if keep <= 0 || a.Kind != NoncurrentDays && a.Kind != NewerNoncurrent {
		return true
	}
	t.rank(keep, o)
	return o.Rank >= keep
}

// clockOf is the time that an action counts from.
func clockOf(a *Action, o *Object) (time.Time, ClockSource) {
	switch a.Kind {
	case ExpirationDate:
		return a.Rule.ExpirationDate, FromRuleDate
	case AbortMPU:
		return o.ModTime, FromInitiation
	case NoncurrentDays, NewerNoncurrent:
		return noncurrentClock(o)
	}
	return o.ModTime, FromModTime
}

// noncurrentClock takes the later of stamp and successor: a stamp can be left
// over from before a promotion.
func noncurrentClock(o *Object) (time.Time, ClockSource) {
	switch {
	case o.DemotedAt.IsZero() && o.SuccessorAt.IsZero():
		return o.ModTime, FromModTime
	case o.SuccessorAt.After(o.DemotedAt):
		return o.SuccessorAt, FromSuccessor
	}
	return o.DemotedAt, FromDemotion
}

// dueTime is when an action that counts from a clock fires. A kind without a
// delay or date fires at once, even if the clock runs ahead of now.
func dueTime(a *Action, from, now time.Time, clock DayClock) time.Time {
	if !isTimed(a.Kind) {
		if from.After(now) {
			return now
		}
		return from
	}
	return clock.round(from.Add(a.Delay))
}

// isTimed reports whether a kind has a delay or a date.
func isTimed(k Kind) bool { return isReplayKind(k) || k == ExpirationDate }

// DueUnderAny is when an action could fire on an object if only prefix and
// size are looked at: whatever its tags, its rank and whether it is current may
// become. It is false for an action that can never be about the object, and for
// kinds with neither a delay nor a date.
func DueUnderAny(a *Action, o *Object, clock DayClock) (time.Time, bool) {
	r := a.Rule
	if !r.Enabled || !isTimed(a.Kind) || o.ModTime.IsZero() {
		return time.Time{}, false
	}
	if !strings.HasPrefix(o.Key, r.Prefix) || !fitsSizes(r, o, nil) || !mayApply(a.Kind, o) {
		return time.Time{}, false
	}
	from, _ := clockOf(a, o)
	return clock.round(from.Add(a.Delay)), true
}

// mayApply reports whether a kind can ever be about an object, if not in its
// present state. Versions get promoted and demoted; what never changes is that
// an upload is one, a marker is one, and that a bucket has no versions.
func mayApply(k Kind, o *Object) bool {
	if o.UploadID != "" || k == AbortMPU {
		return o.UploadID != "" && k == AbortMPU
	}
	if k == NoncurrentDays {
		return o.VersionID != ""
	}
	return !o.DeleteMarker
}

// NextDue returns the matching action with the earliest due time, whether it
// has come or not. Ties go as in FirstDue.
func NextDue(actions []*Action, o *Object, now time.Time, clock DayClock) (*Action, Verdict, bool) {
	return earliest(actions, o, now, clock, func(v Verdict) bool { return v.Matches })
}

// FirstDue returns the firing action with the earliest due time. Of those due
// at the same instant the kind that is first in Kinds wins, then the action
// that is first in the slice.
func FirstDue(actions []*Action, o *Object, now time.Time, clock DayClock) (*Action, Verdict, bool) {
	return earliest(actions, o, now, clock, func(v Verdict) bool { return v.Fires })
}

func earliest(actions []*Action, o *Object, now time.Time, clock DayClock, counts func(Verdict) bool) (*Action, Verdict, bool) {
	var first *Action
	var verdict Verdict
	for _, a := range actions {
		v := Judge(a, o, now, clock)
		if !counts(v) {
			continue
		}
		if first == nil || v.Due.Before(verdict.Due) || v.Due.Equal(verdict.Due) && a.Kind < first.Kind {
			first, verdict = a, v
		}
	}
	return first, verdict, first != nil
}
