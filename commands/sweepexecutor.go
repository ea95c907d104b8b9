package commands

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/pass"
	"weedlc/sweep"
)

// sweepExecutor carries out the chunks of a worker, each as one pass over one
// shard. Everything is read anew by each: rules, locks, holds, the pause.
type sweepExecutor struct {
	app     *app
	options *sweepWorkOptions
	log     *slog.Logger
	meter   *sweepMeter // nil is nobody
	keys    *keyLocks
}

// execute is a sweep.Executor.
func (x *sweepExecutor) execute(ctx context.Context, chunk sweep.Chunk) sweep.Outcome {
	o, a := x.options, x.app
	c, err := a.dial(ctx, o.cluster, true)
	if err != nil {
		return x.unable(ctx, chunk, err)
	}
	defer c.Close()
	opts := pass.Options{
		Now: a.host.Now(), Shards: []int{chunk.Job.Shard}, Until: chunk.Until, Limiter: chunk.Limiter,
		WalkerInterval: o.walkerInterval, MetaLogRetention: o.metaLogRetention,
		Settle: o.care.settle, ReconcileInterval: o.care.reconcileInterval,
		Concurrency: o.each(o.limits.concurrency), ListConcurrency: o.each(o.limits.listConcurrency),
		Log: x.log, Progress: sweepProgress{x.log, chunk.Job.Shard},
	}
	o.rules.apply(&opts)
	deletes := map[string]int64{}
	opts.Observe = func(d pass.Deletion) {
		if d.Outcome == pass.Done {
			deletes[d.Object.Bucket]++
		}
	}
	if x.meter != nil {
		opts.Meter = x.meter
	}
	release, err := o.guards.apply(a, o.cursors.files(c), &opts)
	if err != nil {
		return x.unable(ctx, chunk, err)
	}
	defer release()
	gateway := &patientGateway{Gateway: c.Gateway, now: a.host.Now, keys: x.keys}
	store := o.cursors.open(a, c)
	report, err := a.carryOut(ctx, c, lockOptions{}, opts, func(ctx context.Context, opts pass.Options) *pass.Report {
		return pass.Run(ctx, opts, pass.Deps{Filer: c.Filer, Gateway: gateway, Store: store})
	})
	if err != nil {
		return x.unable(ctx, chunk, err)
	}
	out := outcomeOf(report)
	out.Deletes, out.RetryAfter = deletes, gateway.wish()
	if out.Result == sweep.Cut && out.RetryAfter > 0 && !report.Interrupted {
		// Not before the time that the gateway asked for, and no failure: it got on.
		out.Result, out.Category = sweep.Waiting, sweep.CategoryRetryLater
	}
	return out
}

// unable is the outcome of a chunk that could not begin.
func (x *sweepExecutor) unable(ctx context.Context, chunk sweep.Chunk, err error) sweep.Outcome {
	if ctx.Err() != nil {
		return sweep.Outcome{Result: sweep.Cut}
	}
	x.log.Warn(err.Error(), "shard", chunk.Job.Shard)
	return outcomeOfError(err)
}

// outcomeOfError is what an error comes to that kept a pass from beginning.
func outcomeOfError(err error) sweep.Outcome {
	if _, held := errors.AsType[*cluster.HeldError](err); held {
		return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryLocked}
	}
	if e, ok := errors.AsType[*cluster.ConnectError](err); ok && e.Role != cluster.Gateway || errors.Is(err, cluster.ErrNoLockServer) {
		return sweep.Outcome{Result: sweep.Waiting, Category: sweep.CategoryNoFiler}
	}
	return sweep.Outcome{Result: sweep.Retryable, Category: sweep.CategoryTransport}
}

// outcomeOf is what the report of a pass over one shard comes to.
func outcomeOf(r *pass.Report) sweep.Outcome {
	out := sweep.Outcome{Result: sweep.Done}
	for _, p := range r.Errors {
		if p.Category == pass.CategoryRules || p.Category == pass.CategoryUpload {
			out.Findings = append(out.Findings, sweep.Finding{Bucket: p.Bucket, RuleID: p.RuleID, Kind: string(p.Category)})
		}
	}
	guard, lost := problemsOf(r)
	failure := worstFailure(r)
	switch {
	case r.Interrupted:
		out.Result = sweep.Cut
	case r.Corrupt:
		out.Result, out.Category = sweep.Terminal, sweep.CategoryInput
	case guard != nil && (guard.Guard == pass.GuardPause || guard.Guard == pass.GuardHours):
		out.Result, out.Category = sweep.Waiting, sweep.CategoryPaused
	case guard != nil:
		// More was due than a person allows.
		out.Result, out.Category = sweep.Terminal, sweep.CategoryInput
		out.Blocker.Bucket = guard.Bucket
	case lost:
		out.Result, out.Category = sweep.Waiting, sweep.CategoryLocked
	case r.Failed:
		out.Result, out.Category = sweep.Retryable, sweep.CategoryTransport
	case r.CutShort && (failure == nil || r.Totals.Outcomes[pass.Done] > 0 || r.Totals.Outcomes[pass.NoopResolved] > 0):
		// What failed is tried again by the next chunk, which also goes on.
		out.Result = sweep.Cut
	case failure != nil:
		out.Result, out.Category = sweep.Retryable, sweep.CategoryTransport
		out.Blocker = sweep.Blocker{Bucket: failure.Bucket, Key: failure.Key, VersionID: failure.VersionID}
		switch pass.Outcome(failure.Outcome) {
		case pass.Blocked:
			out.Result, out.Category = sweep.Terminal, sweep.CategoryBlocked
		case pass.RetryLater:
			out.Category = sweep.CategoryRetryLater
		}
	case r.CutShort:
		out.Result = sweep.Cut
	}
	return out
}

// problemsOf finds the guard that held and whether the shard's lock was lost.
func problemsOf(r *pass.Report) (guard *pass.Problem, lost bool) {
	for i, p := range r.Errors {
		switch p.Category {
		case pass.CategoryGuard:
			guard = &r.Errors[i]
		case pass.CategoryLock:
			lost = true
		}
	}
	return guard, lost
}

// worstFailure is the delete or look-up that decides: one that is blocked for
// good before one that may be mended; nil when nothing failed.
func worstFailure(r *pass.Report) *engine.Failure {
	var worst *engine.Failure
	consider := func(f *engine.Failure) {
		if worst == nil || pass.Outcome(worst.Outcome) != pass.Blocked && pass.Outcome(f.Outcome) == pass.Blocked {
			worst = f
		}
	}
	for i := range r.Shards {
		s := &r.Shards[i]
		if s.Blocked != nil {
			consider(s.Blocked)
		}
		for j := range s.Failed {
			consider(&s.Failed[j])
		}
	}
	return worst
}

// sweepProgress keeps what a pass says of itself for those who want to know
// more: sixteen shards say it.
type sweepProgress struct {
	log   *slog.Logger
	shard int
}

// Notice implements pass.Progress.
func (p sweepProgress) Notice(line string) { p.log.Debug(line, "shard", p.shard) }

// Update implements pass.Progress.
func (p sweepProgress) Update(pass.Totals) {}

// sweepMeter counts the chunks of a worker as one pass.
type sweepMeter struct {
	*meter

	mu     sync.Mutex
	report pass.Report
}

func newSweepMeter(m *meter) *sweepMeter {
	if m == nil {
		return nil
	}
	return &sweepMeter{meter: m, report: pass.Report{Totals: pass.Totals{Outcomes: map[pass.Outcome]int64{}}}}
}

// Ended implements pass.Meter.
func (m *sweepMeter) Ended(r *pass.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Totals.EventsScanned += r.Totals.EventsScanned
	m.report.Totals.EntriesWalked += r.Totals.EntriesWalked
	m.report.Totals.DeleteCalls += r.Totals.DeleteCalls
	for o, n := range r.Totals.Outcomes {
		m.report.Totals.Outcomes[o] += n
	}
	m.report.Duration += r.Duration
	m.report.WalkBound = max(m.report.WalkBound, r.WalkBound)
}

// publish ends the metrics of a worker: dead letters and what is left count as
// its errors.
func (m *sweepMeter) publish(ctx context.Context, status pass.Status, undone int) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Status = status
	m.report.Errors = make([]pass.Problem, undone)
	m.meter.Ended(&m.report)
	m.meter.publish(ctx, nil)
}

// onceHandler drops a record whose message it has passed on within sayAgain:
// sixteen shards meet the same.
type onceHandler struct {
	slog.Handler
	said *sync.Map // message: time.Time
}

const sayAgain = time.Hour

func sayOnce(log *slog.Logger) *slog.Logger {
	return slog.New(onceHandler{log.Handler(), &sync.Map{}})
}

// Handle implements slog.Handler.
func (h onceHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug {
		if last, said := h.said.Load(r.Message); said && r.Time.Sub(last.(time.Time)) < sayAgain {
			return nil
		}
		h.said.Store(r.Message, r.Time)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h onceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onceHandler{h.Handler.WithAttrs(attrs), h.said}
}

// WithGroup implements slog.Handler.
func (h onceHandler) WithGroup(name string) slog.Handler {
	return onceHandler{h.Handler.WithGroup(name), h.said}
}
