package commands

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/pass"
)

// walkOptions are the flags of walk.
type walkOptions struct {
	cluster clusterOptions
	shards  shardOptions
	rules   ruleOptions
	limits  limitOptions
	locks   lockOptions
	output  outputOptions
	metrics metricsOptions
	cursors storeOptions
	guards  guardOptions
	exclude excludeOptions

	buckets []string
	all     bool
	prefix  string
}

func (o *walkOptions) AddFlags(flags *pflag.FlagSet) {
	o.cluster.AddFlags(flags)
	o.shards.AddFlags(flags)
	o.rules.AddFlags(flags)
	o.limits.AddFlags(flags)
	o.locks.AddFlags(flags)
	o.output.AddFlags(flags, "only what was left undone")
	o.metrics.AddFlags(flags)
	o.cursors.AddFlags(flags)
	o.guards.AddFlags(flags)
	o.exclude.AddFlags(flags)
	flags.Var(newList(&o.buckets), "bucket", "buckets to walk")
	flags.BoolVar(&o.all, "all-buckets", false, "walk every bucket that has rules")
	flags.StringVar(&o.prefix, "prefix", "", "walk keys with this `prefix` only")
}

func (o *walkOptions) validate() error {
	switch {
	case o.all && len(o.buckets) > 0:
		return errors.New("--bucket and --all-buckets exclude each other")
	case !o.all && len(o.buckets) == 0:
		return hint(errors.New("nothing to walk: give --bucket or --all-buckets"), "weedlc walk --bucket BUCKET")
	case slices.Contains(o.buckets, ""):
		return errors.New(`--bucket "": must not be empty`)
	}
	return errors.Join(o.limits.validate(), o.locks.validate(), o.exclude.validate(o.buckets, o.prefix))
}

func newWalk(a *app) *cobra.Command {
	var o walkOptions
	cmd := &cobra.Command{
		Use:   "walk --bucket BUCKET | --all-buckets",
		Short: "Walk buckets now and delete what is due; no position moves",
		Long: `List the buckets, judge every object and delete what the rules say is due now.

A walk reads no cursor and moves none: it is safe at any time, and what run
would do later it will do all the same. It takes the shards' locks, so that no
pass works beside it. The result has the form of that of run. Beside the cursors,
where --cursor-dir says they are, it looks for a pause only.`,
		Example: `  weedlc walk --bucket logs
  weedlc walk --bucket logs --prefix 2024/ --deletes-per-second 100
  weedlc walk --all-buckets --exclude-bucket archive --shards 0-3`,
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

func (o *walkOptions) run(ctx context.Context, a *app) error {
	shards, err := o.shards.selected(a.global.layers)
	if err != nil {
		return err
	}
	metrics, err := o.metrics.open(a, "walk", o.limits.deletesPerSecond)
	if err != nil {
		return err
	}
	defer metrics.close()
	now := a.host.Now()
	c, err := a.dial(ctx, o.cluster, true)
	if err != nil {
		metrics.publish(ctx, err)
		return err
	}
	defer c.Close()
	opts := pass.Options{Shards: shards}
	o.rules.apply(&opts)
	o.limits.apply(&opts)
	opts.Until, opts.Limiter = o.limits.until(now), o.limits.limiter()
	metrics.attach(&opts)
	release, err := o.guards.apply(a, o.cursors.files(c), &opts)
	if err != nil {
		metrics.publish(ctx, err)
		return err
	}
	defer release()
	return a.pass(ctx, c, o.locks, opts, o.output.form, func(ctx context.Context, opts pass.Options) *pass.Report {
		walk := pass.WalkOptions{Options: opts, Buckets: o.buckets, Prefix: o.prefix}
		o.exclude.apply(&walk)
		return pass.Walk(ctx, walk, pass.Deps{Filer: c.Filer, Gateway: c.Gateway})
	})
}
