package riverqueue

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"weedlc/internal/pgtest"
	"weedlc/sweep"
)

// crashRig is a folder of objects that worker processes delete: shard-N holds
// the objects of a shard, lock-N is held while the shard is worked, and a line
// of log is one object deleted by one process.
type crashRig struct{ dir string }

const (
	crashShards  = 6
	crashObjects = 40
)

func newCrashRig(t *testing.T) crashRig {
	t.Helper()
	rig := crashRig{t.TempDir()}
	for shard := range crashShards {
		if err := os.Mkdir(rig.shard(shard), 0o755); err != nil {
			t.Fatal(err)
		}
		for object := range crashObjects {
			if err := os.WriteFile(filepath.Join(rig.shard(shard), strconv.Itoa(object)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return rig
}

func (r crashRig) shard(n int) string { return filepath.Join(r.dir, fmt.Sprintf("shard-%d", n)) }

// execute deletes the objects of a shard until there are none or the chunk is
// over. It notes when two processes work a shard at once.
func (r crashRig) execute(ctx context.Context, c sweep.Chunk) sweep.Outcome {
	lock, err := os.OpenFile(filepath.Join(r.dir, fmt.Sprintf("lock-%d", c.Job.Shard)), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryInput}
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = os.WriteFile(filepath.Join(r.dir, "two-at-once"), nil, 0o644)
	}
	objects, err := os.ReadDir(r.shard(c.Job.Shard))
	if err != nil {
		return sweep.Outcome{Result: sweep.Terminal, Category: sweep.CategoryInput}
	}
	for _, object := range objects {
		if ctx.Err() != nil || time.Now().After(c.Until) {
			return sweep.Outcome{Result: sweep.Cut}
		}
		time.Sleep(10 * time.Millisecond)
		_ = os.Remove(filepath.Join(r.shard(c.Job.Shard), object.Name()))
	}
	return sweep.Outcome{Result: sweep.Done}
}

func (r crashRig) left(t *testing.T) int {
	t.Helper()
	n := 0
	for shard := range crashShards {
		objects, err := os.ReadDir(r.shard(shard))
		if err != nil {
			t.Fatal(err)
		}
		n += len(objects)
	}
	return n
}

func crashOptions(name string) sweep.Options {
	return sweep.Options{
		Worker: name, Host: "h", PID: os.Getpid(), Jobs: 2,
		Chunk: time.Second, Policy: sweep.DefaultPolicy(), Heartbeat: 500 * time.Millisecond, StopWithin: 5 * time.Second,
		Clock: time.Now, Jitter: rand.Float64, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
}

// TestWorkerProcess is the worker that the tests below kill.
func TestWorkerProcess(t *testing.T) {
	location := os.Getenv("WEEDLC_TEST_QUEUE")
	if location == "" {
		return
	}
	q := open(t, location, time.Now)
	rig := crashRig{os.Getenv("WEEDLC_TEST_DIR")}
	if _, err := sweep.NewWorker(q, rig.execute, crashOptions(fmt.Sprint("pid-", os.Getpid()))).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (r crashRig) start(t *testing.T, location string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$")
	cmd.Env = append(os.Environ(), "WEEDLC_TEST_QUEUE="+location, "WEEDLC_TEST_DIR="+r.dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Two workers are killed at random points. Every job ends, with all its
// objects gone, and no shard is ever worked by two processes.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, location string) {
		rig := newCrashRig(t)
		q := open(t, location, time.Now)
		for _, id := range []string{"cleanup:1", "cleanup:2"} {
			if _, err := sweep.Enqueue(t.Context(), q, sweep.Admission{
				Sweep: id, Shards: []int{0, 1, 2, 3, 4, 5}, Now: time.Now(),
			}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			before := rig.left(t)
			victim := rig.start(t, location)
			for rig.left(t) > before-1-rand.IntN(20) && rig.left(t) > 0 {
				time.Sleep(5 * time.Millisecond)
			}
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = victim.Wait() // killed
			t.Logf("killed with %d objects left", rig.left(t))
		}
		last := rig.start(t, location)
		if err := last.Wait(); err != nil {
			t.Errorf("the last worker: %v", err)
		}
		for _, id := range []string{"cleanup:1", "cleanup:2"} {
			jobs, err := q.Jobs(t.Context(), id, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(jobs, func(j sweep.JobRecord) bool { return j.State != sweep.JobDone }); i >= 0 {
				t.Errorf("%s: job %+v", id, jobs[i])
			}
		}
		if left := rig.left(t); left != 0 {
			t.Errorf("%d objects are left", left)
		}
		if _, err := os.Stat(filepath.Join(rig.dir, "two-at-once")); err == nil {
			t.Error("two processes worked one shard at once")
		}
	})
}

// PostgreSQL goes away in the middle, for longer than a worker may go on
// without it, and comes back: the workers recover by themselves.
func TestPostgresRestarted(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	location := server.Database(t)
	rig := newCrashRig(t)
	q := open(t, location, time.Now)
	shards := []int{0, 1, 2, 3, 4, 5}
	if _, err := sweep.Enqueue(t.Context(), q, sweep.Admission{Sweep: "cleanup:1", Shards: shards, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	reports := make(chan sweep.Report)
	for _, name := range []string{"a", "b"} {
		other := open(t, location, time.Now)
		o := crashOptions(name)
		o.Limit, o.Chunk = 1000, 4*time.Second
		go func() {
			report, err := sweep.NewWorker(other, rig.execute, o).Run(t.Context())
			if err != nil {
				t.Error(err)
			}
			reports <- report
		}()
	}
	for rig.left(t) > crashShards*crashObjects-30 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	done := 0
	for range 2 {
		report := <-reports
		done += report.Steps[sweep.Acknowledge]
		if report.Left.Total() != 0 || len(report.Dead) != 0 {
			t.Errorf("report %+v", report)
		}
	}
	if left := rig.left(t); left != 0 || done > len(shards) {
		t.Errorf("%d objects are left, %d acknowledged", left, done)
	}
}
