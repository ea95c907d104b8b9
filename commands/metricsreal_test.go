package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"weedlc/internal/promtest"
	"weedlc/internal/weedtest"
)

// A pass is scraped in the middle of its deletes.
func TestScrapeOfALivePass(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("logs", weedtest.Plain, oneDay)
	for i := range 30 {
		cl.Put("logs", fmt.Sprintf("old-%02d", i), weedtest.Object{Body: "x", Age: 3 * day})
	}
	proxy := weedtest.NewProxy(t, shared.Cluster(t).Addr(weedtest.Gateway).GRPC())
	proxy.Add(weedtest.Rule{Bucket: "logs", Delay: 50 * time.Millisecond})

	file := filepath.Join(t.TempDir(), "weedlc.prom")
	p := startProcess(t, shared.Cluster(t), "run", "--wait", "1m", "--s3", proxy.Addr(), "--concurrency", "1",
		"--deletes-per-second", "20", "--metrics-listen", "127.0.0.1:0", "--metrics-file", file)
	address := ""
	for address == "" {
		line, err := p.stderr.ReadString('\n')
		check(t, err)
		if rest, ok := strings.CutPrefix(line, "metrics are at "); ok {
			address = strings.TrimSpace(rest)
		}
	}
	check(t, proxy.Await(t.Context(), weedtest.LifecycleDelete, 10))
	resp, err := http.Get(address)
	check(t, err)
	body, err := io.ReadAll(resp.Body)
	check(t, err)
	check(t, resp.Body.Close())
	live := "\n" + string(body)
	code, rest := p.end()
	if code != exitDone || !strings.Contains(rest, "daily_run: status=ok ") {
		t.Errorf("exit %d, stderr %q", code, rest)
	}

	promtest.CheckMetrics(t, live)
	contains(t, live, "\ns3_lifecycle_deletes_per_second_limit 20\n", "\n# TYPE s3_lifecycle_daily_run_entries_walked_total counter\n")
	if n := metric(t, live, `s3_lifecycle_dispatch_total{bucket="logs",kind="expiration_days",outcome="done"}`); n < 1 || n >= 30 {
		t.Errorf("%v objects are deleted in the middle of the pass, want some of 30", n)
	}
	if strings.Contains(live, "s3_lifecycle_last_pass") {
		t.Error("a pass has ended before it has")
	}

	ended := prom(t, file)
	promtest.CheckMetrics(t, ended)
	contains(t, ended, "\ns3_lifecycle_cursor_min_ts_ns{shard=\"15\"} ", "\ns3_lifecycle_last_pass_status{status=\"ok\"} 1\n", "\ns3_lifecycle_last_pass_objects{outcome=\"done\"} 30\n",
		"\ns3_lifecycle_last_pass_delete_calls 30\n", "\ns3_lifecycle_dispatch_limiter_wait_seconds_count 30\n")
	if end := metric(t, ended, "s3_lifecycle_last_pass_end_timestamp_seconds"); time.Since(time.Unix(int64(end), 0)).Abs() > time.Minute {
		t.Errorf("the pass ended at %v", end)
	}
}

// metric is the value of one series.
func metric(t *testing.T, text, series string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in:\n%s", series, text)
	}
	var value float64
	check(t, json.Unmarshal([]byte(m[1]), &value))
	return value
}

// SeaweedFS's logger and gRPC's write neither files nor lines of their own,
// whatever becomes of the connections.
func TestNothingButOurLogIsWritten(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("logs", weedtest.Plain, oneDay)
	cl.Put("logs", "old", weedtest.Object{Body: "x", Age: 3 * day})
	c := shared.Cluster(t)
	link := weedtest.NewLink(t, c.Addr(weedtest.Gateway).GRPC())
	proxy := weedtest.NewProxy(t, c.Addr(weedtest.Gateway).GRPC())
	proxy.Add(weedtest.Rule{Bucket: "logs", Err: weedtest.NoService()})

	ours := func(code int, during func(), args ...string) {
		t.Helper()
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		p := startProcess(t, c, append(args, "--log-format", "json", "--log-level", "debug")...)
		if during != nil {
			during()
		}
		got, said := p.end()
		if got != code {
			t.Errorf("weedlc %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, said)
		}
		for line := range strings.Lines(said) {
			if !json.Valid([]byte(line)) && !strings.HasPrefix(line, "daily_run: ") {
				t.Errorf("weedlc %s: not ours: %q", strings.Join(args, " "), line)
			}
		}
		entries, err := os.ReadDir(tmp)
		check(t, err)
		for _, e := range entries {
			// The process's own directory lies there too.
			if files, err := os.ReadDir(filepath.Join(tmp, e.Name())); err != nil || !e.IsDir() || len(files) > 0 {
				t.Errorf("weedlc %s: %v lies in the temporary directory: %v, %v", strings.Join(args, " "), e, files, err)
			}
		}
	}
	ours(exitFailed, nil, "run", "--master", "127.0.0.1:1")
	ours(exitFailed, nil, "run", "--filer", c.Addr(weedtest.Filer).HTTP()+".1", "--s3", link.Addr())
	ours(exitFailed, nil, "run", "--s3", c.Addr(weedtest.Gateway).HTTP())
	ours(exitFailed, nil, "run", "--wait", "1m", "--s3", proxy.Addr())
	proxy.Clear()
	proxy.Forget()
	proxy.Add(weedtest.Rule{Bucket: "logs", Delay: time.Second})
	behind := weedtest.NewLink(t, proxy.Addr())
	ours(exitUndone, func() {
		check(t, proxy.Await(t.Context(), weedtest.LifecycleDelete, 2))
		behind.Cut()
	}, "run", "--wait", "1m", "--s3", behind.Addr())
	ours(exitDone, nil, "walk", "--all-buckets", "--wait", "1m")
}
