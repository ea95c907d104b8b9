package commands

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/term"
)

// Host is everything of the outside that a command uses.
type Host struct {
	In       io.Reader
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY tell whether each is a terminal.
	InTTY, OutTTY, ErrTTY bool
	// OutWidth is how many columns the terminal of Out has; 0 is not known. Nil
	// is for a host without one.
	OutWidth func() int
	// Env is the environment as "NAME=value".
	Env []string
	// Root tells whether this is the superuser.
	Root bool
	// Now is the wall clock.
	Now func() time.Time
	// Sleep waits; it returns early with the context's error.
	Sleep func(ctx context.Context, d time.Duration) error
	// Edit lets a person edit a file with an editor's command line.
	Edit func(ctx context.Context, editor, file string) error
	// Who is the person who runs this, and where, as "user@host".
	Who func() string
	// Version is the release's version; empty for a build from source.
	Version string
	// Dial connects to a cluster.
	Dial Dialer
	// Survey asks each server of a cluster by itself.
	Survey Surveyor
}

// OSHost is the process's own streams, environment and clock, and the real
// cluster.
func OSHost() Host {
	return Host{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		OutWidth: func() int {
			width, _, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0
			}
			return width
		},
		Env:   os.Environ(),
		Root:  os.Geteuid() == 0,
		Now:   time.Now,
		Sleep: sleep,
		Edit:  edit,
		Who:   who,
		Dial:  dial,

		Survey: survey,
	}
}

// width is how many columns a table may have; 0 has no limit.
func (h *Host) width() int {
	if !h.OutTTY || h.OutWidth == nil {
		return 0
	}
	return h.OutWidth()
}

// getenv is the value of an environment variable; empty when it is not set.
// The last of several wins, as in exec.Cmd.
func (h *Host) getenv(name string) string {
	value := ""
	for _, kv := range h.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// edit runs the editor through the shell, so that VISUAL="code --wait" works.
func edit(ctx context.Context, editor, file string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
