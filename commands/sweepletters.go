package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"weedlc/sweep"
)

// letterOptions are the flags of sweep dead-letters.
type letterOptions struct {
	queue  queueOptions
	all    bool
	sweep  string
	shards shardsValue
	output outputOptions
}

func newSweepDeadLetters(a *app) *cobra.Command {
	var o letterOptions
	o.shards.single = true
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "Jobs that wait for a person: list them, show one",
		Long: `List the jobs that wait for a person, the oldest first. No worker touches them.
Redrive makes a new job of one, discard closes it; a later sweep of the shard that
succeeds closes it as superseded. The categories:

  blocked                 the gateway refuses to delete the object named here
  policy_or_input         a cursor is corrupt, or a guard held
  retry_budget_exhausted  --max-attempts executions failed
  age_budget_exhausted    it was not done within --max-age

Columns with --output tsv: job, sweep, shard, category, since, attempts, state,
bucket, key, version.`,
		Example: `  weedlc sweep dead-letters
  weedlc sweep dead-letters show 17`,
		Args: groupArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context(), a) },
	}
	flags := cmd.Flags()
	o.queue.AddFlags(flags)
	flags.BoolVarP(&o.all, "all", "a", false, "those that are closed, too")
	flags.StringVar(&o.sweep, "sweep", "", "those of the sweep with this `id` only")
	flags.Var(&o.shards, "shard", "those of one shard only")
	o.output.AddFlags(flags, "tsv")
	cmd.AddCommand(newSweepDeadLetterShow(a))
	return cmd
}

func newSweepDeadLetterShow(a *app) *cobra.Command {
	var queue queueOptions
	var output outputOptions
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Everything that is known of one dead letter, with its history",
		Long: `Show one dead letter, open or closed: what it stands in front of, when it was first
and last seen, and what people did with it.

Columns with --output tsv: what, value.`,
		Example: `  weedlc sweep dead-letters show 17`,
		Args:    oneJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showLetter(cmd.Context(), a, queue, output, args[0])
		},
	}
	queue.AddFlags(cmd.Flags())
	output.AddFlags(cmd.Flags(), "tsv")
	return cmd
}

func (o *letterOptions) list(ctx context.Context, a *app) (err error) {
	q, err := o.queue.open(ctx, a, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	filter := sweep.LetterFilter{Closed: o.all, Sweep: o.sweep}
	if len(o.shards.shards) > 0 {
		filter.Shard = &o.shards.shards[0]
	}
	now := a.host.Now()
	if o.sweep != "" {
		if _, err := q.Jobs(ctx, o.sweep, now); err != nil {
			return unknownHint(err)
		}
	}
	letters, err := q.DeadLetters(ctx, filter)
	if err != nil {
		return queueError(err)
	}
	form := o.output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, lettersJSON{DeadLetters: newLettersJSON(letters)})
	}
	if len(letters) == 0 && form == formTable {
		_, err := fmt.Fprintln(a.host.Out, "no dead letters")
		return err
	}
	return letterRows(letters, now, form).write(a.host.Out, form)
}

// unknownHint says where the ids are that there are.
func unknownHint(err error) error {
	if errors.Is(err, sweep.ErrNotFound) {
		return hint(err, "weedlc sweep status shows the sweeps, weedlc sweep dead-letters --all the dead letters")
	}
	return queueError(err)
}

// letterRows has what blocks in one column for a person and in three for a
// program.
func letterRows(letters []sweep.DeadLetter, now time.Time, form string) rows {
	table := rows{header: []string{"JOB", "SWEEP", "SHARD", "CATEGORY", "SINCE", "ATTEMPTS", "STATE", "BLOCKED BY"}}
	for _, l := range letters {
		since := cell{text: roundSpan(now.Sub(l.BuriedAt)) + " ago", raw: instant(l.BuriedAt, "").raw}
		if now.Sub(l.BuriedAt) < time.Minute {
			since.text = "just now"
		}
		line := []cell{
			count(l.JobID), word(l.Sweep), count(int64(l.Shard)), word(string(l.Category)), since,
			count(int64(l.Attempts)), word(letterState(l)),
		}
		if form == formTable {
			line = append(line, dash(blockerName(l.Blocker)))
		} else {
			line = append(line, word(l.Blocker.Bucket), word(l.Blocker.Key), word(l.Blocker.VersionID))
		}
		table.cells = append(table.cells, line)
	}
	return table
}

// letterState is a letter's state in a word.
func letterState(l sweep.DeadLetter) string {
	if l.State == sweep.JobDead {
		return "open"
	}
	return string(l.State)
}

func blockerName(b sweep.Blocker) string {
	name := b.Bucket
	if b.Key != "" {
		name += "/" + b.Key
	}
	if b.VersionID != "" {
		name += " (version " + b.VersionID + ")"
	}
	return name
}

func showLetter(ctx context.Context, a *app, queue queueOptions, output outputOptions, text string) (err error) {
	id, err := parseJob(text)
	if err != nil {
		return err
	}
	q, err := queue.open(ctx, a, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	l, err := q.DeadLetter(ctx, id)
	if err != nil {
		return unknownHint(err)
	}
	events, err := q.History(ctx, sweep.HistoryFilter{JobID: id})
	if err != nil {
		return queueError(err)
	}
	form := output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, letterShowJSON{newLetterJSON(l), newEventsJSON(events)})
	}
	table := rows{header: []string{"WHAT", "VALUE"}}
	add := func(what string, c cell) { table.cells = append(table.cells, []cell{word(what), c}) }
	add("job", count(l.JobID))
	add("sweep", word(l.Sweep))
	add("shard", count(int64(l.Shard)))
	add("category", word(string(l.Category)))
	add("state", word(letterState(l)))
	add("bucket", dash(l.Blocker.Bucket))
	add("key", dash(l.Blocker.Key))
	add("version", dash(l.Blocker.VersionID))
	add("policy", word(l.Policy))
	add("attempts", count(int64(l.Attempts)))
	add("first seen", instant(l.FirstSeen, "-"))
	add("last seen", instant(l.LastSeen, "-"))
	add("dead since", instant(l.BuriedAt, "-"))
	add("redrive of", jobCell(l.RedriveOf))
	add("closed", instant(l.ClosedAt, "-"))
	add("closed by job", jobCell(l.ClosedBy))
	for _, e := range events {
		add("history", word(eventLine(e)))
	}
	if err := table.write(a.host.Out, form); err != nil || form == formTSV || l.State != sweep.JobDead {
		return err
	}
	_, err = fmt.Fprintf(a.host.Out, "\nhint: once the cause is gone: weedlc sweep redrive %d --reason TEXT\n", id)
	return err
}

func jobCell(id int64) cell {
	if id == 0 {
		return dash("")
	}
	return count(id)
}

// oneJob takes the id of a job as the only argument.
func oneJob(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return hint(errors.New("no job is named"), "weedlc sweep dead-letters lists them; then %s JOB", cmd.CommandPath())
	case 1:
		return nil
	}
	return hint(fmt.Errorf("unexpected argument %q", args[1]), "%s --help", cmd.CommandPath())
}

func parseJob(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, hint(fmt.Errorf("job %q is not a number", text), "weedlc sweep dead-letters lists them")
	}
	return id, nil
}

type lettersJSON struct {
	DeadLetters []letterJSON `json:"dead_letters"`
}

// letterShowJSON is the documented form of sweep dead-letters show.
type letterShowJSON struct {
	letterJSON
	History []eventJSON `json:"history"`
}

// letterJSON is the documented form of a dead letter (docs/json-output.md).
type letterJSON struct {
	Job       int64          `json:"job"`
	Sweep     string         `json:"sweep"`
	Shard     int            `json:"shard"`
	Category  sweep.Category `json:"category"`
	State     string         `json:"state"`
	Bucket    string         `json:"bucket"`
	Key       string         `json:"key"`
	VersionID string         `json:"version_id"`
	Policy    string         `json:"policy"`
	Attempts  int            `json:"attempts"`
	FirstSeen time.Time      `json:"first_seen"`
	LastSeen  time.Time      `json:"last_seen"`
	DeadSince time.Time      `json:"dead_since"`
	// RedriveOf and ClosedBy are jobs; null is none.
	RedriveOf *int64     `json:"redrive_of"`
	Closed    *time.Time `json:"closed"`
	ClosedBy  *int64     `json:"closed_by"`
}

func newLetterJSON(l sweep.DeadLetter) letterJSON {
	return letterJSON{
		Job: l.JobID, Sweep: l.Sweep, Shard: l.Shard, Category: l.Category, State: letterState(l),
		Bucket: l.Blocker.Bucket, Key: l.Blocker.Key, VersionID: l.Blocker.VersionID, Policy: l.Policy, Attempts: l.Attempts,
		FirstSeen: l.FirstSeen.UTC(), LastSeen: l.LastSeen.UTC(), DeadSince: l.BuriedAt.UTC(),
		RedriveOf: jobJSON(l.RedriveOf), Closed: instantJSON(l.ClosedAt), ClosedBy: jobJSON(l.ClosedBy),
	}
}

func newLettersJSON(letters []sweep.DeadLetter) []letterJSON {
	list := []letterJSON{}
	for _, l := range letters {
		list = append(list, newLetterJSON(l))
	}
	return list
}

// jobJSON is a job's id for JSON; nil for 0.
func jobJSON(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

// instantJSON is a time for JSON; nil for the zero time.
func instantJSON(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
