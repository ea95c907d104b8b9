package explain

import (
	"cmp"
	"slices"
	"strings"

	"weedlc/engine"
)

// Counts add up what happens to objects. Bytes are logical ones: how much of
// them volumes give back, and when, is for their vacuuming to decide.
type Counts struct {
	// Objects are current objects removed or hidden; HiddenObjects are those of
	// them whose data stays behind a delete marker, with HiddenBytes.
	Objects       int64 `json:"objects"`
	HiddenObjects int64 `json:"hidden_objects"`
	HiddenBytes   int64 `json:"hidden_bytes"`
	// Versions are noncurrent versions removed, Markers delete markers, current
	// or not, and Uploads unfinished uploads, whose bytes are not known.
	Versions int64 `json:"versions"`
	Markers  int64 `json:"markers"`
	Uploads  int64 `json:"uploads"`
	// RemovedBytes are those of everything removed; TTLBytes are those of them
	// that are left to the TTL of the volumes they lie on.
	RemovedBytes int64 `json:"removed_bytes"`
	TTLBytes     int64 `json:"ttl_bytes"`
	// Locked counts what is due and skipped for a lock, with LockedBytes. It is
	// in none of the other numbers.
	Locked      int64 `json:"locked"`
	LockedBytes int64 `json:"locked_bytes"`
}

// Add adds up two counts.
func (c *Counts) Add(d Counts) {
	c.Objects += d.Objects
	c.HiddenObjects += d.HiddenObjects
	c.HiddenBytes += d.HiddenBytes
	c.Versions += d.Versions
	c.Markers += d.Markers
	c.Uploads += d.Uploads
	c.RemovedBytes += d.RemovedBytes
	c.TTLBytes += d.TTLBytes
	c.Locked += d.Locked
	c.LockedBytes += d.LockedBytes
}

// Lines say the counts in sentences. There are none for nothing at all.
func (c *Counts) Lines() []string {
	var lines []string
	var gone []string
	for _, n := range []struct {
		count int64
		noun  string
	}{
		{c.Objects - c.HiddenObjects, "object"}, {c.Versions, "noncurrent version"},
		{c.Markers, "delete marker"}, {c.Uploads, "unfinished upload"},
	} {
		if n.count > 0 {
			gone = append(gone, counted(n.count, n.noun))
		}
	}
	if len(gone) > 0 {
		text := "Removed: " + list(gone) + ", " + counted(c.RemovedBytes, "byte")
		if c.TTLBytes > 0 {
			text += ", of which " + number(c.TTLBytes) + " are left to a volume TTL"
		}
		lines = append(lines, text+".")
	}
	if c.HiddenObjects > 0 {
		lines = append(lines, "Hidden by delete markers: "+counted(c.HiddenObjects, "object")+", "+
			counted(c.HiddenBytes, "byte")+", which stay as noncurrent versions.")
	}
	if c.Locked > 0 {
		lines = append(lines, "Skipped for a lock: "+number(c.Locked)+", "+counted(c.LockedBytes, "byte")+".")
	}
	if c.RemovedBytes > c.TTLBytes {
		lines = append(lines, "Vacuuming the volumes returns the space of what is removed.")
	}
	return lines
}

// countOf is what one effect on an object counts for.
func countOf(e Effect, v engine.Versioning, o *engine.Object) Counts {
	var c Counts
	switch e {
	case Expire:
		c.Objects = 1
	case ExpireToMarker:
		c.Objects = 1
		if v != engine.Suspended || o.VersionID != nullVersion {
			c.HiddenObjects, c.HiddenBytes = 1, o.Size
			return c
		}
	case DeleteVersion, DeleteMarker:
		if o.DeleteMarker {
			c.Markers = 1
		} else {
			c.Versions = 1
		}
	case AbortMPU:
		c.Uploads = 1
	case SkipLock:
		c.Locked, c.LockedBytes = 1, o.Size
		return c
	default:
		return c
	}
	c.RemovedBytes = o.Size
	if o.TTL > 0 {
		c.TTLBytes = o.Size
	}
	return c
}

// nullVersion is the ID of the version that lies outside the version folder. In
// a suspended bucket a marker replaces it.
const nullVersion = "null"

// Tally adds up, rule by rule, what a pass deletes or would delete. Its size is
// that of the rules, not that of the objects. It is not safe for concurrent
// use.
type Tally struct {
	rows map[tallyKey]*TallyRow
}

type tallyKey struct {
	bucket, rule string
	hash         engine.RuleHash
}

// TallyRow is the tally of one rule of a bucket.
type TallyRow struct {
	Bucket   string `json:"bucket"`
	RuleID   string `json:"rule_id"`
	RuleHash string `json:"rule_hash"`
	Number   int    `json:"number"`
	Counts
}

// NewTally returns an empty tally.
func NewTally() *Tally { return &Tally{rows: map[tallyKey]*TallyRow{}} }

// Add counts an object of a bucket that an action has an effect on. Keep counts
// for nothing.
func (t *Tally) Add(b engine.Bucket, a *engine.Action, o *engine.Object, e Effect) {
	if e == Keep {
		return
	}
	key := tallyKey{b.Name, a.Rule.Label(), a.Hash}
	row := t.rows[key]
	if row == nil {
		row = &TallyRow{Bucket: b.Name, RuleID: key.rule, RuleHash: a.Hash.String(), Number: a.Rule.Number}
		t.rows[key] = row
	}
	row.Counts.Add(countOf(e, b.Versioning, o))
}

// Rows are the rules that were counted for, by bucket and rule number.
func (t *Tally) Rows() []TallyRow {
	rows := make([]TallyRow, 0, len(t.rows))
	for _, row := range t.rows {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b TallyRow) int {
		return cmp.Or(
			strings.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Number, b.Number),
			strings.Compare(a.RuleID, b.RuleID), strings.Compare(a.RuleHash, b.RuleHash),
		)
	})
	return rows
}

// Total adds up all rules.
func (t *Tally) Total() Counts {
	var sum Counts
	for _, row := range t.rows {
		sum.Add(row.Counts)
	}
	return sum
}
