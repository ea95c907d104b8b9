package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weedlc/sweep"
)

// historyOptions are the flags of sweep history.
type historyOptions struct {
	queue  queueOptions
	job    int64
	sweep  string
	since  time.Duration
	output outputOptions
}

func newSweepHistory(a *app) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history",
		Short: "What became of dead letters, who decided and why",
		Long: `List what happened to dead letters, the oldest first: buried (by a worker),
redriven and discarded (by a person), superseded (by a later sweep).

Columns with --output tsv: time, what, job, sweep, shard, other job, category,
user, host, reason.`,
		Example: `  weedlc sweep history --since 7d
  weedlc sweep history --job 17`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	o.queue.AddFlags(flags)
	flags.Var(countValue{&o.job, 0}, "job", "that of one job only, and what names it; 0 is every job")
	flags.StringVar(&o.sweep, "sweep", "", "that of the sweep with this `id` only")
	flags.Var(durationValue{&o.since}, "since", "how far back; 0 is everything")
	o.output.AddFlags(flags, "tsv")
	return cmd
}

func (o *historyOptions) run(ctx context.Context, a *app) (err error) {
	q, err := o.queue.open(ctx, a, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	filter := sweep.HistoryFilter{JobID: o.job, Sweep: o.sweep}
	if o.since > 0 {
		filter.Since = a.host.Now().Add(-o.since)
	}
	if o.sweep != "" {
		if _, err := q.Jobs(ctx, o.sweep, a.host.Now()); err != nil {
			return unknownHint(err)
		}
	}
	events, err := q.History(ctx, filter)
	if err != nil {
		return queueError(err)
	}
	form := o.output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, historyJSON{newEventsJSON(events)})
	}
	table := rows{header: []string{"TIME", "WHAT", "JOB", "SWEEP", "SHARD", "OTHER JOB", "CATEGORY", "USER", "HOST", "REASON"}}
	for _, e := range events {
		other := jobCell(e.Other)
		table.cells = append(table.cells, []cell{
			instant(e.At, "-"), word(string(e.Kind)), count(e.JobID), word(e.Sweep), count(int64(e.Shard)),
			other, dash(string(e.Category)), dash(e.User), dash(e.Host), dash(e.Reason),
		})
	}
	return table.write(a.host.Out, form)
}

// eventLine is an event as one text.
func eventLine(e sweep.Event) string {
	line := e.At.UTC().Format(time.RFC3339) + " " + string(e.Kind)
	if e.Other != 0 {
		line += fmt.Sprintf(", job %d", e.Other)
	}
	if e.User != "" {
		line += ", by " + e.User + "@" + e.Host
	}
	if e.Reason != "" {
		line += ": " + e.Reason
	}
	return line
}

type historyJSON struct {
	History []eventJSON `json:"history"`
}

// eventJSON is the documented form of an event (docs/json-output.md).
type eventJSON struct {
	At    time.Time       `json:"at"`
	What  sweep.EventKind `json:"what"`
	Job   int64           `json:"job"`
	Sweep string          `json:"sweep"`
	Shard int             `json:"shard"`
	// OtherJob is the new job of a redrive, or the one that superseded; null is
	// none.
	OtherJob *int64         `json:"other_job"`
	Category sweep.Category `json:"category"`
	Reason   string         `json:"reason"`
	User     string         `json:"user"`
	Host     string         `json:"host"`
}

func newEventsJSON(events []sweep.Event) []eventJSON {
	list := []eventJSON{}
	for _, e := range events {
		list = append(list, eventJSON{
			At: e.At.UTC(), What: e.Kind, Job: e.JobID, Sweep: e.Sweep, Shard: e.Shard,
			OtherJob: jobJSON(e.Other), Category: e.Category, Reason: e.Reason, User: e.User, Host: e.Host,
		})
	}
	return list
}
