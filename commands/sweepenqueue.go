package commands

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
	"weedlc/sweep"
)

// enqueueOptions are the flags of sweep enqueue, and of sweep run beside those
// of work.
type enqueueOptions struct {
	slot            slotOptions
	queue           queueOptions
	cluster         clusterOptions
	allowUnfiltered bool
	output          outputOptions
}

func (o *enqueueOptions) AddFlags(flags *pflag.FlagSet) {
	o.slot.AddFlags(flags)
	o.queue.AddFlags(flags)
	o.cluster.AddFlags(flags)
	addAllowUnfiltered(flags, &o.allowUnfiltered)
	o.output.AddFlags(flags, "nothing")
}

func newSweepEnqueue(a *app) *cobra.Command {
	var o enqueueOptions
	cmd := &cobra.Command{
		Use:   "enqueue [--every 24h | --sweep ID]",
		Short: "Admit a sweep: one job for each shard, once",
		Long: `Admit a sweep into the queue, which is made if there is none: one job for each of
the 16 shards. A sweep that was admitted before is not admitted again, from
whatever host, however long ago.

Without --sweep the id is the slot of the schedule that now falls into: the floor
of now (UTC) to --every. A tick of cron that comes late or twice names the same
sweep.

A job keeps the short hash of the rules as they are now, for the record; what is
done goes by the rules as they are when it is done. Where no filer answers, the
sweep is admitted without it.

Columns with --output tsv, for each job that was made: job, sweep, shard.`,
		Example: `  weedlc sweep enqueue --every 24h
  weedlc sweep enqueue --sweep incident-12 --queue postgres://weedlc@db1/weedlc`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *enqueueOptions) run(ctx context.Context, a *app) (err error) {
	id, err := o.slot.sweepID(a.global.layers, a.host.Now())
	if err != nil {
		return err
	}
	q, err := o.queue.open(ctx, a, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	admission, jobs, err := o.admit(ctx, a, q, id)
	if err != nil {
		return err
	}
	switch {
	case o.output.form == formJSON:
		return writeJSON(a.host.Out, newAdmissionJSON(admission, jobs))
	case o.output.form == "" && !a.host.OutTTY:
		return nil
	}
	table := rows{header: []string{"JOB", "SWEEP", "SHARD"}}
	for _, j := range jobs {
		table.cells = append(table.cells, []cell{count(j.ID), word(j.Sweep), count(int64(j.Shard))})
	}
	return table.write(a.host.Out, o.output.chosen(a))
}

// admit admits a sweep of all shards and says so.
func (o *enqueueOptions) admit(ctx context.Context, a *app, q sweep.Queue, id string) (sweep.Admission, []sweep.Job, error) {
	policy, err := o.policy(ctx, a)
	if err != nil {
		if ctx.Err() != nil {
			return sweep.Admission{}, nil, err
		}
		a.log.Warn("the sweep is admitted without the hash of the rules", "error", err)
		policy = policyUnknown
	}
	admission := sweep.Admission{Sweep: id, Shards: allShards(), Policy: policy, Now: a.host.Now()}
	jobs, err := sweep.Enqueue(ctx, q, admission)
	switch {
	case err != nil:
		return admission, nil, queueError(err)
	case len(jobs) == 0:
		a.notice("sweep %s was admitted before: nothing is added", id)
	default:
		a.notice("sweep %s is admitted: %s", id, plural(len(jobs), "job"))
	}
	return admission, jobs, nil
}

// policyUnknown stands for the hash of rules that could not be read.
const policyUnknown = "unknown"

// policy is the short hash of the rules as they are.
func (o *enqueueOptions) policy(ctx context.Context, a *app) (string, error) {
	c, err := a.dial(ctx, o.cluster, false)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, snapshot, err := installedRules(ctx, c, o.allowUnfiltered)
	if err != nil {
		return "", err
	}
	const digits = 16
	return engine.ReplayContentHash(snapshot).String()[:digits], nil
}

// admissionJSON is the documented form of sweep enqueue (docs/json-output.md).
type admissionJSON struct {
	Sweep string `json:"sweep"`
	// Policy is the short hash of the rules, or "unknown".
	Policy string `json:"policy"`
	// Jobs are those that were made; none when the sweep had been admitted.
	Jobs []admittedJSON `json:"jobs"`
}

type admittedJSON struct {
	Job   int64 `json:"job"`
	Shard int   `json:"shard"`
}

func newAdmissionJSON(admission sweep.Admission, jobs []sweep.Job) admissionJSON {
	doc := admissionJSON{Sweep: admission.Sweep, Policy: admission.Policy, Jobs: []admittedJSON{}}
	for _, j := range jobs {
		doc.Jobs = append(doc.Jobs, admittedJSON{j.ID, j.Shard})
	}
	return doc
}
