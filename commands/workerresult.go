package commands

import (
	"fmt"
	"strings"
	"time"

	"weedlc/engine"
	"weedlc/internal/adminworker"
	"weedlc/pass"
)

// jobShare says what a job may do.
func jobShare(job adminworker.Job) string {
	line := "shards " + engine.FormatShards(job.Shards)
	if job.DeletesPerSecond == 0 {
		return line + ", no limit of deletes"
	}
	line += fmt.Sprintf(", %.4g deletes/s", job.DeletesPerSecond)
	if job.Burst > 0 {
		line += fmt.Sprintf(", burst %d", job.Burst)
	}
	return line
}

// jobProgress shows a job on the admin server's page. It implements
// pass.Progress.
type jobProgress struct {
	app *app
	say func(adminworker.Progress)
}

// jobStage is the one while a pass works.
const jobStage = "running"

// Notice implements pass.Progress.
func (p *jobProgress) Notice(line string) {
	p.app.notice("%s", line)
	p.say(adminworker.Progress{Stage: jobStage, Message: line, Now: true})
}

// Update implements pass.Progress.
func (p *jobProgress) Update(t pass.Totals) {
	p.say(adminworker.Progress{Stage: jobStage, Message: fmt.Sprintf("%s events, %s entries walked, %s delete calls",
		group(t.EventsScanned), group(t.EntriesWalked), group(t.DeleteCalls))})
}

// jobResult is what the admin server is told of a pass.
func jobResult(r *pass.Report, job adminworker.Job) adminworker.Result {
	result := adminworker.Result{
		Summary: "shards " + engine.FormatShards(job.Shards) + ": " + summary(r),
		Counts: map[string]int64{
			"shards":         int64(len(job.Shards)),
			"events_scanned": r.Totals.EventsScanned,
			"entries_walked": r.Totals.EntriesWalked,
			"delete_calls":   r.Totals.DeleteCalls,
		},
	}
	for outcome, n := range r.Totals.Outcomes {
		result.Counts[string(outcome)] = n
	}
	if worst(codesOf(r)...) == exitDone {
		return result
	}
	for i, p := range r.Errors {
		if i == maxUndone {
			result.Notes = append(result.Notes, fmt.Sprintf("and %d more", len(r.Errors)-i))
			break
		}
		result.Notes = append(result.Notes, escape(problemLine(p)))
	}
	result.Undone = jobUndone(r, job.MaxRuntime, result.Notes)
	return result
}

// jobUndone is on one line how a pass ended that left something undone, why,
// and what comes of it.
func jobUndone(r *pass.Report, limit time.Duration, problems []string) string {
	parts := []string{string(r.Status)}
	if r.CutShort {
		parts[0] = fmt.Sprintf("%s after %s", r.Status, formatDuration(limit))
	}
	switch n := len(problems); {
	case n > 0 && n <= 3:
		parts = append(parts, problems...)
	case n > 3:
		parts = append(parts, problems[0], fmt.Sprintf("and %d more", n-1))
	}
	if !r.Failed {
		parts = append(parts, "progress is saved, the next pass goes on")
	}
	return strings.Join(parts, "; ")
}
