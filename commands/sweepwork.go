package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"weedlc/internal/riverqueue"
	"weedlc/pass"
	"weedlc/sweep"
)

// sweepWorkOptions are the flags of sweep work and sweep run but those of the
// queue and the cluster, which sweep run has of enqueue.
type sweepWorkOptions struct {
	queue   queueOptions
	cluster clusterOptions
	rules   ruleOptions
	limits  limitOptions
	care    planOptions
	guards  guardOptions
	cursors storeOptions
	metrics metricsOptions
	output  outputOptions

	jobs, maxAttempts  int64
	maxAge, retryDelay time.Duration
	deletesPerSecond   float64
	walkerInterval     time.Duration
	metaLogRetention   time.Duration
	serve, drain       bool
	chunk              time.Duration
}

func (o *sweepWorkOptions) AddFlags(flags *pflag.FlagSet) {
	policy := sweep.DefaultPolicy()
	o.jobs, o.maxAttempts = 4, int64(policy.MaxAttempts)
	o.maxAge, o.retryDelay, o.chunk = policy.MaxAge, policy.RetryFirst, time.Minute
	flags.Var(countValue{&o.jobs, 1}, "jobs", "shards to work on at a time")
	flags.Var(countValue{&o.maxAttempts, 1}, "max-attempts", "executions of a job that may fail before it is a dead letter")
	flags.Var(durationValue{&o.maxAge}, "max-age", "how long after its admission a job may be executed before it is a dead letter")
	flags.Var(durationValue{&o.retryDelay}, "retry-delay", "pause before a job that failed is executed again, doubled with each attempt up to 30m, and before one that waits is looked at again")
	flags.Var(rateValue{&o.deletesPerSecond}, "cluster-deletes-per-second", "delete calls per second at most of all workers on this queue together; each is given the same; 0 is no limit")
	flags.Var(rateValue{&o.limits.deletesPerSecond}, "deletes-per-second", "taken for --cluster-deletes-per-second where that is not given")
	flags.Var(durationValue{&o.limits.runtime}, "runtime", "stop after this long, with the progress saved; 0 is no limit")
	settings(flags, "jobs", "max-attempts", "max-age", "retry-delay", "cluster-deletes-per-second", "deletes-per-second", "runtime")
	flags.Var(durationValue{&o.chunk}, "chunk", "how long one execution of a job may take; its lease is three of them, and every worker is given the same; 30s or more outside of drills")
	settings(flags, "chunk")
	o.limits.addConcurrency(flags)
	o.rules.AddFlags(flags)
	addWalkerInterval(flags, &o.walkerInterval)
	addMetaLogRetention(flags, &o.metaLogRetention)
	o.care.addCare(flags)
	o.cursors.AddFlags(flags)
	o.guards.AddFlags(flags)
	o.metrics.AddFlags(flags)
}

func (o *sweepWorkOptions) validate() error {
	var errs []error
	if o.maxAge == 0 {
		errs = append(errs, errors.New(`--max-age "0": must be more than 0`))
	}
	if o.retryDelay == 0 {
		errs = append(errs, errors.New(`--retry-delay "0": must be more than 0`))
	}
	if o.chunk < time.Second {
		errs = append(errs, fmt.Errorf("--chunk %q: must be 1s or more", formatDuration(o.chunk)))
	}
	if o.serve && o.drain {
		errs = append(errs, errors.New("--serve and --drain exclude each other"))
	}
	if o.deletesPerSecond == 0 {
		o.deletesPerSecond = o.limits.deletesPerSecond
	}
	return errors.Join(errs...)
}

// each is a chunk's part of a number that is the worker's.
func (o *sweepWorkOptions) each(n int64) int { return int(max(1, n/o.jobs)) }

const workLong = `
A job is one shard's pass, worked in chunks of a minute. Rules, locks, holds and
the pause are read by each chunk; the pass takes the shard's lock, so that run
and walk never work beside it. What becomes of a job:

  done      the shard's pass is complete; buckets whose rules cannot be read are
            left out and noted once for the sweep
  retried   the gateway asked for another time or could not be reached: again
            after --retry-delay, doubled each time, or when the gateway said, up
            to --max-attempts
  waits     for the shard's lock, a pause, the work time or a filer: no attempt
  dead      a delete is blocked, a cursor is corrupt, a guard held, or a budget
            (--max-attempts, --max-age) is used up: it waits for a person, see
            weedlc sweep dead-letters

--concurrency is divided among --jobs; a guard such as --max-deletes counts within
a chunk. The exit code is 3 when a job that it saw is dead or still waits. On a
pipe nothing is printed on standard output on a good day, with --output the whole
result. The last line on standard error is

  sweep_run: status=ok done=16 dead=0 left=0 deletes=1234 duration=7s
`

const workColumns = `
Columns with --output tsv: dead letters, as of sweep dead-letters.`

func newSweepWork(a *app) *cobra.Command {
	var o sweepWorkOptions
	cmd := &cobra.Command{
		Use:   "work [--drain | --serve]",
		Short: "Work on the jobs of the queue until nothing is left, or until stopped",
		Long: `Lease jobs of the queue and carry them out, as one of any number of workers: until
nothing is ready, running or waiting (--drain, the default), or until stopped
(--serve), within --runtime.
` + workLong + workColumns,
		Example: `  weedlc sweep work --runtime 4h
  weedlc sweep work --serve --queue postgres://weedlc@db1/weedlc --cluster-deletes-per-second 500`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context(), a, nil)
		},
	}
	flags := cmd.Flags()
	o.queue.AddFlags(flags)
	o.cluster.AddFlags(flags)
	o.output.AddFlags(flags, "only what was left undone")
	flags.BoolVar(&o.drain, "drain", false, "end when nothing is left to do (the default)")
	flags.BoolVar(&o.serve, "serve", false, "go on when nothing is left to do")
	o.AddFlags(flags)
	return cmd
}

func newSweepRun(a *app) *cobra.Command {
	var o sweepWorkOptions
	var admit enqueueOptions
	cmd := &cobra.Command{
		Use:   "run [--every 24h | --sweep ID]",
		Short: "Admit today's sweep and work until nothing is left: the cron line for one host",
		Long: `Admit the sweep of the schedule's slot, as sweep enqueue does, and then work until
nothing is ready, running or waiting, as sweep work does, also on what earlier
sweeps have left.
` + workLong + workColumns,
		Example: `  weedlc sweep run --every 24h
  weedlc sweep run --every 24h --cluster-deletes-per-second 200 --runtime 20h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			id, err := admit.slot.sweepID(a.global.layers, a.host.Now())
			if err != nil {
				return err
			}
			o.queue, o.cluster = admit.queue, admit.cluster
			admit.allowUnfiltered = o.rules.allowUnfiltered
			return o.run(cmd.Context(), a, func(ctx context.Context, q sweep.Queue) error {
				_, _, err := admit.admit(ctx, a, q, id)
				return err
			})
		},
	}
	flags := cmd.Flags()
	admit.slot.AddFlags(flags)
	admit.queue.AddFlags(flags)
	admit.cluster.AddFlags(flags)
	o.output.AddFlags(flags, "only what was left undone")
	o.AddFlags(flags)
	return cmd
}

// run opens the queue, does what is to be done first, and works.
func (o *sweepWorkOptions) run(ctx context.Context, a *app, first func(context.Context, sweep.Queue) error) (err error) {
	metrics, err := o.metrics.open(a, "sweep", o.deletesPerSecond)
	if err != nil {
		return err
	}
	defer metrics.close()
	if err := o.prepare(a); err != nil {
		return err
	}
	q, err := o.queue.open(ctx, a, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if first != nil {
		if err := first(ctx, q); err != nil {
			return err
		}
	}
	begun := a.host.Now()
	meter := newSweepMeter(metrics)
	report, workErr := o.work(ctx, a, q, meter)
	result := sweepResult{Report: report, queue: q.Location(), now: begun, duration: a.host.Now().Sub(begun), failed: workErr != nil}
	a.stderr.clear()
	if writeErr := o.write(a, result); writeErr != nil {
		a.log.Debug("the result could not be written", "error", writeErr)
	}
	fmt.Fprintln(a.stderr, result.heartbeat())
	meter.publish(ctx, result.status(), result.undone())
	if workErr != nil {
		return queueError(workErr)
	}
	if code := result.code(); code != exitDone {
		return ending{code}
	}
	return nil
}

// prepare sets up what the chunks share, and finds out now whether they can keep
// their record.
func (o *sweepWorkOptions) prepare(a *app) error {
	o.guards.limiters = &bucketLimiters{rates: o.guards.rates, byBucket: map[string]*rate.Limiter{}}
	release, err := o.guards.apply(a, nil, &pass.Options{})
	if err != nil {
		return err
	}
	release()
	return nil
}

// stopWithin is the 10 s that calls in flight get, and the saving.
const stopWithin = 15 * time.Second

func (o *sweepWorkOptions) work(ctx context.Context, a *app, q *riverqueue.Queue, meter *sweepMeter) (sweep.Report, error) {
	host, err := os.Hostname()
	if err != nil {
		return sweep.Report{}, err
	}
	policy := sweep.DefaultPolicy()
	policy.MaxAttempts, policy.MaxAge = int(o.maxAttempts), o.maxAge
	policy.RetryFirst, policy.Wait = o.retryDelay, o.retryDelay
	policy.RetryMax = max(policy.RetryMax, o.retryDelay)
	log := sayOnce(a.log)
	executor := &sweepExecutor{app: a, options: o, log: log, meter: meter, keys: newKeyLocks()}
	return sweep.NewWorker(q, executor.execute, sweep.Options{
		// Containers share names and process ids.
		Worker: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6])), Host: host, PID: os.Getpid(),
		Jobs: int(o.jobs), Serve: o.serve, Runtime: o.limits.runtime, Chunk: o.chunk, Policy: policy, Limit: o.deletesPerSecond,
		StopWithin: stopWithin, Clock: a.host.Now, Jitter: randv2.Float64, Log: a.log,
		Observe: func(j sweep.Job, d sweep.Decision) {
			switch d.Step {
			case sweep.WaitUntil:
				log.Info("jobs wait: "+string(d.Category), "job", j.ID, "sweep", j.Sweep, "shard", j.Shard)
			case sweep.RetryAt:
				a.log.Warn("a job is retried", "job", j.ID, "sweep", j.Sweep, "shard", j.Shard, "category", string(d.Category), "attempt", j.Attempt, "at", d.At)
			case sweep.Bury:
				a.log.Warn("a job is dead and waits for a person", "job", j.ID, "sweep", j.Sweep, "shard", j.Shard, "category", string(d.Category))
			default:
				a.log.Debug("a chunk has ended", "job", j.ID, "sweep", j.Sweep, "shard", j.Shard, "step", string(d.Step))
			}
		},
	}).Run(ctx)
}
