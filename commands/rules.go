package commands

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"weedlc/engine"
	"weedlc/pass"
)

// ruleOptions are the settings of run that decide how rules are read.
type ruleOptions struct {
	allowUnfiltered bool
	dayClock        string
}

const midnight = "midnight"

func (o *ruleOptions) AddFlags(flags *pflag.FlagSet) {
	o.dayClock = "exact"
	addAllowUnfiltered(flags, &o.allowUnfiltered)
	flags.Var(choiceValue{&o.dayClock, []string{"exact", midnight}}, "day-clock", "what ends a day: 24 hours exactly, or the next 00:00 UTC after them")
	settings(flags, "day-clock")
}

func addAllowUnfiltered(flags *pflag.FlagSet, p *bool) {
	flags.BoolVar(p, "allow-unfiltered-rules", false, "accept rules with neither Filter nor Prefix, which select every key")
	settings(flags, "allow-unfiltered-rules")
}

func addMetaLogRetention(flags *pflag.FlagSet, p *time.Duration) {
	flags.Var(durationValue{p}, "meta-log-retention", "how far back the meta-log reaches; rules with a longer delay are walked for; 0 is for ever")
	settings(flags, "meta-log-retention")
}

func (o *ruleOptions) apply(p *pass.Options) {
	p.AllowUnfiltered = o.allowUnfiltered
	p.MidnightClock = o.dayClock == midnight
}

// load reads and compiles the rules of every bucket. Of rules that are refused
// it knows nothing, like a pass.
func (o *ruleOptions) load(ctx context.Context, c *Cluster, metaLogRetention time.Duration) (todaysRules, error) {
	t := todaysRules{reach: engine.Slack(), retention: metaLogRetention}
	if o.dayClock == midnight {
		t.reach += engine.Day()
	}
	_, snapshot, _, err := pass.LoadRules(ctx, c.Filer, o.allowUnfiltered)
	if err != nil {
		return t, err
	}
	t.snapshot = snapshot
	if t.retention == 0 {
		t.retention = engine.MaxEffectiveTTL(t.snapshot)
	}
	return t, nil
}

// todaysRules are what a shard's positions are counted by.
type todaysRules struct {
	snapshot  *engine.Snapshot
	retention time.Duration
	// reach is how far a group's position lies before the time at which an
	// event's object becomes due.
	reach time.Duration
}

// moveToNow sets the positions of a shard as if everything up to now had been
// dealt with. What the shard remembers of a bucket stays; a bucket that it does
// not know is taken as known, so that nothing is walked for it.
func (t *todaysRules) moveToNow(st *engine.ShardState, now time.Time) {
	hash := engine.ReplayContentHash(t.snapshot)
	promoted := engine.PromotedHash(t.snapshot, t.retention)
	pending := st.Foreign() && (st.Cursor.RuleSetHash != hash || st.Cursor.PromotedHash != promoted)

	buckets := map[string]engine.BucketMemory{}
	for _, name := range engine.RecoveryView(t.snapshot).Buckets() {
		m, known := st.Side.Buckets[name]
		switch {
		case pending:
			m.Rules = engine.Hash{}
		case !known:
			m.Rules, m.ReconciledNs = t.snapshot.BucketHash(name), now.UnixNano()
		}
		buckets[name] = m
	}
	side := engine.Side{
		ArrivalsNs: now.UnixNano(), Groups: map[time.Duration]int64{}, Buckets: buckets,
		HorizonNs: st.Side.HorizonNs, Failed: st.Side.Failed,
	}
	replay, _ := t.snapshot.RulesForShard(st.Shard, t.retention)
	cursor := st.Cursor
	cursor.TsNs = 0
	for _, d := range replay.DelayGroups() {
		at := now.Add(-d - t.reach).UnixNano()
		side.Groups[d] = at
		if cursor.TsNs == 0 || at < cursor.TsNs {
			cursor.TsNs = at
		}
	}
	if !st.Found {
		cursor.RuleSetHash, cursor.PromotedHash = hash, promoted
	}
	st.Cursor, st.Side = cursor, side
}
