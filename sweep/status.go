package sweep

import (
	"cmp"
	"slices"
	"time"
)

// Figures are what a Queue measures.
type Figures struct {
	Now    time.Time
	Window time.Duration

	// Jobs counts jobs by state, those that Prune removed left out.
	Jobs map[JobState]int
	// OldestReady is since when the oldest ready job could be leased; zero is
	// none ready.
	OldestReady time.Time
	// OldestUnfinished is the admission of the oldest unfinished job.
	OldestUnfinished time.Time
	// OldestDead is the burial of the oldest open dead letter.
	OldestDead time.Time

	// Over the window:
	Admitted  int
	Completed int
	Buried    int
	Closed    int // dead letters closed
	// LeaseWaits counts leases given back because another job of the shard was
	// being worked.
	LeaseWaits int
	// Retries and Waits by category.
	Retries map[Category]int
	Waits   map[Category]int
	// WorkerTime is the time spent in executions, Chunks their number.
	WorkerTime time.Duration
	Chunks     int
	// Deletes by bucket.
	Deletes map[string]int64

	// Workers are the live ones, by name.
	Workers []WorkerRecord
	// Sweeps are those with unfinished or dead jobs and the latest one, the
	// oldest first.
	Sweeps []SweepRecord
}

// WorkerRecord is one live worker.
type WorkerRecord struct {
	Worker, Host string
	PID          int
	Jobs         int
	Limit, Share float64
	SeenAt       time.Time
}

// SweepRecord is one sweep.
type SweepRecord struct {
	Sweep      string
	AdmittedAt time.Time
	Unfinished int
	Done       int
	Dead       int // open dead letters
	// Findings by bucket, rule and kind.
	Findings []Finding
}

// Status is what people and monitoring look at.
type Status struct {
	Figures
	// Ages at Now; 0 is none.
	OldestReadyAge, OldestUnfinishedAge, OldestDeadAge time.Duration
	// Rates over the window.
	CompletedPerHour float64
	RetriesPerHour   map[Category]float64
	// DeadGrowth is how many dead letters were made in the window, less those
	// that were closed.
	DeadGrowth int
	// Buckets by deletes in the window, the largest first.
	Buckets []BucketShare
	Drain   Drain
}

// BucketShare is one bucket's part of the deletes.
type BucketShare struct {
	Bucket  string
	Deletes int64
	// Share is in [0, 1].
	Share float64
}

// DrainState says whether the queue empties.
type DrainState string

const (
	DrainIdle    DrainState = "idle"          // nothing is unfinished
	DrainFinite  DrainState = "drains"        // in Drain.In
	DrainNever   DrainState = "over_capacity" // as much is admitted as can be done, or more
	DrainUnknown DrainState = "unknown"       // no worker lives, or nothing was completed in the window
)

// Drain estimates when the queue is empty: admitted jobs a second against what
// the live workers can do. Capacity is the smaller of their places over the
// worker time of one job and of the limit over the deletes of one job.
type Drain struct {
	State             DrainState
	In                time.Duration
	AdmittedPerSecond float64
	CapacityPerSecond float64
}

// Summarize derives what is shown from what was measured.
func Summarize(f Figures) Status {
	s := Status{
		Figures:             f,
		OldestReadyAge:      age(f.Now, f.OldestReady),
		OldestUnfinishedAge: age(f.Now, f.OldestUnfinished),
		OldestDeadAge:       age(f.Now, f.OldestDead),
		RetriesPerHour:      map[Category]float64{},
		DeadGrowth:          f.Buried - f.Closed,
		Drain:               drain(f),
	}
	if hours := f.Window.Hours(); hours > 0 {
		s.CompletedPerHour = float64(f.Completed) / hours
		for c, n := range f.Retries {
			s.RetriesPerHour[c] = float64(n) / hours
		}
	}
	total := total(f.Deletes)
	for bucket, n := range f.Deletes {
		s.Buckets = append(s.Buckets, BucketShare{bucket, n, float64(n) / float64(total)})
	}
	slices.SortFunc(s.Buckets, func(a, b BucketShare) int {
		return cmp.Or(cmp.Compare(b.Deletes, a.Deletes), cmp.Compare(a.Bucket, b.Bucket))
	})
	return s
}

// Late lists the sweeps that have unfinished jobs longer than after their
// admission.
func (s Status) Late(after time.Duration) []SweepRecord {
	var late []SweepRecord
	for _, r := range s.Sweeps {
		if r.Unfinished > 0 && s.Now.Sub(r.AdmittedAt) > after {
			late = append(late, r)
		}
	}
	return late
}

func drain(f Figures) Drain {
	left := f.Jobs[JobReady] + f.Jobs[JobRunning] + f.Jobs[JobWaiting] + f.Jobs[JobRetrying]
	d := Drain{State: DrainUnknown}
	if seconds := f.Window.Seconds(); seconds > 0 {
		d.AdmittedPerSecond = float64(f.Admitted) / seconds
	}
	places, limit := 0, 0.0
	for _, w := range f.Workers {
		places += w.Jobs
		limit = max(limit, w.Limit)
	}
	if f.Completed > 0 && f.WorkerTime > 0 {
		jobs := float64(f.Completed)
		d.CapacityPerSecond = float64(places) * jobs / f.WorkerTime.Seconds()
		if deletes := total(f.Deletes); limit > 0 && deletes > 0 {
			d.CapacityPerSecond = min(d.CapacityPerSecond, limit*jobs/float64(deletes))
		}
	}
	switch spare := d.CapacityPerSecond - d.AdmittedPerSecond; {
	case left == 0:
		d.State = DrainIdle
	case d.CapacityPerSecond == 0:
	case spare <= 0:
		d.State = DrainNever
	default:
		d.State = DrainFinite
		d.In = time.Duration(float64(left) / spare * float64(time.Second))
	}
	return d
}

func age(now, since time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since))
}

func total(byBucket map[string]int64) int64 {
	sum := int64(0)
	for _, n := range byBucket {
		sum += n
	}
	return sum
}
