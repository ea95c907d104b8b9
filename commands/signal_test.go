package commands

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"weedlc/internal/weedtest"
)

// process is a weedlc of its own, as a person starts it.
type process struct {
	*exec.Cmd
	t      *testing.T
	stderr *bufio.Reader
}

func startProcess(t *testing.T, c *weedtest.Cluster, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "weedlc", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "WEEDLC_MASTER="+c.Addr(weedtest.Master).String())
	pipe, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	return &process{cmd, t, bufio.NewReader(pipe)}
}

// await reads standard error up to a line that begins with a text.
func (p *process) await(prefix string) {
	p.t.Helper()
	for {
		line, err := p.stderr.ReadString('\n')
		if strings.HasPrefix(line, prefix) {
			return
		}
		if err != nil {
			p.t.Fatalf("no line %q on standard error: %v", prefix, err)
		}
	}
}

// end waits for the process and returns its exit code and the rest of standard
// error.
func (p *process) end() (int, string) {
	p.t.Helper()
	rest, err := io.ReadAll(p.stderr)
	check(p.t, err)
	err = p.Wait()
	_, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && !ok {
		p.t.Fatal(err)
	}
	return p.ProcessState.ExitCode(), string(rest)
}

func TestSignalBetweenPasses(t *testing.T) {
	shared.Client(t)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := startProcess(t, shared.Cluster(t), "run", "--refresh", "1h", "--wait", "1m")
		p.await("daily_run: status=ok ")
		check(t, p.Process.Signal(s))
		code, rest := p.end()
		if code != exitInterrupted || !strings.HasSuffix(rest, "\nweedlc: interrupted\n") {
			t.Errorf("%v: exit %d, stderr %q", s, code, rest)
		}
	}
}

func TestSignalDuringAPassSavesItsProgress(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("logs", weedtest.Plain, oneDay)
	cl.Put("logs", "old", weedtest.Object{Body: "x", Age: 3 * day})
	proxy := weedtest.NewProxy(t, shared.Cluster(t).Addr(weedtest.Gateway).GRPC())
	proxy.Add(weedtest.Rule{Bucket: "logs", Delay: time.Second})

	p := startProcess(t, shared.Cluster(t), "run", "--wait", "1m", "--s3", proxy.Addr())
	for inFlight := false; !inFlight; {
		for _, c := range proxy.Calls(weedtest.LifecycleDelete) {
			inFlight = inFlight || c.Delete.GetBucket() != ""
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no delete call arrived")
		case <-time.After(10 * time.Millisecond):
		}
	}
	check(t, p.Process.Signal(os.Interrupt))
	code, rest := p.end()
	if code != exitInterrupted || !strings.Contains(rest, "daily_run: status=cut_short ") {
		t.Errorf("exit %d, stderr %q", code, rest)
	}
	if keys := cl.Keys("logs"); len(keys) != 0 {
		t.Errorf("the call in flight was given up: %v is left", keys)
	}
	if got := cl.List("/etc/s3/lifecycle/daily-cursors"); len(got) != 32 {
		t.Errorf("%d files are saved, want those of 16 shards", len(got))
	}
}
