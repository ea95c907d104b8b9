package weedtest

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes keep a terminal's Ctrl-C from the child, and end it when
// the thread that started it ends.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// freeze stops a child and returns when all its threads have stopped.
func freeze(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WSTOPPED, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
