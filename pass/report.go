package pass

import (
	"time"

	"weedlc/engine"
)

// Status is how a pass or a shard ended.
type Status string

const (
	OK       Status = "ok"
	Partial  Status = "partial"   // finished, something left undone
	CutShort Status = "cut_short" // ended by Until, Events or an interruption
	Failed   Status = "error"     // could not be carried out
)

// Report is what a pass did. It is complete even when the pass failed.
type Report struct {
	Status   Status
	Now      time.Time
	Duration time.Duration
	Totals   Totals
	Shards   []ShardReport
	// Walks are the buckets that the pass set out to walk, in the order of their
	// names.
	Walks []WalkReport
	// WalkBound is how many buckets have rules that only a walk serves.
	WalkBound int
	// Errors are the findings and failures that a person must know of.
	Errors []Problem
	// Interrupted is set when the context was cancelled, Failed when the pass
	// could not be carried out, Corrupt when a cursor is damaged, CutShort when a
	// limit ended the pass.
	Interrupted, Failed, Corrupt, CutShort bool
}

// Totals count over all shards.
type Totals struct {
	EventsScanned int64
	EntriesWalked int64
	// DeleteCalls counts LifecycleDelete calls sent, retries included.
	DeleteCalls int64
	// Outcomes counts settled and failed objects by outcome.
	Outcomes map[Outcome]int64
}

// ShardReport is one shard's part.
type ShardReport struct {
	Shard  int
	Status Status
	// TsNs is the cursor's position after the pass; Lag is Now less that, 0
	// when there is no position.
	TsNs          int64
	Lag           time.Duration
	LastWalkedNs  int64
	EventsScanned int64
	EntriesWalked int64
	DeleteCalls   int64
	// Recovery says why buckets were walked beyond the walk-bound rules: "",
	// "cold_start", "rules_changed", "promotion_changed", "log_trimmed".
	Recovery string
	Blocked  *engine.Failure
	Failed   []engine.Failure
	// Windows are the parts of the log that the pass set out to read for the
	// shard: that of arrivals first, then those of the delay groups, ascending.
	Windows []Window
}

// Window is a part of the meta-log, after AfterNs and through UntilNs in event
// time. Delay is that of the group that it is read for, 0 for arrivals.
type Window struct {
	Delay            time.Duration
	AfterNs, UntilNs int64
}

// WalkReport says why a bucket is walked.
type WalkReport struct {
	Bucket string
	// Why is one or more of "cold_start", "rules_changed", "promotion_changed",
	// "log_trimmed", "walk_at", "reconciliation", "walk_bound" and, in a walk or a
	// preview of its own, "asked", sorted.
	Why []string
	// Full are the shards that walk every rule, Bound those that walk only the
	// rules that the log cannot serve; both ascending.
	Full, Bound []int
}

// Category sorts a problem.
type Category string

const (
	CategoryRules     Category = "rules"     // a bucket's rules are unreadable or refused
	CategoryCursor    Category = "cursor"    // a cursor is corrupt
	CategoryBlocked   Category = "blocked"   // a delete was not carried out
	CategoryTransport Category = "transport" // a filer or gateway could not be reached
	CategoryLock      Category = "lock"      // a shard's lock was lost
	CategorySave      Category = "save"      // a cursor could not be saved
	CategoryUpload    Category = "upload"    // an upload was left alone for a reason a person must know
	CategoryGuard     Category = "guard"     // a guard held
	CategoryAudit     Category = "audit"     // the record of what was done could not be written
)

// Problem is one thing left undone. Shard is -1 when it concerns no shard in
// particular.
type Problem struct {
	Shard    int
	Bucket   string
	RuleID   string
	Category Category
	// Guard is which guard held; empty in every other category.
	Guard   Guard
	Message string
}
