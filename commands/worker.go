package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/internal/adminworker"
	"weedlc/internal/cluster"
	"weedlc/pass"
)

// workerOptions are the flags of worker. The rate, the time for a job and what
// concerns every pass are set at the admin server.
type workerOptions struct {
	admin, id string

	cluster clusterOptions
	rules   ruleOptions
	limits  limitOptions
	plan    planOptions
	locks   lockOptions
	guards  guardOptions
	metrics metricsOptions
}

func (o *workerOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.admin, "admin", "", "the admin server's `address`, host:port of its web interface; host:port.grpcport where workers connect to another port than 10000 above")
	flags.StringVar(&o.id, "worker-id", "", "`name` of this worker at the admin server (default weedlc-HOST-PID)")
	settings(flags, "admin", "worker-id")
	o.cluster.AddFlags(flags)
	o.rules.AddFlags(flags)
	o.limits.addConcurrency(flags)
	o.plan.addCare(flags)
	// Longer than the locks of a worker outlive it.
	o.locks.wait = time.Minute
	o.locks.AddFlags(flags)
	o.guards.AddFlags(flags)
	o.metrics.AddFlags(flags)
}

func (o *workerOptions) validate(layers map[string]layer) error {
	// Whoever takes no locks has not asked for the wait that a worker has anyhow.
	if o.locks.noLock && layers["wait"] == fromDefault {
		o.locks.wait = 0
	}
	if o.admin == "" {
		return hint(errors.New("no admin server is given"), "weedlc worker --admin HOST:PORT")
	}
	return o.locks.validate()
}

func newWorker(a *app) *cobra.Command {
	var o workerOptions
	cmd := &cobra.Command{
		Use:   "worker --admin HOST:PORT",
		Short: "Serve the s3_lifecycle jobs of a SeaweedFS admin server",
		Long: `Connect to a SeaweedFS admin server as a worker for its job type s3_lifecycle,
and carry out what its scheduler asks for, until stopped. Each job is a pass over
a range of shards: the workers that are connected divide one pass among them.

How often a pass is made, how many deletes per second the cluster may see, how
long a job may take and the like is set on the admin server's page. Progress and
results are shown there. Masters are those that the admin server names, unless
--master is given.

There must be no built-in worker for s3_lifecycle on the same admin server: its
passes cover all shards and take no locks. A worker that sees one ends with an
error that names it. To see others the worker reads the admin server's web
interface; where that asks for a login it is admin.readonly or admin in
security.toml. TLS is that of grpc.worker there.

SIGTERM ends the worker: calls in flight get 10 s, the progress is saved, and
the job is reported as not finished. See docs/worker.md.`,
		Example: `  weedlc worker --admin admin1:12535
  weedlc worker --admin admin1:12535 --worker-id rack7 --metrics-listen :9327`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(a.global.layers); err != nil {
				return err
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *workerOptions) run(ctx context.Context, a *app) error {
	metrics, err := o.metrics.open(a, "worker", 0)
	if err != nil {
		return err
	}
	defer metrics.close()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if o.id == "" {
		o.id = fmt.Sprintf("weedlc-%s-%d", host, os.Getpid())
	}
	admin, err := cluster.NewAdmin(ctx, cluster.AdminOptions{
		Address: o.admin, AllowPlaintext: o.cluster.allowPlaintext, SecurityDirs: a.host.configDirs(),
	})
	if err != nil {
		return err
	}
	defer admin.Close()
	build, _ := debug.ReadBuildInfo()
	jobs := &workerJobs{options: o, app: a, metrics: metrics}
	err = adminworker.New(adminworker.Options{
		ID: o.id, Host: host, Version: newVersionInfo(a.host.Version, build).Version, Log: a.log,
		Connect: func(ctx context.Context) (adminworker.Stream, error) {
			stream, err := admin.WorkerStream(ctx)
			if err != nil {
				return nil, err
			}
			return stream, nil
		},
		Peers: func(ctx context.Context) ([]adminworker.Peer, error) {
			workers, err := admin.Workers(ctx)
			var peers []adminworker.Peer
			for _, w := range workers {
				peers = append(peers, adminworker.Peer(w))
			}
			return peers, err
		},
		Work: jobs.work,
	}).Run(ctx)
	if found, ok := errors.AsType[*adminworker.BuiltInError](err); ok {
		return builtInHint(found)
	}
	return err
}

// builtInHint says how to start the worker that is in the way without the job
// type.
func builtInHint(err *adminworker.BuiltInError) error {
	if others := err.Without(); len(others) > 0 {
		return hint(err, "start that one with -jobType=%s", strings.Join(others, ","))
	}
	return hint(err, "stop that one")
}

// workerJobs carries out the jobs of a worker, one at a time.
type workerJobs struct {
	options *workerOptions
	app     *app
	metrics *meter
}

// work is one job.
func (j *workerJobs) work(ctx context.Context, job adminworker.Job, tell func(adminworker.Progress)) adminworker.Result {
	report, err := j.pass(ctx, job, tell)
	if err != nil {
		j.metrics.publish(ctx, err)
		return adminworker.Result{Undone: err.Error()}
	}
	fmt.Fprintln(j.app.stderr, heartbeat(report))
	var end error
	if code := worst(codesOf(report)...); code != exitDone {
		end = ending{code}
	}
	j.metrics.publish(ctx, end)
	return jobResult(report, job)
}

func (j *workerJobs) pass(ctx context.Context, job adminworker.Job, tell func(adminworker.Progress)) (*pass.Report, error) {
	o, a := j.options, j.app
	limits := limitOptions{
		concurrency: o.limits.concurrency, listConcurrency: o.limits.listConcurrency,
		runtime: job.MaxRuntime, deletesPerSecond: job.DeletesPerSecond, burst: job.Burst,
	}
	plan := planOptions{
		walkerInterval: job.WalkerInterval, metaLogRetention: job.MetaLogRetention,
		settle: o.plan.settle, reconcileInterval: o.plan.reconcileInterval,
	}
	where := o.cluster
	if a.global.layers["master"] == fromDefault && len(job.Masters) > 0 {
		where.masters = job.Masters
	}

	now := a.host.Now()
	opts := pass.Options{Now: now, Shards: job.Shards, Until: limits.until(now), Limiter: limits.limiter(), Log: a.log}
	plan.apply(&opts)
	o.rules.apply(&opts)
	limits.apply(&opts)
	if j.metrics != nil {
		j.metrics.Limit(job.DeletesPerSecond)
	}
	j.metrics.attach(&opts)
	opts.Progress = &jobProgress{app: a, say: tell}

	tell(adminworker.Progress{Stage: "connecting", Message: jobShare(job), Now: true})
	c, err := a.dial(ctx, where, true)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	release, err := o.guards.apply(a, c.Cursors, &opts)
	if err != nil {
		return nil, err
	}
	defer release()
	store := (&storeOptions{}).open(a, c)
	tell(adminworker.Progress{Stage: "locking", Message: "taking the locks of the shards", Now: true})
	return a.carryOut(ctx, c, o.locks, opts, func(ctx context.Context, opts pass.Options) *pass.Report {
		return pass.Run(ctx, opts, pass.Deps{Filer: c.Filer, Gateway: c.Gateway, Store: store})
	})
}
