package commands

import (
	"bytes"
	"testing"
	"time"

	"weedlc/pass"
)

func TestStatusLineStaysBelowWhatIsWritten(t *testing.T) {
	var b bytes.Buffer
	s := &statusWriter{w: &b}
	write := func(text string) {
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	s.show("status 1")
	write("second\n")
	s.show("status 2")
	s.clear()
	s.clear()
	write("third\n")
	equal(t, "stream", b.String(), "first\n"+
		eraseLine+"status 1"+eraseLine+"second\nstatus 1"+
		eraseLine+"status 2"+eraseLine+"third\n")
}

func TestProgressIsForTerminals(t *testing.T) {
	h := newTestHost(t)
	for _, c := range []struct {
		name            string
		terminal, quiet bool
		want            string
	}{
		{"pipe", false, false, ""},
		{"terminal", true, false, eraseLine + "0s  events 1,234  entries walked 5  delete calls 6"},
		{"quiet terminal", true, true, ""},
	} {
		h.err.Reset()
		h.ErrTTY = c.terminal
		a := newApp(h.Host)
		a.global.quiet = c.quiet
		p := newProgress(a)
		p.Update(pass.Totals{EventsScanned: 1234, EntriesWalked: 5, DeleteCalls: 6})
		p.Update(pass.Totals{EventsScanned: 99})
		equal(t, c.name, h.err.String(), c.want)
	}
}

func TestProgressIsRedrawnNowAndThen(t *testing.T) {
	h := newTestHost(t)
	h.terminal("")
	p := newProgress(newApp(h.Host))
	for _, step := range []struct {
		after time.Duration
		drawn bool
	}{{0, true}, {redraw - 1, false}, {1, true}, {0, false}} {
		h.cluster.Advance(step.after)
		h.err.Reset()
		p.Update(pass.Totals{})
		if drawn := h.err.Len() > 0; drawn != step.drawn {
			t.Errorf("%v later: drawn %v, want %v", step.after, drawn, step.drawn)
		}
	}
}

func TestNoticesAreOneLineAndSilencedByQuiet(t *testing.T) {
	h := newTestHost(t)
	a := newApp(h.Host)
	newProgress(a).Notice("walking \x1b[2J\nlogs")
	equal(t, "notice", h.err.String(), `walking \x1b[2J\nlogs`+"\n")
	h.err.Reset()
	a.global.quiet = true
	newProgress(a).Notice("walking")
	equal(t, "quiet notice", h.err.String(), "")
}
