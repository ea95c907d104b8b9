package commands

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/cursorfile"
)

type statusOptions struct {
	cursorOptions
	rules  ruleOptions
	queue  queueOptions
	maxLag time.Duration
	check  bool
	output outputOptions
}

func (o *statusOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	o.rules.AddFlags(flags)
	o.queue.AddFlags(flags)
	o.maxLag = 26 * time.Hour
	flags.Var(durationValue{&o.maxLag}, "max-lag", "how far a shard may be behind before it needs a person; 0 is no limit")
	flags.BoolVar(&o.check, "check", false, "exit 3 when something needs a person")
	settings(flags, "max-lag")
	o.output.AddFlags(flags, "tsv")
}

func newStatus(a *app) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How the cluster's lifecycle stands, on one page",
		Long: `Show on one page how the cluster's lifecycle stands: whether passes are paused,
how many buckets have rules and how many of them no pass has taken up, where the
shards are and what holds them up, when the last pass was, walks that are to go
on, and the queue of sweeps where there is one. Each line names the command that
tells more.

A shard is behind by the time since all its work was done that was to be done by
then: since the last pass, or since what blocks it became due. Its lag is the age
of its position, and longer by the longest delay of the rules.

With --check the exit code is 3 when something needs a person: a pause, a bucket
whose rules are unreadable or refused, a shard that is blocked, damaged, behind
by more than --max-lag or was never run, deletes of a walk that failed, a dead
letter.

Columns with --output tsv: what, state (ok, note, attention), what there is to
say, the command that tells more.`,
		Example: `  weedlc status
  weedlc status --check --output json | jq -r '.attention[]'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// statusState says in one word whether a line of the page needs a person.
type statusState string

const (
	statusOK   statusState = "ok"
	statusNote statusState = "note"
	// statusAttention is what --check exits for.
	statusAttention statusState = "attention"
)

// statusLine is one line of the page.
type statusLine struct {
	what  string
	state statusState
	says  string
	// more is the command that tells more; empty where there is none.
	more string
}

func (o *statusOptions) run(ctx context.Context, a *app) error {
	c, err := a.dial(ctx, o.cluster, false)
	if err != nil {
		return err
	}
	defer c.Close()
	facts, err := o.gather(ctx, a, c)
	if err != nil {
		return err
	}
	lines := facts.lines()
	if err := o.write(a, facts, lines); err != nil {
		return err
	}
	if o.check && len(attention(lines)) > 0 {
		return ending{exitUndone}
	}
	return nil
}

// gather reads what the page shows.
func (o *statusOptions) gather(ctx context.Context, a *app, c *Cluster) (*statusFacts, error) {
	buckets, snapshot, err := installedRules(ctx, c, o.rules.allowUnfiltered)
	if err != nil {
		return nil, err
	}
	f := &statusFacts{now: a.host.Now(), maxLag: o.maxLag, buckets: buckets}
	if o.queue.exists(a) {
		f.queue, f.queueErr = o.queue.figures(ctx, a)
	}
	if f.pause, err = cursorfile.ReadPause(ctx, o.store.files(c)); err != nil {
		return nil, err
	}
	views, err := loadViews(ctx, o.store.open(a, c), allShards(), f.now)
	if err != nil {
		return nil, err
	}
	backlog := backlog{now: f.now, snapshot: snapshot, midnight: o.rules.dayClock == midnight}
	for _, v := range views {
		f.shards = append(f.shards, newShardStatus(v, backlog))
	}
	for i := range f.buckets {
		f.buckets[i].take(snapshot, readable(views))
	}
	return f, nil
}

func (o *statusOptions) write(a *app, f *statusFacts, lines []statusLine) error {
	form := o.output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, newStatusJSON(f, lines))
	}
	return writePage(a.host.Out, form, lines)
}

// writePage renders lines as a table with its sum, or as tab-separated values.
func writePage(w io.Writer, form string, lines []statusLine) error {
	table := rows{header: []string{"WHAT", "STATE", "HOW IT STANDS", "MORE"}}
	for _, l := range lines {
		table.cells = append(table.cells, []cell{word(l.what), word(string(l.state)), word(l.says), word(l.more)})
	}
	if err := table.write(w, form); err != nil || form == formTSV {
		return err
	}
	end := "nothing needs a person"
	if n := len(attention(lines)); n > 0 {
		end = fmt.Sprintf("%s attention", verb(n, "line needs", "lines need"))
	}
	_, err := fmt.Fprintf(w, "\n%s\n", end)
	return err
}

// verb is a number with the words for one or for several.
func verb(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// attention are the lines that need a person, as one text each.
func attention(lines []statusLine) []string {
	list := []string{}
	for _, l := range lines {
		if l.state == statusAttention {
			list = append(list, strings.TrimSuffix(l.what+": "+l.says, ": "))
		}
	}
	return list
}
