package pass

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
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

	// refused are the buckets of which too much is due.
	refused map[string]bool

	mu       sync.Mutex
	problems []Problem
	seen     map[Problem]bool
	cut      bool
	failed   bool
	held     bool // a guard ended the pass

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
	if w.heldBack() {
		return w.report(ctx, rep, nil, nil)
	}
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
	if o.Meter == nil {
		o.Meter = unmetered{}
	}
	o.Concurrency = max(1, o.Concurrency)
	if o.ListConcurrency <= 0 {
		o.ListConcurrency = DefaultListConcurrency
	}
	if o.SaveInterval <= 0 {
		o.SaveInterval = DefaultSaveInterval
	}
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
	w.census(WalkOptions{})
	defer w.carry()()
	k := w.keys()
	w.replay = &replay{
		keys: k, view: w.plan.replay, shards: w.runs, now: w.now, slackNs: w.plan0.slack,
		clock: w.plan0.clock, wall: w.o.Clock, budget: w.o.Events, report: w.problem, meter: w.o.Meter,
	}
	if !w.preview {
		w.replay.luck = map[string]*atomic.Int64{}
		w.replay.lists = make(chan struct{}, w.o.ListConcurrency)
	}
	defer w.watch()()
	stop := w.keepSaving(replaying)
	if err := w.replay.run(w.ctx, w.deps.Filer, w.o.Concurrency); err != nil {
		if errors.Is(err, errBudget) || w.ctx.Err() != nil {
			w.markCut()
		} else {
			w.fail(err)
		}
	}
	stop()
	if len(w.plan.walks) > 0 && w.replay.read.Load() > 0 {
		w.save(replayed)
	}
	walker := w.walker(k)
	walker.retry(w.ctx)
	stop = w.keepSaving(walking)
	walker.run(w.ctx, w.plan.walks, w.o.Concurrency)
	stop()
	w.concludeWalks()
	return w.save(ended)
}

// carry sets up what carries out verdicts.
func (w *work) carry() (stop func()) {
	if w.preview {
		w.exec = newRecorder(w.o.Observe)
		return func() {}
	}
	exec, stop := newExecutor(w.ctx, w.o, w.deps.Gateway, w.guard, func(err error) { w.cancel(err) })
	exec.hold, exec.cut, exec.refused = w.hold, w.markCut, w.refused
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
		tried: map[keyName]bool{}, report: w.problem, meter: w.o.Meter, together: sideBySide, inline: w.preview,
		refused: w.refused,
		lists:   make(chan struct{}, w.o.ListConcurrency), ahead: w.o.ListConcurrency,
	}
}

// together is how many buckets are walked side by side, so that a small one is
// done early beside a huge one.
const together = 4

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
