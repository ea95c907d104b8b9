// Package metrics counts passes in a registry of its own, under the names of
// the lifecycle document, and hands the counts to Prometheus: by a scrape, as a
// file for the textfile collector, or by a push.
package metrics

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weedlc/engine"
	"weedlc/pass"
)

// Metrics are the metrics of one process. They implement pass.Meter and are
// safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	register prometheus.Registerer // into registry
	now      func() time.Time

	events, entries *prometheus.CounterVec // by shard
	ranges          prometheus.Counter
	waits           prometheus.Histogram
	settled         *prometheus.CounterVec // by bucket, kind and outcome
	limit           prometheus.Gauge

	shards shardGauges
	last   passGauges
	queue  queueGauges

	mu sync.Mutex
	// rangesRead and waited count since the end of the last pass.
	rangesRead int
	waited     time.Duration
}

// shardGauges say what the last successful save of each shard put down.
type shardGauges struct {
	position, walked, duration, blocked, failed *prometheus.GaugeVec
}

// New makes metrics that all carry the labels, of which there may be none. The
// clock tells when a pass ended.
func New(now func() time.Time, labels map[string]string) *Metrics {
	registry := prometheus.NewRegistry()
	m := &Metrics{registry: registry, register: prometheus.WrapRegistererWith(labels, registry), now: now}
	m.events = m.counters("daily_run_events_scanned_total", "Meta-log events of the shard that were read.", "shard")
	m.entries = m.counters("daily_run_entries_walked_total", "Entries that walks looked at for the shard.", "shard")
	m.ranges = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "daily_run_log_ranges_read_total", Help: "Ranges of the meta-log that were read to their end, for all shards of a pass at once.",
	})
	m.waits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "dispatch_limiter_wait_seconds", Help: "How long each LifecycleDelete call, retries included, waited for the rate limiters; 0 without a limit.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
	})
	m.settled = m.counters("dispatch_total", "Objects that were due, by how they ended.", "bucket", "kind", "outcome")
	m.limit = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "deletes_per_second_limit", Help: "LifecycleDelete calls per second that this process may make; 0 is no limit.",
	})
	m.register.MustRegister(m.ranges, m.waits, m.limit)

	m.shards = shardGauges{
		position: m.gauges("cursor_min_ts_ns", "Position of the shard in the meta-log as saved, in Unix nanoseconds; 0 is none.", "shard"),
		walked:   m.gauges("daily_run_last_walked_ns", "When everything of the shard that needs a walk was last walked, in Unix nanoseconds; 0 is never.", "shard"),
		duration: m.gauges("daily_run_shard_duration_seconds", "Wall clock from the start of the pass to the last save of the shard.", "shard"),
		blocked:  m.gauges("daily_run_shard_blocked_since_timestamp_seconds", "Since when the shard has been stopped by the object in front of it; 0 while nothing blocks it.", "shard"),
		failed:   m.gauges("daily_run_shard_failed_objects", "Objects of the shard that a walk could not deal with, kept for the next pass.", "shard"),
	}
	m.last = m.newPassGauges()
	m.queue = m.newQueueGauges()
	return m
}

// namespace begins every name. The built-in worker's begin with SeaweedFS_.
const namespace = "s3_lifecycle"

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.register.MustRegister(v)
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.register.MustRegister(v)
	return v
}

// Limit sets how many delete calls a second are allowed; 0 is no limit.
func (m *Metrics) Limit(perSecond float64) { m.limit.Set(perSecond) }

// Scanned implements pass.Meter.
func (m *Metrics) Scanned(shard int) { m.events.WithLabelValues(strconv.Itoa(shard)).Inc() }

// Walked implements pass.Meter.
func (m *Metrics) Walked(shard, entries int) {
	m.entries.WithLabelValues(strconv.Itoa(shard)).Add(float64(entries))
}

// RangeRead implements pass.Meter.
func (m *Metrics) RangeRead() {
	m.ranges.Inc()
	m.mu.Lock()
	m.rangesRead++
	m.mu.Unlock()
}

// Called implements pass.Meter.
func (m *Metrics) Called(waited time.Duration) {
	m.waits.Observe(waited.Seconds())
	m.mu.Lock()
	m.waited += waited
	m.mu.Unlock()
}

// Settled implements pass.Meter.
func (m *Metrics) Settled(d pass.Deletion) {
	// A label's value has to be UTF-8; a folder's name need not be.
	bucket := strings.ToValidUTF8(d.Object.Bucket, "\uFFFD")
	m.settled.WithLabelValues(bucket, d.Action.Kind.String(), string(d.Outcome)).Inc()
}

// Saved implements pass.Meter.
func (m *Metrics) Saved(st *engine.ShardState, after time.Duration) {
	shard := strconv.Itoa(st.Shard)
	m.shards.position.WithLabelValues(shard).Set(float64(st.Cursor.TsNs))
	m.shards.walked.WithLabelValues(shard).Set(float64(st.Cursor.LastWalkedNs))
	m.shards.duration.WithLabelValues(shard).Set(after.Seconds())
	m.shards.failed.WithLabelValues(shard).Set(float64(len(st.Side.Failed)))
	since := 0.0
	if st.Side.Blocked != nil {
		since = float64(st.Side.Blocked.SinceNs) / float64(time.Second)
	}
	m.shards.blocked.WithLabelValues(shard).Set(since)
}
