package commands

import (
	"errors"
	"strings"
	"time"
)

// atValue is a flag's instant: a time, or how far it is from now, with a sign.
type atValue struct{ p *at }

// at is an instant that may be relative to a now that is not known yet. The
// zero value is now.
type at struct {
	text  string
	time  time.Time // zero for a relative one
	shift time.Duration
}

func (v atValue) String() string {
	if v.p == nil {
		return ""
	}
	return v.p.text
}

func (v atValue) Type() string { return "time" }

func (v atValue) Set(s string) error {
	parsed, err := parseAt(s)
	if err != nil {
		return err
	}
	*v.p = parsed
	return nil
}

func parseAt(s string) (at, error) {
	a := at{text: s}
	if sign := s != "" && strings.ContainsRune("+-", rune(s[0])); sign {
		d, err := parseDuration(s[1:])
		if err != nil {
			return at{}, err
		}
		if a.shift = d; s[0] == '-' {
			a.shift = -d
		}
		return a, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		if _, err := parseDuration(s); err == nil {
			return at{}, errors.New("needs a sign: +" + s + " is ahead of now, -" + s + " is before it")
		}
		if e, ok := errors.AsType[*time.ParseError](err); ok && strings.HasSuffix(e.Message, " out of range") {
			return at{}, errors.New("no such time:" + strings.TrimPrefix(e.Message, ":"))
		}
		return at{}, errors.New("must be a time such as 2026-11-30T06:00:00Z, or how far from now, such as +7d or -2h")
	}
	if !isReachable(t) {
		return at{}, errOutOfReach
	}
	a.time = t.UTC()
	return a, nil
}

// resolve is the instant that is meant at now.
func (a at) resolve(now time.Time) (time.Time, error) {
	if !a.time.IsZero() {
		return a.time, nil
	}
	t := now.Add(a.shift)
	if !isReachable(t) {
		return t, errOutOfReach
	}
	return t, nil
}

var errOutOfReach = errors.New("is out of range: 1970 to 2261")

// isReachable reports whether Unix nanoseconds can hold a time.
func isReachable(t time.Time) bool { return t.Unix() >= 0 && t.Year() < 2262 }
