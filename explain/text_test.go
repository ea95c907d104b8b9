package explain_test

import (
	"testing"
	"time"

	"weedlc/explain"
)

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0s"},
		{time.Second - 1, "0s"},
		{time.Second, "1s"},
		{time.Minute - 1, "59s"},
		{time.Minute, "1m"},
		{90 * time.Second, "1m30s"},
		{time.Hour - 1, "59m59s"},
		{time.Hour, "1h"},
		{time.Hour + 59*time.Second, "1h"},
		{150 * time.Minute, "2h30m"},
		{day - 1, "23h59m"},
		{day, "1d"},
		{4 * day, "4d"},
		{4*day + 12*time.Hour, "4d12h"},
		{4*day + 59*time.Minute, "4d"},
		{400 * day, "400d"},
		{-36 * time.Hour, "1d12h"},
	} {
		if got := explain.Duration(c.d); got != c.want {
			t.Errorf("%v is %q, want %q", c.d, got, c.want)
		}
	}
}
