package commands

import (
	"fmt"
	"strings"
	"time"

	"weedlc/pass"
	"weedlc/sweep"
)

// sweepResult is what a worker did.
type sweepResult struct {
	sweep.Report
	queue    string
	now      time.Time
	duration time.Duration
	// failed is set when the worker could not go on.
	failed bool
}

func (r sweepResult) deletes() int64 {
	n := int64(0)
	for _, d := range r.Deletes {
		n += d
	}
	return n
}

// undone is how many jobs are dead or still wait.
func (r sweepResult) undone() int { return len(r.Dead) + r.Left.Total() }

// code is the exit code. What is left when time ran out is no more than that.
func (r sweepResult) code() int {
	var codes []int
	if r.Interrupted {
		codes = append(codes, exitInterrupted)
	}
	if r.failed {
		codes = append(codes, exitFailed)
	}
	if len(r.Dead) > 0 || r.Left.Total() > 0 && !r.CutShort {
		codes = append(codes, exitUndone)
	}
	if r.CutShort && r.Left.Total() > 0 {
		codes = append(codes, exitCutShort)
	}
	return worst(codes...)
}

// status is the code in a word.
func (r sweepResult) status() pass.Status {
	switch r.code() {
	case exitDone:
		return pass.OK
	case exitFailed:
		return pass.Failed
	case exitUndone:
		return pass.Partial
	}
	return pass.CutShort
}

// heartbeat is the line that ends a worker.
func (r sweepResult) heartbeat() string {
	return fmt.Sprintf("sweep_run: status=%s done=%d dead=%d left=%d deletes=%d duration=%s",
		r.status(), r.Steps[sweep.Acknowledge], len(r.Dead), r.Left.Total(), r.deletes(), r.duration.Round(time.Millisecond))
}

// write renders what a worker did. Without a form it is a table on a terminal
// and on a pipe only what was left undone.
func (o *sweepWorkOptions) write(a *app, r sweepResult) error {
	switch {
	case o.output.form == formJSON:
		return writeJSON(a.host.Out, newSweepRunJSON(r))
	case o.output.form == formTSV:
		return letterRows(r.Dead, r.now.Add(r.duration), formTSV).write(a.host.Out, formTSV)
	case o.output.form == "" && !a.host.OutTTY && r.undone() == 0:
		return nil
	}
	if len(r.Dead) > 0 {
		if err := letterRows(r.Dead, r.now.Add(r.duration), formTable).write(a.host.Out, formTable); err != nil {
			return err
		}
	}
	var b strings.Builder
	if len(r.Dead) > 0 {
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "%s in %s: jobs done %d, dead %d, left %d; objects deleted %s\n",
		r.status(), r.duration.Round(time.Millisecond), r.Steps[sweep.Acknowledge], len(r.Dead), r.Left.Total(), group(r.deletes()))
	if next := r.goOn(a); next != "" {
		fmt.Fprintln(&b, "hint: "+next)
	}
	_, err := fmt.Fprint(a.host.Out, b.String())
	return err
}

// goOn says what to do about what is left.
func (r sweepResult) goOn(a *app) string {
	switch {
	case len(r.Dead) > 0:
		return fmt.Sprintf("weedlc sweep dead-letters show %d; then weedlc sweep redrive or discard", r.Dead[0].JobID)
	case r.Left.Total() > 0:
		return "progress is saved; go on with " + a.commandLine()
	}
	return ""
}

// sweepRunJSON is the documented form of sweep run and work (docs/json-output.md).
type sweepRunJSON struct {
	Status          pass.Status        `json:"status"`
	Queue           string             `json:"queue"`
	Now             time.Time          `json:"now"`
	DurationSeconds float64            `json:"duration_seconds"`
	Steps           map[sweep.Step]int `json:"steps"`
	Lost            int                `json:"lost"`
	Deletes         map[string]int64   `json:"deletes"`
	DeadLetters     []letterJSON       `json:"dead_letters"`
	Left            sweepLeftJSON      `json:"left"`
}

type sweepLeftJSON struct {
	Ready    int `json:"ready"`
	Running  int `json:"running"`
	Waiting  int `json:"waiting"`
	Retrying int `json:"retrying"`
}

func newSweepRunJSON(r sweepResult) sweepRunJSON {
	doc := sweepRunJSON{
		Status: r.status(), Queue: r.queue, Now: r.now.UTC(), DurationSeconds: seconds(r.duration),
		Steps: r.Steps, Lost: r.Lost, Deletes: r.Deletes, DeadLetters: newLettersJSON(r.Dead), Left: sweepLeftJSON(r.Left),
	}
	if doc.Steps == nil {
		doc.Steps = map[sweep.Step]int{}
	}
	if doc.Deletes == nil {
		doc.Deletes = map[string]int64{}
	}
	return doc
}
