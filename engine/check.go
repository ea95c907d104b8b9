package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Check is one condition of a verdict. Want and Have hold names, keys and tags
// as they are, unescaped.
type Check struct {
	// Name is status, prefix, tag, size_greater_than, size_less_than, current,
	// noncurrent, delete_marker, sole_survivor, rank, upload, due or lock.
	Name       string
	OK         bool
	Want, Have string
}

// trace collects checks. Every method does nothing on a nil trace, so that
// judging without one builds no strings.
type trace struct {
	checks []Check
}

func (t *trace) add(name string, ok bool, want, have string) {
	t.checks = append(t.checks, Check{Name: name, OK: ok, Want: want, Have: have})
}

func (t *trace) len() int {
	if t == nil {
		return 0
	}
	return len(t.checks)
}

// sortFrom orders the checks from a place on by what they want: tags come out
// of a map.
func (t *trace) sortFrom(i int) {
	if t == nil {
		return
	}
	slices.SortFunc(t.checks[i:], func(a, b Check) int { return strings.Compare(a.Want, b.Want) })
}

func (t *trace) status(r *Rule) {
	if t == nil {
		return
	}
	have := "Disabled"
	if r.Enabled {
		have = "Enabled"
	}
	t.add("status", r.Enabled, "Enabled", have)
}

func (t *trace) prefix(ok bool, r *Rule, o *Object) {
	if t != nil {
		t.add("prefix", ok, r.Prefix, o.Key)
	}
}

func (t *trace) tag(ok bool, key, value string, o *Object) {
	if t == nil {
		return
	}
	have := "absent"
	if got, there := o.Tags[key]; there {
		have = key + "=" + got
	}
	t.add("tag", ok, key+"="+value, have)
}

func (t *trace) size(name string, ok bool, bound int64, o *Object) {
	if t != nil {
		t.add(name, ok, strconv.FormatInt(bound, 10), strconv.FormatInt(o.Size, 10))
	}
}

func (t *trace) upload(ok bool, k Kind, o *Object) {
	if t == nil {
		return
	}
	want, have := "object", "object"
	if k == AbortMPU {
		want = "upload"
	}
	if o.UploadID != "" {
		have = "upload"
	}
	t.add("upload", ok, want, have)
}

func (t *trace) current(o *Object) {
	if t != nil {
		t.add("current", o.Latest, "current", currency(o))
	}
}

func (t *trace) noncurrent(o *Object) {
	if t != nil {
		t.add("noncurrent", isNoncurrent(o), "noncurrent", currency(o))
	}
}

func currency(o *Object) string {
	switch {
	case o.Latest:
		return "current"
	case isNoncurrent(o):
		return "noncurrent"
	}
	return "unknown"
}

func (t *trace) deleteMarker(ok bool, k Kind, o *Object) {
	if t == nil {
		return
	}
	want, have := "object", "object"
	if k == ExpiredDeleteMarker {
		want = "delete marker"
	}
	if o.DeleteMarker {
		have = "delete marker"
	}
	t.add("delete_marker", ok, want, have)
}

func (t *trace) soleSurvivor(o *Object) {
	if t == nil {
		return
	}
	have := "unknown"
	if o.Versions > 0 {
		have = strconv.Itoa(o.Versions)
	}
	t.add("sole_survivor", o.Versions == 1, "1", have)
}

func (t *trace) rank(keep int, o *Object) {
	if t == nil {
		return
	}
	have := "unknown"
	if o.Rank >= 0 {
		have = strconv.Itoa(o.Rank)
	}
	t.add("rank", o.Rank >= keep, ">= "+strconv.Itoa(keep), have)
}

// due says when the action fires and what time it is.
func (t *trace) due(due, now time.Time) {
	if t != nil {
		t.add("due", !now.Before(due), stamp(due), stamp(now))
	}
}

// undated stands for due when the object has no time to count from.
func (t *trace) undated() {
	if t != nil {
		t.add("due", false, "an mtime", "none")
	}
}

func (t *trace) lock(o *Object, now time.Time) {
	if t == nil || o.UploadID != "" {
		return
	}
	have := "unlocked"
	switch l := o.Lock; {
	case l.LegalHold:
		have = "legal hold"
	case l.Unreadable:
		have = "unreadable retention"
	case !l.RetainUntil.IsZero():
		have = strings.TrimSpace(l.Mode + " until " + stamp(l.RetainUntil))
	}
	t.add("lock", !o.Lock.Locked(now), "unlocked", have)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
