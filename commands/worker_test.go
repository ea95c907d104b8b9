package commands

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/adminworker"
	"weedlc/internal/memcluster"
)

// carryOut carries out a job as a worker that was started with arguments.
func (h *testHost) carryOut(ctx context.Context, job adminworker.Job, args ...string) (adminworker.Result, []adminworker.Progress) {
	h.t.Helper()
	a := newApp(h.Host)
	var o workerOptions
	cmd := newWorker(a)
	cmd.ResetFlags()
	a.global.layers = map[string]layer{}
	o.AddFlags(cmd.Flags())
	check(h.t, cmd.ParseFlags(args))
	check(h.t, a.configure(cmd))
	var told []adminworker.Progress
	jobs := &workerJobs{options: &o, app: a}
	result := jobs.work(ctx, job, func(p adminworker.Progress) { told = append(told, p) })
	return result, told
}

// allDay is a job over all shards for which there is time.
func allDay() adminworker.Job { return adminworker.Job{Shards: allShards(), MaxRuntime: day} }

func TestJobIsAPassOverItsShards(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "b", "c", "d")
	h.cluster.Advance(25 * time.Hour)
	shard := engine.ShardOf("logs", "a")
	inShard := 0
	for _, key := range []string{"a", "b", "c", "d"} {
		if engine.ShardOf("logs", key) == shard {
			inShard++
		}
	}
	job := adminworker.Job{
		Shards: []int{shard}, Masters: []string{"m1:9333"}, MaxRuntime: time.Hour, DeletesPerSecond: 50, Burst: 10,
	}
	result, told := h.carryOut(t.Context(), job)
	if result.Undone != "" || result.Counts["done"] != int64(inShard) || result.Counts["shards"] != 1 {
		t.Errorf("the job ended with %+v", result)
	}
	contains(t, result.Summary, "shards "+engine.FormatShards(job.Shards)+": ok in ")
	if got := len(h.cluster.Deletes()); got != inShard {
		t.Errorf("%d delete calls, want %d", got, inShard)
	}
	var lines []string
	for _, p := range told {
		if p.Now {
			lines = append(lines, p.Stage+": "+p.Message)
		}
	}
	want := []string{
		"connecting: shards " + engine.FormatShards(job.Shards) + ", 50 deletes/s, burst 10",
		"locking: taking the locks of the shards",
		`running: first pass: walking 1 bucket over all rules: "logs"`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("told is %q, want %q", lines, want)
	}
	if d := h.dialed[0]; !slices.Equal(d.Masters, job.Masters) || !d.NeedGateway {
		t.Errorf("dialled %+v", d)
	}
	contains(t, h.err.String(), "daily_run: status=ok shards=1 ")
}

func TestJobUsesTheMastersThatWereGiven(t *testing.T) {
	h := newTestHost(t)
	job := allDay()
	job.Masters = []string{"m1:9333"}
	h.carryOut(t.Context(), job, "--master", "mine:9333")
	if d := h.dialed[0]; !slices.Equal(d.Masters, []string{"mine:9333"}) {
		t.Errorf("dialled %+v", d)
	}
}

func TestJobKeepsToTheClustersSettings(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a")
	check(t, h.cluster.SetRules("logs", strings.Replace(oneDay, "<Days>1<", "<Days>30<", 1)))
	job := allDay()
	h.carryOut(t.Context(), job)
	unbounded := h.read("shard-00.json")
	job.MetaLogRetention = 7 * day
	if result, _ := h.carryOut(t.Context(), job); result.Undone != "" {
		t.Errorf("the job ended with %+v", result)
	}
	// A rule that the log does not reach back for is another partition.
	if bounded := h.read("shard-00.json"); bounded == unbounded {
		t.Errorf("the reach of the log makes no difference:\n%s", bounded)
	}
}

func TestJobThatLeavesSomethingUndoneSaysSo(t *testing.T) {
	t.Run("a delete is blocked", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "stuck\x1b[31m", "fine")
		h.cluster.Advance(25 * time.Hour)
		h.cluster.AnswerDeletes("logs", "stuck\x1b[31m", memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"})
		result, _ := h.carryOut(t.Context(), allDay())
		contains(t, result.Undone, "partial; blocked: shard ", `bucket "logs"`, `stuck\x1b[31m`, "busy", "; progress is saved, the next pass goes on")
		contains(t, result.Summary, "shards 0-15: partial in ", "blocked 1")
		if len(result.Notes) != 1 || !strings.HasPrefix(result.Notes[0], "blocked: ") {
			t.Errorf("the notes are %q", result.Notes)
		}
	})
	t.Run("its time is over", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a", "b", "c")
		h.cluster.Advance(25 * time.Hour)
		h.cluster.SetHook(func(c memcluster.Call) error {
			if c.Op == memcluster.OpDelete {
				h.cluster.Advance(2 * time.Hour)
			}
			return nil
		})
		job := allDay()
		job.MaxRuntime = time.Nanosecond
		result, _ := h.carryOut(t.Context(), job)
		contains(t, result.Undone, "cut_short after 1ns; progress is saved, the next pass goes on")
		h.cluster.SetHook(nil)
		if result, _ := h.carryOut(t.Context(), allDay()); result.Undone != "" || len(h.cluster.Deletes()) != 3 {
			t.Errorf("the next job ended with %+v after %d deletes", result, len(h.cluster.Deletes()))
		}
	})
	t.Run("another pass holds a shard", func(t *testing.T) {
		h := newTestHost(t)
		h.heldBy = heldByCron
		result, _ := h.carryOut(t.Context(), allDay())
		equal(t, "undone", result.Undone, `shard 3 is held by process 4711 on host "cron1" since 2026-11-30T11:00:00Z`)
	})
	t.Run("the cluster cannot be reached", func(t *testing.T) {
		h := newTestHost(t)
		h.Dial = func(context.Context, DialOptions) (*Cluster, error) { return nil, errors.New("no such host") }
		result, _ := h.carryOut(t.Context(), allDay())
		if want := (adminworker.Result{Undone: "no such host"}); !reflect.DeepEqual(result, want) {
			t.Errorf("the job ended with %+v", result)
		}
	})
	t.Run("passes are paused", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a")
		h.cluster.Advance(25 * time.Hour)
		h.must(exitDone, "pause", "--reason", "incident 12")
		result, _ := h.carryOut(t.Context(), allDay())
		contains(t, result.Undone, "partial; ", "incident 12")
		if got := len(h.cluster.Deletes()); got != 0 {
			t.Errorf("%d delete calls while paused", got)
		}
	})
	t.Run("too much is due", func(t *testing.T) {
		h := newTestHost(t)
		h.bucket("logs", "a", "b", "c")
		h.cluster.Advance(25 * time.Hour)
		result, _ := h.carryOut(t.Context(), allDay(), "--max-deletes", "2")
		contains(t, result.Undone, "partial; ")
		if got := len(h.cluster.Deletes()); got != 2 {
			t.Errorf("%d delete calls, want 2", got)
		}
	})
}

func TestWorkerUsage(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "weedlc: no admin server is given\nhint: weedlc worker --admin HOST:PORT\n"},
		{[]string{"--admin", "nowhere"}, "weedlc: admin server \"nowhere\" is not of the form host:port\n"},
		{[]string{"--admin", "localhost:x"}, "weedlc: admin server \"localhost:x\" has no valid port: \"x\"\n"},
		{[]string{"--admin", "localhost:1", "--no-lock", "--wait", "1m"}, "weedlc: --no-lock and --wait exclude each other\n"},
		{[]string{"--admin", "192.0.2.1:12535"}, "weedlc: admin server \"192.0.2.1:12535\" is on another host, and plain text to another host is refused\n" +
			"hint: set cert and key under [grpc.worker], and grpc.ca, in security.toml, or allow plain text\n"},
	} {
		h := newTestHost(t)
		h.must(exitFailed, append([]string{"worker"}, tc.args...)...)
		equal(t, strings.Join(tc.args, " "), h.err.String(), tc.want)
	}
}

func TestWorkerWithoutAdminServer(t *testing.T) {
	h := newTestHost(t)
	h.must(exitFailed, "worker", "--admin", "127.0.0.1:9.1")
	contains(t, h.err.String(), "cannot see the admin server's other workers", `weedlc: admin server "127.0.0.1:9.1" cannot be reached: `)
}
