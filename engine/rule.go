package engine

import (
	"encoding/hex"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"
)

// Kind is what an action does. The values are those of the wire
// (s3_lifecycle.proto) and of the cursor hashes.
type Kind = s3lifecycle.ActionKind

// The six action kinds.
const (
	ExpirationDays      = s3lifecycle.ActionKindExpirationDays
	ExpirationDate      = s3lifecycle.ActionKindExpirationDate
	NoncurrentDays      = s3lifecycle.ActionKindNoncurrentDays
	NewerNoncurrent     = s3lifecycle.ActionKindNewerNoncurrent
	AbortMPU            = s3lifecycle.ActionKindAbortMPU
	ExpiredDeleteMarker = s3lifecycle.ActionKindExpiredDeleteMarker
)

// Kinds lists the action kinds in the order that breaks a tie between actions
// of one object that are due at the same instant.
func Kinds() []Kind {
	return []Kind{ExpirationDays, ExpirationDate, NoncurrentDays, NewerNoncurrent, AbortMPU, ExpiredDeleteMarker}
}

// RuleHash identifies a rule by what it selects and does, not by its ID or
// status (s3lifecycle.RuleHash). It is sent with every LifecycleDelete.
type RuleHash [8]byte

func (h RuleHash) String() string { return hex.EncodeToString(h[:]) }

// Hash is a SHA-256 sum: of the rules of a snapshot or of one bucket. The
// zero Hash stands for "no rules" in a cursor.
type Hash [32]byte

// IsZero reports whether the hash stands for no rules.
func (h Hash) IsZero() bool   { return h == Hash{} }
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Rule is one parsed lifecycle rule. Absence and a written-out zero stay
// apart: zero days never occur (they are refused), size bounds are pointers.
type Rule struct {
	// ID is the rule's ID as written; empty when it has none.
	ID string
	// Number is the rule's place in its document, from 1.
	Number  int
	Enabled bool

	// Prefix is a literal byte prefix of the key; empty selects every key.
	Prefix string
	// Tags must all be present with exactly these values.
	Tags map[string]string
	// SizeGreaterThan and SizeLessThan are strict bounds in bytes; nil is none.
	SizeGreaterThan *int64
	SizeLessThan    *int64

	// ExpirationDays, NoncurrentDays, NewerNoncurrent and AbortDays are from 1;
	// 0 means that the rule has no such element.
	ExpirationDays  int
	ExpirationDate  time.Time // zero: none
	ExpiredMarker   bool
	NoncurrentDays  int
	NewerNoncurrent int
	AbortDays       int

	// Unsupported names the elements that SeaweedFS does not carry out
	// (transitions), in document order.
	Unsupported []string
}

// Label is the ID, or for a rule without one a name made of its hash, the
// same on every run.
func (r *Rule) Label() string {
	if r.ID != "" {
		return r.ID
	}
	return "rule-" + r.Hash().String()
}

// Hash is the built-in's rule hash. An explicit size bound of zero hashes as
// none: the built-in cannot tell them apart.
func (r *Rule) Hash() RuleHash { return RuleHash(s3lifecycle.RuleHash(r.canonical())) }

// Kinds lists the actions that the rule compiles to. A count beside
// NoncurrentDays is a condition of that action, not an action of its own.
func (r *Rule) Kinds() []Kind { return s3lifecycle.RuleActionKinds(r.canonical()) }

// canonical is the rule in SeaweedFS's form, from which its hash is computed.
func (r *Rule) canonical() *s3lifecycle.Rule {
	c := &s3lifecycle.Rule{
		ID:                              r.ID,
		Status:                          s3lifecycle.StatusDisabled,
		Prefix:                          r.Prefix,
		ExpirationDays:                  r.ExpirationDays,
		ExpirationDate:                  r.ExpirationDate,
		ExpiredObjectDeleteMarker:       r.ExpiredMarker,
		NoncurrentVersionExpirationDays: r.NoncurrentDays,
		NewerNoncurrentVersions:         r.NewerNoncurrent,
		AbortMPUDaysAfterInitiation:     r.AbortDays,
		FilterTags:                      r.Tags,
	}
	if r.Enabled {
		c.Status = s3lifecycle.StatusEnabled
	}
	if r.SizeGreaterThan != nil {
		c.FilterSizeGreaterThan = *r.SizeGreaterThan
	}
	if r.SizeLessThan != nil {
		c.FilterSizeLessThan = *r.SizeLessThan
	}
	return c
}

// Day is the unit of all lifecycle delays: 24 hours, or what SeaweedFS's
// s3tests build tag makes of it.
func Day() time.Duration { return s3lifecycle.DaysToDuration(1) }

// Slack is S of the design: how far an entry's clock may be from the event
// that set it before the entry counts as odd. The smaller of an hour and 1/24
// of a day.
func Slack() time.Duration { return min(time.Hour, Day()/24) }

// ShardCount is how many shards the keys of a cluster fall into.
const ShardCount = s3lifecycle.ShardCount

// ShardOf is the shard of a path inside a bucket.
func ShardOf(bucket, path string) int { return s3lifecycle.ShardID(bucket, path) }
