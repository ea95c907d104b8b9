package engine

import "time"

// Cursor is the position of one shard, in the shape that the built-in worker
// shares (the lifecycle document, "Cursor").
type Cursor struct {
	// TsNs is the event time through which every event has been dealt with,
	// the minimum over the delay groups. 0: there are no replay rules.
	TsNs         int64
	RuleSetHash  Hash
	PromotedHash Hash
	// LastWalkedNs is when everything that is walk-bound was last walked; 0 is
	// never.
	LastWalkedNs int64
}

// Side is what the built-in worker does not know of a shard and what lies
// beside its cursor.
type Side struct {
	// TsNs and RuleSetHash are those of the cursor that this belongs to.
	TsNs        int64
	RuleSetHash Hash
	// ArrivalsNs is the event time through which every event has been looked
	// at on arrival; 0 is none.
	ArrivalsNs int64
	// Groups maps a delay to the position of its group.
	Groups map[time.Duration]int64
	// Buckets remembers each bucket that has rules.
	Buckets map[string]BucketMemory
	// HorizonNs is the start of the meta-log as last seen; 0 is unknown.
	HorizonNs int64
	// Blocked is the first failure in log order that stopped the shard; nil
	// when it is not stopped. BlockedMore counts the others behind it.
	Blocked     *Failure
	BlockedMore int
	// Failed are deletes and look-ups that failed in a walk, tried first in the
	// next pass.
	Failed []Failure
}

// BucketMemory is what a shard knows of one bucket.
type BucketMemory struct {
	// Rules is the hash of the bucket's rules that this shard has walked for
	// or followed; zero forces a walk.
	Rules Hash
	// WalkAtNs are the times at which the bucket must be walked, ascending.
	WalkAtNs []int64
	// ReconciledNs is when the bucket was last walked over all its rules, or
	// first seen; 0 is neither.
	ReconciledNs int64
	// Walk is where a walk that was cut goes on; nil when none was.
	Walk *WalkPoint
}

// WalkPoint is where a walk of one bucket goes on.
type WalkPoint struct {
	// StartedNs is the instant of the pass in which the walk first started.
	StartedNs int64
	// Rules is the hash of the bucket's rules then; with others the walk starts
	// anew.
	Rules Hash
	// From is the first path, in the order of the traversal, that may not have
	// been dealt with.
	From string
	// HorizonNs is where the meta-log started when the walk did, in Unix
	// nanoseconds; 0 is unknown. With less log the walk is made again: what it
	// passed may have lost its events since.
	HorizonNs int64
	// Bound marks a walk over the walk-bound rules only.
	Bound bool
}

// Failure is one delete or look-up that did not succeed.
type Failure struct {
	// TsNs is the event's position in the log; 0 in a walk.
	TsNs      int64
	Bucket    string
	Key       string
	VersionID string
	// Action is the kind's name; empty for a look-up.
	Action   string
	Outcome  string
	Reason   string
	RuleID   string
	RuleHash string
	SinceNs  int64
	Attempts int
	// Recovery marks a failure in a walk that looks for odd entries: the retry
	// looks for them too.
	Recovery bool
}

// ShardState is everything kept of one shard.
type ShardState struct {
	Shard int
	// Found is false on a cold start: there is no cursor file.
	Found  bool
	Cursor Cursor
	// SideFound is false when there is no side file, or a damaged one.
	SideFound bool
	Side      Side
	// Warnings say what was clamped or set aside when the state was loaded.
	Warnings []string

	// CursorVersion and SideVersion are the store's tokens for the files as
	// read; empty for a file that is not there. A save refuses to replace a
	// file that has another one by then.
	CursorVersion, SideVersion string
	// CursorExtra and SideExtra keep unknown fields of newer writers across a
	// load and a save.
	CursorExtra, SideExtra map[string][]byte
}
