package pass

import (
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// shardRun is one shard in the course of a pass.
type shardRun struct {
	id    int
	state engine.ShardState

	// arrivals and groups are the positions that the pass starts from, after
	// any lowering.
	arrivals int64
	groups   map[time.Duration]int64
	// arrivalsEnd and groupEnds are how far each window is read.
	arrivalsEnd int64
	groupEnds   map[time.Duration]int64

	// recovery is why buckets are walked for more than their walk-bound rules.
	recovery string
	// memory is what the shard will remember of each bucket with rules.
	memory map[string]*bucketMemory

	mu sync.Mutex
	// unsettled counts what is outstanding at each event's time.
	unsettled map[int64]int
	// stops holds, for each delay, the first event that waits for its time.
	stops map[time.Duration]int64
	// failedAt is the first event that stopped the shard; 0 is none.
	failedAt int64
	failure  *engine.Failure
	more     int
	// held are the matches that another event, or a walk, has to meet.
	held []heldMatch
	// walkAt are the new times to walk each bucket at.
	walkAt map[string][]int64
	failed []engine.Failure
	// overflowed is set when more failed in walks than are kept.
	overflowed bool

	events, walked, calls int64
	// walkedAll is set when everything walk-bound was walked to its end.
	walkedAll bool
	// recovered is set when every recovery walk came to its end, or none was
	// needed.
	recovered bool
	// trimWalked is set when no walk for a trimmed log is outstanding.
	trimWalked bool
	lost       error
}

// bucketMemory is the memory of one bucket while a pass works on it.
type bucketMemory struct {
	engine.BucketMemory
	// today is the hash of the bucket's rules in this pass.
	today engine.Hash
}

// heldMatch is a match that is not due and that its own event will meet only
// if the group's position stays in front of its clock.
type heldMatch struct {
	bucket         string
	delay          time.Duration
	clockNs, dueNs int64
}

// maxFailed is how many failures of walks a shard keeps. Above that the shard
// counts as not walked.
const maxFailed = 1000

func (r *shardRun) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failedAt != 0
}

// begin marks an event as outstanding, done settles it.
func (r *shardRun) begin(ts int64) {
	r.mu.Lock()
	r.unsettled[ts]++
	r.mu.Unlock()
}

func (r *shardRun) done(ts int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unsettled[ts]--; r.unsettled[ts] == 0 {
		delete(r.unsettled, ts)
	}
}

// stop holds the position of a group in front of an event that is not due yet.
func (r *shardRun) stop(delay time.Duration, ts int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.stops[delay]; !ok || ts < at {
		r.stops[delay] = ts
	}
}

// fail stops the shard in front of an event. The first in log order is the one
// that blocks; the others are counted. The event stays unsettled.
func (r *shardRun) fail(ts int64, f engine.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.TsNs = ts
	if r.failedAt != 0 {
		r.more++
		if ts >= r.failedAt {
			return
		}
	}
	r.failedAt, r.failure = ts, &f
}

// hold keeps a match whose group may have passed its clock already. Where even
// the furthest position of the group stays behind the clock, its own event is
// still ahead and nothing is kept.
func (r *shardRun) hold(h heldMatch) {
	if h.dueNs == never || h.clockNs-int64(engine.Slack()) >= max(r.groups[h.delay], r.groupEnds[h.delay]) {
		return
	}
	r.mu.Lock()
	r.held = append(r.held, h)
	r.mu.Unlock()
}

func (r *shardRun) addWalkAt(bucket string, ns int64) {
	if ns == never {
		return
	}
	r.mu.Lock()
	r.walkAt[bucket] = insertWalkAt(r.walkAt[bucket], ns)
	r.mu.Unlock()
}

// addFailed keeps a failure of a walk for the next pass.
func (r *shardRun) addFailed(f engine.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) >= maxFailed {
		r.overflowed = true
		return
	}
	r.failed = append(r.failed, f)
}

// hasOverflowed reports whether more failed in walks than are kept.
func (r *shardRun) hasOverflowed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.overflowed
}

// positions returns where each window ends up when the log was read through
// readTo: in front of the first event that is unsettled or waits in it. No
// position is later than settled allows.
func (r *shardRun) positions(readTo, settled int64) (arrivals int64, groups map[time.Duration]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := make([]int64, 0, len(r.unsettled))
	for ts := range r.unsettled {
		open = append(open, ts)
	}
	slices.Sort(open)
	cut := func(from, end int64, stop int64) int64 {
		end = min(end, readTo)
		if i, _ := slices.BinarySearch(open, from+1); i < len(open) {
			end = min(end, open[i]-1)
		}
		if r.failedAt != 0 {
			end = min(end, r.failedAt-1)
		}
		if stop != 0 {
			end = min(end, stop-1)
		}
		return max(from, min(end, settled))
	}
	arrivals = cut(r.arrivals, r.arrivalsEnd, 0)
	groups = make(map[time.Duration]int64, len(r.groups))
	for delay, from := range r.groups {
		groups[delay] = cut(from, r.groupEnds[delay], r.stops[delay])
	}
	return arrivals, groups
}

// walkAtGrain is how close two kept times may be before they are merged: at
// most the first and the last of a grain are kept.
func walkAtGrain() int64 { return int64(engine.Slack()) }

// insertWalkAt adds a time to a sorted list. Of the times within one grain the
// first and the last are kept, so the list stays short and no time is lost: a
// bucket is walked from the first on until the last is reached.
func insertWalkAt(list []int64, ns int64) []int64 {
	i, found := slices.BinarySearch(list, ns)
	if found {
		return list
	}
	list = slices.Insert(list, i, ns)
	grain := walkAtGrain()
	cell := ns / grain
	lo, hi := i, i
	for lo > 0 && list[lo-1]/grain == cell {
		lo--
	}
	for hi+1 < len(list) && list[hi+1]/grain == cell {
		hi++
	}
	if hi-lo >= 2 {
		list = slices.Delete(list, lo+1, hi)
	}
	return list
}

// takeWalkAt removes the times that a walk started at w covers. Where a grain
// has a later time still, times between the two may have been merged: the next
// pass walks again until the last one is reached.
func takeWalkAt(list []int64, w int64) []int64 {
	i, found := slices.BinarySearch(list, w)
	if found {
		i++
	}
	rest := slices.Clone(list[i:])
	grain := walkAtGrain()
	if i > 0 && len(rest) > 0 && list[i-1]/grain == rest[0]/grain && w+1 < rest[0] {
		rest = slices.Insert(rest, 0, w+1)
	}
	return rest
}
