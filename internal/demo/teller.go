package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"
)

// teller writes the story. It keeps the first error of its writer, and writes
// nothing after it.
type teller struct {
	w   io.Writer
	err error
	// weedlc is the program's path, dir the directory that it runs in.
	weedlc, dir string
}

func (t *teller) Write(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.w.Write(p)
	t.err = err
	return n, err
}

// line writes one line.
func (t *teller) line(format string, args ...any) {
	_, _ = fmt.Fprintf(t, format+"\n", args...) // t.err has it
}

// chapter begins one.
func (t *teller) chapter(number int, title string) {
	head := fmt.Sprintf("%d. %s", number, title)
	t.line("\n%s\n%s\n", head, strings.Repeat("=", len(head)))
}

// table writes rows side by side, the first one as their heads.
func (t *teller) table(rows [][]string) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	_ = w.Flush() // a buffer takes everything
	for line := range strings.Lines(b.String()) {
		t.line("%s", strings.TrimRight(line, " \n"))
	}
}

// interruptWait is how long a weedlc that a Ctrl-C has reached may take to end.
const interruptWait = 5 * time.Second

// run shows a command line of weedlc, runs it and returns what it printed. It
// has none of the caller's settings.
func (t *teller) run(ctx context.Context, args ...string) (string, error) {
	line := "weedlc " + strings.Join(args, " ")
	t.line("$ %s", line)
	cmd := exec.CommandContext(ctx, t.weedlc, args...)
	// A terminal's Ctrl-C reaches weedlc too, and another signal would end it at
	// once: it is left to end by itself.
	cmd.Cancel = func() error { return nil }
	cmd.WaitDelay = interruptWait
	cmd.Dir = t.dir
	cmd.Env = []string{"HOME=" + t.dir}
	var out bytes.Buffer
	both := io.MultiWriter(&out, t) // one writer keeps the order of the two streams
	cmd.Stdout, cmd.Stderr = both, both
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case t.err != nil:
		return "", t.err
	case err != nil:
		return "", fmt.Errorf("%s: %w", line, err)
	}
	return out.String(), nil
}
