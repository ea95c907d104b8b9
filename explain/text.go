package explain

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weedlc/engine"
)

// Duration is a span as people say it: its largest unit and the one below,
// rounded down ("4d", "2h30m", "16d3h", "45s"). Less than a second is "0s"; the
// sign is left out.
func Duration(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	units := []struct {
		span time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.span {
			continue
		}
		text := strconv.FormatInt(int64(d/u.span), 10) + u.name
		if i+1 < len(units) {
			below := units[i+1]
			if rest := d % u.span / below.span; rest > 0 {
				text += strconv.FormatInt(int64(rest), 10) + below.name
			}
		}
		return text
	}
	return "0s"
}

// stamp is a time in RFC 3339, in UTC and whole seconds.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// distance is how far a time is from now: "in 4d", "4d ago".
func distance(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d >= time.Second:
		return "in " + Duration(d)
	case d > 0:
		return "in less than 1s"
	case d > -time.Second:
		return "just now"
	default:
		return Duration(d) + " ago"
	}
}

// moment is a time as an optional JSON value: nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// number groups the digits of a number from 0 by thousands.
func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// counted is a number and its noun, which takes an s where it is not one.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// list joins items: "a, b and c".
func list(items []string) string {
	last := len(items) - 1
	if last < 1 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " and " + items[last]
}

func quote(s string) string { return strconv.Quote(s) }

// word is a value as it is where it reads as one word, and quoted elsewhere.
func word(s string) string {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`"',:;()`, r)
	}
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		return quote(s)
	}
	return s
}

// capital is a sentence's text, not empty, with its first letter in upper case.
func capital(s string) string {
	return strings.ToUpper(s[:1]) + s[1:]
}

// ref names a rule inside a sentence.
func ref(r *engine.Rule) string {
	name := "rule " + strconv.Itoa(r.Number)
	if r.ID != "" {
		name += " " + quote(r.ID)
	}
	return name
}

// indent puts lines one step deeper.
func indent(lines []string) []string {
	deeper := make([]string, len(lines))
	for i, line := range lines {
		deeper[i] = "  " + line
	}
	return deeper
}
