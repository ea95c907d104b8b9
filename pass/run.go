package pass

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// Deps are what a pass works on.
type Deps struct {
	Filer   Filer
	Gateway Gateway
	Store   Store
}

// work is one pass, or one walk, under way.
type work struct {
	o     Options
	deps  Deps
	begun time.Time
	now   time.Time

	// anyTime is set when the instant is not bound to the filer's clock: nothing
	// is deleted then.
	anyTime bool
	// preview is set when a recorder stands for the executor.
	preview bool
	// about says which buckets' findings matter; nil is all.
	about func(bucket string) bool

	// ctx ends when nothing more is to be begun.
	ctx    context.Context
	cancel context.CancelCauseFunc

	exec  carrier
	guard *ruleGuard
	plan  *plan
	plan0 *planner
	runs  map[int]*shardRun

	mu       sync.Mutex
	problems []Problem
	seen     map[Problem]bool
	cut      bool
	failed   bool

	replay *replay
}

// Run carries out one pass over the shards. What it could not do is in the
// report; the report is complete whatever happened.
func Run(ctx context.Context, o Options, deps Deps) *Report {
	w, done := begin(ctx, o, deps)
	defer done()
	return w.run(ctx)
}

func (w *work) run(ctx context.Context) *Report {
	rep := &Report{Now: w.o.Now}
	states, failed, err := w.prepare()
	if err != nil {
		w.fail(err)
		return w.report(ctx, rep, nil, nil)
	}
	final := w.carryOut(states)
	return w.report(ctx, rep, final, failed)
}

// begin sets up what every kind of work shares.
func begin(ctx context.Context, o Options, deps Deps) (*work, func()) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = quiet{}
	}
	o.Concurrency = max(1, o.Concurrency)
	if o.PageSize <= 0 {
		o.PageSize = DefaultPageSize
	}
	w := &work{o: o, deps: deps, begun: o.Clock(), now: o.Now, seen: map[Problem]bool{}, runs: map[int]*shardRun{}}
	soft, stop := ctx, context.CancelFunc(func() {})
	if !o.Until.IsZero() {
		soft, stop = context.WithTimeout(ctx, o.Until.Sub(o.Clock()))
	}
	w.ctx, w.cancel = context.WithCancelCause(soft)
	return w, func() { w.cancel(nil); stop() }
}

type quiet struct{}

func (quiet) Notice(string) {}
func (quiet) Update(Totals) {}

// prepare reads the clock, the rules and the cursors and makes the plan.
func (w *work) prepare() (states []engine.ShardState, failed map[int]unread, err error) {
	book, err := w.readRules()
	if err != nil {
		return nil, nil, err
	}
	horizon, err := w.deps.Filer.LogHorizon(w.ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("find the start of the meta-log: %w", err)
	}
	states, failed = loadStates(w.ctx, w.deps.Store, w.o.Shards, w.now)
	for _, st := range states {
		for _, text := range st.Warnings {
			w.o.Log.Warn(text, "shard", st.Shard)
		}
	}
	w.plan0 = &planner{o: w.o, now: w.now, slack: int64(engine.Slack()), clock: dayClock(w.o)}
	w.plan = w.plan0.plan(book, states, horizon)
	for _, r := range w.plan.shards {
		w.runs[r.id] = r
	}
	w.plan.announce(w.o.Progress)
	return states, failed, nil
}

// readRules fixes the pass's instant and reads the rules of every bucket.
func (w *work) readRules() (*ruleBook, error) {
	filerNow, err := w.deps.Filer.Now(w.ctx)
	if err != nil {
		return nil, fmt.Errorf("read the filer's clock: %w", err)
	}
	if filerNow.Before(w.now) && !w.anyTime {
		w.now = filerNow
	}
	book, err := loadRules(w.ctx, w.deps.Filer, w.o.AllowUnfiltered)
	if err != nil {
		return nil, err
	}
	for _, f := range book.findings {
		if w.about != nil && !w.about(f.Bucket) {
			continue
		}
		if f.Warning {
			w.o.Log.Warn(f.String())
			continue
		}
		w.problem(Problem{Shard: -1, Bucket: f.Bucket, RuleID: f.RuleID, Category: CategoryRules, Message: f.String()})
	}
	w.guard = newRuleGuard(w.deps.Filer, w.o, book)
	return book, nil
}

// carryOut replays, walks and saves. It returns the states as saved.
func (w *work) carryOut(states []engine.ShardState) map[int]engine.ShardState {
	if len(states) == 0 {
		return nil
	}
	defer w.carry()()
	k := w.keys()
	w.replay = &replay{
		keys: k, view: w.plan.replay, shards: w.runs, now: w.now, slackNs: w.plan0.slack,
		clock: w.plan0.clock, budget: w.o.Events, report: w.problem,
	}
	defer w.watch()()
	if err := w.replay.run(w.ctx, w.deps.Filer, w.o.Concurrency); err != nil {
		if errors.Is(err, errBudget) || w.ctx.Err() != nil {
			w.markCut()
		} else {
			w.fail(err)
		}
	}
	w.save(false)
	walker := w.walker(k)
	walker.retry(w.ctx)
	walker.run(w.ctx, w.plan.walks, w.o.Concurrency)
	w.concludeWalks()
	return w.save(true)
}

// carry sets up what carries out verdicts.
func (w *work) carry() (stop func()) {
	if w.preview {
		w.exec = newRecorder(w.o.Observe)
		return func() {}
	}
	exec, stop := newExecutor(w.ctx, w.o, w.deps.Gateway, w.guard, func(err error) { w.cancel(err) })
	w.exec = exec
	return stop
}

func (w *work) keys() *keys {
	k := &keys{
		filer: w.deps.Filer, exec: w.exec, now: w.now, clock: dayClock(w.o), pages: w.o.PageSize,
		leftover: func(o *engine.Object) {
			w.problem(Problem{Shard: -1, Bucket: o.Bucket, Category: CategoryUpload,
				Message: fmt.Sprintf("upload %q of key %q is left alone: the key's object owns its chunks, so aborting it would destroy that object", o.UploadID, o.Key)})
		},
	}
	if w.preview {
		k.ghosts = newGhosts()
	}
	return k
}

func (w *work) walker(k *keys) *walker {
	sideBySide := together
	if w.preview {
		sideBySide = 1
	}
	return &walker{
		keys: k, filer: w.deps.Filer, guard: w.guard, all: w.plan.all, bound: w.plan.walk, shards: w.runs,
		now: w.now, slackNs: int64(engine.Slack()), clock: dayClock(w.o), horizon: w.plan.horizon,
		tried: map[keyName]bool{}, report: w.problem, together: sideBySide, inline: w.preview,
	}
}

// together is how many buckets are walked side by side, so that a small one is
// done early beside a huge one.
const together = 4

// concludeWalks draws what the ends of the walks mean for each shard.
func (w *work) concludeWalks() {
	ended := map[string]*bucketWalk{}
	for _, bw := range w.plan.walks {
		ended[bw.bucket.Name] = bw
		if errors.Is(bw.err, errEnding) {
			w.markCut()
		} else if bw.err != nil {
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
			bw := ended[name]
			return bw == nil || !bw.ended || !bw.full[r.id] && !bw.steady[r.id]
		})
	}
}

// concludeWalk draws what the end of one bucket's walk means for one shard.
func (w *work) concludeWalk(bw *bucketWalk, r *shardRun) {
	if !bw.full[r.id] && !bw.steady[r.id] {
		return
	}
	m, started := r.memory[bw.bucket.Name], bw.started[r.id]
	if !bw.ended || r.overflowed {
		if bw.odd[r.id] {
			r.recovered = false
		}
		if bw.trimmed[r.id] {
			r.trimWalked = false
		}
		if bw.rest != "" && !r.overflowed {
			m.Walk = &engine.WalkPoint{StartedNs: started, Rules: m.today, From: bw.rest, Bound: !bw.full[r.id]}
			if bw.full[r.id] {
				m.WalkAtNs = takeWalkAt(m.WalkAtNs, started)
			}
		} else {
			m.Walk = nil
		}
		return
	}
	m.Walk = nil
	if !bw.full[r.id] {
		return
	}
	m.Rules, m.ReconciledNs = m.today, started
	m.WalkAtNs = takeWalkAt(m.WalkAtNs, started)
	if len(m.WalkAtNs) > 0 && m.WalkAtNs[0] <= w.now.UnixNano() {
		w.markCut() // came while the walk was under way
	}
}

// save writes the states of all shards whose lock still holds.
func (w *work) save(final bool) map[int]engine.ShardState {
	saved := map[int]engine.ShardState{}
	for _, r := range w.plan.shards {
		st := w.plan.finish(r, w.plan0, w.replay.readTo, w.guard, final)
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
		if err := w.deps.Store.Save(w.ctx, &st); err != nil {
			r.lost = err
			w.problem(Problem{Shard: r.id, Category: CategorySave, Message: fmt.Sprintf("the cursor is not saved: %v", err)})
			w.markFailed()
			continue
		}
		r.state.CursorVersion, r.state.SideVersion = st.CursorVersion, st.SideVersion
		saved[r.id] = st
	}
	return saved
}

// watch reports the running counts until it is stopped.
func (w *work) watch() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				w.o.Progress.Update(w.totals())
			}
		}
	}()
	return func() { close(quit); <-done }
}

func (w *work) totals() Totals {
	t := Totals{Outcomes: map[Outcome]int64{}}
	if w.replay != nil {
		t.EventsScanned = w.replay.read.Load()
	}
	if w.exec != nil {
		t.DeleteCalls, t.Outcomes = w.exec.counts()
	}
	for _, r := range w.runs {
		r.mu.Lock()
		t.EntriesWalked += r.walked
		r.mu.Unlock()
	}
	return t
}

func (w *work) problem(p Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.seen[p] {
		w.seen[p] = true
		w.problems = append(w.problems, p)
	}
}

func (w *work) fail(err error) {
	if w.ctx.Err() != nil && errors.Is(w.ctx.Err(), context.Cause(w.ctx)) {
		w.markCut() // what failed failed because the pass ends
		return
	}
	w.problem(Problem{Shard: -1, Category: CategoryTransport, Message: err.Error()})
	w.markFailed()
}

func (w *work) markCut() {
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
}

func (w *work) markFailed() {
	w.mu.Lock()
	w.failed = true
	w.mu.Unlock()
}
