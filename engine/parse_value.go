package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxDays is the largest number of days that S3 takes.
const maxDays = math.MaxInt32

// days reads a number of days from 1; 0 when e is nil or has a defect.
func (r *ruleParser) days(e *element) int {
	n, ok := r.number(e, 1, maxDays)
	if ok && n > math.MaxInt64/int64(Day()) {
		r.warn(e, e.text, "no effect: further away than clocks reach")
	}
	return int(n)
}

// number reads a decimal number, digits only; false when e is nil or has a
// defect.
func (r *ruleParser) number(e *element, least, most int64) (int64, bool) {
	if e == nil {
		return 0, false
	}
	text, ok := r.leaf(e)
	if !ok {
		return 0, false
	}
	digits := strings.TrimPrefix(text, "-")
	whole := digits != "" && strings.Trim(digits, "0123456789") == ""
	n, err := strconv.ParseInt(text, 10, 64)
	wrong := ""
	switch {
	case text == "":
		wrong = "empty number"
	case !whole:
		wrong = "not a whole number"
	case digits != text || err == nil && n < least:
		wrong = fmt.Sprintf("less than %d", least)
	case err != nil || n > most:
		wrong = fmt.Sprintf("more than %d", most)
	default:
		return n, true
	}
	r.defect(e, text, fmt.Sprintf("a whole number from %d to %d", least, most), "%s", wrong)
	return 0, false
}

// date reads a date, which is a midnight UTC; zero when e is nil or has a
// defect. What tools write for "none" is refused, as it would be due at once.
func (r *ruleParser) date(e *element) time.Time {
	if e == nil {
		return time.Time{}
	}
	text, ok := r.leaf(e)
	if !ok {
		return time.Time{}
	}
	var t time.Time
	wrong := ""
	switch err := t.UnmarshalText([]byte(text)); {
	case text == "":
		wrong = "empty date"
	case err != nil:
		wrong = "not a date"
	case !t.After(time.Unix(0, 0)):
		wrong = "looks like an exported empty value"
	case !t.Equal(t.UTC().Truncate(24 * time.Hour)):
		wrong = "not at midnight UTC"
	default:
		t = t.UTC()
		if t.After(time.Unix(0, math.MaxInt64)) {
			r.warn(e, text, "no effect: further away than clocks reach")
		}
		return t
	}
	r.defect(e, text, "a midnight UTC, such as 2030-01-31T00:00:00Z", "%s", wrong)
	return time.Time{}
}
