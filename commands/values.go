package commands

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// durationValue is a flag's span of time from 0. It takes d and w beside the
// units of time.ParseDuration; a day is 24 hours.
type durationValue struct{ p *time.Duration }

func (v durationValue) String() string {
	if v.p == nil {
		return ""
	}
	return formatDuration(*v.p)
}

func (v durationValue) Type() string { return "duration" }

func (v durationValue) Set(s string) error {
	d, err := parseDuration(s)
	if err != nil {
		return err
	}
	*v.p = d
	return nil
}

var bigUnit = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([wd])`)

// parseDuration reads "30d", "1w2d", "1d12h" or "90m". Weeks and days come
// before smaller units.
func parseDuration(s string) (time.Duration, error) {
	if strings.HasPrefix(s, "-") {
		return 0, errors.New("must not be negative")
	}
	rest, total := s, 0.0
	for {
		m := bigUnit.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, errors.New("is out of range")
		}
		unit := day
		if m[2] == "w" {
			unit = 7 * day
		}
		total += n * float64(unit)
		rest = rest[len(m[0]):]
	}
	var small time.Duration
	if rest != "" || s == "" {
		var err error
		if small, err = time.ParseDuration(rest); err != nil {
			if _, numErr := strconv.ParseFloat(s, 64); numErr == nil {
				return 0, fmt.Errorf("needs a unit, as in %ss or %sd", s, s)
			}
			return 0, errors.New("must be a duration such as 90s, 15m, 6h, 30d or 2w")
		}
	}
	if small < 0 {
		return 0, errors.New("must not be negative")
	}
	if total+float64(small) >= math.MaxInt64 {
		return 0, errors.New("is out of range")
	}
	return time.Duration(total) + small, nil
}

// formatDuration is the shortest form that parseDuration reads back: whole
// days as d, no zero units behind the first.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	var b strings.Builder
	if days := d / day; days > 0 {
		fmt.Fprintf(&b, "%dd", days)
		d %= day
	}
	if d > 0 {
		s := d.String()
		if strings.HasSuffix(s, "m0s") {
			s = strings.TrimSuffix(s, "0s")
		}
		if strings.HasSuffix(s, "h0m") {
			s = strings.TrimSuffix(s, "0m")
		}
		b.WriteString(s)
	}
	return b.String()
}

// countValue is a whole number with a lower bound.
type countValue struct {
	p   *int64
	min int64
}

func (v countValue) String() string {
	if v.p == nil {
		return ""
	}
	return strconv.FormatInt(*v.p, 10)
}

func (v countValue) Type() string { return "count" }

func (v countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return errors.New("is out of range")
	case err != nil:
		return errors.New("must be a whole number")
	case n < v.min:
		return fmt.Errorf("must be %d or more", v.min)
	}
	*v.p = n
	return nil
}

// rateValue is a number per second from 0.
type rateValue struct{ p *float64 }

func (v rateValue) String() string {
	if v.p == nil {
		return ""
	}
	return strconv.FormatFloat(*v.p, 'g', -1, 64)
}

func (v rateValue) Type() string { return "rate" }

func (v rateValue) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
		return errors.New("must be a number")
	case f < 0:
		return errors.New("must be 0 or more")
	}
	*v.p = f
	return nil
}

// listValue is a list of words, given comma separated, repeatedly, or both.
// The first Set of a layer replaces what an earlier layer put there.
type listValue struct {
	p     *[]string
	fresh bool
}

func newList(p *[]string) *listValue { return &listValue{p: p, fresh: true} }

func (v *listValue) String() string {
	if v.p == nil {
		return ""
	}
	return strings.Join(*v.p, ",")
}

func (v *listValue) Type() string { return "list" }

func (v *listValue) Set(s string) error {
	words := strings.Split(s, ",")
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
		if words[i] == "" {
			return errors.New("has an empty element")
		}
	}
	if v.fresh {
		*v.p, v.fresh = nil, false
	}
	*v.p = append(*v.p, words...)
	return nil
}

// choiceValue is one word of a list.
type choiceValue struct {
	p     *string
	words []string
}

func (v choiceValue) String() string {
	if v.p == nil {
		return ""
	}
	return *v.p
}

func (v choiceValue) Type() string { return strings.Join(v.words, "|") }

func (v choiceValue) Set(s string) error {
	if !slices.Contains(v.words, s) {
		return fmt.Errorf("must be %s", alternatives(v.words))
	}
	*v.p = s
	return nil
}

// alternatives is "a, b or c".
func alternatives(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}

// moment is where a cursor is to stand: "cold", "now", a time, or a
// duration back from now.
type moment struct {
	cold, now bool
	at        time.Time
	ago       time.Duration
}

// parseMoment reads the value of --to.
func parseMoment(s string) (moment, error) {
	switch s {
	case "cold":
		return moment{cold: true}, nil
	case "now":
		return moment{now: true}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return moment{at: t.UTC()}, nil
		}
	}
	d, err := parseDuration(s)
	if err != nil || d == 0 {
		return moment{}, errors.New(`must be "cold", "now", a time such as 2026-11-30T06:00:00Z, or how far back, such as 2d`)
	}
	return moment{ago: d}, nil
}

// resolve is the instant that the moment means at now.
func (m moment) resolve(now time.Time) time.Time {
	switch {
	case m.now:
		return now
	case m.ago > 0:
		return now.Add(-m.ago)
	}
	return m.at
}
