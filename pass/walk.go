package pass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weedlc/engine"
)

// bucketWalk is one listing of a bucket that serves all shards of the pass.
type bucketWalk struct {
	bucket engine.Bucket
	// full are the shards that walk every rule, steady those that walk the
	// walk-bound ones.
	full, steady map[int]bool
	// odd are the shards that also look for entries whose clock no event bears
	// out, trimmed those that look for entries from before the log's start.
	odd, trimmed map[int]bool
	why          map[string]bool
	// started is how each shard's walk first started.
	started map[int]engine.WalkPoint
	// again are the shards of a walk that goes on with less log than it started
	// with: once it has ended another one is due.
	again map[int]bool
	// from is where the listing begins; empty is at the beginning.
	from string

	// told takes what a preview finds out; nil in any other walk.
	told chan judged

	// concluded are the shards for which the walk's end has been drawn.
	concluded map[int]bool

	mu sync.Mutex
	// place is where the traversal is; nil while there is none.
	place *place
	// ended is set once the walk came to its true end; else rest is where it
	// goes on.
	ended bool
	rest  string
	err   error
}

// join has a shard take part in the walk from a point on. What another shard
// still needs is listed for all.
func (bw *bucketWalk) join(shard int, point engine.WalkPoint) {
	if len(bw.started) == 0 || walkedBefore(point.From, bw.from) {
		bw.from = point.From
	}
	bw.started[shard] = point
}

func newBucketWalk(b engine.Bucket) *bucketWalk {
	return &bucketWalk{
		bucket: b, full: map[int]bool{}, steady: map[int]bool{}, odd: map[int]bool{},
		trimmed: map[int]bool{}, why: map[string]bool{}, started: map[int]engine.WalkPoint{}, again: map[int]bool{}, concluded: map[int]bool{},
	}
}

// walker walks buckets.
type walker struct {
	keys    *keys
	filer   Filer
	guard   *ruleGuard
	all     *engine.Snapshot
	bound   *engine.Snapshot // the walk-bound rules
	shards  map[int]*shardRun
	now     time.Time
	slackNs int64
	clock   engine.DayClock
	horizon int64
	prefix  string // narrows the walk; empty is everything
	// excluded narrows it by keys that begin with one of them.
	excluded []string
	// refused are the buckets that are not walked.
	refused map[string]bool
	// tried are the keys whose retry failed in this pass already.
	tried  map[keyName]bool
	report func(Problem)
	meter  Meter
	// together is how many buckets are walked side by side, from 1.
	together int
	// lists bounds the listing calls in flight, ahead the folders of a level that
	// are listed before the walk comes to them.
	lists chan struct{}
	ahead int
	// inline has keys settled one after the other, in the order of the walk.
	inline bool
	// foresight is nil unless the walk is a preview of its own.
	foresight *foresight
	crew      *crew // carries out what is due, as many keys at once as the turns allow
}

// run walks the buckets. A bucket that cannot be walked to its end does not
// stop the others.
func (w *walker) run(ctx context.Context, walks []*bucketWalk, concurrency int) {
	turns := newTurns(w.together, concurrency, w.keys.pages)
	w.crew = newCrew()
	defer w.crew.dismiss()
	var wg sync.WaitGroup
	for _, bw := range walks {
		turn := turns.start()
		wg.Go(func() {
			defer turn.end()
			rest, err := w.walk(ctx, bw, turn)
			if bw.told != nil {
				close(bw.told)
			}
			bw.mu.Lock()
			defer bw.mu.Unlock()
			bw.ended, bw.rest, bw.err = err == nil, rest, err
		})
	}
	wg.Wait()
}

// errEnding ends a walk because the pass ends.
var errEnding = errors.New("the pass ends")

// walk lists one bucket and has what is due deleted. With an error comes the
// path from which the walk goes on.
func (w *walker) walk(ctx context.Context, bw *bucketWalk, turn *turn) (rest string, err error) {
	if ctx.Err() != nil {
		return bw.from, errEnding
	}
	if w.refused[bw.bucket.Name] {
		return bw.from, errRefused
	}
	if err := w.guard.refresh(ctx, bw.bucket.Name); err != nil {
		if ctx.Err() != nil {
			err = errEnding
		}
		return bw.from, err
	}
	view := w.bound
	if len(bw.full) > 0 {
		view = w.all
	}
	t := &traversal{
		walker: w, walk: bw, view: view, scope: scopeOf(w.prefixes(view, bw.bucket.Name), w.prefix),
		turn: turn,
		lookahead: lookahead{
			filer: w.filer, bucket: bw.bucket.Name, pages: w.keys.pages, most: w.ahead, slots: w.lists,
			ready: map[string]func() fetched{},
		},
	}
	bw.mu.Lock()
	bw.place = &t.place
	bw.mu.Unlock()
	listing, enough := context.WithCancel(ctx)
	err = t.bucket(listing, bw.from)
	t.wg.Wait()
	enough()
	t.lookahead.wg.Wait()
	rest, done := t.place.rest(err == nil)
	if rest == "" {
		rest = bw.from
	}
	if err == nil && !done {
		err = errEnding
	}
	return rest, err
}

// visit judges what lies at one key. It returns at once; deletes go on in the
// background.
func (t *traversal) visit(ctx context.Context, path string, g engine.Group, paths []string) error {
	if ctx.Err() != nil {
		return errEnding
	}
	if len(g.Objects) == 0 {
		return nil
	}
	w, name := t.walker, t.walk.bucket.Name
	key := g.Objects[0].Key
	if !strings.HasPrefix(key, w.prefix) || w.excludes(key) || w.tried[keyName{name, path}] {
		return nil
	}
	if w.foresight != nil {
		return t.foresee(ctx, path, &g, paths)
	}
	full, bound := t.shardsOf(paths)
	if len(full) == 0 && len(bound) == 0 {
		return nil
	}
	t.count(full, bound, len(g.Objects))
	view := w.all
	if len(full) == 0 {
		view = w.bound
	}
	actions := view.Matching(name, key)
	if len(actions) == 0 {
		return nil
	}
	t.reportUnresolved(path, &g)
	due := false
	for i := range g.Objects {
		o := &g.Objects[i]
		if _, _, fires := engine.FirstDue(actions, o, w.now, w.clock); fires {
			due = true
			continue
		}
		t.lookAhead(o, &g, i, full)
	}
	if !due {
		return nil
	}
	if w.inline {
		if !t.settle(ctx, path, g, actions, full, bound) {
			return errEnding
		}
		return nil
	}
	t.turn.enter()
	id := t.begin()
	t.wg.Add(1)
	w.crew.do(func() {
		defer t.wg.Done()
		defer t.turn.leave()
		if t.settle(ctx, path, g, actions, full, bound) {
			t.end(id)
		}
	})
	return nil
}

// reportUnresolved says that nothing is done about a key whose current version
// is not known.
func (t *traversal) reportUnresolved(path string, g *engine.Group) {
	if g.Unresolved != "" {
		t.report(Problem{Shard: -1, Bucket: g.Bucket, Category: CategoryBlocked,
			Message: fmt.Sprintf("key %q is left alone: %s", path, g.Unresolved)})
	}
}

// settle has the due objects of a key deleted. It reports whether nothing was
// left because the pass ends.
func (t *traversal) settle(ctx context.Context, path string, g engine.Group, actions []*engine.Action, full, bound []int) bool {
	return t.put(t.walker.keys.settle(ctx, t.walk.bucket, path, g, actions), full, bound)
}

// put notes for the shards of a key what came of it. It reports whether nothing
// was left because the pass ends.
func (t *traversal) put(out settled, full, bound []int) bool {
	w := t.walker
	for i, sh := range slices.Concat(full, bound) {
		r := w.shards[sh]
		if i == 0 {
			r.mu.Lock()
			r.calls += int64(out.calls)
			r.mu.Unlock()
		}
		for _, ns := range out.lockEndsNs {
			r.addWalkAt(t.walk.bucket.Name, ns)
		}
		for _, f := range out.failures {
			f.SinceNs = w.now.UnixNano()
			f.Recovery = t.walk.odd[sh]
			r.addFailed(f)
		}
	}
	return !out.ending
}

// lookAhead puts down when an object that is kept must be walked for: one whose
// clock its commit stamp does not bear out, or whose event the log has lost.
func (t *traversal) lookAhead(o *engine.Object, g *engine.Group, i int, full []int) {
	w := t.walker
	for _, sh := range full {
		odd, trimmed := t.walk.odd[sh], t.walk.trimmed[sh]
		if !odd && !trimmed {
			continue
		}
		for _, a := range w.all.Matching(o.Bucket, o.Key) {
			if !a.IsReplayKind() {
				continue
			}
			at, fits := engine.DueUnderAny(a, o, w.clock)
			if !fits || !at.After(w.now) {
				continue
			}
			if odd && w.isOdd(a, o, g, i) || trimmed && w.clockNs(a, o)-w.slackNs < w.horizon {
				w.shards[sh].addWalkAt(o.Bucket, nanos(at))
			}
		}
	}
}

// clockNs is the time that an action of fixed delay counts from.
func (w *walker) clockNs(a *engine.Action, o *engine.Object) int64 {
	at, _ := engine.DueUnderAny(a, o, engine.ExactClock)
	return at.Add(-a.Delay).UnixNano()
}

// isOdd reports whether an object's clock is further than the slack from the
// commit stamp of the entry that holds it, or that entry has none.
func (w *walker) isOdd(a *engine.Action, o *engine.Object, g *engine.Group, i int) bool {
	clock, commit := o.ModTime.UnixNano(), o.CommitNs
	if a.Kind == engine.NoncurrentDays && !o.Latest {
		switch {
		case o.SuccessorAt.After(o.DemotedAt):
			clock = o.SuccessorAt.UnixNano()
			if !o.DemotedAt.IsZero() && clock-o.DemotedAt.UnixNano() <= w.slackNs {
				clock = o.DemotedAt.UnixNano()
			} else if i > 0 {
				commit = g.Objects[i-1].CommitNs
			}
		case !o.DemotedAt.IsZero():
			clock = o.DemotedAt.UnixNano()
		}
	}
	d := clock - commit
	return commit == 0 || d > w.slackNs || d < -w.slackNs
}

// shardsOf are the shards of the walk that one of a key's events can have:
// those that walk every rule, and those that walk only the walk-bound ones.
func (t *traversal) shardsOf(paths []string) (full, bound []int) {
	for _, p := range paths {
		sh := engine.ShardOf(t.walk.bucket.Name, p)
		switch {
		case t.walk.full[sh] && !slices.Contains(full, sh):
			full = append(full, sh)
		case t.walk.steady[sh] && !slices.Contains(bound, sh):
			bound = append(bound, sh)
		}
	}
	return full, bound
}

// count adds visited objects to the first of the key's shards.
func (t *traversal) count(full, bound []int, n int) {
	sh := 0
	if len(full) > 0 {
		sh = full[0]
	} else {
		sh = bound[0]
	}
	r := t.walker.shards[sh]
	r.mu.Lock()
	r.walked += int64(n)
	r.mu.Unlock()
	t.walker.meter.Walked(sh, n)
}

// retry tries again what failed in walks before, first of all. What fails again
// stays with its shards.
func (w *walker) retry(ctx context.Context) {
	type owed struct {
		failure engine.Failure
		shards  []int
	}
	byKey := map[keyName]*owed{}
	var order []keyName
	for _, sh := range sortedShards(w.shards) {
		for _, f := range w.shards[sh].state.Side.Failed {
			n := keyName{f.Bucket, f.Key}
			if byKey[n] == nil {
				byKey[n] = &owed{failure: f}
				order = append(order, n)
			}
			o := byKey[n]
			o.failure.Recovery = o.failure.Recovery || f.Recovery
			if !slices.Contains(o.shards, sh) {
				o.shards = append(o.shards, sh)
			}
		}
	}
	for _, n := range order {
		o := byKey[n]
		for _, f := range w.retryKey(ctx, n, o.failure, o.shards) {
			w.tried[n] = true
			for _, sh := range o.shards {
				w.shards[sh].addFailed(f)
			}
		}
	}
}

// retryKey looks at one key again and returns what is still owed.
func (w *walker) retryKey(ctx context.Context, n keyName, was engine.Failure, shards []int) []engine.Failure {
	b, known := w.all.Bucket(n.bucket)
	if !known {
		return nil // its rules are gone
	}
	if ctx.Err() != nil {
		return []engine.Failure{was}
	}
	g, err := w.keys.read(ctx, b, n.path)
	if err != nil && ctx.Err() != nil {
		return []engine.Failure{was}
	}
	if err != nil {
		f := lookupFailure(n.bucket, n.path, err)
		f.SinceNs, f.Attempts, f.Recovery = was.SinceNs, was.Attempts+1, was.Recovery
		return []engine.Failure{f}
	}
	if len(g.Objects) == 0 {
		return nil
	}
	actions := w.all.Matching(n.bucket, g.Objects[0].Key)
	bw := newBucketWalk(b)
	for _, sh := range shards {
		bw.full[sh], bw.odd[sh] = true, was.Recovery
	}
	t := &traversal{walker: w, walk: bw}
	for i := range g.Objects {
		if _, _, fires := engine.FirstDue(actions, &g.Objects[i], w.now, w.clock); !fires {
			t.lookAhead(&g.Objects[i], &g, i, shards)
		}
	}
	out := w.keys.settle(ctx, b, n.path, g, actions)
	for _, ns := range out.lockEndsNs {
		for _, sh := range shards {
			w.shards[sh].addWalkAt(n.bucket, ns)
		}
	}
	if out.ending {
		return []engine.Failure{was}
	}
	for i := range out.failures {
		f := &out.failures[i]
		f.SinceNs, f.Attempts, f.Recovery = was.SinceNs, was.Attempts+1, was.Recovery
	}
	return out.failures
}
