package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type doctorOptions struct {
	cursorOptions
	allowUnfiltered bool
	queue           queueOptions
	limit           time.Duration
	output          outputOptions
}

func (o *doctorOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	addAllowUnfiltered(flags, &o.allowUnfiltered)
	o.queue.AddFlags(flags)
	o.limit = 10 * time.Second
	flags.Var(durationValue{&o.limit}, "check-timeout", "how long each check may take")
	settings(flags, "check-timeout")
	o.output.AddFlags(flags, "tsv")
}

func newDoctor(a *app) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that a pass can do its job from this host, and say what to mend",
		Long: `Check everything that a pass needs, from this host and with its configuration:
security.toml, the masters, each filer and each S3 gateway, TLS and tokens,
versions, clocks, the buckets' folder, the meta-log, locks, cursors, rules,
whether passes are paused, and the queue of sweeps where there is one. Every
check is made, whatever the others find, and each has its time limit. Nothing is
changed: no lock is taken, nothing is written.

Each line tells what was tried, what was found and what to do:

  ok       as it should be
  warning  a pass works, and this is worth a look
  failed   a pass does not work, or leaves something undone, until this is mended
  skipped  not tried, because another check failed

The exit code is 3 when a check failed. docs/doctor.md goes through the checks.

Columns with --output tsv: check, target, result, tried, found, what to do.`,
		Example: `  weedlc doctor
  weedlc doctor --output json | jq '.checks[] | select(.result != "ok")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.limit == 0 {
				return fmt.Errorf("--check-timeout %q: must be more than 0", "0")
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// checkResult is what came of one check, in one word.
type checkResult string

const (
	checkOK checkResult = "ok"
	// checkWarning leaves a pass working.
	checkWarning checkResult = "warning"
	// checkFailed keeps a pass from working, or makes it leave something undone.
	checkFailed checkResult = "failed"
	// checkSkipped was not tried, because of another check's failure.
	checkSkipped checkResult = "skipped"
)

// diagnosis is one check that was made.
type diagnosis struct {
	name string
	// target is what it was made on: a server, a shard, a bucket; empty is the
	// cluster.
	target string
	result checkResult
	// tried, found and todo are for a person; todo is empty where nothing is to
	// be done.
	tried, found, todo string
}

// ok, warn and fail complete a diagnosis.
func (d diagnosis) ok(format string, args ...any) diagnosis {
	d.result, d.found = checkOK, fmt.Sprintf(format, args...)
	return d
}

func (d diagnosis) warn(todo, format string, args ...any) diagnosis {
	d.result, d.found, d.todo = checkWarning, fmt.Sprintf(format, args...), todo
	return d
}

func (d diagnosis) fail(todo, format string, args ...any) diagnosis {
	d.result, d.found, d.todo = checkFailed, fmt.Sprintf(format, args...), todo
	return d
}

// doctor makes the checks of one invocation.
type doctor struct {
	*doctorOptions
	app *app
}

func (o *doctorOptions) run(ctx context.Context, a *app) error {
	d := &doctor{doctorOptions: o, app: a}
	list := d.checks(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.write(a, list); err != nil {
		return err
	}
	if countResults(list, checkFailed) > 0 {
		return ending{exitUndone}
	}
	return nil
}

// checks makes the checks of the servers and then, on the filers that answered,
// those of what is kept there.
func (d *doctor) checks(ctx context.Context) []diagnosis {
	options := d.app.dialOptions(d.cluster, false)
	servers := d.app.host.Survey(ctx, options, d.limit)
	list := d.servers(servers)

	var kept []keptCheck
	options.Filers = usableFilers(servers.Filers)
	c, err := d.connect(ctx, options)
	if c != nil {
		defer c.Close()
	}
	if err != nil {
		list = append(list, diagnosis{name: "filer", tried: "connect as a pass does"}.fail("", "%s", err))
	}
	for _, k := range d.kept() {
		if c == nil && k.onFiler {
			list = append(list, diagnosis{name: k.name, tried: k.tried, result: checkSkipped, found: "no filer can be asked"})
			continue
		}
		kept = append(kept, k)
	}
	made := make([]chan []diagnosis, len(kept))
	for i, k := range kept {
		made[i] = make(chan []diagnosis, 1)
		go func() { made[i] <- d.within(ctx, k, c) }()
	}
	for _, m := range made {
		list = append(list, <-m...)
	}
	return list
}

// connect dials the filers that answered; nil where there is none.
func (d *doctor) connect(ctx context.Context, o DialOptions) (*Cluster, error) {
	if len(o.Filers) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	return d.app.host.Dial(ctx, o)
}

// within makes a check within the limit. What does not heed its context is left
// behind.
func (d *doctor) within(ctx context.Context, k keptCheck, c *Cluster) []diagnosis {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	made := make(chan []diagnosis, 1)
	asked := diagnosis{name: k.name, tried: k.tried}
	go func() { made <- k.make(ctx, c, asked) }()
	select {
	case list := <-made:
		return list
	case <-time.After(d.limit + time.Second):
		return []diagnosis{asked.fail("--check-timeout gives it more time", "no answer within %s", formatDuration(d.limit))}
	}
}

func countResults(list []diagnosis, r checkResult) int {
	n := 0
	for _, d := range list {
		if d.result == r {
			n++
		}
	}
	return n
}

func (o *doctorOptions) write(a *app, list []diagnosis) error {
	form := o.output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, newDoctorJSON(list, a.host.Now()))
	}
	if form == formTSV {
		return doctorRows(list).write(a.host.Out, form)
	}
	if err := doctorTable(list).write(a.host.Out, form); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.host.Out, "\n%s\n", doctorSummary(list))
	return err
}

// doctorTable has what to do on a line of its own below what was found.
func doctorTable(list []diagnosis) rows {
	table := rows{header: []string{"RESULT", "CHECK", "TARGET", "TRIED AND FOUND"}}
	for _, d := range list {
		table.cells = append(table.cells, []cell{word(string(d.result)), word(d.name), dash(d.target), word(d.tried + ": " + d.found)})
		if d.todo != "" {
			table.cells = append(table.cells, []cell{word(""), word(""), word(""), word("hint: " + d.todo)})
		}
	}
	return table
}

func doctorRows(list []diagnosis) rows {
	var table rows
	for _, d := range list {
		table.cells = append(table.cells, []cell{
			word(d.name), word(d.target), word(string(d.result)), word(d.tried), word(d.found), word(d.todo),
		})
	}
	return table
}

func doctorSummary(list []diagnosis) string {
	failed, warnings := countResults(list, checkFailed), plural(countResults(list, checkWarning), "warning")
	if failed == 0 {
		return fmt.Sprintf("nothing failed, %s: a pass can do its job from here", warnings)
	}
	return fmt.Sprintf("%d failed, %s: a pass does not do its whole job until what failed is mended", failed, warnings)
}

// doctorJSON is the documented form of doctor (docs/json-output.md).
type doctorJSON struct {
	Now      time.Time   `json:"now"`
	Failed   int         `json:"failed"`
	Warnings int         `json:"warnings"`
	Checks   []checkJSON `json:"checks"`
}

type checkJSON struct {
	Check  string      `json:"check"`
	Target string      `json:"target"`
	Result checkResult `json:"result"`
	Tried  string      `json:"tried"`
	Found  string      `json:"found"`
	ToDo   string      `json:"to_do"`
}

func newDoctorJSON(list []diagnosis, now time.Time) doctorJSON {
	doc := doctorJSON{
		Now: now.UTC(), Failed: countResults(list, checkFailed), Warnings: countResults(list, checkWarning), Checks: []checkJSON{},
	}
	for _, d := range list {
		doc.Checks = append(doc.Checks, checkJSON{d.name, d.target, d.result, d.tried, d.found, d.todo})
	}
	return doc
}
