package commands

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/sweep"
)

// statusFacts is what the page shows.
type statusFacts struct {
	now    time.Time
	maxLag time.Duration // 0 is no limit

	pause   *cursorfile.Pause // nil is none
	buckets []bucketRules
	shards  []shardStatus

	// queue is nil where there is none; queueErr says why it could not be read.
	queue    *sweep.Figures
	queueErr error
}

// shardStatus is one shard on the page.
type shardStatus struct {
	shardView
	// behind is how long ago all work was done that was to be done by then; nil
	// where that is not known.
	behind *time.Duration
}

// readable are the states of the shards that are not damaged.
func readable(views []shardView) []engine.ShardState {
	var states []engine.ShardState
	for _, v := range views {
		if v.damage == nil {
			states = append(states, v.state)
		}
	}
	return states
}

// backlog measures how far shards are behind.
type backlog struct {
	now      time.Time
	snapshot *engine.Snapshot
	midnight bool
}

// of is how far a shard is behind. Arrivals are looked at as they come; what a
// group stands in front of is due when its delay has passed. A cursor that
// another has written waits for the longest rule.
func (b backlog) of(st *engine.ShardState) *time.Duration {
	since := func(ns int64, delay time.Duration) time.Duration {
		if delay > 0 && b.midnight {
			delay += engine.Day()
		}
		return max(0, b.now.Sub(nanos(ns))-delay)
	}
	var behind time.Duration
	switch {
	case !st.Found, st.Foreign() && st.Cursor.TsNs == 0:
		return nil
	case st.Foreign():
		behind = since(st.Cursor.TsNs, engine.MaxEffectiveTTL(b.snapshot))
	default:
		if st.Side.ArrivalsNs != 0 {
			behind = since(st.Side.ArrivalsNs, 0)
		}
		for delay, ns := range st.Side.Groups {
			behind = max(behind, since(ns, delay))
		}
	}
	return &behind
}

func newShardStatus(v shardView, b backlog) shardStatus {
	s := shardStatus{shardView: v}
	if v.damage == nil {
		s.behind = b.of(&v.state)
	}
	return s
}

// hasRules reports whether there is anything to do for a pass.
func (f *statusFacts) hasRules() bool {
	return slices.ContainsFunc(f.buckets, func(b bucketRules) bool { return b.tally.enabled > 0 })
}

// lastPassNs is the instant through which the last pass had read the log; 0 is
// not known. A pass ends some minutes behind it.
func (f *statusFacts) lastPassNs() int64 {
	last := int64(0)
	for _, s := range f.shards {
		last = max(last, s.state.Side.ArrivalsNs)
	}
	return last
}

// foreign are the shards whose cursor another than weedlc has moved or made.
func (f *statusFacts) foreign() []int {
	var shards []int
	for _, s := range f.shards {
		if s.damage == nil && s.state.Foreign() {
			shards = append(shards, s.shard)
		}
	}
	return shards
}

// cutWalk is a walk that is to go on.
type cutWalk struct {
	bucket string
	point  engine.WalkPoint
	// shards are those for which it stopped at the same place.
	shards []int
}

// cutWalks are the walks of shards that are to go on, by bucket and place.
func cutWalks(states []engine.ShardState) []cutWalk {
	type key struct {
		bucket string
		point  engine.WalkPoint
	}
	at := map[key][]int{}
	for _, st := range states {
		for name, m := range st.Side.Buckets {
			if m.Walk != nil {
				k := key{name, *m.Walk}
				at[k] = append(at[k], st.Shard)
			}
		}
	}
	var list []cutWalk
	for k, shards := range at {
		list = append(list, cutWalk{k.bucket, k.point, shards})
	}
	slices.SortFunc(list, func(a, b cutWalk) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.shards[0], b.shards[0]))
	})
	return list
}

// String says where a walk goes on, without its bucket.
func (w cutWalk) String() string {
	what := ""
	if w.point.Bound {
		what = ", for the rules that only a walk serves"
	}
	return fmt.Sprintf("goes on at %q, begun %s, shards %s%s",
		w.point.From, nanos(w.point.StartedNs).Format(time.RFC3339), engine.FormatShards(w.shards), what)
}
