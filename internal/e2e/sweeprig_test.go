package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/commands"
	"weedlc/engine"
	"weedlc/internal/pgtest"
	"weedlc/internal/weedtest"
)

// commandMark makes the test binary weedlc, for tests that kill it.
const commandMark = "WEEDLC_E2E_IS_COMMAND"

// asCommand runs weedlc and exits, when the process was started for that.
func asCommand() {
	if os.Getenv(commandMark) != "" {
		_ = os.Unsetenv(commandMark)
		os.Exit(commands.Main(context.Background(), os.Args[1:], commands.OSHost()))
	}
}

// queueKinds are the databases that sweeps are kept in.
func queueKinds(t *testing.T) map[string]func(*testing.T) string {
	pg := pgtest.New(t)
	return map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "queue.db") },
		"postgres": func(t *testing.T) string { return pg.Database(t) },
	}
}

// sweeper is a rig with a queue, on which weedlc itself works.
type sweeper struct {
	*rig
	env []string
}

// newSweeper has a queue of its own. Its commands find the cluster through the
// proxy.
func newSweeper(r *rig, queue string) *sweeper {
	home := r.t.TempDir()
	r.must(os.Symlink(r.server.Dir(), filepath.Join(home, ".seaweedfs")))
	return &sweeper{rig: r, env: append(os.Environ(),
		"HOME="+home,
		"WEEDLC_QUEUE="+queue,
		"WEEDLC_FILER="+r.server.Addr(weedtest.Filer).String(),
		"WEEDLC_S3="+r.proxy.Addr(),
		"WEEDLC_RETRY_DELAY=100ms",
	)}
}

// finished is a command that has ended.
type finished struct {
	code        int
	stdout, log string
}

// command runs weedlc in this process.
func (s *sweeper) command(ctx context.Context, args ...string) finished {
	var out, log bytes.Buffer
	h := commands.OSHost()
	h.In, h.Out, h.Err, h.InTTY, h.OutTTY, h.ErrTTY = strings.NewReader(""), &out, &log, false, false, false
	h.Env = s.env
	code := commands.Main(ctx, args, h)
	return finished{code, out.String(), log.String()}
}

// weedlc is command with an exit code that it must have.
func (s *sweeper) weedlc(code int, args ...string) finished {
	s.t.Helper()
	f := s.command(s.t.Context(), args...)
	if f.code != code {
		s.t.Fatalf("weedlc %s: exit %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), f.code, code, f.stdout, f.log)
	}
	return f
}

// process is weedlc in a process of its own.
func (s *sweeper) process(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(s.env, commandMark+"=1")
	cmd.Stdout, cmd.Stderr = s.t.Output(), s.t.Output()
	return cmd
}

// decode is a command's JSON.
func decode[T any](t *testing.T, f finished) T {
	t.Helper()
	var doc T
	if err := json.Unmarshal([]byte(f.stdout), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, f.stdout)
	}
	return doc
}

// deadLetter and jobCounts are what the tests look at of the JSON forms.
type deadLetter struct {
	Job                             int64
	Sweep, Category, State, Version string
	Shard, Attempts                 int
	Bucket, Key                     string
	RedriveOf                       *int64 `json:"redrive_of"`
}

type queueStatus struct {
	Jobs    map[string]int
	Retries map[string]int
	Waits   map[string]int
	Buckets []struct {
		Bucket  string
		Deletes int64
	}
}

func (s *sweeper) letters(args ...string) []deadLetter {
	s.t.Helper()
	f := s.weedlc(0, append([]string{"sweep", "dead-letters", "-o", "json"}, args...)...)
	return decode[struct {
		DeadLetters []deadLetter `json:"dead_letters"`
	}](s.t, f).DeadLetters
}

func (s *sweeper) status() queueStatus {
	s.t.Helper()
	return decode[queueStatus](s.t, s.weedlc(0, "sweep", "status", "-o", "json"))
}

// await looks at the queue until it stands as wanted.
func (s *sweeper) await(what string, stands func(queueStatus) bool) {
	s.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for st := s.status(); !stands(st); st = s.status() {
		if time.Now().After(deadline) {
			s.t.Fatalf("not %s: %+v", what, st)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// wantJobs fails unless the queue has exactly these jobs.
func (s *sweeper) wantJobs(want map[string]int) queueStatus {
	s.t.Helper()
	st := s.status()
	for state, n := range st.Jobs {
		if n != want[state] {
			s.t.Errorf("%d jobs are %s, want %d", n, state, want[state])
		}
	}
	for state, n := range want {
		if st.Jobs[state] != n {
			s.t.Errorf("%d jobs are %s, want %d", st.Jobs[state], state, n)
		}
	}
	return st
}

// calls are the deletes that reached the gateway since the proxy forgot, without
// the probe by which each command that connects finds out whether it may.
func (s *sweeper) calls() []weedtest.Call {
	return slices.DeleteFunc(s.proxy.Calls(weedtest.LifecycleDelete), func(c weedtest.Call) bool { return c.Delete.GetBucket() == "" })
}

func (s *sweeper) wantSent(want ...sent) {
	s.t.Helper()
	var got []sent
	for _, c := range s.calls() {
		got = append(got, sent{c.Delete.GetBucket(), c.Delete.GetObjectPath(), c.Delete.GetVersionId(), engine.Kind(c.Delete.GetActionKind())})
	}
	same(s.t, "deletes sent", got, want)
}
