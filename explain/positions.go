package explain

import (
	"slices"
	"time"

	"weedlc/engine"
)

// position is where a delay group of a shard stands, in event time; 0 is
// nowhere yet. A cursor that somebody else moved holds it back.
func (k *outlook) position(st *engine.ShardState, delay time.Duration) int64 {
	return held(st, st.Side.Groups[delay])
}

func held(st *engine.ShardState, at int64) int64 {
	if !st.Foreign() || st.Cursor.TsNs <= 0 {
		return at
	}
	start := st.Cursor.TsNs - int64(engine.Slack())
	if at <= 0 || start < at {
		return start
	}
	return at
}

// logLag is how far an event may lie in the log behind the commit stamp of its
// entry: folders that had to be made first are logged before it.
const logLag = time.Second

// inWindow reports whether the next pass reads the event of an entry that was
// committed at ns, for one of the delay groups or on its arrival.
func (k *outlook) inWindow(st *engine.ShardState, delays []time.Duration, ns int64) bool {
	now := k.in.Now.UnixNano()
	if arrivals := held(st, st.Side.ArrivalsNs); arrivals > 0 && arrivals < ns+int64(logLag) && ns <= now {
		return true
	}
	return slices.ContainsFunc(delays, func(d time.Duration) bool {
		at := k.position(st, d)
		return at > 0 && at < ns+int64(logLag) && ns <= now-int64(d)+int64(engine.Slack())
	})
}

// ahead reports whether a group stands in front of the event that set a clock,
// which is logged at once unless the entry is an odd one.
func (k *outlook) ahead(sh int, delay time.Duration, clock time.Time) bool {
	st, ok := k.s.Shards[sh]
	if !ok {
		return false
	}
	at := k.position(&st, delay)
	return at > 0 && time.Unix(0, at).Before(clock.Add(logLag))
}

// memory is what a shard knows of the bucket, as a pass takes it up: without a
// side file today's rules count as known, and a bucket that was never
// reconciled counts as reconciled now.
func (k *outlook) memory(st *engine.ShardState) engine.BucketMemory {
	m := st.Side.Buckets[k.in.Bucket.Name]
	if st.Found && !st.SideFound {
		m.Rules = k.served.hash
	}
	if m.ReconciledNs == 0 {
		m.ReconciledNs = k.in.Now.UnixNano()
	}
	return m
}

// fullWalk says why the next pass walks the bucket over all its rules for a
// shard; empty when it does not.
func (k *outlook) fullWalk(sh int) string {
	st := k.s.Shards[sh]
	m := k.memory(&st)
	unplaced := slices.ContainsFunc(k.served.delays, func(d time.Duration) bool { return k.position(&st, d) <= 0 })
	switch {
	case !st.Found:
		return "the shard has no cursor yet"
	case st.Foreign() && st.Cursor.RuleSetHash != k.s.RuleSetHash:
		return "the shard's cursor was moved under other rules"
	case st.Foreign() && st.Cursor.PromotedHash != k.s.PromotedHash:
		return "the shard's cursor was moved while the log served other rules"
	case m.Rules != k.served.hash, unplaced:
		return "its rules changed"
	case k.trimmed(&st):
		return "the meta-log was trimmed"
	case len(m.WalkAtNs) > 0 && !time.Unix(0, m.WalkAtNs[0]).After(k.in.Now):
		return "it is down for a walk at " + stampNs(m.WalkAtNs[0])
	}
	if at := k.reconcileAt(m); !at.IsZero() && !at.After(k.in.Now) {
		return "its reconciliation is due"
	}
	return ""
}

// trimmed reports whether a part of the log that the bucket still needs went
// missing since the shard's last pass.
func (k *outlook) trimmed(st *engine.ShardState) bool {
	h := k.s.HorizonNs
	if h == 0 || st.Side.HorizonNs == h || k.in.Bucket.CreatedNs >= h {
		return false
	}
	return slices.ContainsFunc(k.served.delays, func(d time.Duration) bool { return k.position(st, d) < h })
}

// listed is the first time at which the bucket is down for a walk that meets a
// due time: within a slack behind it, as the list keeps no finer grain.
func (k *outlook) listed(due time.Time) (time.Time, bool) {
	var first time.Time
	for _, sh := range k.running() {
		for _, ns := range k.s.Shards[sh].Side.Buckets[k.in.Bucket.Name].WalkAtNs {
			at := time.Unix(0, ns)
			if at.Before(due) || at.After(due.Add(engine.Slack())) {
				continue
			}
			if first.IsZero() || at.Before(first) {
				first = at
			}
			break // the list is ascending
		}
	}
	return first, !first.IsZero()
}

func (k *outlook) reconcileAt(m engine.BucketMemory) time.Time {
	ns := engine.ReconcileAtNs(k.in.Bucket.Name, m.ReconciledNs, int64(k.s.ReconcileInterval))
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// reconciliation is the bucket's first reconciliation at or after a time, and
// the shard that it is for; zero when there is none.
func (k *outlook) reconciliation(from time.Time) (time.Time, int) {
	var first time.Time
	shard := -1
	for _, sh := range k.running() {
		st := k.s.Shards[sh]
		at := k.reconcileAt(k.memory(&st))
		if at.IsZero() {
			return at, -1
		}
		if at.Before(from) {
			whole := (from.Sub(at) + k.s.ReconcileInterval - 1) / k.s.ReconcileInterval
			at = at.Add(whole * k.s.ReconcileInterval)
		}
		if shard < 0 || at.Before(first) {
			first, shard = at, sh
		}
	}
	return first, shard
}
