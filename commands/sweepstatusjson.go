package commands

import (
	"time"

	"weedlc/sweep"
)

// sweepStatusJSON is the documented form of sweep status (docs/json-output.md).
type sweepStatusJSON struct {
	Now           time.Time `json:"now"`
	Queue         string    `json:"queue"`
	WindowSeconds float64   `json:"window_seconds"`
	// Attention says what needs a person, a text each; empty when nothing does.
	Attention []string               `json:"attention"`
	Jobs      map[sweep.JobState]int `json:"jobs"`

	OldestReadySeconds      float64 `json:"oldest_ready_seconds"`
	OldestUnfinishedSeconds float64 `json:"oldest_unfinished_seconds"`
	OldestDeadSeconds       float64 `json:"oldest_dead_letter_seconds"`

	Admitted         int                        `json:"admitted"`
	Completed        int                        `json:"completed"`
	CompletedPerHour float64                    `json:"completed_per_hour"`
	Buried           int                        `json:"buried"`
	Closed           int                        `json:"closed"`
	DeadGrowth       int                        `json:"dead_growth"`
	Leased           int                        `json:"leased"`
	LeaseWaits       int                        `json:"lease_waits"`
	Retries          map[sweep.Category]int     `json:"retries"`
	RetriesPerHour   map[sweep.Category]float64 `json:"retries_per_hour"`
	Waits            map[sweep.Category]int     `json:"waits"`
	WorkerSeconds    float64                    `json:"worker_seconds"`
	Executions       int                        `json:"executions"`

	Buckets []bucketShareJSON `json:"buckets"`
	Drain   drainJSON         `json:"drain"`
	Workers []workerJSON      `json:"workers"`
	Sweeps  []sweepJSON       `json:"sweeps"`
}

type bucketShareJSON struct {
	Bucket  string  `json:"bucket"`
	Deletes int64   `json:"deletes"`
	Share   float64 `json:"share"`
}

type drainJSON struct {
	State sweep.DrainState `json:"state"`
	// Seconds is null unless it drains.
	Seconds         *float64 `json:"seconds"`
	AdmittedPerHour float64  `json:"admitted_per_hour"`
	CapacityPerHour float64  `json:"capacity_per_hour"`
}

type workerJSON struct {
	Worker string    `json:"worker"`
	Host   string    `json:"host"`
	PID    int       `json:"pid"`
	Jobs   int       `json:"jobs"`
	Limit  float64   `json:"limit"`
	Share  float64   `json:"share"`
	SeenAt time.Time `json:"seen_at"`
}

type sweepJSON struct {
	Sweep      string             `json:"sweep"`
	AdmittedAt time.Time          `json:"admitted_at"`
	Unfinished int                `json:"unfinished"`
	Done       int                `json:"done"`
	Dead       int                `json:"dead"`
	Late       bool               `json:"late"`
	Findings   []sweepFindingJSON `json:"findings"`
}

type sweepFindingJSON struct {
	Bucket string `json:"bucket"`
	RuleID string `json:"rule_id"`
	Kind   string `json:"kind"`
}

func newSweepStatusJSON(p sweepPage) sweepStatusJSON {
	doc := sweepStatusJSON{
		Now: p.Now.UTC(), Queue: p.queue, WindowSeconds: seconds(p.Window), Attention: attention(p.lines()), Jobs: p.Jobs,
		OldestReadySeconds: seconds(p.OldestReadyAge), OldestUnfinishedSeconds: seconds(p.OldestUnfinishedAge), OldestDeadSeconds: seconds(p.OldestDeadAge),
		Admitted: p.Admitted, Completed: p.Completed, CompletedPerHour: p.CompletedPerHour,
		Buried: p.Buried, Closed: p.Closed, DeadGrowth: p.DeadGrowth, Leased: p.Jobs[sweep.JobRunning], LeaseWaits: p.LeaseWaits,
		Retries: p.Retries, RetriesPerHour: p.RetriesPerHour, Waits: p.Waits, WorkerSeconds: seconds(p.WorkerTime), Executions: p.Chunks,
		Buckets: []bucketShareJSON{}, Workers: []workerJSON{}, Sweeps: []sweepJSON{},
		Drain: drainJSON{State: p.Drain.State, AdmittedPerHour: p.Drain.AdmittedPerSecond * 3600, CapacityPerHour: p.Drain.CapacityPerSecond * 3600},
	}
	if p.Drain.State == sweep.DrainFinite {
		in := seconds(p.Drain.In)
		doc.Drain.Seconds = &in
	}
	for _, b := range p.Buckets {
		doc.Buckets = append(doc.Buckets, bucketShareJSON(b))
	}
	for _, w := range p.Workers {
		doc.Workers = append(doc.Workers, workerJSON{w.Worker, w.Host, w.PID, w.Jobs, w.Limit, w.Share, w.SeenAt.UTC()})
	}
	late := map[string]bool{}
	for _, r := range p.Late(p.late.after) {
		late[r.Sweep] = true
	}
	for _, r := range p.Sweeps {
		row := sweepJSON{r.Sweep, r.AdmittedAt.UTC(), r.Unfinished, r.Done, r.Dead, late[r.Sweep], []sweepFindingJSON{}}
		for _, f := range r.Findings {
			row.Findings = append(row.Findings, sweepFindingJSON(f))
		}
		doc.Sweeps = append(doc.Sweeps, row)
	}
	return doc
}
