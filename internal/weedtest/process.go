package weedtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// process is one weed server. It can be killed and started again.
type process struct {
	role   Role
	binary string
	args   []string
	dir    string // working directory, with the server's configuration

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

func (p *process) logPath() string { return filepath.Join(p.dir, "weed.log") }

// start starts the process. Its goroutine keeps its thread for as long as the
// child lives, because the child dies with the thread that started it.
func (p *process) start() error {
	if p.running() {
		return fmt.Errorf("%s is running already", p.role)
	}
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.binary, append([]string{"-logtostderr=true"}, p.args...)...)
	cmd.Dir = p.dir
	cmd.Env = environment(p.dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = processAttributes()

	started := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		defer log.Close()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		_ = cmd.Wait() // how it ended is in its log
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("cannot start %s: %w", p.role, err)
	}
	p.cmd, p.done = cmd, done
	return nil
}

func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kill ends the process at once and waits for its end. A weed that is asked
// politely takes 15 seconds.
func (p *process) kill() error {
	if !p.running() {
		return nil
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// logTail returns the last lines of the log.
func (p *process) logTail(lines int) string {
	data, err := os.ReadFile(p.logPath())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// environment is all that a child sees: no MASTER, FILER, S3*, VOLUME*, WEED_*
// or AWS_* of the caller, and no security.toml of its home directory.
func environment(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
}
