package metrics

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/pass"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newMetrics() *Metrics { return New(func() time.Time { return noon }, nil) }

// text is what a scrape returns.
func text(t *testing.T, m *Metrics) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m.prom")
	check(t, m.WriteFile(name))
	data, err := os.ReadFile(name)
	check(t, err)
	return string(data)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// has fails unless each line is one of the text's.
func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %s in:\n%s", line, text)
		}
	}
}

// lacks fails if a line begins with a name.
func lacks(t *testing.T, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		if strings.Contains("\n"+text, "\n"+name) {
			t.Errorf("%s is in:\n%s", name, text)
		}
	}
}

func TestCountersMoveAtOnce(t *testing.T) {
	m := newMetrics()
	m.Limit(100)
	m.Scanned(3)
	m.Scanned(3)
	m.Scanned(15)
	m.Walked(0, 7)
	m.RangeRead()
	m.Called(0)
	m.Called(2 * time.Second)
	object := &engine.Object{Bucket: "logs", Key: "a"}
	m.Settled(pass.Deletion{Object: object, Action: &engine.Action{Kind: engine.ExpirationDays}, Outcome: pass.Done})
	m.Settled(pass.Deletion{Object: object, Action: &engine.Action{Kind: engine.AbortMPU}, Outcome: pass.TransportError})
	has(t, text(t, m),
		`s3_lifecycle_daily_run_events_scanned_total{shard="3"} 2`,
		`s3_lifecycle_daily_run_events_scanned_total{shard="15"} 1`,
		`s3_lifecycle_daily_run_entries_walked_total{shard="0"} 7`,
		`s3_lifecycle_daily_run_log_ranges_read_total 1`,
		`s3_lifecycle_deletes_per_second_limit 100`,
		`s3_lifecycle_dispatch_limiter_wait_seconds_count 2`,
		`s3_lifecycle_dispatch_limiter_wait_seconds_sum 2`,
		`s3_lifecycle_dispatch_limiter_wait_seconds_bucket{le="0.001"} 1`,
		`s3_lifecycle_dispatch_total{bucket="logs",kind="expiration_days",outcome="done"} 1`,
		`s3_lifecycle_dispatch_total{bucket="logs",kind="abort_mpu",outcome="transport_error"} 1`,
	)
}

// Every metric carries the labels that are given, so that files side by side
// have no series in common.
func TestLabelsOfEveryMetric(t *testing.T) {
	m := New(func() time.Time { return noon }, map[string]string{"command": "walk"})
	fill(m)
	for line := range strings.Lines(text(t, m)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `command="walk"`) {
			t.Error(line)
		}
	}
}

func TestABucketOfBrokenUTF8IsCounted(t *testing.T) {
	m := newMetrics()
	m.Settled(pass.Deletion{Object: &engine.Object{Bucket: "a\xff\"\n"}, Action: &engine.Action{Kind: engine.ExpirationDays}, Outcome: pass.Done})
	has(t, text(t, m), `s3_lifecycle_dispatch_total{bucket="a`+"\uFFFD"+`\"\n",kind="expiration_days",outcome="done"} 1`)
}

func TestShardGaugesAreThereOnceSaved(t *testing.T) {
	m := newMetrics()
	lacks(t, text(t, m), "s3_lifecycle_cursor", "s3_lifecycle_daily_run_shard", "s3_lifecycle_daily_run_last")
	st := &engine.ShardState{Shard: 3, Cursor: engine.Cursor{TsNs: 1, LastWalkedNs: 2}}
	st.Side.Blocked = &engine.Failure{SinceNs: noon.UnixNano() + int64(time.Second/2)}
	st.Side.Failed = make([]engine.Failure, 4)
	m.Saved(st, 90*time.Second)
	has(t, text(t, m),
		`s3_lifecycle_cursor_min_ts_ns{shard="3"} 1`,
		`s3_lifecycle_daily_run_last_walked_ns{shard="3"} 2`,
		`s3_lifecycle_daily_run_shard_duration_seconds{shard="3"} 90`,
		`s3_lifecycle_daily_run_shard_blocked_since_timestamp_seconds{shard="3"} 1.7960400005e+09`,
		`s3_lifecycle_daily_run_shard_failed_objects{shard="3"} 4`,
	)
	m.Saved(&engine.ShardState{Shard: 3}, time.Second)
	has(t, text(t, m),
		`s3_lifecycle_cursor_min_ts_ns{shard="3"} 0`,
		`s3_lifecycle_daily_run_shard_blocked_since_timestamp_seconds{shard="3"} 0`,
		`s3_lifecycle_daily_run_shard_failed_objects{shard="3"} 0`,
	)
}

func TestLastPassIsThereOnceEnded(t *testing.T) {
	m := newMetrics()
	lacks(t, text(t, m), "s3_lifecycle_last_pass")
	m.RangeRead()
	m.Called(3 * time.Second)
	m.Ended(&pass.Report{
		Status: pass.Partial, Duration: 90 * time.Second, WalkBound: 2, Errors: make([]pass.Problem, 3),
		Totals: pass.Totals{EventsScanned: 4, EntriesWalked: 5, DeleteCalls: 6, Outcomes: map[pass.Outcome]int64{pass.Done: 7, pass.Blocked: 8}},
	})
	has(t, text(t, m),
		`s3_lifecycle_last_pass_status{status="partial"} 1`,
		`s3_lifecycle_last_pass_status{status="ok"} 0`,
		`s3_lifecycle_last_pass_status{status="cut_short"} 0`,
		`s3_lifecycle_last_pass_status{status="error"} 0`,
		`s3_lifecycle_last_pass_end_timestamp_seconds 1.79604e+09`,
		`s3_lifecycle_last_pass_duration_seconds 90`,
		`s3_lifecycle_last_pass_events_scanned 4`,
		`s3_lifecycle_last_pass_entries_walked 5`,
		`s3_lifecycle_last_pass_log_ranges_read 1`,
		`s3_lifecycle_last_pass_delete_calls 6`,
		`s3_lifecycle_last_pass_limiter_wait_seconds 3`,
		`s3_lifecycle_last_pass_objects{outcome="done"} 7`,
		`s3_lifecycle_last_pass_objects{outcome="blocked"} 8`,
		`s3_lifecycle_last_pass_objects{outcome="retry_later"} 0`,
		`s3_lifecycle_last_pass_errors 3`,
		`s3_lifecycle_last_pass_walk_bound_buckets 2`,
	)
	m.Ended(&pass.Report{Status: pass.Failed})
	has(t, text(t, m),
		`s3_lifecycle_last_pass_status{status="error"} 1`,
		`s3_lifecycle_last_pass_status{status="partial"} 0`,
		`s3_lifecycle_last_pass_log_ranges_read 0`,
		`s3_lifecycle_last_pass_limiter_wait_seconds 0`,
		`s3_lifecycle_last_pass_objects{outcome="done"} 0`,
		`s3_lifecycle_daily_run_log_ranges_read_total 1`,
	)
}

func TestQueueIsThereOnceTold(t *testing.T) {
	m := newMetrics()
	lacks(t, text(t, m), "s3_lifecycle_sweep")
	m.Queue(Queue{Jobs: map[string]int64{"ready": 2, "leased": 1}, DeadLetters: 3, OldestDeadLetter: noon})
	m.Queue(Queue{Jobs: map[string]int64{"ready": 1}, DeadLetters: 3, OldestDeadLetter: noon})
	got := text(t, m)
	has(t, got,
		`s3_lifecycle_sweep_jobs{state="ready"} 1`,
		`s3_lifecycle_sweep_dead_letters 3`,
		`s3_lifecycle_sweep_oldest_dead_letter_timestamp_seconds 1.79604e+09`,
		`s3_lifecycle_sweep_oldest_ready_timestamp_seconds 0`,
	)
	lacks(t, got, `s3_lifecycle_sweep_jobs{state="leased"}`)
}

// The file is replaced whole: nothing else lies beside it, and one that cannot
// be written leaves the old one.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "weedlc.prom")
	check(t, os.WriteFile(name, []byte("old"), 0o600))
	m := newMetrics()
	check(t, m.WriteFile(name))
	info, err := os.Stat(name)
	check(t, err)
	if info.Mode().Perm() != 0o644 || info.Size() < 100 {
		t.Errorf("mode %v, %d bytes", info.Mode(), info.Size())
	}
	entries, err := os.ReadDir(dir)
	check(t, err)
	if len(entries) != 1 {
		t.Errorf("%v lie there, want the file alone", entries)
	}
	if m.WriteFile(filepath.Join(dir, "none", "weedlc.prom")) == nil {
		t.Error("no error for a directory that is not there")
	}
}

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	m := newMetrics()
	m.Scanned(1)
	stop := m.Serve(l, func(err error) { t.Error(err) })
	address := "http://" + l.Addr().String()
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/": http.StatusNotFound} {
		resp, err := http.Get(address + path)
		check(t, err)
		body, err := io.ReadAll(resp.Body)
		check(t, err)
		check(t, resp.Body.Close())
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, resp.Status, want)
		}
		if path == "/metrics" {
			has(t, string(body), `s3_lifecycle_daily_run_events_scanned_total{shard="1"} 1`)
		}
	}
	stop()
	if _, err := http.Get(address + "/metrics"); err == nil {
		t.Error("it serves after the stop")
	}
}

func TestPush(t *testing.T) {
	var got *http.Request
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.WriteHeader(status)
	}))
	defer server.Close()
	gateway, err := url.Parse(server.URL + "/prefix/")
	check(t, err)
	gateway.User = url.UserPassword("me", "the-password")
	m := newMetrics()
	check(t, m.Push(t.Context(), gateway, "host/1"))
	user, password, _ := got.BasicAuth()
	if got.Method != http.MethodPost || got.URL.EscapedPath() != "/prefix/metrics/job/weedlc/instance@base64/aG9zdC8x" || user != "me" || password != "the-password" {
		t.Errorf("%s %s as %q with password %q", got.Method, got.URL, user, password)
	}

	status = http.StatusInternalServerError
	err = m.Push(t.Context(), gateway, "host")
	if err == nil || !strings.Contains(err.Error(), "500") || strings.Contains(err.Error(), "the-password") {
		t.Errorf("an answer of 500 is %v", err)
	}
	server.Close()
	if err := m.Push(t.Context(), gateway, "host"); err == nil || strings.Contains(err.Error(), "the-password") {
		t.Errorf("a server that is not there is %v", err)
	}
}

func TestPushEndsWithItsContext(t *testing.T) {
	came := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(came)
		<-r.Context().Done()
	}))
	defer server.Close()
	gateway, err := url.Parse(server.URL)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-came; cancel() }()
	if newMetrics().Push(ctx, gateway, "host") == nil {
		t.Error("no error from a silent push gateway")
	}
}
