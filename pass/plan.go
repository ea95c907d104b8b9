package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// Why buckets are walked for more than their walk-bound rules.
const (
	coldStart        = "cold_start"
	rulesChanged     = "rules_changed"
	promotionChanged = "promotion_changed"
	logTrimmed       = "log_trimmed"
)

// plan is what a pass has decided to do before it reads anything but rules and
// cursors.
type plan struct {
	now     time.Time
	book    *ruleBook
	replay  *engine.Snapshot // the rules that the log serves
	walk    *engine.Snapshot // the rules that only a walk serves
	all     *engine.Snapshot // every rule
	rules   engine.Hash
	promo   engine.Hash
	horizon int64
	shards  []*shardRun
	walks   []*bucketWalk
}

// planner makes the plan of one pass.
type planner struct {
	o     Options
	now   time.Time
	slack int64
	clock engine.DayClock
}

func dayClock(o Options) engine.DayClock {
	if o.MidnightClock {
		return engine.MidnightClock
	}
	return engine.ExactClock
}

// reach is how far back from now the position of a delay group must be for no
// object to be passed over: with the midnight clock an object may wait a day
// longer than its delay.
func (pl *planner) reach(delay time.Duration) int64 {
	if pl.clock == engine.MidnightClock {
		delay += engine.Day()
	}
	return int64(delay) + pl.slack
}

func (pl *planner) plan(book *ruleBook, states []engine.ShardState, horizon int64) *plan {
	retention := pl.o.MetaLogRetention
	if retention == 0 {
		retention = engine.MaxEffectiveTTL(book.snapshot)
	}
	if horizon == 0 && pl.logIsGone(book, states) {
		horizon = pl.now.UnixNano()
	}
	p := &plan{now: pl.now, book: book, horizon: horizon, all: engine.RecoveryView(book.snapshot)}
	p.replay, p.walk = book.snapshot.RulesForShard(0, retention)
	p.rules = engine.ReplayContentHash(book.snapshot)
	p.promo = engine.PromotedHash(book.snapshot, retention)

	walks := map[string]*bucketWalk{}
	for _, st := range states {
		p.shards = append(p.shards, pl.shard(p, st, walks))
	}
	for _, w := range walks {
		p.walks = append(p.walks, w)
	}
	// A bucket that was left behind comes first.
	slices.SortFunc(p.walks, func(a, b *bucketWalk) int {
		if (a.from == "") != (b.from == "") {
			return cmp.Compare(b.from, a.from)
		}
		return cmp.Compare(a.bucket.Name, b.bucket.Name)
	})
	return p
}

// logIsGone reports whether there must have been a log, where there is none: one
// was seen before, or a bucket is older than its log takes to appear.
func (pl *planner) logIsGone(book *ruleBook, states []engine.ShardState) bool {
	return slices.ContainsFunc(states, func(st engine.ShardState) bool { return st.Side.HorizonNs != 0 }) ||
		slices.ContainsFunc(book.sources, func(src engine.Source) bool {
			return src.Bucket.CreatedNs < pl.now.UnixNano()-int64(pl.o.Settle)
		})
}

// shard decides for one shard where its windows begin and which buckets it has
// walked, and why.
func (pl *planner) shard(p *plan, st engine.ShardState, walks map[string]*bucketWalk) *shardRun {
	now := pl.now.UnixNano()
	r := &shardRun{
		id: st.Shard, state: st,
		groups: map[time.Duration]int64{}, groupEnds: map[time.Duration]int64{},
		memory: map[string]*bucketMemory{}, unsettled: map[int64]int{},
		stops: map[time.Duration]int64{}, walkAt: map[string][]int64{},
		recovered: true, trimWalked: true,
	}
	foreign := st.Foreign()
	pl.recall(p, r)
	pl.recallPositions(p, r, foreign)

	every := ""
	switch {
	case !st.Found:
		every = coldStart
	case foreign && st.Cursor.RuleSetHash != p.rules:
		every = rulesChanged
	case foreign && st.Cursor.PromotedHash != p.promo:
		every = promotionChanged
	}
	before := maps.Clone(r.groups)
	anew := engine.WalkPoint{StartedNs: now, HorizonNs: p.horizon}
	for _, name := range p.all.Buckets() {
		m := r.memory[name]
		unplaced := slices.ContainsFunc(p.replay.Delays(name), func(d time.Duration) bool { return before[d] <= 0 })
		trimmed := pl.trimmed(p, r, name, before)
		why := every
		switch {
		case why != "":
		case m.Rules != m.today, unplaced:
			why = rulesChanged
		case trimmed:
			why = logTrimmed
		}
		point := m.Walk
		if point != nil && (every != "" || point.Rules != m.today) {
			point = nil // the walk starts anew
		}
		switch {
		case why != "":
			r.recovery = cmp.Or(r.recovery, why)
			m.Rules = engine.Hash{} // until the walk has come to its end
			w := walkOf(walks, p, name)
			w.full[r.id], w.odd[r.id], w.why[why] = true, true, true
			w.trimmed[r.id] = w.bucket.CreatedNs < p.horizon
			if point != nil && !point.Bound {
				pl.lower(p, r, name, point.StartedNs, true)
				w.again[r.id] = trimmed && point.HorizonNs != p.horizon
				w.join(r.id, *point)
			} else {
				pl.lower(p, r, name, now, false)
				w.join(r.id, anew)
			}
		case point != nil && !point.Bound:
			w := walkOf(walks, p, name)
			w.full[r.id], w.why["resumed"] = true, true
			w.join(r.id, *point)
		case len(m.WalkAtNs) > 0 && m.WalkAtNs[0] <= now:
			w := walkOf(walks, p, name)
			w.full[r.id], w.why["walk_at"] = true, true
			w.join(r.id, anew)
		case pl.reconcileDue(name, m.ReconciledNs):
			w := walkOf(walks, p, name)
			w.full[r.id], w.why["reconciliation"] = true, true
			w.join(r.id, anew)
		}
	}
	if pl.walkerDue(st.Cursor.LastWalkedNs) {
		for _, name := range p.walk.Buckets() {
			w := walkOf(walks, p, name)
			if w.full[r.id] {
				continue
			}
			w.steady[r.id], w.why["walk_bound"] = true, true
			if point := r.memory[name].Walk; point != nil && point.Bound && point.Rules == r.memory[name].today {
				w.join(r.id, *point)
			} else {
				w.join(r.id, anew)
			}
		}
	}
	if !st.Found || r.arrivals <= 0 || len(p.replay.Buckets()) == 0 {
		r.arrivals = now - int64(pl.o.Settle)
	}
	r.arrivalsEnd = now
	if !st.Found || len(p.replay.Buckets()) == 0 {
		// A first pass walks every bucket and meets there what has just arrived;
		// the next one reads its events.
		r.arrivalsEnd = r.arrivals
	}
	for d := range r.groups {
		r.groupEnds[d] = now - int64(d) + pl.slack
	}
	return r
}

// recall sets what the shard remembers of each bucket that has rules today.
// Without a side file today's rules count as known, and each bucket's
// reconciliation comes at its place within the next interval.
func (pl *planner) recall(p *plan, r *shardRun) {
	for _, src := range p.book.sources {
		name := src.Bucket.Name
		today := p.book.snapshot.BucketHash(name)
		m, known := r.state.Side.Buckets[name]
		if r.state.Found && !r.state.SideFound {
			m.Rules = today
		}
		if today.IsZero() {
			m.Rules = today
		}
		if !known || m.ReconciledNs == 0 {
			m.ReconciledNs = pl.now.UnixNano()
		}
		m.WalkAtNs = slices.Clone(m.WalkAtNs)
		r.memory[name] = &bucketMemory{BucketMemory: m, today: today}
	}
	for name := range p.book.unreadable {
		if m, known := r.state.Side.Buckets[name]; known {
			m.Rules = engine.Hash{} // its events go by unseen until it can be read
			r.memory[name] = &bucketMemory{BucketMemory: m}
		}
	}
}

// recallPositions sets where the windows begin. A foreign cursor holds them
// back to where its writer was, less the slack that the writer may not have
// counted with. It never moves them forward: the built-in worker passes over
// events that it has no use for and that ours has.
func (pl *planner) recallPositions(p *plan, r *shardRun, foreign bool) {
	side, cursor := r.state.Side, r.state.Cursor
	start := int64(0)
	if foreign && cursor.TsNs > 0 {
		start = cursor.TsNs - pl.slack
	}
	held := func(at int64) int64 {
		if start > 0 && (at <= 0 || start < at) {
			return start
		}
		return at
	}
	r.arrivals = held(side.ArrivalsNs)
	for _, d := range p.replay.DelayGroups() {
		r.groups[d] = held(side.Groups[d])
	}
}

// lower brings the groups of a bucket back to where they must be for everything
// that a walk keeps which started then. A walk that goes on did so when it
// started, and gives a position only to a group without one.
func (pl *planner) lower(p *plan, r *shardRun, bucket string, startedNs int64, goesOn bool) {
	for _, d := range p.replay.Delays(bucket) {
		floor := startedNs - pl.reach(d)
		if r.groups[d] <= 0 || floor < r.groups[d] && !goesOn {
			r.groups[d] = floor
		}
	}
}

// trimmed reports whether a part of the log that the bucket still needs went
// missing since the last pass. A bucket made after the log's start has all of
// its log, so a young cluster is not taken for a trimmed one.
func (pl *planner) trimmed(p *plan, r *shardRun, bucket string, positions map[time.Duration]int64) bool {
	if p.horizon == 0 || r.state.Side.HorizonNs == p.horizon {
		return false
	}
	b, _ := p.all.Bucket(bucket)
	if b.CreatedNs >= p.horizon {
		return false
	}
	return slices.ContainsFunc(p.replay.Delays(bucket), func(d time.Duration) bool {
		at := positions[d]
		if at <= 0 {
			at = pl.now.UnixNano() - pl.reach(d)
		}
		return at < p.horizon
	})
}

func (pl *planner) walkerDue(lastNs int64) bool {
	return pl.o.WalkerInterval == 0 || lastNs == 0 || pl.now.UnixNano()-lastNs >= int64(pl.o.WalkerInterval)
}

// reconcileDue reports whether the bucket's place in the reconcile interval has
// come since it was last reconciled.
func (pl *planner) reconcileDue(bucket string, lastNs int64) bool {
	at := engine.ReconcileAtNs(bucket, lastNs, int64(pl.o.ReconcileInterval))
	return at != 0 && at <= pl.now.UnixNano()
}

func walkOf(walks map[string]*bucketWalk, p *plan, name string) *bucketWalk {
	if w := walks[name]; w != nil {
		return w
	}
	b, _ := p.all.Bucket(name)
	w := newBucketWalk(b)
	walks[name] = w
	return w
}

// announce says what will be walked and why, where it is more than the usual.
func (p *plan) announce(progress Progress) {
	for _, a := range p.walk.Actions() {
		if a.IsReplayKind() && a.Active() {
			progress.Notice(fmt.Sprintf("bucket %q, rule %q: %s is left to walks: %s is longer than the meta-log reaches", a.Bucket, a.Rule.Label(), a.Kind, days(a.Delay)))
		}
	}
	for _, why := range []struct{ reason, text string }{
		{coldStart, "first pass"},
		{rulesChanged, "rules changed"},
		{promotionChanged, "the rules that the log serves changed"},
		{logTrimmed, "the meta-log was trimmed"},
	} {
		var names []string
		for _, w := range p.walks {
			if w.why[why.reason] {
				names = append(names, w.bucket.Name)
			}
		}
		if len(names) > 0 {
			progress.Notice(fmt.Sprintf("%s: walking %s over all rules: %s", why.text, plural(len(names), "bucket"), shorten(names, 5)))
		}
	}
}

// days is a delay in whole days.
func days(d time.Duration) string { return plural(int(d/engine.Day()), "day") }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// shorten lists at most most names.
func shorten(names []string, most int) string {
	out := ""
	for i, n := range names {
		if i == most {
			return out + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%q", n)
	}
	return out
}

// finish draws the state that the shard is saved with. readTo is the event time
// through which the log was handed over.
func (p *plan) finish(r *shardRun, pl *planner, readTo int64, guard *ruleGuard, at stage) engine.ShardState {
	st := r.state
	now := p.now.UnixNano()
	arrivals, groups := r.positions(readTo, now-int64(pl.o.Settle))
	walks := map[string]*bucketWalk{}
	reached := map[string]string{}
	if at == walking {
		for _, bw := range p.walks {
			if (bw.full[r.id] || bw.steady[r.id]) && !bw.concluded[r.id] {
				walks[bw.bucket.Name], reached[bw.bucket.Name] = bw, bw.reached()
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = slices.DeleteFunc(r.held, func(h heldMatch) bool {
		passed := h.clockNs-pl.slack < groups[h.delay]
		if passed {
			r.walkAt[h.bucket] = insertWalkAt(r.walkAt[h.bucket], h.dueNs)
		}
		return passed
	})

	side := engine.Side{
		ArrivalsNs: arrivals, Groups: groups, Buckets: map[string]engine.BucketMemory{},
		HorizonNs: st.Side.HorizonNs, Failed: slices.Clone(st.Side.Failed),
	}
	for name, m := range r.memory {
		kept := m.BucketMemory
		if bw := walks[name]; bw != nil {
			kept = bw.cut(r.id, m, reached[name], r.overflowed)
		}
		kept.WalkAtNs = slices.Clone(kept.WalkAtNs)
		for _, ns := range r.walkAt[name] {
			kept.WalkAtNs = insertWalkAt(kept.WalkAtNs, ns)
		}
		if guard.hasChanged(name) {
			kept.Rules = engine.Hash{}
		}
		side.Buckets[name] = kept
	}
	st.Cursor.TsNs = 0
	if len(groups) == 0 && !p.rules.IsZero() {
		// The rules that the log serves are all disabled. 0 would have the
		// built-in worker read the whole log.
		st.Cursor.TsNs = now - int64(pl.o.Settle)
	}
	for i, d := range slices.Sorted(maps.Keys(groups)) {
		if i == 0 || groups[d] < st.Cursor.TsNs {
			st.Cursor.TsNs = groups[d]
		}
	}
	side.Blocked, side.BlockedMore = r.blocked(), r.more
	if at >= walking {
		side.Failed = slices.Clone(r.failed)
	}
	if at == ended {
		if r.trimWalked {
			side.HorizonNs = p.horizon
		}
		if r.walkedAll {
			st.Cursor.LastWalkedNs = now
		}
	}
	switch {
	case at == ended && r.recovered:
		st.Cursor.RuleSetHash, st.Cursor.PromotedHash = p.rules, p.promo
	case !r.state.Found:
		st.Cursor.RuleSetHash, st.Cursor.PromotedHash = engine.Hash{}, engine.Hash{}
	}
	st.Side = side
	return st
}

// blocked is the failure that stopped the shard, since when it does, and how
// often it was tried. The caller holds the lock.
func (r *shardRun) blocked() *engine.Failure {
	if r.failure == nil {
		return nil
	}
	f := *r.failure
	if was := r.state.Side.Blocked; was != nil && sameObject(*was, f) {
		f.SinceNs, f.Attempts = was.SinceNs, was.Attempts+1
	}
	return &f
}

func sameObject(a, b engine.Failure) bool {
	return a.Bucket == b.Bucket && a.Key == b.Key && a.VersionID == b.VersionID && a.Action == b.Action
}

// unread is a cursor that could not be loaded: damaged, or out of reach.
type unread struct {
	err     error
	corrupt bool
}

// loadStates reads the cursors, side by side. A shard whose cursor cannot be
// read is left out.
func loadStates(ctx context.Context, store Store, shards []int, now time.Time) (states []engine.ShardState, failed map[int]unread) {
	loaded, errs := make([]engine.ShardState, len(shards)), make([]error, len(shards))
	var wg sync.WaitGroup
	for i, sh := range shards {
		wg.Go(func() { loaded[i], errs[i] = store.Load(ctx, sh, now) })
	}
	wg.Wait()
	failed = map[int]unread{}
	for i, sh := range shards {
		if err := errs[i]; err != nil {
			var damage Damage
			failed[sh] = unread{err: err, corrupt: errors.As(err, &damage) && damage.Corrupt()}
			continue
		}
		states = append(states, loaded[i])
	}
	return states, failed
}
