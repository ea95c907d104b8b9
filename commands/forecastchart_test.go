package commands

import (
	"testing"

	"weedlc/explain"
)

func TestBar(t *testing.T) {
	for _, tc := range []struct {
		n, most int64
		want    string
	}{
		{0, 10, ""}, {10, 10, "████"}, {5, 10, "██"}, {1, 1_000_000, "▏"}, {3, 32, "▍"}, {9, 32, "█▏"}, {31, 32, "███▉"},
	} {
		if got := bar(tc.n, tc.most, 4); got != tc.want {
			t.Errorf("a bar for %d of %d is %q, want %q", tc.n, tc.most, got, tc.want)
		}
	}
}

func TestPeriods(t *testing.T) {
	one := explain.Counts{Objects: 1}
	for _, tc := range []struct {
		days  int
		bars  int
		first string
		last  string
	}{
		{1, 2, "2026-11-30", "2026-11-30"},
		{31, 32, "2026-11-30", "2026-12-30"},
		{32, 6, "week of 2026-11-30", "week of 2026-12-28"},
		{182, 27, "week of 2026-11-30", "week of 2027-05-24"},
		{183, 8, "2026-11", "2027-05"},
	} {
		f := explain.NewForecast(noon, tc.days).Report()
		for i := range f.Days {
			f.Days[i].Counts = one
		}
		got := periods(&f)
		if len(got) != tc.bars || got[0].name != "due already" || got[1].name != tc.first || got[len(got)-1].name != tc.last {
			t.Errorf("%d days are %d bars from %q to %q, want %d from %q to %q", tc.days, len(got), got[1].name, got[len(got)-1].name, tc.bars, tc.first, tc.last)
		}
		sum := int64(0)
		for _, p := range got {
			sum += p.goes()
		}
		if sum != int64(tc.days) {
			t.Errorf("the bars of %d days add up to %d", tc.days, sum)
		}
	}
}

func TestPeriodsBehindTheForecast(t *testing.T) {
	f := explain.NewForecast(noon, 1).Report()
	f.Later, f.Never = explain.Counts{Versions: 2}, explain.Counts{Objects: 3}
	got := periods(&f)
	if n := len(got); n != 4 || got[2].name != "later" || got[2].goes() != 2 || got[3].name != "locked, no end known" || got[3].goes() != 3 {
		t.Errorf("periods are %+v", got)
	}
}
