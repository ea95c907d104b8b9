package cursorfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"weedlc/engine"
)

// SideFile is a side file as decoded.
type SideFile struct {
	// Side's maps are never nil.
	Side engine.Side
	// Extra are the fields that this version does not know, by name, as compact
	// JSON; nil when there is none. Those of the buckets are collected under
	// "buckets". Unknown fields of a failure are not kept: the next attempt
	// writes it anew.
	Extra map[string][]byte
	// Warnings say which times were after now and are taken as now.
	Warnings []string
}

// DecodeSide reads the side file of a shard, on the terms of DecodeCursor.
// Side.TsNs, which says what cursor the file belongs to, is never taken as now.
func DecodeSide(name string, shard int, data []byte, now time.Time, strict bool) (SideFile, error) {
	d := &decoder{file: name, now: now, strict: strict}
	o := d.document(data)
	o.header(shard)
	f := SideFile{Extra: o.unknown("version", "shard_id", "ts_ns", "rule_set_hash", "arrivals_ns", "horizon_ns",
		"groups", "buckets", "blocked", "blocked_more", "failed")}
	s := &f.Side
	s.TsNs = d.past("ts_ns", o.get("ts_ns"))
	s.RuleSetHash = o.hash("rule_set_hash")
	s.ArrivalsNs = o.past("arrivals_ns")
	s.HorizonNs = o.time("horizon_ns")
	s.Groups = decodeGroups(o.object("groups", true))
	var unknown map[string]map[string]json.RawMessage
	s.Buckets, unknown = decodeBuckets(o.object("buckets", true))
	if o.has("blocked") {
		blocked := decodeFailure(o.object("blocked", false))
		s.Blocked = &blocked
	}
	s.BlockedMore = optional(o, "blocked_more", o.count)
	if o.has("failed") {
		o.list("failed", func(path string, raw []byte) {
			s.Failed = append(s.Failed, decodeFailure(d.split(path, false, raw)))
		})
	}
	f.keepBuckets(d, unknown)
	if d.err != nil {
		return SideFile{}, d.err
	}
	f.Warnings = d.warnings
	return f, nil
}

func decodeGroups(o *object) map[time.Duration]int64 {
	groups := map[time.Duration]int64{}
	for _, name := range o.names {
		delay, err := parseDelay(name)
		if err != nil {
			o.d.fail(o.path, name, "%v", err)
		}
		groups[delay] = o.past(name)
	}
	return groups
}

func decodeBuckets(o *object) (map[string]engine.BucketMemory, map[string]map[string]json.RawMessage) {
	buckets := map[string]engine.BucketMemory{}
	unknown := map[string]map[string]json.RawMessage{}
	for _, name := range o.names {
		b := o.object(name, false)
		for field, value := range b.unknown("rules", "walk_at_ns", "reconciled_ns", "walk") {
			if unknown[name] == nil {
				unknown[name] = map[string]json.RawMessage{}
			}
			unknown[name][field] = value
		}
		buckets[name] = engine.BucketMemory{
			Rules:        b.hash("rules"),
			WalkAtNs:     decodeWalkAt(b),
			ReconciledNs: b.past("reconciled_ns"),
			Walk:         decodeWalkPoint(b),
		}
	}
	return buckets, unknown
}

func decodeWalkPoint(o *object) *engine.WalkPoint {
	if !o.has("walk") {
		return nil
	}
	w := o.object("walk", false)
	w.unknown("started_ns", "rules", "from", "horizon_ns", "bound")
	return &engine.WalkPoint{
		StartedNs: w.past("started_ns"),
		Rules:     w.hash("rules"),
		From:      w.string("from"),
		HorizonNs: optional(w, "horizon_ns", w.time),
		Bound:     optional(w, "bound", w.bool),
	}
}

func decodeWalkAt(o *object) []int64 {
	var times []int64
	o.list("walk_at_ns", func(path string, raw []byte) {
		at := o.d.time(path, raw)
		if n := len(times); n > 0 && at <= times[n-1] {
			o.d.fail(path, text(raw), "is not after the one before it")
		}
		times = append(times, at)
	})
	return times
}

func decodeFailure(o *object) engine.Failure {
	o.unknown("ts_ns", "bucket", "key", "version_id", "action", "outcome", "reason", "rule_id", "rule_hash",
		"since_ns", "attempts", "recovery")
	return engine.Failure{
		TsNs:      optional(o, "ts_ns", o.past),
		Bucket:    o.string("bucket"),
		Key:       o.string("key"),
		VersionID: optional(o, "version_id", o.string),
		Action:    optional(o, "action", o.string),
		Outcome:   o.string("outcome"),
		Reason:    optional(o, "reason", o.string),
		RuleID:    optional(o, "rule_id", o.string),
		RuleHash:  optional(o, "rule_hash", o.string),
		SinceNs:   o.past("since_ns"),
		Attempts:  o.count("attempts"),
		Recovery:  optional(o, "recovery", o.bool),
	}
}

// keepBuckets puts the unknown fields of the buckets into Extra, where no
// unknown field of the file can have the name.
func (f *SideFile) keepBuckets(d *decoder, unknown map[string]map[string]json.RawMessage) {
	if len(unknown) == 0 || d.err != nil {
		return
	}
	kept, err := marshal(unknown)
	if err != nil {
		d.fail("buckets", "", "is malformed: %v", err)
		return
	}
	if f.Extra == nil {
		f.Extra = map[string][]byte{}
	}
	f.Extra["buckets"] = kept
}

// EncodeSide writes the side file of a shard, with the kept fields after its
// own; those of a bucket that is gone go with it. The same state is always the
// same text. What DecodeSide would not read back is an error.
func EncodeSide(shard int, s engine.Side, extra map[string][]byte) ([]byte, error) {
	data, err := encodeSide(shard, s, extra)
	if err != nil {
		return nil, fmt.Errorf("encode the side file of shard %d: %w", shard, err)
	}
	if _, err := DecodeSide(SideName(shard), shard, data, endOfTime(), false); err != nil {
		return nil, fmt.Errorf("encode the side file of shard %d: %s", shard, err.Error())
	}
	return data, nil
}

func encodeSide(shard int, s engine.Side, extra map[string][]byte) ([]byte, error) {
	extra = maps.Clone(extra)
	buckets, err := encodeBuckets(s.Buckets, extra["buckets"])
	if err != nil {
		return nil, err
	}
	delete(extra, "buckets")
	o := ordered{
		{"version", version},
		{"shard_id", shard},
		{"ts_ns", s.TsNs},
		{"rule_set_hash", s.RuleSetHash[:]},
		{"arrivals_ns", s.ArrivalsNs},
		{"horizon_ns", s.HorizonNs},
		{"groups", encodeGroups(s.Groups)},
		{"buckets", buckets},
	}
	if s.Blocked != nil {
		o = append(o, field{"blocked", encodeFailure(*s.Blocked)})
	}
	o = add(o, "blocked_more", s.BlockedMore)
	if len(s.Failed) > 0 {
		var failed []ordered
		for _, f := range s.Failed {
			failed = append(failed, encodeFailure(f))
		}
		o = append(o, field{"failed", failed})
	}
	return document(keep(o, extra))
}

func encodeGroups(groups map[time.Duration]int64) ordered {
	o := ordered{}
	for _, delay := range slices.Sorted(maps.Keys(groups)) {
		o = append(o, field{formatDelay(delay), groups[delay]})
	}
	return o
}

func encodeBuckets(buckets map[string]engine.BucketMemory, kept []byte) (ordered, error) {
	var unknown map[string]map[string]json.RawMessage
	if len(kept) > 0 {
		if err := json.Unmarshal(kept, &unknown); err != nil {
			return nil, fmt.Errorf("kept fields of buckets: %w", err)
		}
	}
	o := ordered{}
	for _, name := range slices.Sorted(maps.Keys(buckets)) {
		b := buckets[name]
		memory := ordered{
			{"rules", b.Rules[:]},
			{"walk_at_ns", append([]int64{}, b.WalkAtNs...)},
			{"reconciled_ns", b.ReconciledNs},
		}
		if w := b.Walk; w != nil {
			point := ordered{{"started_ns", w.StartedNs}, {"rules", w.Rules[:]}, {"from", w.From}}
			point = add(point, "horizon_ns", w.HorizonNs)
			memory = append(memory, field{"walk", add(point, "bound", w.Bound)})
		}
		o = append(o, field{name, keep(memory, unknown[name])})
	}
	return o, nil
}

// encodeFailure leaves out what is empty, but for the fields that every failure
// has.
func encodeFailure(f engine.Failure) ordered {
	o := add(ordered{}, "ts_ns", f.TsNs)
	o = append(o, field{"bucket", f.Bucket}, field{"key", f.Key})
	o = add(o, "version_id", f.VersionID)
	o = add(o, "action", f.Action)
	o = append(o, field{"outcome", f.Outcome})
	o = add(o, "reason", f.Reason)
	o = add(o, "rule_id", f.RuleID)
	o = add(o, "rule_hash", f.RuleHash)
	o = append(o, field{"since_ns", f.SinceNs}, field{"attempts", f.Attempts})
	return add(o, "recovery", f.Recovery)
}
