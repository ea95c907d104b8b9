package commands

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"weedlc/internal/cluster"
	"weedlc/pass"
)

// limitOptions bound what run and walk do, and how fast.
type limitOptions struct {
	runtime          time.Duration
	concurrency      int64
	listConcurrency  int64
	deletesPerSecond float64
	burst            int64
}

func (o *limitOptions) AddFlags(flags *pflag.FlagSet) {
	flags.Var(durationValue{&o.runtime}, "runtime", "stop after this long, with the progress saved; 0 is no limit")
	o.addConcurrency(flags)
	flags.Var(rateValue{&o.deletesPerSecond}, "deletes-per-second", "delete calls per second at most; 0 is no limit")
	flags.Var(countValue{&o.burst, 0}, "burst", "delete calls that may follow each other at once; 0 is twice the rate")
	settings(flags, "runtime", "deletes-per-second", "burst")
}

// addConcurrency adds what a command has whose rate and time are given
// otherwise.
func (o *limitOptions) addConcurrency(flags *pflag.FlagSet) {
	o.concurrency, o.listConcurrency = 32, pass.DefaultListConcurrency
	flags.Var(countValue{&o.concurrency, 1}, "concurrency", "deletes in flight at most")
	flags.Var(countValue{&o.listConcurrency, 1}, "list-concurrency", "listing calls in flight at most")
	settings(flags, "concurrency", "list-concurrency")
}

func (o *limitOptions) validate() error {
	if o.burst > 0 && o.deletesPerSecond == 0 {
		return hint(errors.New("--burst has no effect without --deletes-per-second"), "--deletes-per-second %d --burst %d", (o.burst+1)/2, o.burst)
	}
	return nil
}

// limiter is the one limiter of the process; nil is no limit.
func (o *limitOptions) limiter() *rate.Limiter {
	if o.deletesPerSecond == 0 {
		return nil
	}
	return newLimiter(o.deletesPerSecond, o.burst)
}

// newLimiter is a limiter with a burst; 0 is twice the rate.
func newLimiter(perSecond float64, burst int64) *rate.Limiter {
	if burst == 0 {
		burst = max(1, int64(2*perSecond))
	}
	return rate.NewLimiter(rate.Limit(perSecond), int(burst))
}

// until is when a command that starts now has used up its --runtime; zero is
// never.
func (o *limitOptions) until(now time.Time) time.Time {
	if o.runtime == 0 {
		return time.Time{}
	}
	return now.Add(o.runtime)
}

// planOptions decide what a pass reads and walks.
type planOptions struct {
	events            int64
	walkerInterval    time.Duration
	metaLogRetention  time.Duration
	settle            time.Duration
	reconcileInterval time.Duration
}

func (o *planOptions) AddFlags(flags *pflag.FlagSet) {
	flags.Var(countValue{&o.events, 0}, "events", "meta-log events to read in a pass at most; 0 is no limit")
	addWalkerInterval(flags, &o.walkerInterval)
	addMetaLogRetention(flags, &o.metaLogRetention)
	settings(flags, "events")
	o.addCare(flags)
}

// addCare adds what a command has whose plan is given otherwise.
func (o *planOptions) addCare(flags *pflag.FlagSet) {
	o.settle = 5 * time.Minute
	flags.Var(durationValue{&o.settle}, "settle", "how long the meta-log may take to show an event")
	addReconcileInterval(flags, &o.reconcileInterval)
	settings(flags, "settle")
}

func addWalkerInterval(flags *pflag.FlagSet, p *time.Duration) {
	flags.Var(durationValue{p}, "walker-interval", "least time between two walks for rules that need one; 0 is every pass")
	settings(flags, "walker-interval")
}

func addReconcileInterval(flags *pflag.FlagSet, p *time.Duration) {
	*p = 30 * day
	flags.Var(durationValue{p}, "reconcile-interval", "how often each bucket is walked over all its rules, whatever the log says; 0 is never")
	settings(flags, "reconcile-interval")
}

func (o *planOptions) apply(p *pass.Options) {
	p.Events, p.WalkerInterval, p.MetaLogRetention = o.events, o.walkerInterval, o.metaLogRetention
	p.Settle, p.ReconcileInterval = o.settle, o.reconcileInterval
}

// lockOptions steer the taking of locks.
type lockOptions struct {
	wait   time.Duration
	noLock bool
}

func (o *lockOptions) AddFlags(flags *pflag.FlagSet) {
	flags.Var(durationValue{&o.wait}, "wait", "wait this long for a shard that another pass holds")
	flags.BoolVar(&o.noLock, "no-lock", false, "run without taking the shards' locks; nothing else may be running")
	settings(flags, "wait", "no-lock")
}

func (o *lockOptions) validate() error {
	if o.noLock && o.wait > 0 {
		return errors.New("--no-lock and --wait exclude each other")
	}
	return nil
}

// take takes the locks of shards, unless there is to be none.
func (o *lockOptions) take(ctx context.Context, a *app, c *Cluster, shards []int) (Lock, error) {
	if o.noLock {
		a.log.Warn("running without locks")
		return noLock{}, nil
	}
	lock, err := c.LockShards(ctx, shards, o.wait)
	if _, held := errors.AsType[*cluster.HeldError](err); held {
		return nil, hint(coded{err, exitHeld}, "--wait 10m waits for it")
	}
	if errors.Is(err, cluster.ErrNoLockServer) {
		return nil, hint(err, "try again in a minute; --no-lock works without, if nothing else is running")
	}
	return lock, err
}

type noLock struct{}

func (noLock) Err(int) error { return nil }
func (noLock) Release()      {}

// apply puts the limits into the options of a pass.
func (o *limitOptions) apply(p *pass.Options) {
	p.Concurrency, p.ListConcurrency = int(o.concurrency), int(o.listConcurrency)
}
