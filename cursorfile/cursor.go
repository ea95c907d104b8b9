package cursorfile

import (
	"fmt"
	"time"

	"weedlc/engine"
)

// CursorFile is a cursor file as decoded.
type CursorFile struct {
	Cursor engine.Cursor
	// Extra are the fields that this version does not know, by name, as compact
	// JSON; nil when there is none.
	Extra map[string][]byte
	// Warnings say which times were after now and are taken as now.
	Warnings []string

	// writtenTsNs is the position before it was taken as now.
	writtenTsNs int64
}

// DecodeCursor reads the cursor file of a shard. The name is what an error
// calls the file. Strict refuses unknown fields instead of keeping them: it is
// for a text that a person wrote. Damage is a *CorruptError, beside which
// nothing is returned.
func DecodeCursor(name string, shard int, data []byte, now time.Time, strict bool) (CursorFile, error) {
	d := &decoder{file: name, now: now, strict: strict}
	o := d.document(data)
	o.header(shard)
	f := CursorFile{Extra: o.unknown("version", "shard_id", "ts_ns", "rule_set_hash", "promoted_hash", "last_walked_ns")}
	f.writtenTsNs = d.past("ts_ns", o.get("ts_ns"))
	f.Cursor = engine.Cursor{
		TsNs:         d.clamp("ts_ns", f.writtenTsNs),
		RuleSetHash:  o.hash("rule_set_hash"),
		PromotedHash: o.hash("promoted_hash"),
		LastWalkedNs: optional(o, "last_walked_ns", o.past),
	}
	if d.err != nil {
		return CursorFile{}, d.err
	}
	f.Warnings = d.warnings
	return f, nil
}

// EncodeCursor writes the cursor file of a shard as the built-in worker does,
// with the kept fields after its own. What DecodeCursor would not read back is
// an error.
func EncodeCursor(shard int, c engine.Cursor, extra map[string][]byte) ([]byte, error) {
	o := ordered{
		{"version", version},
		{"shard_id", shard},
		{"ts_ns", c.TsNs},
		{"rule_set_hash", c.RuleSetHash[:]},
		{"promoted_hash", c.PromotedHash[:]},
	}
	o = add(o, "last_walked_ns", c.LastWalkedNs)
	data, err := document(keep(o, extra))
	if err != nil {
		return nil, fmt.Errorf("encode the cursor of shard %d: %w", shard, err)
	}
	if _, err := DecodeCursor(CursorName(shard), shard, data, endOfTime(), false); err != nil {
		return nil, fmt.Errorf("encode the cursor of shard %d: %s", shard, err.Error())
	}
	return data, nil
}
