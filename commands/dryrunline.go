package commands

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/pass"
)

// record is one object of a dry run.
type record interface {
	// cells are what a table shows, fields what a line of tab-separated values
	// has.
	cells() []cell
	fields() []string
}

// objectID is what says which object a record is about.
type objectID struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	// VersionID is empty in a bucket without versions, and for an upload.
	VersionID string `json:"version_id"`
}

// objectFacts are what is known of an object beside its name.
type objectFacts struct {
	ModTime time.Time `json:"mod_time"`
	Size    int64     `json:"size"`
	Shard   int       `json:"shard"`
	// LockedUntil is the end of a retention that is not over; nil for none.
	LockedUntil *time.Time `json:"locked_until"`
	// UploadID is set for an upload; its key is the one that it would make.
	UploadID string `json:"upload_id,omitempty"`
	// Hold is why a lock has no known end: legal_hold or unreadable_retention.
	Hold string `json:"hold,omitempty"`

	now time.Time
}

// objectLine is one object version that goes (docs/json-output.md).
type objectLine struct {
	objectID
	Action   string    `json:"action"`
	RuleID   string    `json:"rule_id"`
	RuleHash string    `json:"rule_hash"`
	Due      time.Time `json:"due"`
	objectFacts
}

func newObjectID(o *engine.Object) objectID { return objectID{o.Bucket, o.Key, o.VersionID} }

func newObjectFacts(o *engine.Object, now time.Time) objectFacts {
	f := objectFacts{
		ModTime: o.ModTime.UTC(), Size: o.Size, Shard: explain.ShardOf(o), UploadID: o.UploadID, now: now,
	}
	if o.Lock.RetainUntil.After(now) {
		until := o.Lock.RetainUntil.UTC()
		f.LockedUntil = &until
	}
	switch {
	case o.Lock.LegalHold:
		f.Hold = "legal_hold"
	case o.Lock.Unreadable:
		f.Hold = "unreadable_retention"
	}
	return f
}

func newObjectLine(o *engine.Object, a *engine.Action, due, now time.Time) objectLine {
	return objectLine{
		objectID: newObjectID(o),
		Action:   a.Kind.String(), RuleID: a.Rule.Label(), RuleHash: a.Hash.String(), Due: due.UTC(),
		objectFacts: newObjectFacts(o, now),
	}
}

func objectHeader() []string {
	return []string{"BUCKET", "KEY", "VERSION", "ACTION", "RULE", "DUE", "AGE", "SIZE"}
}

func (l objectLine) cells() []cell {
	due := instant(l.Due, "")
	due.short = l.Due.Format(shortTime)
	return []cell{
		word(l.Bucket), word(l.Key), l.version(l.VersionID), word(l.Action), word(l.RuleID), due,
		{text: l.age()}, {text: bytesText(l.Size)},
	}
}

// shortTime is a time to the minute, for a narrow terminal.
const shortTime = "2006-01-02 15:04"

func (l objectLine) fields() []string {
	return append([]string{l.Bucket, l.Key, l.VersionID, l.Action, l.RuleID, rfc3339(l.Due)}, l.behind()...)
}

// version is the version or upload for a person; locked ones say so.
func (f objectFacts) version(id string) cell {
	kind := ""
	if f.UploadID != "" {
		kind, id = "upload ", f.UploadID
	}
	c := cell{text: kind + cmp.Or(id, "-"), short: kind + cmp.Or(abbreviated(id), "-")}
	switch {
	case f.Hold != "":
		lock := " (" + strings.ReplaceAll(f.Hold, "_", " ") + ")"
		c.text, c.short = c.text+lock, c.short+lock
	case f.LockedUntil != nil:
		c.text, c.short = c.text+" (locked until "+f.LockedUntil.Format(time.DateOnly)+")", c.short+" (locked)"
	}
	return c
}

// abbreviated is the beginning and the end of a long ID.
func abbreviated(id string) string {
	const head, tail = 4, 4
	if len(id) <= head+tail+1 {
		return id
	}
	return id[:head] + "…" + id[len(id)-tail:]
}

func (f objectFacts) age() string {
	text := explain.Duration(f.now.Sub(f.ModTime))
	if f.ModTime.After(f.now) {
		return "-" + text
	}
	return text
}

// behind are the last fields of a line of tab-separated values.
func (f objectFacts) behind() []string {
	until := f.Hold
	if until == "" && f.LockedUntil != nil {
		until = rfc3339(*f.LockedUntil)
	}
	return []string{fmt.Sprint(int64(f.now.Sub(f.ModTime) / time.Second)), fmt.Sprint(f.Size), until, f.UploadID}
}

// prospectJSON is what a rule set says of an object.
type prospectJSON struct {
	Action   string    `json:"action"`
	RuleID   string    `json:"rule_id"`
	RuleHash string    `json:"rule_hash"`
	Due      time.Time `json:"due"`
	// DueNow is set when a pass at the clock would delete it.
	DueNow bool `json:"due_now"`
}

func newProspectJSON(p pass.Prospect) *prospectJSON {
	if p.Action == nil {
		return nil
	}
	return &prospectJSON{
		Action: p.Action.Kind.String(), RuleID: p.Action.Rule.Label(), RuleHash: p.Action.Hash.String(),
		Due: p.Due.UTC(), DueNow: p.Outcome == pass.Done,
	}
}

// change is how a candidate differs from the installed rules for an object.
type change string

const (
	newlyExpiring    change = "newly_expiring"     // the installed rules never take it
	noLongerExpiring change = "no_longer_expiring" // the candidate never does
	sooner           change = "sooner"
	later            change = "later"
	unchanged        change = "unchanged"
)

func changes() []change {
	return []change{newlyExpiring, noLongerExpiring, sooner, later, unchanged}
}

// words is the change for a person.
func (c change) words() string {
	switch c {
	case newlyExpiring:
		return "newly expiring"
	case noLongerExpiring:
		return "no longer expiring"
	}
	return string(c)
}

// compared is the change that a judgement shows, and what is due by it first.
func compared(j pass.Judgement) (c change, first pass.Prospect) {
	switch is, was := j.Prospect, j.Installed; {
	case was.Action == nil:
		return newlyExpiring, is
	case is.Action == nil:
		return noLongerExpiring, was
	case is.Due.Before(was.Due):
		return sooner, is
	case is.Due.After(was.Due):
		return later, was
	default:
		return unchanged, is
	}
}

// changeLine is one object for which a candidate differs.
type changeLine struct {
	Change change `json:"change"`
	objectID
	objectFacts
	Installed *prospectJSON `json:"installed"`
	Candidate *prospectJSON `json:"candidate"`
}

func newChangeLine(c change, j pass.Judgement, now time.Time) changeLine {
	return changeLine{
		Change: c, objectID: newObjectID(j.Object), objectFacts: newObjectFacts(j.Object, now),
		Installed: newProspectJSON(j.Installed), Candidate: newProspectJSON(j.Prospect),
	}
}

func changeHeader() []string {
	return []string{"CHANGE", "BUCKET", "KEY", "VERSION", "INSTALLED", "CANDIDATE", "AGE", "SIZE"}
}

func (l changeLine) cells() []cell {
	return []cell{
		word(l.Change.words()), word(l.Bucket), word(l.Key), l.version(l.VersionID),
		{text: l.Installed.words()}, {text: l.Candidate.words()}, {text: l.age()}, {text: bytesText(l.Size)},
	}
}

func (p *prospectJSON) words() string {
	if p == nil {
		return "never"
	}
	return p.Due.Format(time.DateOnly) + " by " + p.RuleID
}

func (l changeLine) fields() []string {
	fields := []string{string(l.Change), l.Bucket, l.Key, l.VersionID}
	fields = append(append(fields, l.Installed.fields()...), l.Candidate.fields()...)
	return append(fields, l.behind()...)
}

// fields are the due time, action and rule; empty for never.
func (p *prospectJSON) fields() []string {
	if p == nil {
		return []string{"", "", ""}
	}
	return []string{rfc3339(p.Due), p.Action, p.RuleID}
}

func rfc3339(t time.Time) string { return t.Format(time.RFC3339Nano) }
