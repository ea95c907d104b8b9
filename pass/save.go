package pass

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// stage is how far a pass is when it is saved.
type stage int

const (
	replaying stage = iota // the log is being read
	replayed               // the log has been read, no walk has begun
	walking                // walks are under way
	ended                  // nothing more is going to be done
)

// keepSaving saves what has been reached again and again until it is stopped,
// so that a pass that is killed goes on from there.
func (w *work) keepSaving(at stage) (stop func()) {
	if w.preview {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(w.o.SaveInterval)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if at == walking {
					w.concludeEnded()
				}
				w.save(at)
			}
		}
	}()
	return func() { close(quit); <-done }
}

// save writes the states of all shards whose lock still holds, side by side: a
// filer that does not answer costs the time of one save.
func (w *work) save(at stage) map[int]engine.ShardState {
	saved := map[int]engine.ShardState{}
	type attempt struct {
		run *shardRun
		st  engine.ShardState
		err error
	}
	var attempts []*attempt
	for _, r := range w.plan.shards {
		st := w.plan.finish(r, w.plan0, w.replay.readTo.Load(), w.guard, at)
		if !r.state.Found && len(w.plan.book.sources) == 0 && len(w.plan.book.unreadable) == 0 {
			saved[r.id] = st // nothing to remember of a cluster without rules
			continue
		}
		if r.lost != nil {
			continue
		}
		if w.o.Held != nil {
			if err := w.o.Held(r.id); err != nil {
				r.lost = err
				w.problem(Problem{Shard: r.id, Category: CategoryLock, Message: fmt.Sprintf("the lock is lost, the cursor is not saved: %v", err)})
				w.markFailed()
				continue
			}
		}
		attempts = append(attempts, &attempt{run: r, st: st})
	}
	if !w.accounted() {
		return map[int]engine.ShardState{}
	}
	var wg sync.WaitGroup
	for _, a := range attempts {
		wg.Go(func() { a.err = w.deps.Store.Save(w.ctx, &a.st) })
	}
	wg.Wait()
	for _, a := range attempts {
		r := a.run
		if a.err != nil {
			r.lost = a.err
			w.problem(Problem{Shard: r.id, Category: CategorySave, Message: fmt.Sprintf("the cursor is not saved: %v", a.err)})
			w.markFailed()
			continue
		}
		w.o.Meter.Saved(&a.st, w.o.Clock().Sub(w.begun))
		r.state.CursorVersion, r.state.SideVersion = a.st.CursorVersion, a.st.SideVersion
		saved[r.id] = a.st
	}
	return saved
}

// concludeEnded draws what the walks mean that came to their end while others
// go on.
func (w *work) concludeEnded() {
	for _, bw := range w.plan.walks {
		bw.mu.Lock()
		done := bw.ended
		bw.mu.Unlock()
		for _, r := range w.plan.shards {
			if done && !r.hasOverflowed() {
				w.concludeWalk(bw, r)
			}
		}
	}
}

// concludeWalks draws what the ends of the walks mean for each shard.
func (w *work) concludeWalks() {
	walks := map[string]*bucketWalk{}
	for _, bw := range w.plan.walks {
		walks[bw.bucket.Name] = bw
		if errors.Is(bw.err, errEnding) {
			w.markCut()
		} else if bw.err != nil && !errors.Is(bw.err, errRefused) {
			w.problem(Problem{Shard: -1, Bucket: bw.bucket.Name, Category: CategoryTransport, Message: "walk: " + bw.err.Error()})
		}
		for _, r := range w.plan.shards {
			w.concludeWalk(bw, r)
		}
	}
	for _, r := range w.plan.shards {
		due := w.plan.walk.Buckets()
		if len(due) == 0 && r.recovery != "" {
			due = w.plan.all.Buckets()
		}
		r.walkedAll = len(due) > 0 && !r.overflowed && !slices.ContainsFunc(due, func(name string) bool {
			bw := walks[name]
			return bw == nil || !bw.ended || !bw.full[r.id] && !bw.steady[r.id]
		})
	}
}

// concludeWalk draws what the end of one bucket's walk means for one shard.
func (w *work) concludeWalk(bw *bucketWalk, r *shardRun) {
	if !bw.full[r.id] && !bw.steady[r.id] || bw.concluded[r.id] {
		return
	}
	m, started := r.memory[bw.bucket.Name], bw.started[r.id].StartedNs
	if overflowed := r.hasOverflowed(); !bw.ended || overflowed {
		if bw.odd[r.id] {
			r.recovered = false
		}
		if bw.trimmed[r.id] {
			r.trimWalked = false
		}
		m.BucketMemory = bw.cut(r.id, m, bw.rest, overflowed)
		return
	}
	bw.concluded[r.id] = true
	m.Walk = nil
	if !bw.full[r.id] {
		return
	}
	if bw.again[r.id] {
		r.trimWalked = false
		w.markCut()
	}
	m.Rules, m.ReconciledNs = m.today, started
	m.WalkAtNs = takeWalkAt(m.WalkAtNs, started)
	if len(m.WalkAtNs) > 0 && m.WalkAtNs[0] <= w.now.UnixNano() {
		w.markCut() // came while the walk was under way
	}
}

// cut is what a shard remembers of the bucket when its walk is to go on at a
// path; empty is at the beginning. A walk of which more failed than is kept
// starts anew.
func (bw *bucketWalk) cut(shard int, m *bucketMemory, from string, overflowed bool) engine.BucketMemory {
	kept := m.BucketMemory
	if from == "" || overflowed {
		kept.Walk = nil
		return kept
	}
	point := bw.started[shard]
	point.Rules, point.From, point.Bound = m.today, from, !bw.full[shard]
	kept.Walk = &point
	if bw.full[shard] {
		kept.WalkAtNs = takeWalkAt(kept.WalkAtNs, point.StartedNs)
	}
	return kept
}

// reached is where the walk would go on if it ended now.
func (bw *bucketWalk) reached() string {
	bw.mu.Lock()
	defer bw.mu.Unlock()
	switch {
	case bw.ended || bw.err != nil:
		return bw.rest
	case bw.place == nil:
		return bw.from
	}
	if at := bw.place.reached(); at != "" {
		return at
	}
	return bw.from
}
