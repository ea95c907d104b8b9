package commands

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/weedtest"
)

// scheduler is an admin server whose workers send their deletes through a
// proxy.
type scheduler struct {
	*weedtest.Client
	t     *testing.T
	admin *weedtest.AdminServer
	proxy *weedtest.Proxy
	known map[string]bool
}

func newScheduler(t *testing.T) *scheduler {
	t.Helper()
	return &scheduler{
		Client: shared.Client(t), t: t, known: map[string]bool{}, admin: shared.Cluster(t).StartAdmin(t, ""),
		proxy: weedtest.NewProxy(t, shared.Cluster(t).Addr(weedtest.Gateway).GRPC()),
	}
}

// startWorker starts a worker that knows of the cluster what the admin server
// tells it.
func startWorker(t *testing.T, a *weedtest.AdminServer, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "weedlc", append([]string{"worker", "--admin", a.Addr().String()}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), env...)
	pipe, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	return &process{cmd, t, bufio.NewReader(pipe)}
}

// worker starts a worker and waits until it is connected.
func (s *scheduler) worker(id string, args ...string) *process {
	s.t.Helper()
	p := startWorker(s.t, s.admin, nil, append([]string{"--worker-id", id, "--s3", s.proxy.Addr()}, args...)...)
	p.awaitWords("connected to the admin server")
	return p
}

// awaitWords reads standard error up to a line that has a text in it.
func (p *process) awaitWords(text string) {
	p.t.Helper()
	var said strings.Builder
	for {
		line, err := p.stderr.ReadString('\n')
		if strings.Contains(line, text) {
			return
		}
		said.WriteString(line)
		if err != nil {
			p.t.Fatalf("no line with %q on standard error: %v\n%s", text, err, &said)
		}
	}
}

// stop ends a worker in good order.
func (p *process) stop() string {
	p.t.Helper()
	check(p.t, p.Process.Signal(syscall.SIGTERM))
	code, rest := p.end()
	if code != exitInterrupted {
		p.t.Errorf("exit %d after SIGTERM, want %d\n%s", code, exitInterrupted, rest)
	}
	return rest
}

func (s *scheduler) call(method, path string, body, out any) {
	s.t.Helper()
	check(s.t, s.admin.Call(s.t.Context(), method, path, body, out))
}

const lifecycleAPI = "/api/plugin/job-types/s3_lifecycle"

// scheduled has passes begin by themselves, the first of them five seconds after
// a worker has connected; manual leaves them to those who ask for one.
const scheduled, manual = true, false

// configure sets the cluster's rate.
func (s *scheduler) configure(enabled bool, rate, burst int) {
	s.t.Helper()
	value := func(n int) map[string]any { return map[string]any{"int64_value": fmt.Sprint(n)} }
	s.call(http.MethodPut, lifecycleAPI+"/config", map[string]any{
		"admin_runtime":       map[string]any{"enabled": enabled, "detection_interval_minutes": 1440},
		"admin_config_values": map[string]any{"cluster_deletes_per_second": value(rate), "cluster_deletes_burst": value(burst)},
	}, nil)
}

// pass has the admin server make a pass in the background.
func (s *scheduler) pass() {
	ctx := s.t.Context()
	go func() { _ = s.admin.Call(ctx, http.MethodPost, lifecycleAPI+"/run", map[string]any{}, nil) }()
}

// adminJob is a job as the admin server shows it.
type adminJob struct {
	ID       string `json:"job_id"`
	State    string `json:"state"`
	WorkerID string `json:"worker_id"`
	Message  string `json:"message"`
	Summary  string `json:"summary"`
}

// ended waits for n more jobs to end. They are in the order of their summaries,
// and so of their shards.
func (s *scheduler) ended(n int) []adminJob {
	s.t.Helper()
	ends := []string{"job_state_succeeded", "job_state_failed", "job_state_canceled", "canceled"}
	var fresh []adminJob
	s.until(fmt.Sprintf("%d more jobs have ended", n), func() bool {
		fresh = nil
		var list []adminJob
		s.call(http.MethodGet, "/api/plugin/jobs?job_type=s3_lifecycle", nil, &list)
		for _, j := range list {
			if !s.known[j.ID] && slices.Contains(ends, j.State) {
				fresh = append(fresh, j)
			}
		}
		return len(fresh) >= n
	})
	for _, j := range fresh {
		s.known[j.ID] = true
	}
	slices.SortFunc(fresh, func(a, b adminJob) int { return strings.Compare(a.Summary, b.Summary) })
	return fresh
}

// until waits for a condition.
func (s *scheduler) until(what string, holds func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("not seen within a minute: %s", what)
		}
	}
}

// told are the messages of a job's history.
func (s *scheduler) told(j adminJob) string {
	s.t.Helper()
	var detail struct {
		Activities []struct{ Message string }
	}
	s.call(http.MethodGet, "/api/plugin/jobs/"+j.ID+"/detail", nil, &detail)
	var lines []string
	for _, a := range detail.Activities {
		lines = append(lines, a.Message)
	}
	return strings.Join(lines, "\n")
}

// cursors are those of all shards. One that is missing ends the test.
func (s *scheduler) cursors() map[int]engine.Cursor {
	s.t.Helper()
	all := map[int]engine.Cursor{}
	for shard := range engine.ShardCount {
		name := fmt.Sprintf("shard-%02d.json", shard)
		file, err := cursorfile.DecodeCursor(name, shard, s.ReadFile(cursorfile.FilerDir+"/"+name), time.Now(), false)
		check(s.t, err)
		all[shard] = file.Cursor
	}
	return all
}

// putDue puts objects that are due into both halves of the shards.
func (s *scheduler) putDue(bucket, prefix string, n int) {
	s.t.Helper()
	for i := range n {
		s.Put(bucket, fmt.Sprintf("%s%03d", prefix, i), weedtest.Object{Body: "x", Age: 3 * day})
	}
}

// keyInShards is a key with a prefix in one of some shards.
func keyInShards(bucket, prefix string, shards ...int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf("%s%d", prefix, i); slices.Contains(shards, engine.ShardOf(bucket, key)) {
			return key
		}
	}
}
