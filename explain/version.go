package explain

import (
	"fmt"
	"time"

	"weedlc/engine"
)

// keyJudge explains the versions of one key.
type keyJudge struct {
	in     KeyInput
	served service
	rules  []ruleActions
}

// ruleActions is a rule and what it compiles to, which may be nothing.
type ruleActions struct {
	rule    *engine.Rule
	actions []*engine.Action
}

func rulesOf(rules []*engine.Rule, actions []*engine.Action) []ruleActions {
	of := map[*engine.Rule][]*engine.Action{}
	for _, a := range actions {
		of[a.Rule] = append(of[a.Rule], a)
	}
	var out []ruleActions
	for _, r := range rules {
		out = append(out, ruleActions{r, of[r]})
	}
	return out
}

// version explains the version at place i of its group.
func (j *keyJudge) version(g engine.Group, i int, out outcome) VersionExplanation {
	o, now := &g.Objects[i], j.in.Now
	e := VersionExplanation{
		VersionID: o.VersionID, UploadID: o.UploadID, Current: o.Latest, DeleteMarker: o.DeleteMarker,
		ModTime: o.ModTime.UTC(), Size: o.Size, Shard: ShardOf(o),
		Verdict: out.effect, Lock: lockWords(o.Lock, now), Rules: []RuleVerdict{},
	}
	if o.Lock.Locked(now) && !o.Lock.LegalHold && !o.Lock.Unreadable {
		e.LockedUntil = moment(o.Lock.RetainUntil)
	}
	for _, r := range j.rules {
		for _, a := range r.actions {
			e.Rules = append(e.Rules, j.rule(a, o, len(r.actions) > 1))
		}
		if len(r.actions) == 0 {
			e.Rules = append(e.Rules, RuleVerdict{
				RuleID: r.rule.Label(), RuleHash: r.rule.Hash().String(), Number: r.rule.Number, Checks: []Check{},
				Words: word(r.rule.Label()) + ": no, it has no action that SeaweedFS carries out",
			})
		}
	}
	a, v := out.action, out.verdict
	if a == nil {
		a, v, _ = engine.NextDue(j.served.active, o, now, j.in.DayClock)
	}
	e.ServerTTL = serverTTL(o, v, now)
	e.Why = j.why(g, i, out, a, v)
	if a == nil {
		return e
	}
	e.Action, e.RuleID, e.RuleHash = a.Kind.String(), a.Rule.Label(), a.Hash.String()
	e.Due = moment(v.Due)
	stays := out.null || out.changed && out.effect == Keep && !v.Matches
	if stays || out.replaced {
		return e
	}
	if goes, dated := GoesAt(o, v.Due); dated {
		e.Goes = moment(goes)
	}
	e.Handling = j.handling(a, g, i, v)
	if out.changed && out.effect != Keep && j.needsAnother(a, g, i) {
		e.Handling.NextPass, e.Handling.After = false, nil
		e.Handling.Words = e.Handling.By + ", in the pass that deals with the versions beside it or in the one after"
	}
	return e
}

// handling says who carries out what is due first, or will be.
func (j *keyJudge) handling(a *engine.Action, g engine.Group, i int, v engine.Verdict) *Handling {
	h := j.handledBy(a, g, i, v)
	if !v.Fires || h.NextPass || j.in.Schedule == nil {
		return &h
	}
	// Replay and walk each look at their own part of the rules. Of the other part
	// something may be due too, and its turn may come sooner.
	var others []*engine.Action
	for _, b := range j.served.active {
		if j.served.by(b) != j.served.by(a) {
			others = append(others, b)
		}
	}
	b, w, fires := engine.FirstDue(others, &g.Objects[i], j.in.Now, j.in.DayClock)
	if !fires {
		return &h
	}
	if other := j.handledBy(b, g, i, w); other.NextPass && !other.Blocked {
		other.Words += fmt.Sprintf(", by %s (%s)", word(b.Rule.Label()), b.Kind)
		return &other
	}
	return &h
}

// needsAnother reports whether a version that goes because of what is done to
// others may have to wait for a later pass: replay and walk each know their own
// part of the rules, and only a walk over all rules knows both.
func (j *keyJudge) needsAnother(a *engine.Action, g engine.Group, i int) bool {
	if j.in.Schedule == nil {
		return false
	}
	k := newOutlook(&j.in, j.served, g)
	if _, owed := k.owed(&g.Objects[i]); owed {
		return false
	}
	if _, walks := k.walkNext(); walks {
		return false
	}
	var part []*engine.Action
	for _, b := range j.served.active {
		if j.served.by(b) == j.served.by(a) {
			part = append(part, b)
		}
	}
	return rehearse(j.in, part)[i].effect == Keep
}

func (j *keyJudge) handledBy(a *engine.Action, g engine.Group, i int, v engine.Verdict) Handling {
	h := Handling{By: j.served.by(a), Shard: -1}
	goes, dated := GoesAt(&g.Objects[i], v.Due)
	switch {
	case !dated && g.Objects[i].Lock.LegalHold:
		h = Handling{Shard: -1, Words: "nobody while the legal hold is on; the next pass meets the event that lifts it"}
	case !dated:
		h = Handling{Shard: -1, Words: "nobody while its retention cannot be read; the next pass meets the event that mends it"}
	case j.in.Schedule != nil:
		h = newOutlook(&j.in, j.served, g).handle(a, g, i, v, goes)
	case goes.After(j.in.Now) && goes.After(v.Due):
		h = retentionEnds(goes)
	case goes.After(j.in.Now):
		h.After = moment(goes)
		h.Words = h.By + ", from " + stamp(goes) + " on"
	default:
		h.Words = h.By
	}
	h.Action, h.RuleID = a.Kind.String(), a.Rule.Label()
	return h
}

// rule says what one action makes of an object. Its kind is named where the
// rule has several.
func (j *keyJudge) rule(a *engine.Action, o *engine.Object, several bool) RuleVerdict {
	now := j.in.Now
	v := engine.Evaluate(a, o, now, j.in.DayClock)
	r := RuleVerdict{
		RuleID: a.Rule.Label(), RuleHash: a.Hash.String(), Number: a.Rule.Number, Action: a.Kind.String(),
		Matches: v.Matches, Fires: v.Fires, Due: moment(v.Due), Checks: []Check{}, ServedBy: j.served.by(a),
	}
	name := word(r.RuleID)
	if several {
		name += " (" + r.Action + ")"
	}
	failed := ""
	for _, c := range v.Checks {
		check := newCheck(c, a.Rule, o, now)
		r.Checks = append(r.Checks, check)
		if !c.OK && c.Name != "lock" && failed == "" {
			failed = check.Words
		}
	}
	if v.ClockFrom != "" {
		r.ClockFrom, r.ClockWords = string(v.ClockFrom), clockWords(v, a.Kind, o)
		if v.ClockFrom != engine.FromRuleDate {
			r.Clock = moment(v.Clock)
		}
	}
	switch {
	case !v.Matches:
		r.Words = name + ": no, " + failed
	case v.Fires:
		r.Words = fmt.Sprintf("%s: matches, due since %s, %s", name, stamp(v.Due), distance(v.Due, now))
	default:
		r.Words = fmt.Sprintf("%s: matches, due %s%s", name, distance(v.Due, now), midnightRemark(a, v.Due, now, j.in.DayClock))
	}
	return r
}

// midnightRemark bounds the due time by what the midnight clock makes of it.
func midnightRemark(a *engine.Action, due, now time.Time, clock engine.DayClock) string {
	switch {
	case a.Kind == engine.ExpirationDate:
		return ""
	case clock == engine.MidnightClock:
		return " (on the midnight clock)"
	case due.Equal(due.UTC().Truncate(engine.Day())):
		return ""
	}
	return fmt.Sprintf(" (%s on the midnight clock at most)", Duration(due.Add(engine.Day()).Sub(now)))
}

// why is the reason for a verdict, short enough for a table.
func (j *keyJudge) why(g engine.Group, i int, out outcome, a *engine.Action, v engine.Verdict) string {
	o, now := &g.Objects[i], j.in.Now
	by := ""
	if a != nil {
		by = word(a.Rule.Label())
	}
	switch {
	case out.replaced:
		return "a delete marker takes its place"
	case out.null:
		return "due by " + by + ", but the gateway has no call that removes a null delete marker"
	case out.effect == SkipLock:
		if goes, ok := GoesAt(o, v.Due); ok {
			return "goes " + stamp(goes) + ", " + distance(goes, now)
		}
		return "no date: " + lockWords(o.Lock, now)
	case out.changed && out.effect == Keep && v.Matches:
		return fmt.Sprintf("%s left, %s: it counts from the next newer version, which is another once those between are gone", Duration(v.Due.Sub(now)), by)
	case out.changed && out.effect == Keep:
		return fmt.Sprintf("kept by count: once newer versions are gone, it is among %s that %s keeps", newest(a.Rule.NewerNoncurrent), by)
	case out.changed:
		return "by " + by + ", once the versions beside it have been dealt with"
	case out.effect != Keep:
		return fmt.Sprintf("by %s, due since %s", by, stamp(v.Due))
	case a != nil:
		goes, ok := GoesAt(o, v.Due)
		if !ok {
			return "no date: " + lockWords(o.Lock, now)
		}
		text := Duration(goes.Sub(now)) + " left, " + by
		if goes.After(v.Due) {
			text += ", due before that but locked"
		}
		return text
	}
	return j.kept(g, o)
}

// kept is why no rule is about an object now.
func (j *keyJudge) kept(g engine.Group, o *engine.Object) string {
	if g.Unresolved != "" {
		return "which version is current cannot be told: " + g.Unresolved
	}
	if o.ModTime.IsZero() {
		return "the entry has no attributes"
	}
	for _, a := range j.served.active {
		v := engine.Judge(a, o, j.in.Now, j.in.DayClock)
		if !v.Due.IsZero() && !v.Matches {
			return fmt.Sprintf("retained by count: %s keeps %s", word(a.Rule.Label()), newest(a.Rule.NewerNoncurrent))
		}
	}
	switch {
	case o.UploadID != "":
		return "no rule aborts it"
	case o.Latest && o.DeleteMarker && o.Versions > 1:
		return "a delete marker goes last, other versions are left"
	case o.Latest && o.DeleteMarker:
		return "no marker rule"
	}
	return "no rule selects it"
}

// serverTTL says when the server drops an entry by the TTL stamped on it; nil
// without one. v is the verdict of the action that is due first.
func serverTTL(o *engine.Object, v engine.Verdict, now time.Time) *ServerTTL {
	if o.TTL <= 0 || o.ModTime.IsZero() {
		return nil
	}
	t := &ServerTTL{TTLSeconds: o.TTL.Seconds()}
	text := "a TTL of " + Duration(o.TTL) + " is stamped on it: "
	end := o.ModTime.Add(o.TTL)
	if o.VersionID != "" || o.Key != "" && o.Key[len(o.Key)-1] == '/' {
		t.Words = text + "its data may go with its volume after " + stamp(end) + ", whatever the rules say"
		return t
	}
	t.Drops = moment(end)
	t.BeforeRule = v.Due.IsZero() || end.Before(v.Due)
	when := fmt.Sprintf("the server drops it at %s, %s", stamp(end), distance(end, now))
	switch {
	case v.Due.IsZero():
		t.Words = text + when + ", though no rule does"
	case t.BeforeRule:
		t.Words = fmt.Sprintf("%s%s, whatever the rules say: sooner than the rule, which is due %s", text, when, stamp(v.Due))
	default:
		t.Words = fmt.Sprintf("%s%s; the rule is due before that, at %s, and leaves its data to the TTL", text, when, stamp(v.Due))
	}
	return t
}
