package pass

import (
	"context"
	"fmt"
	"slices"

	"weedlc/engine"
)

// WalkOptions say what one walk covers.
type WalkOptions struct {
	Options
	// Buckets to walk; empty is every bucket with rules.
	Buckets []string
	// Prefix narrows the walk to keys that begin with it.
	Prefix string
	// ExcludeBuckets, which must exist, are not walked, and keys that begin with
	// one of ExcludePrefixes are left alone.
	ExcludeBuckets, ExcludePrefixes []string
}

// Walk walks buckets once over all their rules. It reads and moves no cursor.
func Walk(ctx context.Context, o WalkOptions, deps Deps) *Report {
	w, done := begin(ctx, o.Options, deps)
	defer done()
	rep := &Report{Now: w.o.Now}
	if w.heldBack() {
		return w.report(ctx, rep, nil, nil)
	}
	book, err := w.readRules()
	if err == nil {
		err = w.planWalk(o, book, engine.RecoveryView(book.snapshot))
	}
	if err != nil {
		w.fail(err)
		return w.report(ctx, rep, nil, nil)
	}
	w.census(o)
	defer w.carry()()
	defer w.watch()()
	w.walkPlanned(w.walker(w.keys()), o)
	w.accounted()
	return w.report(ctx, rep, w.walkedStates(), nil)
}

// walkPlanned walks what was planned, as far as the options narrow it.
func (w *work) walkPlanned(walker *walker, o WalkOptions) {
	walker.prefix, walker.excluded = o.Prefix, o.ExcludePrefixes
	walker.run(w.ctx, w.plan.walks, w.o.Concurrency)
	w.concludeWalks()
}

// walkedStates stand for states of shards where no cursor was read.
func (w *work) walkedStates() map[int]engine.ShardState {
	states := map[int]engine.ShardState{}
	for _, r := range w.plan.shards {
		states[r.id] = engine.ShardState{Shard: r.id, Side: engine.Side{Failed: r.failed}}
	}
	return states
}

// planWalk plans a walk over all rules of a view.
func (w *work) planWalk(o WalkOptions, book *ruleBook, all *engine.Snapshot) error {
	_, bound := book.snapshot.RulesForShard(0, engine.MaxEffectiveTTL(book.snapshot))
	w.plan = &plan{now: w.now, book: book, all: all, walk: bound, replay: bound}
	for _, sh := range o.Shards {
		r := &shardRun{id: sh, memory: map[string]*bucketMemory{}, walkAt: map[string][]int64{}}
		w.plan.shards = append(w.plan.shards, r)
		w.runs[sh] = r
	}
	names := o.Buckets
	if len(names) == 0 {
		names = all.Buckets()
	}
	for _, name := range o.ExcludeBuckets {
		if _, err := w.existing(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		if slices.Contains(o.ExcludeBuckets, name) {
			continue
		}
		if !slices.Contains(all.Buckets(), name) {
			if err := w.nothingToWalk(name, book); err != nil {
				return err
			}
			continue
		}
		b, _ := all.Bucket(name)
		bw := newBucketWalk(b)
		bw.why[asked] = true
		for _, r := range w.plan.shards {
			bw.full[r.id] = true
			bw.join(r.id, engine.WalkPoint{StartedNs: w.now.UnixNano()})
			r.memory[name] = &bucketMemory{}
		}
		w.plan.walks = append(w.plan.walks, bw)
	}
	return nil
}

// asked is why a bucket is walked that no cursor calls for.
const asked = "asked"

// nothingToWalk says why a bucket that was asked for has no rules to walk for:
// an error when it does not exist.
func (w *work) nothingToWalk(name string, book *ruleBook) error {
	if book.unreadable[name] {
		return nil // its findings are reported
	}
	if _, err := w.existing(name); err != nil {
		return err
	}
	w.o.Log.Warn(fmt.Sprintf("bucket %q has no enabled rules, nothing to walk", name))
	return nil
}
