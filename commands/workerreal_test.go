package commands

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"

	"weedlc/internal/weedtest"
)

// Two workers of a real admin server divide a pass and the cluster's rate.
func TestScenario36_WorkersShareAPassAndItsRate(t *testing.T) {
	s := newScheduler(t)
	s.CreateBucket("logs", weedtest.Plain, oneDay)
	s.putDue("logs", "k", 60)
	first, second := s.worker("first"), s.worker("second")
	s.configure(scheduled, 20, 4)
	jobs := s.ended(2)
	if keys := s.Keys("logs"); len(keys) != 0 {
		t.Errorf("%v are left", keys)
	}
	for i, j := range jobs {
		shards := []string{"0-7", "8-15"}[i]
		if j.State != "job_state_succeeded" || j.Summary != "S3 lifecycle, shards "+shards {
			t.Errorf("job %d is %+v", i, j)
		}
		contains(t, j.Message, "shards "+shards+": ok in ", " delete calls (done ")
		contains(t, s.told(j), "shards "+shards+", 10 deletes/s, burst 2", `first pass: walking 1 bucket over all rules: "logs"`)
	}
	if jobs[0].WorkerID == jobs[1].WorkerID {
		t.Errorf("worker %q had both jobs", jobs[0].WorkerID)
	}
	// Each share is 10 a second after a burst of 2. Over both, 60 deletes cannot
	// be sent faster than 20 a second after a burst of 4.
	calls := s.proxy.Calls(weedtest.LifecycleDelete)
	calls = slices.DeleteFunc(calls, func(c weedtest.Call) bool { return c.Delete.GetBucket() == "" })
	if took, least := calls[len(calls)-1].At.Sub(calls[0].At), 2700*time.Millisecond; len(calls) != 60 || took < least {
		t.Errorf("%d deletes were sent within %v, want 60 in no less than %v", len(calls), took, least)
	}

	s.cursors() // of every shard
	contains(t, first.stop(), "daily_run: status=ok shards=8 ")
	second.stop()
}

// A worker that is killed in the middle of a job loses nothing: the next pass
// does what is left, whoever makes it.
func TestKilledWorkerLosesNothing(t *testing.T) {
	s := newScheduler(t)
	s.CreateBucket("logs", weedtest.Plain, oneDay)
	s.putDue("logs", "k", 40)
	stuck := keyInShards("logs", "stuck", 0, 1, 2, 3, 4, 5, 6, 7)
	s.Put("logs", stuck, weedtest.Object{Body: "x", Age: 3 * day})
	hold := make(chan struct{})
	s.proxy.Add(weedtest.Rule{Path: stuck, Hold: hold})
	// Without locks, since those of the dead live on for half a minute.
	workers := map[string]*process{"a": s.worker("a", "--no-lock"), "b": s.worker("b", "--no-lock")}
	s.configure(scheduled, 0, 0)
	one := s.ended(1)[0]
	if one.Summary != "S3 lifecycle, shards 8-15" {
		t.Fatalf("the job that ended is %+v", one)
	}
	victim := workers[map[string]string{"a": "b", "b": "a"}[one.WorkerID]]
	s.until("the call that is held arrives", func() bool {
		return slices.ContainsFunc(s.proxy.Calls(weedtest.LifecycleDelete), func(c weedtest.Call) bool { return c.Delete.GetObjectPath() == stuck })
	})
	check(t, victim.Process.Kill())
	victim.end()
	close(hold)
	s.putDue("logs", "more", 5)
	s.pass()
	again := s.ended(1)[0]
	if again.State != "job_state_succeeded" || again.WorkerID != one.WorkerID || again.Summary != "S3 lifecycle, shards 0-15" {
		t.Errorf("the job that ended is %+v", again)
	}
	if keys := s.Keys("logs"); len(keys) != 0 {
		t.Errorf("%v are left", keys)
	}
	workers[one.WorkerID].stop()
}

// A job outlives the admin server: the next one, on the same data, is told of
// its end. One that leaves something undone is no success.
func TestScenario53_JobOutlivesTheAdminServer(t *testing.T) {
	s := newScheduler(t)
	s.CreateBucket("logs", weedtest.Plain, oneDay)
	s.Put("logs", "held", weedtest.Object{Body: "x", Age: 3 * day})
	s.Put("logs", "blocked", weedtest.Object{Body: "x", Age: 3 * day})
	hold := make(chan struct{})
	s.proxy.Add(weedtest.Rule{Path: "held", Hold: hold})
	s.proxy.Add(weedtest.Rule{Path: "blocked", Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED, Reason: "busy"})
	s.configure(manual, 0, 0)
	w := s.worker("w")
	s.pass()
	w.awaitWords("job begins")
	s.until("the admin server has saved what it knows of the job", func() bool {
		data, err := os.ReadFile(filepath.Join(s.admin.Dir(), "plugin", "jobs", "tracked_jobs.json"))
		return err == nil && strings.Contains(string(data), "job_state_running")
	})
	check(t, s.admin.Restart(t.Context()))
	w.awaitWords("connected to the admin server")
	close(hold)
	j := s.ended(1)[0]
	if j.State != "job_state_failed" || j.WorkerID != "w" {
		t.Errorf("the job is %+v", j)
	}
	contains(t, j.Message, "partial; ", `: bucket "logs": key "blocked", expiration_days: blocked: busy`, "; progress is saved, the next pass goes on")
	if keys := s.Keys("logs"); !slices.Equal(keys, []string{"blocked"}) {
		t.Errorf("%v are left", keys)
	}
	w.stop()
}

// SIGTERM ends the job in flight: what is in flight ends, the progress is saved,
// and the admin server is told.
func TestStoppedWorkerTellsOfItsJob(t *testing.T) {
	s := newScheduler(t)
	s.CreateBucket("logs", weedtest.Plain, oneDay)
	s.putDue("logs", "k", 40)
	s.configure(manual, 5, 1)
	w := s.worker("w")
	s.pass()
	s.until("a delete is sent", func() bool { return len(s.Keys("logs")) < 40 })
	contains(t, w.stop(), "daily_run: status=cut_short ")
	j := s.ended(1)[0]
	if j.State != "job_state_failed" {
		t.Errorf("the job is %+v", j)
	}
	contains(t, j.Message, "the worker was stopped: cut_short; progress is saved, the next pass goes on")
	s.cursors() // of every shard
}

// The built-in worker takes over from ours, and ours from it, and neither takes
// the change for one of the rules. Side by side they are refused.
func TestBuiltInWorkerAndOurs(t *testing.T) {
	s := newScheduler(t)
	s.CreateBucket("logs", weedtest.Plain, oneDay)
	s.Put("logs", "young", weedtest.Object{Body: "x"})
	s.putDue("logs", "k", 20)
	s.configure(manual, 0, 0)
	w := s.worker("ours")
	s.pass()
	s.ended(1)
	w.stop()
	ours := s.cursors()

	s.putDue("logs", "k", 20)
	stop := s.admin.StartBuiltInWorker(t, "builtin", "vacuum")
	// A job of ours is none for it.
	err := s.admin.Call(t.Context(), http.MethodPost, "/api/plugin/jobs/execute", map[string]any{"job": map[string]any{
		"job_id": "ours", "job_type": "s3_lifecycle", "parameters": map[string]any{"shards": map[string]any{"string_value": "0-7"}},
	}}, nil)
	if err == nil || !strings.Contains(err.Error(), "missing filer_grpc_address") {
		t.Errorf("the built-in worker given a range of shards: %v", err)
	}
	s.ended(1)
	if got := len(s.Keys("logs")); got != 21 {
		t.Fatalf("%d objects are left of 21", got)
	}

	refused := startWorker(t, s.admin, nil, "--worker-id", "ours", "--s3", s.proxy.Addr())
	code, rest := refused.end()
	if code != exitFailed {
		t.Errorf("exit %d beside a built-in worker, want %d", code, exitFailed)
	}
	contains(t, rest, `weedlc: worker "builtin" at "`, `serves "s3_lifecycle" on the same admin server`, "\nhint: start that one with -jobType=vacuum\n")

	s.pass()
	if j := s.ended(1)[0]; j.State != "job_state_succeeded" || j.WorkerID != "builtin" {
		t.Errorf("the built-in worker's job is %+v", j)
	}
	if keys := s.Keys("logs"); !slices.Equal(keys, []string{"young"}) {
		t.Errorf("%v are left", keys)
	}
	theirs := s.cursors()
	for shard, c := range theirs {
		was := ours[shard]
		if c.RuleSetHash != was.RuleSetHash || c.PromotedHash != was.PromotedHash || c.LastWalkedNs != was.LastWalkedNs || c.TsNs < was.TsNs {
			t.Errorf("shard %d: the built-in worker made %+v of %+v", shard, c, was)
		}
	}
	stop()

	s.putDue("logs", "k", 20)
	w = s.worker("ours")
	s.pass()
	j := s.ended(1)[0]
	contains(t, j.Message, "shards 0-15: ok in ", " 0 entries walked, 20 delete calls (done 20)")
	for shard, c := range s.cursors() {
		was := theirs[shard]
		if c.RuleSetHash != was.RuleSetHash || c.PromotedHash != was.PromotedHash || c.LastWalkedNs != was.LastWalkedNs {
			t.Errorf("shard %d: ours made %+v of %+v", shard, c, was)
		}
	}

	// One that comes later is met by the next detection, at the latest.
	s.admin.StartBuiltInWorker(t, "late")
	s.pass()
	code, rest = w.end()
	if code != exitFailed {
		t.Errorf("exit %d beside a late built-in worker, want %d", code, exitFailed)
	}
	contains(t, rest, `weedlc: worker "late" at "`, "\nhint: stop that one\n")
}

// secureWorker connects a worker to an admin server with TLS, a signing key and
// a login: it sees the built-in worker there if it knows the password.
func secureWorker(t *testing.T, c *weedtest.Cluster) {
	t.Helper()
	admin := c.StartAdmin(t, "the-password")
	security, err := os.ReadFile(filepath.Join(c.Dir(), "security.toml"))
	check(t, err)
	start := func(password string) *process {
		home := t.TempDir()
		check(t, os.Mkdir(filepath.Join(home, ".seaweedfs"), 0o700))
		check(t, os.WriteFile(filepath.Join(home, ".seaweedfs", "security.toml"), security, 0o600))
		return startWorker(t, admin, []string{"HOME=" + home, "WEED_ADMIN_PASSWORD=" + password})
	}
	for password, want := range map[string]string{
		"":             "the web interface asks for a login; security.toml has neither admin.readonly.password nor admin.password",
		"wrong":        `the login as \"admin\" is refused: Invalid credentials`,
		"the-password": "",
	} {
		w := start(password)
		w.awaitWords(cmp.Or(want, "connected to the admin server"))
		check(t, w.Process.Signal(syscall.SIGTERM))
		if code, rest := w.end(); code != exitInterrupted || want == "" && strings.Contains(rest, "cannot see") {
			t.Errorf("password %q: exit %d, stderr %q", password, code, rest)
		}
	}

	admin.StartBuiltInWorker(t, "builtin")
	w := start("the-password")
	w.awaitWords(`weedlc: worker "builtin" at "`)
	if code, rest := w.end(); code != exitFailed {
		t.Errorf("exit %d beside a built-in worker: %s", code, rest)
	}
}
