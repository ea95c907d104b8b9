package engine

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Mode is how an action is served.
type Mode int

const (
	// ModeEventDriven actions become due at a fixed delay after an event of the
	// meta-log.
	ModeEventDriven Mode = iota + 1
	// ModeScanAtDate actions become due at a date; a walk serves them.
	ModeScanAtDate
	// ModeScanOnly actions depend on an object's siblings; a walk serves them.
	ModeScanOnly
	// ModeDisabled actions belong to a rule that is not enabled.
	ModeDisabled
)

func (m Mode) String() string {
	switch m {
	case ModeEventDriven:
		return "event_driven"
	case ModeScanAtDate:
		return "scan_at_date"
	case ModeScanOnly:
		return "scan_only"
	case ModeDisabled:
		return "disabled"
	}
	return "unspecified"
}

// Source is one bucket and its rules. Rules must not change after Compile.
type Source struct {
	Bucket Bucket
	Rules  []*Rule
}

// Action is one element of a rule in one bucket: what it does and after how
// long. Callers must not change it.
type Action struct {
	Rule   *Rule
	Bucket string
	Kind   Kind
	Hash   RuleHash
	// Delay is the time between an object's clock and its due time; 0 for kinds
	// without one.
	Delay  time.Duration
	Mode   Mode
	active bool
}

// Active reports whether the action takes part in its snapshot or view.
func (a *Action) Active() bool { return a.active }

// IsReplayKind reports whether events of the meta-log can serve the action.
// The other kinds depend on a date or on an object's siblings.
func (a *Action) IsReplayKind() bool { return isReplayKind(a.Kind) }

func isReplayKind(k Kind) bool {
	return k == ExpirationDays || k == NoncurrentDays || k == AbortMPU
}

// Engine holds the rules that are in force.
type Engine struct {
	current atomic.Pointer[Snapshot]
}

// New returns an engine without rules.
func New() *Engine {
	e := &Engine{}
	e.Compile(nil)
	return e
}

// Compile turns rules into actions and makes them the engine's snapshot. The
// rules of a bucket that occurs more than once are taken together.
func (e *Engine) Compile(sources []Source) *Snapshot {
	s := newSnapshot(compile(sources))
	e.current.Store(s)
	return s
}

// Snapshot is what was compiled last. It is safe for concurrent use.
func (e *Engine) Snapshot() *Snapshot { return e.current.Load() }

// Snapshot is an immutable set of actions: all that were compiled, or a view
// of them. It is safe for concurrent use.
type Snapshot struct {
	actions []*Action
	// buckets has every compiled bucket and is shared with the views.
	buckets map[string]bucketInfo
	index   map[string]*bucketIndex
}

// bucketInfo is what does not depend on a view.
type bucketInfo struct {
	bucket Bucket
	hash   Hash
}

// bucketIndex holds the active actions of one bucket in one view.
type bucketIndex struct {
	actions    []*Action
	tree       *prefixTree
	prefixes   []string
	delays     []time.Duration
	hasUploads bool
}

func compile(sources []Source) ([]*Action, map[string]bucketInfo) {
	var actions []*Action
	rules := make(map[string][]*Rule, len(sources))
	buckets := make(map[string]bucketInfo, len(sources))
	for _, src := range sources {
		name := src.Bucket.Name
		rules[name] = append(rules[name], src.Rules...)
		buckets[name] = bucketInfo{bucket: src.Bucket}
		for _, r := range src.Rules {
			hash := r.Hash()
			for _, k := range r.Kinds() {
				actions = append(actions, newAction(name, r, k, hash))
			}
		}
	}
	for name, info := range buckets {
		info.hash = hashBucket(info.bucket, rules[name])
		buckets[name] = info
	}
	slices.SortStableFunc(actions, compareActions)
	return actions, buckets
}

func newAction(bucket string, r *Rule, k Kind, hash RuleHash) *Action {
	a := &Action{Rule: r, Bucket: bucket, Kind: k, Hash: hash, active: r.Enabled}
	switch k {
	case ExpirationDays:
		a.Mode, a.Delay = ModeEventDriven, days(r.ExpirationDays)
	case NoncurrentDays:
		a.Mode, a.Delay = ModeEventDriven, days(r.NoncurrentDays)
	case AbortMPU:
		a.Mode, a.Delay = ModeEventDriven, days(r.AbortDays)
	case ExpirationDate:
		a.Mode = ModeScanAtDate
	default:
		a.Mode = ModeScanOnly
	}
	if !r.Enabled {
		a.Mode = ModeDisabled
	}
	return a
}

// longestDelay keeps a due time within what nanoseconds since 1970 can hold.
const longestDelay = 200 * 365 * 24 * time.Hour

// days is n days, at most longestDelay: S3 accepts more days than a Duration
// can hold, and an overflow would make everything due at once.
func days(n int) time.Duration {
	if n > int(longestDelay/Day()) {
		return longestDelay
	}
	return time.Duration(n) * Day()
}

// compareActions orders by bucket, hash and kind. Rules that differ in nothing
// that is hashed stay in the order of their document.
func compareActions(a, b *Action) int {
	return cmp.Or(
		strings.Compare(a.Bucket, b.Bucket),
		bytes.Compare(a.Hash[:], b.Hash[:]),
		cmp.Compare(a.Kind, b.Kind),
	)
}

// newSnapshot indexes the active ones of sorted actions.
func newSnapshot(actions []*Action, buckets map[string]bucketInfo) *Snapshot {
	s := &Snapshot{actions: actions, buckets: buckets, index: make(map[string]*bucketIndex)}
	for _, a := range actions {
		if !a.active {
			continue
		}
		ix := s.index[a.Bucket]
		if ix == nil {
			ix = &bucketIndex{}
			s.index[a.Bucket] = ix
		}
		ix.actions = append(ix.actions, a)
		ix.prefixes = append(ix.prefixes, a.Rule.Prefix)
		if a.IsReplayKind() {
			ix.delays = append(ix.delays, a.Delay)
		}
		ix.hasUploads = ix.hasUploads || a.Kind == AbortMPU
	}
	for _, ix := range s.index {
		ix.tree = newPrefixTree(ix.actions)
		ix.prefixes = distinct(ix.prefixes)
		ix.delays = distinct(ix.delays)
	}
	return s
}

func distinct[T cmp.Ordered](s []T) []T {
	slices.Sort(s)
	return slices.Clip(slices.Compact(s))
}

// Actions lists every action, the disabled ones too, sorted by bucket, hash
// and kind. The caller must not change the slice.
func (s *Snapshot) Actions() []*Action { return s.actions }

// BucketActions lists the active actions of one bucket in the order of
// Actions. The caller must not change the slice.
func (s *Snapshot) BucketActions(bucket string) []*Action {
	if ix := s.index[bucket]; ix != nil {
		return ix.actions
	}
	return nil
}

// Matching lists the active actions of a bucket whose prefix the key has, in
// the order of Actions. For an upload the key is its target. The caller must
// not change the slice.
func (s *Snapshot) Matching(bucket, key string) []*Action {
	if ix := s.index[bucket]; ix != nil {
		return ix.tree.matching(key)
	}
	return nil
}

// Buckets lists the buckets with at least one active action in this view, in
// the order of their names.
func (s *Snapshot) Buckets() []string {
	names := make([]string, 0, len(s.index))
	for name := range s.index {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Bucket returns a compiled bucket, whether it has active actions or not.
func (s *Snapshot) Bucket(name string) (Bucket, bool) {
	info, ok := s.buckets[name]
	return info.bucket, ok
}

// Prefixes lists the distinct prefixes of a bucket's active actions, sorted.
// None means that no key can match. The caller must not change the slice.
func (s *Snapshot) Prefixes(bucket string) []string {
	if ix := s.index[bucket]; ix != nil {
		return ix.prefixes
	}
	return nil
}

// HasUploadActions reports whether an active action of the bucket aborts
// uploads.
func (s *Snapshot) HasUploadActions(bucket string) bool {
	ix := s.index[bucket]
	return ix != nil && ix.hasUploads
}

// Delays lists the distinct delays of a bucket's active replay actions,
// ascending. The caller must not change the slice.
func (s *Snapshot) Delays(bucket string) []time.Duration {
	if ix := s.index[bucket]; ix != nil {
		return ix.delays
	}
	return nil
}

// DelayGroups lists the distinct delays of all active replay actions,
// ascending.
func (s *Snapshot) DelayGroups() []time.Duration {
	var all []time.Duration
	for _, ix := range s.index {
		all = append(all, ix.delays...)
	}
	return distinct(all)
}

// BucketHash identifies the enabled rules of a bucket, however they are
// served, and whether the bucket has versions. Order, repetition, IDs and
// disabled rules do not change it; an explicit size bound of zero does. It is
// the same in every view, and zero for a bucket without enabled actions.
func (s *Snapshot) BucketHash(bucket string) Hash { return s.buckets[bucket].hash }
