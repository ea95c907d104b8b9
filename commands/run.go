package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/pass"
)

// runOptions are the flags of run.
type runOptions struct {
	cluster clusterOptions
	shards  shardOptions
	rules   ruleOptions
	limits  limitOptions
	locks   lockOptions
	cursors storeOptions
	guards  guardOptions
	output  outputOptions
	plan    planOptions
	metrics metricsOptions

	refresh time.Duration
}

func (o *runOptions) AddFlags(flags *pflag.FlagSet) {
	o.cluster.AddFlags(flags)
	o.shards.AddFlags(flags)
	o.rules.AddFlags(flags)
	o.limits.AddFlags(flags)
	o.locks.AddFlags(flags)
	o.cursors.AddFlags(flags)
	o.output.AddFlags(flags, "only what was left undone")
	o.plan.AddFlags(flags)
	o.guards.AddFlags(flags)
	o.metrics.addConfigurable(flags)
	flags.Var(durationValue{&o.refresh}, "refresh", "start another pass this long after the start of the last; 0 is one pass")
	settings(flags, "refresh")
}

func (o *runOptions) validate() error {
	return errors.Join(o.limits.validate(), o.locks.validate())
}

func newRun(a *app) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "One pass: delete what the rules say is due, and save the positions",
		Long: `Run one pass over the shards: read the meta-log from where the last pass
stopped, walk the buckets that need it, delete what is due now, save the
positions, stop.

The first pass over a cluster has no positions: it walks every bucket that has
rules, and says so before it starts. An object is deleted only if the gateway
still sees exactly what was judged here. What could not be done is named on
standard output, keeps its place, and is tried again by the next pass.

On a terminal the result is a table of the shards. On a pipe it is what was
left undone and how to go on, so that cron's mail is empty on a good day; with
--output the whole result. The last line on standard error is the heartbeat:

  daily_run: status=ok shards=16 errors=0 duration=7s cursor_lag_max=2h0m0s walked_max_age=3m0s

Columns with --output tsv: shard, status, position, lag in seconds, events read,
entries walked, delete calls, reason for a recovery walk, blocked object.`,
		Example: `  weedlc run
  weedlc run --shards 0-7 --deletes-per-second 200 --runtime 2h
  weedlc run --output json | jq .totals`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *runOptions) run(ctx context.Context, a *app) error {
	shards, err := o.shards.selected(a.global.layers)
	if err != nil {
		return err
	}
	metrics, err := o.metrics.open(a, "run", o.limits.deletesPerSecond)
	if err != nil {
		return err
	}
	defer metrics.close()
	start := a.host.Now()
	until, limiter := o.limits.until(start), o.limits.limiter()
	c, err := a.dial(ctx, o.cluster, true)
	if err != nil {
		metrics.publish(ctx, err)
		return err
	}
	defer c.Close()
	store := o.cursors.open(a, c)

	for {
		start = a.host.Now()
		opts := pass.Options{Shards: shards}
		o.plan.apply(&opts)
		o.rules.apply(&opts)
		o.limits.apply(&opts)
		opts.Until, opts.Limiter = until, limiter
		metrics.attach(&opts)
		release, err := o.guards.apply(a, o.cursors.files(c), &opts)
		if err != nil {
			metrics.publish(ctx, err)
			return err
		}
		err = a.pass(ctx, c, o.locks, opts, o.output.form, func(ctx context.Context, opts pass.Options) *pass.Report {
			return pass.Run(ctx, opts, pass.Deps{Filer: c.Filer, Gateway: c.Gateway, Store: store})
		})
		release()
		next := start.Add(o.refresh)
		if o.refresh == 0 || codeOf(err) == exitInterrupted || !until.IsZero() && !next.Before(until) {
			return err
		}
		a.tell(err)
		if err := a.host.Sleep(ctx, next.Sub(a.host.Now())); err != nil {
			return err
		}
	}
}

// pass takes the locks, carries out one pass, and renders it. An ending is
// what it returns when the pass did not do everything.
func (a *app) pass(ctx context.Context, c *Cluster, locks lockOptions, opts pass.Options, form string,
	carryOut func(context.Context, pass.Options) *pass.Report) error {
	opts.Log, opts.Progress = a.log, newProgress(a)
	report, err := a.carryOut(ctx, c, locks, opts, carryOut)
	if err == nil {
		err = endingOf(report)
	}
	publish(ctx, opts.Meter, err)
	if report == nil {
		return err
	}
	a.stderr.clear()
	writeErr := a.writeReport(report, form)
	fmt.Fprintln(a.stderr, heartbeat(report))
	if writeErr != nil {
		a.log.Debug("the result could not be written", "error", writeErr)
	}
	return err
}

// endingOf is what a command returns for a report that has been told.
func endingOf(r *pass.Report) error {
	if code := worst(codesOf(r)...); code != exitDone {
		return ending{code}
	}
	return nil
}

// carryOut takes the locks and carries out one pass, unless none must begin.
func (a *app) carryOut(ctx context.Context, c *Cluster, locks lockOptions, opts pass.Options,
	carryOut func(context.Context, pass.Options) *pass.Report) (*pass.Report, error) {
	opts.Now, opts.Clock = a.host.Now(), a.host.Now
	if opts.Guards.Paused == nil {
		opts.Guards.Paused = pausedIn(c.Cursors)
	}
	if held := pass.Held(ctx, opts); held != nil {
		return held, nil
	}
	lock, err := locks.take(ctx, a, c, opts.Shards)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	// What another pass did during the wait is in the log by now.
	opts.Now, opts.Held = a.host.Now(), lock.Err
	return carryOut(ctx, opts), nil
}
