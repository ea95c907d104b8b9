package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"
	"time"
)

// ReplayContentHash is the rule_set_hash of a cursor, equal to the built-in
// worker's: it covers the replay kinds of every compiled rule, promoted or not,
// and is zero when there are none.
//
// Disabled rules count, because the built-in worker compiles every installed
// rule as enabled and looks at its status only when it judges an object.
func ReplayContentHash(s *Snapshot) Hash {
	return hashActions(s, func(a *Action) bool { return true }, true)
}

// PromotedHash is the promoted_hash of a cursor, equal to the built-in worker's:
// it covers the actions of ReplayContentHash whose delay is above the retention
// that RulesForShard is given, and is zero when there are none.
func PromotedHash(s *Snapshot, retention time.Duration) Hash {
	return hashActions(s, func(a *Action) bool { return isPromoted(a, retention) }, false)
}

// MaxEffectiveTTL is the longest delay of the actions that ReplayContentHash
// covers; 0 when there are none. With it as the retention nothing is promoted.
func MaxEffectiveTTL(s *Snapshot) time.Duration {
	var longest time.Duration
	for _, a := range s.actions {
		longest = max(longest, a.Delay)
	}
	return longest
}

// Fields of a hashed action, as in the built-in worker.
const (
	fieldBucket = 1
	fieldHash   = 2
	fieldKind   = 3
	fieldTTL    = 4
)

// hashActions hashes the replay actions that keep selects, each key once.
func hashActions(s *Snapshot, keep func(*Action) bool, withTTL bool) Hash {
	var actions []*Action
	for _, a := range s.actions {
		if a.IsReplayKind() && keep(a) {
			actions = append(actions, a)
		}
	}
	if len(actions) == 0 {
		return Hash{}
	}
	slices.SortStableFunc(actions, compareKeys)
	actions = slices.CompactFunc(actions, func(a, b *Action) bool { return compareKeys(a, b) == 0 })
	w := fieldWriter{sha256.New()}
	for _, a := range actions {
		w.bytes(fieldBucket, []byte(a.Bucket))
		w.bytes(fieldHash, a.Hash[:])
		w.int(fieldKind, int64(a.Kind))
		if withTTL {
			w.int(fieldTTL, int64(a.Delay))
		}
	}
	return w.sum()
}

// compareKeys is the order of the hashes: content before bucket.
func compareKeys(a, b *Action) int {
	return cmp.Or(
		bytes.Compare(a.Hash[:], b.Hash[:]),
		cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.Bucket, b.Bucket),
	)
}

// hashBucket is Snapshot.BucketHash of a bucket's rules.
func hashBucket(b Bucket, rules []*Rule) Hash {
	var contents [][]byte
	for _, r := range rules {
		if !r.Enabled || len(r.Kinds()) == 0 {
			continue
		}
		h := r.Hash()
		contents = append(contents, append(h[:], flag(isZero(r.SizeGreaterThan)), flag(isZero(r.SizeLessThan))))
	}
	if len(contents) == 0 {
		return Hash{}
	}
	slices.SortFunc(contents, bytes.Compare)
	contents = slices.CompactFunc(contents, bytes.Equal)
	w := fieldWriter{sha256.New()}
	w.bytes(fieldBucket, []byte{flag(b.Versioned())})
	for _, c := range contents {
		w.bytes(fieldHash, c)
	}
	return w.sum()
}

// isZero reports a bound that is written out as zero, which RuleHash cannot
// tell from none.
func isZero(bound *int64) bool { return bound != nil && *bound == 0 }

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// fieldWriter hashes tagged fields: byte strings behind their length as an
// unsigned varint, integers as a signed one.
type fieldWriter struct {
	hash.Hash
}

func (w fieldWriter) bytes(field byte, b []byte) {
	head := binary.AppendUvarint([]byte{field}, uint64(len(b)))
	w.Write(append(head, b...))
}

func (w fieldWriter) int(field byte, v int64) {
	w.Write(binary.AppendVarint([]byte{field}, v))
}

func (w fieldWriter) sum() Hash { return Hash(w.Hash.Sum(nil)) }
