package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weedlc/internal/riverqueue"
	"weedlc/sweep"
)

func newSweepRedrive(a *app) *cobra.Command {
	return newSweepAct(a, actCommand{
		use: "redrive JOB --reason TEXT", short: "Make a new job of a dead letter, once",
		long: `Make a new job of a dead letter, with an id of its own that points back to it and
fresh budgets, and close the letter. The next worker carries it out. A letter is
redriven once; if the new job dies, that is a letter of its own.`,
		example: `  weedlc sweep redrive 17 --reason "hold on logs/a lifted, ticket 4711"`,
		decide: func(ctx context.Context, q *riverqueue.Queue, id int64, act sweep.Act) (string, error) {
			j, err := sweep.Redrive(ctx, q, id, act)
			return fmt.Sprintf("dead letter %d is redriven: job %d of sweep %s, shard %d", id, j.ID, j.Sweep, j.Shard), err
		},
		after: "weedlc sweep work carries it out, if no worker is running",
	})
}

func newSweepDiscard(a *app) *cobra.Command {
	return newSweepAct(a, actCommand{
		use: "discard JOB --reason TEXT", short: "Close a dead letter without a new job",
		long: `Close a dead letter without a new job. The shard's next sweep tries again what is
due there.`,
		example: `  weedlc sweep discard 17 --reason "bucket is retired, ticket 4712"`,
		decide: func(ctx context.Context, q *riverqueue.Queue, id int64, act sweep.Act) (string, error) {
			return fmt.Sprintf("dead letter %d is discarded", id), sweep.Discard(ctx, q, id, act)
		},
	})
}

// actCommand is a decision on a dead letter as a command.
type actCommand struct {
	use, short, long, example string
	// decide returns what was done, for the person.
	decide func(ctx context.Context, q *riverqueue.Queue, id int64, act sweep.Act) (string, error)
	after  string
}

func newSweepAct(a *app, c actCommand) *cobra.Command {
	var queue queueOptions
	var reason string
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Example: c.example, Args: oneJob,
		Long: c.long + `

Who did it (user and host), when and why is kept: weedlc sweep history.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			id, err := parseJob(args[0])
			if err != nil {
				return err
			}
			if strings.TrimSpace(reason) == "" {
				return hint(errors.New("--reason is missing: others will want to know"), "%s %d --reason TEXT", cmd.CommandPath(), id)
			}
			ctx := cmd.Context()
			q, err := queue.open(ctx, a, false)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, q.Close()) }()
			done, err := c.decide(ctx, q, id, a.act(reason))
			if closed, ok := errors.AsType[*sweep.ClosedError](err); ok {
				return hint(err, "weedlc sweep history --job %d tells who did it and why", closed.Letter.JobID)
			}
			if err != nil {
				return unknownHint(err)
			}
			a.notice("%s", done)
			if c.after != "" {
				a.notice("%s", c.after)
			}
			return nil
		},
	}
	queue.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who look later; required")
	return cmd
}
