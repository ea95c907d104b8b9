package commands

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		err  string
	}{
		{text: "0", want: 0},
		{text: "0s", want: 0},
		{text: "90s", want: 90 * time.Second},
		{text: "1h30m", want: 90 * time.Minute},
		{text: "1d", want: 24 * time.Hour},
		{text: "2w", want: 14 * 24 * time.Hour},
		{text: "1w2d3h", want: (9*24 + 3) * time.Hour},
		{text: "1.5d", want: 36 * time.Hour},
		{text: "106751d", want: 106751 * 24 * time.Hour},
		{text: "106752d", err: "out of range"},
		{text: "99999999999999999999w", err: "out of range"},
		{text: "2562048h", err: "duration"},
		{text: "-5m", err: "must not be negative"},
		{text: "-1d", err: "must not be negative"},
		{text: "1d-5m", err: "must not be negative"},
		{text: "300", err: "needs a unit, as in 300s"},
		{text: "", err: "duration"},
		{text: "3h1d", err: "duration"},
		{text: "d", err: "duration"},
		{text: "5 m", err: "duration"},
		{text: "soon", err: "duration"},
	} {
		got, err := parseDuration(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("parseDuration(%q) = %v, %v; want an error with %q", c.text, got, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "0",
		time.Second:                   "1s",
		time.Minute:                   "1m",
		time.Hour:                     "1h",
		day - 1:                       "23h59m59.999999999s",
		day:                           "1d",
		30 * day:                      "30d",
		day + time.Hour:               "1d1h",
		day + time.Second:             "1d1s",
		10 * time.Minute:              "10m",
		10 * time.Hour:                "10h",
		time.Hour + time.Second:       "1h0m1s",
		time.Hour + 30*time.Minute:    "1h30m",
		2*day + 100*time.Millisecond:  "2d100ms",
		36*time.Hour + 90*time.Second: "1d12h1m30s",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(100_000*day)).Draw(t, "duration"))
		got, err := parseDuration(formatDuration(d))
		if err != nil || got != d {
			t.Fatalf("%v became %q became %v, %v", d, formatDuration(d), got, err)
		}
	})
}

func TestNumbersRefuseWhatIsOutOfBounds(t *testing.T) {
	var n int64
	var f float64
	for _, c := range []struct {
		value interface{ Set(string) error }
		text  string
		err   string
	}{
		{countValue{&n, 0}, "0", ""},
		{countValue{&n, 0}, "-1", "must be 0 or more"},
		{countValue{&n, 1}, "1", ""},
		{countValue{&n, 1}, "0", "must be 1 or more"},
		{countValue{&n, 0}, "9223372036854775807", ""},
		{countValue{&n, 0}, "9223372036854775808", "is out of range"},
		{countValue{&n, 0}, "1e3", "must be a whole number"},
		{countValue{&n, 0}, "", "must be a whole number"},
		{rateValue{&f}, "0", ""},
		{rateValue{&f}, "0.5", ""},
		{rateValue{&f}, "-0.5", "must be 0 or more"},
		{rateValue{&f}, "NaN", "must be a number"},
		{rateValue{&f}, "Inf", "must be a number"},
		{rateValue{&f}, "fast", "must be a number"},
	} {
		err := c.value.Set(c.text)
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("Set(%q) = %v, want %q", c.text, err, c.err)
		}
	}
}

func TestListReplacesItsDefault(t *testing.T) {
	words := []string{"default"}
	v := newList(&words)
	for _, s := range []string{"a,b", " c "} {
		if err := v.Set(s); err != nil {
			t.Fatal(err)
		}
	}
	if got := v.String(); got != "a,b,c" {
		t.Errorf("list is %q, want a,b,c", got)
	}
	for _, s := range []string{"", "a,,b", "a,"} {
		if err := v.Set(s); err == nil {
			t.Errorf("Set(%q) was accepted", s)
		}
	}
}

func TestShardIsOne(t *testing.T) {
	for text, ok := range map[string]bool{"0": true, "15": true, "16": false, "0-0": false, "0-1": false, "3,": false, "3,4": false, "-1": false, "": false} {
		v := shardsValue{single: true}
		if err := v.Set(text); (err == nil) != ok {
			t.Errorf("--shard %q: %v", text, err)
		}
	}
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"now":                       now,
		"2d":                        now.Add(-48 * time.Hour),
		"36h":                       now.Add(-36 * time.Hour),
		"2026-11-29":                time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC),
		"2026-11-29T06:30":          time.Date(2026, 11, 29, 6, 30, 0, 0, time.UTC),
		"2026-11-29T06:30:10":       time.Date(2026, 11, 29, 6, 30, 10, 0, time.UTC),
		"2026-11-29T06:30:10Z":      time.Date(2026, 11, 29, 6, 30, 10, 0, time.UTC),
		"2026-11-29T06:30:10+02:00": time.Date(2026, 11, 29, 4, 30, 10, 0, time.UTC),
	} {
		m, err := parseMoment(text)
		if err != nil || !m.resolve(now).Equal(want) {
			t.Errorf("parseMoment(%q) is %v, %v; want %v", text, m.resolve(now), err, want)
		}
	}
	if m, err := parseMoment("cold"); err != nil || !m.cold {
		t.Errorf("parseMoment(cold) = %+v, %v", m, err)
	}
	for _, text := range []string{"", "0", "0s", "yesterday", "COLD", "-2d", "5", "2026-13-01"} {
		if m, err := parseMoment(text); err == nil {
			t.Errorf("parseMoment(%q) = %+v, want an error", text, m)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"logs/a b.txt":     "logs/a b.txt",
		"日本/ключ":          "日本/ключ",
		"a\nb":             `a\nb`,
		"a\tb\rc":          `a\tb\rc`,
		"\x1b[31mred":      `\x1b[31mred`,
		"\x00\x7f":         `\x00\x7f`,
		"\u009b31m":        `\u009b31m`,
		"\u202egpj.exe":    `\u202egpj.exe`,
		"\u2028":           `\u2028`,
		"\xff":             `\xff`,
		"\ufffd":           "\ufffd",
		"\U000e0001":       `\U000e0001`,
		`back\slash "quo"`: `back\slash "quo"`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEscapeLeavesNothingThatDoesNotPrint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if got := escape(s); !clean(got) {
			t.Fatalf("escape(%q) = %q", s, got)
		}
	})
}
