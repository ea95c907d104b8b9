package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Queue is what stands in a queue of sweeps at one moment.
type Queue struct {
	// Jobs counts the jobs by state.
	Jobs map[string]int64
	// DeadLetters are those that wait for a person; OldestDeadLetter is when the
	// first of them was put there, and OldestReady since when the first job has
	// been ready. Zero is that there is none.
	DeadLetters                   int64
	OldestDeadLetter, OldestReady time.Time
}

// queueGauges are there once a queue has been told of.
type queueGauges struct {
	jobs, dead, oldestDead, oldestReady *prometheus.GaugeVec
}

func (m *Metrics) newQueueGauges() queueGauges {
	return queueGauges{
		jobs:        m.gauges("sweep_jobs", "Jobs of sweeps by state.", "state"),
		dead:        m.gauges("sweep_dead_letters", "Dead letters that wait for a person."),
		oldestDead:  m.gauges("sweep_oldest_dead_letter_timestamp_seconds", "When the oldest open dead letter was put there; 0 is none."),
		oldestReady: m.gauges("sweep_oldest_ready_timestamp_seconds", "Since when the oldest ready job has been ready; 0 is none."),
	}
}

// Queue sets the gauges of the queue of sweeps.
func (m *Metrics) Queue(q Queue) {
	m.queue.jobs.Reset()
	for state, n := range q.Jobs {
		m.queue.jobs.WithLabelValues(state).Set(float64(n))
	}
	m.queue.dead.WithLabelValues().Set(float64(q.DeadLetters))
	m.queue.oldestDead.WithLabelValues().Set(unix(q.OldestDeadLetter))
	m.queue.oldestReady.WithLabelValues().Set(unix(q.OldestReady))
}

// unix is a time in seconds; 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}
