package commands

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"weedlc/pass"
)

// statusWriter is standard error with a line at its end that can be replaced:
// whatever is written appears above it.
type statusWriter struct {
	mu     sync.Mutex
	w      io.Writer
	status string
}

const eraseLine = "\r\x1b[K"

func (s *statusWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == "" {
		return s.w.Write(p)
	}
	if _, err := io.WriteString(s.w, eraseLine); err != nil {
		return 0, err
	}
	n, err := s.w.Write(p)
	if err == nil {
		_, err = io.WriteString(s.w, s.status)
	}
	return n, err
}

// show replaces the line at the end. It is called for terminals only.
func (s *statusWriter) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = line
	fmt.Fprint(s.w, eraseLine+line)
}

// clear takes the line away.
func (s *statusWriter) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != "" {
		s.status = ""
		fmt.Fprint(s.w, eraseLine)
	}
}

// progress shows a pass to a person: notices always, running counts on a
// terminal. It implements pass.Progress.
type progress struct {
	app   *app
	start time.Time

	mu   sync.Mutex
	next time.Time // the earliest time of the next redraw
}

func newProgress(a *app) *progress { return &progress{app: a, start: a.host.Now()} }

// Notice implements pass.Progress.
func (p *progress) Notice(line string) { p.app.notice("%s", line) }

const redraw = 200 * time.Millisecond

// Update implements pass.Progress.
func (p *progress) Update(t pass.Totals) {
	p.show(func(elapsed time.Duration) string {
		return fmt.Sprintf("%s  events %s  entries walked %s  delete calls %s",
			elapsed, group(t.EventsScanned), group(t.EntriesWalked), group(t.DeleteCalls))
	})
}

// show replaces the line on a terminal, unless it was only just drawn.
func (p *progress) show(line func(elapsed time.Duration) string) {
	if !p.app.host.ErrTTY || p.app.global.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.app.host.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(redraw)
	p.app.stderr.show(line(now.Sub(p.start).Truncate(time.Second)))
}

// group writes a count with thousands apart: 1,234,567.
func group(n int64) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
