package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/internal/metrics"
	"weedlc/sweep"
)

// sweepStatusOptions are the flags of sweep status.
type sweepStatusOptions struct {
	queue   queueOptions
	late    lateOptions
	window  time.Duration
	check   bool
	metrics metricsOptions
	output  outputOptions
}

// lateOptions say when a sweep is late.
type lateOptions struct {
	after, every time.Duration
}

// defaultLate fits the default age budget: what a worker has looked at is done
// or dead by then.
const defaultLate = 6 * time.Hour

func (o *lateOptions) AddFlags(flags *pflag.FlagSet) {
	o.after = defaultLate
	flags.Var(durationValue{&o.after}, "late-after", "how long after its admission a sweep may have unfinished jobs")
	settings(flags, "late-after")
	addEvery(flags, &o.every, "interval of the schedule: the latest sweep is not to be older than this and --late-after; 0 is no schedule")
}

func newSweepStatus(a *app) *cobra.Command {
	var o sweepStatusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How the queue stands: jobs, ages, rates, workers, fairness, when it is empty",
		Long: `Show how the queue stands: jobs by state, the ages of the oldest, what was
completed, retried and waited for within --window, the live workers and their
parts of the limit, deletes by bucket, and when the queue is empty as things go:
jobs admitted a second against what the live workers can do.

With --check the exit code is 3 when something needs a person: a dead letter, or
a late sweep: one with unfinished jobs --late-after its admission, or none
admitted within --every and that. --metrics-file writes the figures of
docs/monitoring for the textfile collector; it is this command that has them.

Columns with --output tsv: what, state (ok, note, attention), what there is to
say, the command that tells more.`,
		Example: `  weedlc sweep status
  weedlc sweep status --check --every 24h
  weedlc sweep status --metrics-file /var/lib/prometheus/node-exporter/weedlc_sweep.prom`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.window == 0 {
				return errors.New(`--window "0": must be more than 0`)
			}
			return o.run(cmd.Context(), a)
		},
	}
	flags := cmd.Flags()
	o.queue.AddFlags(flags)
	o.late.AddFlags(flags)
	o.window = day
	flags.Var(durationValue{&o.window}, "window", "how far back rates and sums are taken")
	flags.BoolVar(&o.check, "check", false, "exit 3 when something needs a person")
	flags.Var(checkedValue{&o.metrics.file, "file", checkPromFile}, "metrics-file", "write the metrics to this file, for node_exporter's textfile collector; ends in .prom")
	flags.Var(checkedValue{&o.metrics.push, "url", checkPushURL}, "metrics-push", "push the metrics to this Prometheus push gateway")
	o.output.AddFlags(flags, "tsv")
	return cmd
}

func (o *sweepStatusOptions) run(ctx context.Context, a *app) (err error) {
	if o.metrics.file != "" {
		if err := o.metrics.checkFolder(); err != nil {
			return err
		}
	}
	q, err := o.queue.open(ctx, a, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	now := a.host.Now()
	figures, err := q.Figures(ctx, now, o.window)
	if err != nil {
		return queueError(err)
	}
	page := sweepPage{Status: sweep.Summarize(figures), queue: q.Location(), late: o.late}
	o.publish(ctx, a, page)
	if err := o.write(a, page); err != nil {
		return err
	}
	if o.check && len(attention(page.lines())) > 0 {
		return ending{exitUndone}
	}
	return nil
}

// publish writes and pushes the metrics. What cannot be published is a warning.
func (o *sweepStatusOptions) publish(ctx context.Context, a *app, p sweepPage) {
	if o.metrics == (metricsOptions{}) {
		return
	}
	// The label keeps them apart from what passes write on the same host.
	m := &meter{Metrics: metrics.New(a.host.Now, map[string]string{"command": "sweep_status"}), app: a, to: o.metrics}
	states := map[string]int64{}
	for _, s := range []sweep.JobState{sweep.JobReady, sweep.JobRunning, sweep.JobWaiting, sweep.JobRetrying, sweep.JobDone, sweep.JobDead} {
		states[string(s)] = int64(p.Jobs[s])
	}
	m.Queue(metrics.Queue{
		Jobs: states, DeadLetters: int64(p.Jobs[sweep.JobDead]), OldestDeadLetter: p.OldestDead, OldestReady: p.OldestReady,
	})
	if o.metrics.file != "" {
		if err := m.WriteFile(o.metrics.file); err != nil {
			a.log.Warn("the metrics are not written", "error", err)
		}
	}
	if o.metrics.push != "" {
		if err := m.pushAll(ctx); err != nil {
			a.log.Warn("the metrics are not pushed", "error", err)
		}
	}
}

func (o *sweepStatusOptions) write(a *app, p sweepPage) error {
	form := o.output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, newSweepStatusJSON(p))
	}
	return writePage(a.host.Out, form, p.lines())
}

// sweepPage is what sweep status shows.
type sweepPage struct {
	sweep.Status
	queue string
	late  lateOptions
}

func (p sweepPage) lines() []statusLine {
	list := []statusLine{{"queue", statusOK, p.queue, ""}, p.jobLine(), p.letterLine()}
	list = append(list, p.sweepLines()...)
	list = append(list, p.drainLine(), p.workLine())
	if text := byCategory(p.Retries); text != "" {
		list = append(list, statusLine{"retries", statusNote, text, ""})
	}
	if text := byCategory(p.Waits); text != "" || p.LeaseWaits > 0 {
		list = append(list, statusLine{"waits", statusNote, strings.TrimPrefix(fmt.Sprintf("%s, for a lease %d", text, p.LeaseWaits), ", "), ""})
	}
	for _, w := range p.Workers {
		says := fmt.Sprintf("%s at a time, heartbeat %s ago", plural(w.Jobs, "job"), formatDuration(max(0, p.Now.Sub(w.SeenAt)).Truncate(time.Second)))
		if w.Limit > 0 {
			says += fmt.Sprintf(", %.4g of %.4g deletes/s", w.Share, w.Limit)
		}
		list = append(list, statusLine{"worker " + w.Worker, statusOK, says, ""})
	}
	return append(list, p.bucketLine())
}

func (p sweepPage) jobLine() statusLine {
	var parts []string
	for _, s := range []sweep.JobState{sweep.JobReady, sweep.JobRunning, sweep.JobWaiting, sweep.JobRetrying, sweep.JobDone} {
		parts = append(parts, fmt.Sprintf("%s %d", s, p.Jobs[s]))
	}
	if !p.OldestReady.IsZero() {
		parts = append(parts, "oldest ready for "+roundSpan(p.OldestReadyAge))
	}
	if !p.OldestUnfinished.IsZero() {
		parts = append(parts, "oldest unfinished since "+roundSpan(p.OldestUnfinishedAge))
	}
	return statusLine{"jobs", statusOK, strings.Join(parts, ", "), ""}
}

func (p sweepPage) letterLine() statusLine {
	n := p.Jobs[sweep.JobDead]
	if n == 0 {
		return statusLine{"dead letters", statusOK, "none", ""}
	}
	return statusLine{"dead letters", statusAttention,
		fmt.Sprintf("%d, the oldest for %s, %+d in %s", n, roundSpan(p.OldestDeadAge), p.DeadGrowth, formatDuration(p.Window)), "weedlc sweep dead-letters"}
}

// sweepLines has a line for each sweep that is not through, and the latest one.
func (p sweepPage) sweepLines() []statusLine {
	late := map[string]bool{}
	for _, r := range p.Late(p.late.after) {
		late[r.Sweep] = true
	}
	var list []statusLine
	for _, r := range p.Sweeps {
		l := statusLine{what: "sweep " + r.Sweep, state: statusOK,
			says: fmt.Sprintf("admitted %s ago: done %d, unfinished %d, dead %d", roundSpan(p.Now.Sub(r.AdmittedAt)), r.Done, r.Unfinished, r.Dead)}
		for _, f := range r.Findings {
			l.state = statusNote
			l.says += fmt.Sprintf("; bucket %q left out in part: %s", f.Bucket, f.Kind)
			l.more = "weedlc rules lint --bucket " + shellWord(f.Bucket)
		}
		if late[r.Sweep] {
			l.state, l.more = statusAttention, "weedlc sweep work"
			l.says = "late: " + l.says
		}
		list = append(list, l)
	}
	if line, missing := p.missing(); missing {
		list = append(list, line)
	}
	return list
}

// missing says that the schedule has come to a stop.
func (p sweepPage) missing() (statusLine, bool) {
	if p.late.every == 0 {
		return statusLine{}, false
	}
	for _, r := range p.Sweeps {
		if p.Now.Sub(r.AdmittedAt) <= p.late.every+p.late.after {
			return statusLine{}, false
		}
	}
	says := "no sweep was ever admitted"
	if len(p.Sweeps) > 0 {
		says = "late: no sweep was admitted in the last " + formatDuration(p.late.every+p.late.after)
	}
	return statusLine{"schedule", statusAttention, says, "weedlc sweep enqueue"}, true
}

func (p sweepPage) drainLine() statusLine {
	rates := fmt.Sprintf("admitted %.3g/h, can be done %.3g/h", p.Drain.AdmittedPerSecond*3600, p.Drain.CapacityPerSecond*3600)
	l := statusLine{what: "drain", state: statusOK}
	switch p.Drain.State {
	case sweep.DrainIdle:
		l.says = "nothing is left to do"
	case sweep.DrainFinite:
		l.says = "empty in " + formatDuration(p.Drain.In.Truncate(time.Second)) + ": " + rates
	case sweep.DrainNever:
		l.state, l.says = statusNote, "over capacity, it never drains: "+rates
	default:
		l.state, l.says = statusNote, "not known: no worker is live, or none has completed a job lately"
	}
	return l
}

func (p sweepPage) workLine() statusLine {
	return statusLine{"work", statusOK, fmt.Sprintf("in %s: jobs completed %d (%.3g/h), %s of worker time in %s",
		formatDuration(p.Window), p.Completed, p.CompletedPerHour, formatDuration(p.WorkerTime.Truncate(time.Second)), plural(p.Chunks, "execution")), ""}
}

// bucketLine names the buckets with the largest parts of the deletes.
func (p sweepPage) bucketLine() statusLine {
	const most = 5
	var parts []string
	total := int64(0)
	for i, b := range p.Buckets {
		total += b.Deletes
		if i < most {
			parts = append(parts, fmt.Sprintf("%q %.0f%%", b.Bucket, 100*b.Share))
		}
	}
	says := group(total)
	if n := len(p.Buckets) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	if len(parts) > 0 {
		says += ": " + strings.Join(parts, ", ")
	}
	return statusLine{"objects deleted", statusOK, says, ""}
}

func byCategory(counts map[sweep.Category]int) string {
	var parts []string
	for _, c := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", c, counts[c]))
	}
	return strings.Join(parts, ", ")
}
