package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weedlc/pass"
)

// passGauges say how the last pass ended. None is there before
// one has. Counters start anew with each process, so a file that is written
// once a day tells a day's work by these.
type passGauges struct {
	status, end, duration                           *prometheus.GaugeVec
	events, entries, ranges, calls, waited, objects *prometheus.GaugeVec
	problems, walkBound                             *prometheus.GaugeVec
}

func (m *Metrics) newPassGauges() passGauges {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return m.gauges("last_pass_"+name, help, labels...)
	}
	return passGauges{
		status:    gauge("status", "1 for the way in which the last pass ended, 0 for the others.", "status"),
		end:       gauge("end_timestamp_seconds", "When the last pass ended, also if it failed."),
		duration:  gauge("duration_seconds", "Wall clock of the last pass; 0 if it could not begin."),
		events:    gauge("events_scanned", "Meta-log events that the last pass read."),
		entries:   gauge("entries_walked", "Entries that the last pass looked at in walks."),
		ranges:    gauge("log_ranges_read", "Ranges of the meta-log that the last pass read to their end."),
		calls:     gauge("delete_calls", "LifecycleDelete calls that the last pass sent, retries included."),
		waited:    gauge("limiter_wait_seconds", "Time that the calls of the last pass waited for the rate limiters, added up."),
		objects:   gauge("objects", "Objects that were due in the last pass, by how they ended.", "outcome"),
		problems:  gauge("errors", "What the last pass left undone and a person must know of: the errors of the heartbeat."),
		walkBound: gauge("walk_bound_buckets", "Buckets with rules that only a walk serves."),
	}
}

// Ended implements pass.Meter. A report that has a status alone is that of a
// pass that could not begin.
func (m *Metrics) Ended(r *pass.Report) {
	m.mu.Lock()
	ranges, waited := m.rangesRead, m.waited
	m.rangesRead, m.waited = 0, 0
	m.mu.Unlock()

	set := func(g *prometheus.GaugeVec, value float64, labels ...string) {
		g.WithLabelValues(labels...).Set(value)
	}
	for _, s := range []pass.Status{pass.OK, pass.Partial, pass.CutShort, pass.Failed} {
		is := 0.0
		if s == r.Status {
			is = 1
		}
		set(m.last.status, is, string(s))
	}
	for _, o := range []pass.Outcome{pass.Done, pass.NoopResolved, pass.SkippedObjectLock, pass.RetryLater, pass.Blocked, pass.TransportError} {
		set(m.last.objects, float64(r.Totals.Outcomes[o]), string(o))
	}
	set(m.last.end, float64(m.now().UnixNano())/float64(time.Second))
	set(m.last.duration, r.Duration.Seconds())
	set(m.last.events, float64(r.Totals.EventsScanned))
	set(m.last.entries, float64(r.Totals.EntriesWalked))
	set(m.last.ranges, float64(ranges))
	set(m.last.calls, float64(r.Totals.DeleteCalls))
	set(m.last.waited, waited.Seconds())
	set(m.last.problems, float64(len(r.Errors)))
	set(m.last.walkBound, float64(r.WalkBound))
}
