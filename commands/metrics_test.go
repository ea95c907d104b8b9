package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// prom reads a file of metrics.
func prom(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	check(t, err)
	return "\n" + string(data)
}

func TestMetricsFileOfAPass(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "stuck")
	h.cluster.AnswerDeletes("logs", "stuck", memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"})
	h.must(exitDone, "run")
	h.cluster.Advance(25 * time.Hour)
	h.must(exitUndone, "run", "--metrics-file", "m.prom", "--deletes-per-second", "1000")
	shard := engine.ShardOf("logs", "stuck")
	contains(t, prom(t, "m.prom"),
		`
s3_lifecycle_dispatch_total{bucket="logs",kind="expiration_days",outcome="done"} 1
`,
		`
s3_lifecycle_dispatch_total{bucket="logs",kind="expiration_days",outcome="blocked"} 1
`,
		"\ns3_lifecycle_dispatch_limiter_wait_seconds_count 2\n",
		"\ns3_lifecycle_deletes_per_second_limit 1000\n",
		"\ns3_lifecycle_daily_run_log_ranges_read_total 1\n",
		fmt.Sprintf("\ns3_lifecycle_daily_run_events_scanned_total{shard=\"%d\"} 1\n", shard),
		fmt.Sprintf("\ns3_lifecycle_daily_run_shard_blocked_since_timestamp_seconds{shard=\"%d\"} %g\n", shard, float64(h.cluster.HostTime().Unix())),
		"\ns3_lifecycle_last_pass_status{status=\"partial\"} 1\n",
		fmt.Sprintf("\ns3_lifecycle_last_pass_end_timestamp_seconds %g\n", float64(h.cluster.HostTime().Unix())),
		"\ns3_lifecycle_last_pass_objects{outcome=\"blocked\"} 1\n",
		"\ns3_lifecycle_last_pass_delete_calls 2\n",
		"\ns3_lifecycle_last_pass_errors 1\n",
	)
	for sh := range engine.ShardCount {
		contains(t, prom(t, "m.prom"), fmt.Sprintf("\ns3_lifecycle_cursor_min_ts_ns{shard=\"%d\"} 1.7", sh))
	}
}

// A walk saves no shard, and its metrics are told from those of a pass.
func TestMetricsFileOfAWalk(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "b")
	h.cluster.Advance(25 * time.Hour)
	h.must(exitDone, "walk", "--all-buckets", "--metrics-file", "m.prom")
	got := prom(t, "m.prom")
	contains(t, got,
		"\ns3_lifecycle_last_pass_status{command=\"walk\",status=\"ok\"} 1\n",
		"\ns3_lifecycle_last_pass_entries_walked{command=\"walk\"} 2\n",
		"\ns3_lifecycle_dispatch_total{bucket=\"logs\",command=\"walk\",kind=\"expiration_days\",outcome=\"done\"} 2\n",
	)
	if strings.Contains(got, "s3_lifecycle_cursor_min_ts_ns") {
		t.Error("a walk has a position")
	}
}

func TestScenario53_GaugesMoveOnlyAfterASave(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a")
	h.must(exitDone, "run")
	h.cluster.Advance(25 * time.Hour)
	h.lost = errors.New("lock of shard 0 lost")
	h.must(exitFailed, "run", "--metrics-file", "m.prom")
	got := prom(t, "m.prom")
	contains(t, got, "\ns3_lifecycle_last_pass_status{status=\"error\"} 1\n", "\ns3_lifecycle_dispatch_total{bucket=\"logs\",")
	if strings.Contains(got, "s3_lifecycle_cursor_min_ts_ns") || strings.Contains(got, "_shard_duration_seconds") {
		t.Errorf("a shard that is not saved has gauges:\n%s", got)
	}

	// Once there, they keep what the last save put down.
	h.lost = nil
	h.Sleep = func(ctx context.Context, d time.Duration) error {
		h.lost = errors.New("lock of shard 0 lost")
		h.cluster.Advance(d)
		return ctx.Err()
	}
	saved := h.cluster.HostTime()
	h.must(exitFailed, "run", "--metrics-file", "m.prom", "--refresh", "6h", "--runtime", "7h")
	contains(t, prom(t, "m.prom"),
		fmt.Sprintf("\ns3_lifecycle_cursor_min_ts_ns{shard=\"0\"} %v\n", float64(saved.Add(-23*time.Hour).UnixNano())),
		fmt.Sprintf("\ns3_lifecycle_last_pass_end_timestamp_seconds %g\n", float64(saved.Add(6*time.Hour).Unix())),
		"\ns3_lifecycle_last_pass_status{status=\"error\"} 1\n",
		"\ns3_lifecycle_last_pass_status{status=\"ok\"} 0\n")
}

func TestMetricsFileAfterWhatIsNoPass(t *testing.T) {
	h := newTestHost(t)
	check(t, os.WriteFile("m.prom", []byte("before"), 0o644))
	h.heldBy = heldByCron
	h.must(exitHeld, "run", "--metrics-file", "m.prom")
	equal(t, "the file after a held lock", prom(t, "m.prom"), "\nbefore")
	h.heldBy = nil
	h.must(exitDone, "pause")
	h.must(exitUndone, "run", "--metrics-file", "m.prom")
	equal(t, "the file after a run during a pause", prom(t, "m.prom"), "\nbefore")
	h.must(exitDone, "resume")
	h.Dial = func(context.Context, DialOptions) (*Cluster, error) { return nil, errors.New("no cluster") }
	h.must(exitFailed, "run", "--metrics-file", "m.prom")
	contains(t, prom(t, "m.prom"),
		"\ns3_lifecycle_last_pass_status{status=\"error\"} 1\n",
		fmt.Sprintf("\ns3_lifecycle_last_pass_end_timestamp_seconds %g\n", float64(noon.Unix())))
}

// The pass has done its work: what becomes of its metrics changes no exit code.
func TestMetricsThatCannotBeWritten(t *testing.T) {
	h := newTestHost(t)
	check(t, os.Mkdir("out", 0o755))
	h.cluster.SetHook(func(memcluster.Call) error { return os.RemoveAll("out") })
	h.must(exitDone, "run", "--metrics-file", "out/m.prom")
	contains(t, h.err.String(), "WRN the metrics are not written error=", "daily_run: status=ok ")
}

func TestMetricsPush(t *testing.T) {
	pushed := make(chan string, 4)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		pushed <- r.Method + " " + r.URL.Path + " " + string(body)
		w.WriteHeader(status)
	}))
	defer server.Close()
	h := newTestHost(t)
	h.bucket("logs", "a")
	h.must(exitDone, "run", "--metrics-push", server.URL)
	if n := len(pushed); n != 1 {
		t.Fatalf("pushed %d times", n)
	}
	host, err := os.Hostname()
	check(t, err)
	contains(t, <-pushed, "POST /metrics/job/weedlc/instance/"+host+" ", "s3_lifecycle_last_pass_status", "s3_lifecycle_cursor_min_ts_ns")

	status = http.StatusBadGateway
	h.must(exitDone, "run", "--metrics-push", server.URL)
	contains(t, h.err.String(), "WRN the metrics are not pushed error=", "502")
	if lines := strings.Split(strings.TrimSpace(h.err.String()), "\n"); !strings.HasPrefix(lines[len(lines)-1], "daily_run: status=ok ") {
		t.Errorf("the last line is no heartbeat:\n%s", &h.err)
	}
	h.must(exitDone, "run", "--metrics-push", server.URL, "--refresh", "1h", "--runtime", "90m")
	if n := len(pushed); n != 3 {
		t.Errorf("pushed %d times by two more commands, of which one made two passes", n)
	}
}

func TestMetricsListenOnABusyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	h := newTestHost(t)
	h.must(exitFailed, "run", "--metrics-listen", l.Addr().String())
	equal(t, "stderr", h.err.String(), fmt.Sprintf(
		"weedlc: --metrics-listen %q: the port is in use, perhaps by another pass\nhint: --metrics-file serves passes that may overlap\n", l.Addr()))
	if len(h.dialed) != 0 {
		t.Error("a cluster was dialled before")
	}
}

// Metrics are served while a command runs, between its passes too, and no
// longer.
func TestMetricsListenBetweenPasses(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a")
	get := func() (string, error) {
		_, rest, _ := strings.Cut(h.err.String(), "metrics are at ")
		address, _, _ := strings.Cut(rest, "\n")
		resp, err := http.Get(address)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	var between []string
	h.Sleep = func(ctx context.Context, d time.Duration) error {
		body, err := get()
		check(t, err)
		between = append(between, body)
		h.cluster.Advance(d)
		return ctx.Err()
	}
	h.must(exitDone, "run", "--metrics-listen", "127.0.0.1:0", "--refresh", "25h", "--runtime", "55h")
	if len(between) != 2 {
		t.Fatalf("%d scrapes, want 2", len(between))
	}
	contains(t, between[0], "\ns3_lifecycle_last_pass_status{status=\"ok\"} 1\n", "\ns3_lifecycle_last_pass_objects{outcome=\"done\"} 0\n")
	contains(t, between[1], "\ns3_lifecycle_last_pass_objects{outcome=\"done\"} 1\n",
		"\ns3_lifecycle_dispatch_total{bucket=\"logs\",kind=\"expiration_days\",outcome=\"done\"} 1\n")
	if _, err := get(); err == nil {
		t.Error("metrics are served after the end")
	}
}
