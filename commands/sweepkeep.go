package commands

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"weedlc/internal/riverqueue"
)

func newSweepMigrate(a *app) *cobra.Command {
	var queue queueOptions
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make the queue, or bring it to this release's schema",
		Long: `Make the queue, or bring it to the schema of this release, under a lock: of several
that do so at once one does the work. sweep run, enqueue and work do it by
themselves; this is for a database in which they may not create tables, and for
looking at a new queue before its first sweep.`,
		Example: `  weedlc sweep migrate --queue postgres://owner@db1/weedlc`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			location, options, err := queue.resolve(a, true)
			if err != nil {
				return err
			}
			from, to, err := riverqueue.Migrate(cmd.Context(), location, options)
			switch {
			case err != nil:
				return queueError(err)
			case from == to:
				a.notice("the queue has schema version %d: nothing to do", to)
			case from == 0:
				a.notice("the queue is made, with schema version %d", to)
			default:
				a.notice("the queue is brought from schema version %d to %d", from, to)
			}
			return nil
		},
	}
	queue.AddFlags(cmd.Flags())
	return cmd
}

func newSweepPrune(a *app) *cobra.Command {
	var queue queueOptions
	older := 90 * day
	cmd := &cobra.Command{
		Use:   "prune [--older-than 90d]",
		Short: "Remove what has been finished and closed for long",
		Long: `Remove finished jobs, closed dead letters, their history and the figures of
executions that are older than a time. Open dead letters stay, and so does the
name of every job: a sweep is never admitted a second time.`,
		Example: `  weedlc sweep prune --older-than 90d`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return prune(cmd.Context(), a, queue, older) },
	}
	queue.AddFlags(cmd.Flags())
	cmd.Flags().Var(durationValue{&older}, "older-than", "how long ago it was finished, at the least")
	return cmd
}

func prune(ctx context.Context, a *app, queue queueOptions, older time.Duration) (err error) {
	q, err := queue.open(ctx, a, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	p, err := q.Prune(ctx, a.host.Now().Add(-older))
	if err != nil {
		return queueError(err)
	}
	a.notice("removed: jobs %d, dead letters %d, events of history %d, executions %d", p.Jobs, p.DeadLetters, p.Events, p.Chunks)
	return nil
}
