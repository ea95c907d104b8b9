package commands

import (
	"context"
	"fmt"
	"time"

	"weedlc/sweep"
)

// queueWindow is the time over which a look at the queue takes its rates.
const queueWindow = day

// figures measures the queue.
func (o *queueOptions) figures(ctx context.Context, a *app) (*sweep.Figures, error) {
	q, err := o.open(ctx, a, false)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	f, err := q.Figures(ctx, a.host.Now(), queueWindow)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// queueText counts what is in a queue.
func queueText(f *sweep.Figures) string {
	return fmt.Sprintf("unfinished jobs: %d, dead letters: %d", unfinishedJobs(f), f.Jobs[sweep.JobDead])
}

func unfinishedJobs(f *sweep.Figures) int {
	return f.Jobs[sweep.JobReady] + f.Jobs[sweep.JobRunning] + f.Jobs[sweep.JobWaiting] + f.Jobs[sweep.JobRetrying]
}

// queueLines is the line of the queue; none where there is no queue.
func (f *statusFacts) queueLines() []statusLine {
	l := statusLine{"queue", statusOK, "", "weedlc sweep status"}
	switch {
	case f.queueErr != nil:
		l.state, l.says, l.more = statusAttention, f.queueErr.Error(), "weedlc doctor"
	case f.queue == nil:
		return nil
	default:
		l.says = queueText(f.queue)
		if f.queue.Jobs[sweep.JobDead] > 0 {
			l.state, l.more = statusAttention, "weedlc sweep dead-letters"
		}
	}
	return []statusLine{l}
}

// statusQueueJSON is the queue of sweeps; its times are null where there is no
// such job.
type statusQueueJSON struct {
	Unfinished       int        `json:"unfinished"`
	DeadLetters      int        `json:"dead_letters"`
	OldestUnfinished *time.Time `json:"oldest_unfinished"`
	OldestDead       *time.Time `json:"oldest_dead"`
	// Error says why the queue could not be read; empty when it could.
	Error string `json:"error"`
}

func newStatusQueueJSON(f *statusFacts) *statusQueueJSON {
	switch {
	case f.queueErr != nil:
		return &statusQueueJSON{Error: f.queueErr.Error()}
	case f.queue == nil:
		return nil
	}
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC()
		return &t
	}
	return &statusQueueJSON{
		Unfinished: unfinishedJobs(f.queue), DeadLetters: f.queue.Jobs[sweep.JobDead],
		OldestUnfinished: at(f.queue.OldestUnfinished), OldestDead: at(f.queue.OldestDead),
	}
}
