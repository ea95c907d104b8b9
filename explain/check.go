package explain

import (
	"fmt"
	"strings"
	"time"

	"weedlc/engine"
)

// Check is one condition of an action, with both values.
type Check struct {
	// Name is the condition: status, prefix, tag, size_greater_than,
	// size_less_than, current, noncurrent, delete_marker, sole_survivor, rank,
	// upload, due or lock.
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Want and Have are the two values as the engine compares them, Words both
	// in one phrase.
	Want  string `json:"want"`
	Have  string `json:"have"`
	Words string `json:"words"`
}

func newCheck(c engine.Check, r *engine.Rule, o *engine.Object, now time.Time) Check {
	return Check{Name: c.Name, OK: c.OK, Want: c.Want, Have: c.Have, Words: checkWords(c, r, o, now)}
}

// checkWords is a condition and what the object has, in one phrase.
func checkWords(c engine.Check, r *engine.Rule, o *engine.Object, now time.Time) string {
	what := "object"
	if o.UploadID != "" {
		what = "upload"
	}
	switch c.Name {
	case "status":
		return fmt.Sprintf("status: want %s, rule is %s", c.Want, c.Have)
	case "prefix":
		if c.Want == "" {
			return "prefix: any key will do"
		}
		return fmt.Sprintf("prefix: want %s, key is %s", quote(c.Want), quote(c.Have))
	case "tag":
		return tagWords(c, r, o, what)
	case "size_greater_than":
		return fmt.Sprintf("size: want more than %s, %s has %s", counted(*r.SizeGreaterThan, "byte"), what, counted(o.Size, "byte"))
	case "size_less_than":
		return fmt.Sprintf("size: want less than %s, %s has %s", counted(*r.SizeLessThan, "byte"), what, counted(o.Size, "byte"))
	case "current", "noncurrent":
		have := "this one is " + c.Have
		if c.Have == "unknown" {
			have = "which one is current cannot be told"
		}
		return fmt.Sprintf("%s: want a %s version, %s", c.Name, c.Want, have)
	case "delete_marker":
		return fmt.Sprintf("delete marker: want %s, this is %s", article(c.Want), article(c.Have))
	case "sole_survivor":
		if c.OK {
			return "alone: want nothing else at the key, there is nothing else"
		}
		return fmt.Sprintf("alone: want nothing else at the key, it has %s versions", c.Have)
	case "rank":
		return rankWords(r.NewerNoncurrent, o)
	case "upload":
		return fmt.Sprintf("kind: want %s, this is %s", article(c.Want), article(c.Have))
	case "due":
		if at, err := time.Parse(time.RFC3339Nano, c.Want); err == nil {
			return fmt.Sprintf("due: %s, it is %s", stamp(at), stamp(now))
		}
		return "due: want a modification time, the entry has none"
	case "lock":
		have := lockWords(o.Lock, now)
		if have == "" {
			have = "there is none"
		}
		return "lock: want none, " + have
	}
	return fmt.Sprintf("%s: want %s, have %s", c.Name, word(c.Want), word(c.Have))
}

// tagWords finds the tag that a check is about: key and value stand joined in
// it, and either may hold the sign that joins them.
func tagWords(c engine.Check, r *engine.Rule, o *engine.Object, what string) string {
	for key, value := range r.Tags {
		got, there := o.Tags[key]
		have := "absent"
		if there {
			have = key + "=" + got
		}
		if key+"="+value != c.Want || have != c.Have {
			continue
		}
		if !there {
			return fmt.Sprintf("tag %s: want %s, %s has none", word(key), word(value), what)
		}
		return fmt.Sprintf("tag %s: want %s, %s has %s", word(key), word(value), what, word(got))
	}
	return fmt.Sprintf("tag: want %s, %s has %s", word(c.Want), what, word(c.Have))
}

// rankWords counts places among the noncurrent versions from 1.
func rankWords(keep int, o *engine.Object) string {
	have := fmt.Sprintf("it is number %d", o.Rank+1)
	switch {
	case o.UploadID != "":
		have = "an upload does not count"
	case o.Latest:
		have = "a current one does not count"
	case o.Rank < 0:
		have = "its place is not known"
	}
	return fmt.Sprintf("count: want it beyond %s, %s", newest(keep), have)
}

func article(noun string) string {
	if strings.HasPrefix(noun, "o") || strings.HasPrefix(noun, "u") {
		return "an " + noun
	}
	return "a " + noun
}

// clockWords say what time a due time counts from, and where it was found.
func clockWords(v engine.Verdict, k engine.Kind, o *engine.Object) string {
	at := stamp(v.Clock)
	switch v.ClockFrom {
	case engine.FromRuleDate:
		return "counts from nothing of the object: the rule names a date"
	case engine.FromInitiation:
		return "counts from " + at + ", when the upload was begun"
	case engine.FromDemotion:
		return "counts from " + at + ", when it became noncurrent, as its entry says"
	case engine.FromSuccessor:
		text := "counts from " + at + ", when the next newer version was written"
		if d := o.DemotedAt; !d.IsZero() && v.Clock.Sub(d) > engine.Slack() {
			text += "; its entry's stamp of " + stamp(d) + " is left over from an earlier demotion"
		}
		return text
	}
	switch {
	case isNoncurrentExpiry(k):
		return "counts from " + at + ", when it was last modified: nothing says when it became noncurrent"
	case o.DeleteMarker:
		return "counts from " + at + ", when the delete marker was written"
	}
	return "counts from " + at + ", when it was last modified"
}
