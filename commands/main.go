package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// Main runs one command line, without the program's name, and returns the
// exit code for the process. SIGINT and SIGTERM end it in an orderly way; a
// second one ends it at once.
func Main(ctx context.Context, args []string, host Host) int {
	out := &checkedWriter{w: host.Out}
	host.Out = out
	a := newApp(host)
	a.args = args
	ctx, stop := interruptible(ctx, func() {
		fmt.Fprintln(a.stderr, "stopping; calls in flight get 10 s, a second signal ends them")
	})
	defer stop()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(host.In)
	root.SetOut(host.Out)
	root.SetErr(a.stderr)

	err := root.ExecuteContext(ctx)
	code := codeOf(err)
	if code == exitFailed && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err, code = errInterrupted, exitInterrupted
	}
	a.stderr.clear()
	a.tell(err)
	if err := a.global.profiles.finish(); err != nil {
		a.tell(err)
		code = worst(code, exitFailed)
	}
	if out.err != nil && !errors.Is(out.err, syscall.EPIPE) {
		a.tell(fmt.Errorf("standard output: %w", out.err))
		code = worst(code, exitFailed)
	}
	return code
}

var errInterrupted = errors.New("interrupted")

// interruptible is a context that the first SIGINT or SIGTERM cancels, after a
// call of stopping; the second one meets the default, which ends the process.
// SIGPIPE becomes an error of the write, so that a reader that goes away does not end
// a pass.
func interruptible(parent context.Context, stopping func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, pipe := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			stopping()
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		signal.Stop(signals)
		signal.Stop(pipe)
	}
}

// app is one invocation: what every command shares.
type app struct {
	host   Host
	args   []string
	stderr *statusWriter
	log    *slog.Logger
	global globalOptions
}

func newApp(host Host) *app {
	a := &app{host: host, stderr: &statusWriter{w: host.Err}}
	a.log = newLogger(a.stderr, a.colour(), logText, slog.LevelInfo)
	return a
}

// commandLine is what a person types to do the same again, with more behind.
func (a *app) commandLine(more ...string) string {
	words := []string{"weedlc"}
	for _, arg := range slices.Concat(a.args, more) {
		words = append(words, shellWord(redact(arg)))
	}
	return strings.Join(words, " ")
}

// colour reports whether standard error may carry colours.
func (a *app) colour() bool { return a.host.ErrTTY && a.host.getenv("NO_COLOR") == "" }

// notice writes one line for the person who started the command; --quiet
// silences it.
func (a *app) notice(format string, args ...any) {
	switch text := redact(fmt.Sprintf(format, args...)); {
	case a.global.quiet:
	case a.global.log.format == logJSON:
		a.log.Info(text)
	default:
		fmt.Fprintln(a.stderr, escape(text))
	}
}

// checkedWriter remembers the first error, so that a result that did not
// reach its reader is not reported as success.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}
