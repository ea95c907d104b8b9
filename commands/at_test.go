package commands

import (
	"testing"
	"time"
)

func TestAt(t *testing.T) {
	for in, want := range map[string]time.Time{
		"+7d":                                 noon.Add(7 * day),
		"-2h":                                 noon.Add(-2 * time.Hour),
		"+1w2d3h":                             noon.Add(9*day + 3*time.Hour),
		"+0s":                                 noon,
		"2026-11-30T06:00:00Z":                time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC),
		"2026-11-30T06:00:00.000000001+01:00": time.Date(2026, 11, 30, 5, 0, 0, 1, time.UTC),
		"1970-01-01T00:00:00Z":                time.Unix(0, 0).UTC(),
		"2261-12-31T23:59:59Z":                time.Date(2261, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		var a at
		if err := (atValue{&a}).Set(in); err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		got, err := a.resolve(noon)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
		equal(t, "the text of "+in, (atValue{&a}).String(), in)
	}
	var none at
	if got, err := none.resolve(noon); err != nil || !got.Equal(noon) {
		t.Errorf("the zero value is %v, %v; want now", got, err)
	}
}

func TestAtWithoutSense(t *testing.T) {
	for in, want := range map[string]string{
		"7d":                   "needs a sign: +7d is ahead of now, -7d is before it",
		"2h":                   "needs a sign: +2h is ahead of now, -2h is before it",
		"+7":                   "needs a unit, as in 7s or 7d",
		"+":                    "must be a duration such as 90s, 15m, 6h, 30d or 2w",
		"+-7d":                 "must not be negative",
		"":                     "must be a time such as 2026-11-30T06:00:00Z, or how far from now, such as +7d or -2h",
		"tomorrow":             "must be a time such as 2026-11-30T06:00:00Z, or how far from now, such as +7d or -2h",
		"2026-11-30":           "must be a time such as 2026-11-30T06:00:00Z, or how far from now, such as +7d or -2h",
		"2026-13-30T06:00:00Z": "no such time: month out of range",
		"2026-06-31T06:00:00Z": "no such time: day out of range",
		"1969-12-31T23:59:59Z": "is out of range: 1970 to 2261",
		"2262-01-01T00:00:00Z": "is out of range: 1970 to 2261",
		"+999999999999999d":    "is out of range",
	} {
		var a at
		err := (atValue{&a}).Set(in)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	for _, in := range []string{"+106000d", "-30000d"} {
		a, err := parseAt(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if _, err := a.resolve(noon); err == nil {
			t.Errorf("%q from %v is taken", in, noon)
		}
	}
}
