package commands

import (
	"testing"
	"time"
)

func TestFractionValue(t *testing.T) {
	for text, want := range map[string]float64{"0.1": 0.1, "10%": 0.1, "29%": 0.29, "1": 1, "100%": 1, "0": 0, "0.5%": 0.005} {
		var f float64
		if err := (fractionValue{&f}).Set(text); err != nil || f != want {
			t.Errorf("%q is %v, %v, want %v", text, f, err, want)
		}
	}
	for _, text := range []string{"", "%", "1.01", "101%", "-0.1", "NaN", "ten", "1/2", "10 %"} {
		f := 0.25
		if err := (fractionValue{&f}).Set(text); err == nil || f != 0.25 {
			t.Errorf("%q is taken as %v", text, f)
		}
	}
}

func TestWorkHours(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	at := func(hour, minute, second int, zone *time.Location) time.Time {
		return time.Date(2030, 6, 15, hour, minute, second, 0, zone)
	}
	for _, tc := range []struct {
		hours string
		at    time.Time
		open  bool
	}{
		{"01:00-05:00", at(0, 59, 59, time.UTC), false},
		{"01:00-05:00", at(1, 0, 0, time.UTC), true},
		{"01:00-05:00", at(4, 59, 59, time.UTC), true},
		{"01:00-05:00", at(5, 0, 0, time.UTC), false},
		{"22:00-05:00", at(21, 59, 59, time.UTC), false},
		{"22:00-05:00", at(22, 0, 0, time.UTC), true},
		{"22:00-05:00", at(0, 0, 0, time.UTC), true},
		{"22:00-05:00", at(4, 59, 59, time.UTC), true},
		{"22:00-05:00", at(5, 0, 0, time.UTC), false},
		{"22:00-24:00", at(23, 59, 59, time.UTC), true},
		{"22:00-24:00", at(0, 0, 0, time.UTC), false},
		{"22:00-00:00", at(23, 59, 59, time.UTC), true},
		{"22:00-00:00", at(0, 0, 0, time.UTC), false},
		{"00:00-24:00", at(13, 7, 0, time.UTC), true},
		{"01:00-02:00, 5:30-06:00", at(5, 30, 0, time.UTC), true},
		{"01:00-02:00,05:30-06:00", at(3, 0, 0, time.UTC), false},
		{"01:00-05:00", at(0, 30, 0, time.UTC).In(berlin), true},
		{"01:00-05:00", at(4, 30, 0, time.UTC).In(berlin), false},
	} {
		var v workHours
		check(t, v.Set(tc.hours))
		if why := v.closed(tc.at); (why == "") != tc.open {
			t.Errorf("%s at %s: %q", tc.hours, tc.at, why)
		}
	}
	var always workHours
	if why := always.closed(at(3, 0, 0, time.UTC)); why != "" {
		t.Errorf("without hours: %q", why)
	}
	for _, text := range []string{"", "01:00", "01:00-", "1-5", "01:00-25:00", "24:00-01:00", "01:60-02:00", "05:00-05:00", "01:00-02:00,", "01:00-02:00-03:00"} {
		var v workHours
		if err := v.Set(text); err == nil {
			t.Errorf("%q is taken as %s", text, &v)
		}
	}
}

func TestBucketRatesValue(t *testing.T) {
	for _, tc := range []struct {
		sets        []string
		logs, other float64
		text        string
	}{
		{[]string{"50"}, 50, 50, "50"},
		{[]string{"50", "logs=5"}, 5, 50, "50,logs=5"},
		{[]string{"logs=5, 2.5,zz=0"}, 5, 2.5, "2.5,logs=5,zz=0"},
		{[]string{"logs=0", "50"}, 0, 50, "50,logs=0"},
		{[]string{"logs=5"}, 5, 0, "logs=5"},
		{[]string{"50", "60"}, 60, 60, "60"},
	} {
		var r bucketRates
		v := bucketRatesValue{&r}
		for _, s := range tc.sets {
			check(t, v.Set(s))
		}
		if r.of("logs") != tc.logs || r.of("other") != tc.other || v.String() != tc.text {
			t.Errorf("%q: logs %v, other %v, text %q", tc.sets, r.of("logs"), r.of("other"), v)
		}
	}
	for _, text := range []string{"", "x", "=5", "logs=", "logs=x", "logs=-1", "-1", "5,", "logs=5=6"} {
		var r bucketRates
		if err := (bucketRatesValue{&r}).Set(text); err == nil {
			t.Errorf("%q is taken as %+v", text, r)
		}
	}
}
