package sweep

import (
	"strings"
	"testing"
	"time"
)

// A tick that comes late or twice names the slot that it was meant for.
func TestSlotID(t *testing.T) {
	at := func(s string) time.Time {
		tm, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for _, c := range []struct {
		every time.Duration
		now   string
		want  string
	}{
		{24 * time.Hour, "2026-08-21T00:00:00Z", "cleanup:2026-08-21T00:00Z"},
		{24 * time.Hour, "2026-08-21T23:59:59.999999999Z", "cleanup:2026-08-21T00:00Z"},
		{24 * time.Hour, "2026-08-22T00:00:00Z", "cleanup:2026-08-22T00:00Z"},
		// A host in another zone names the same slot.
		{24 * time.Hour, "2026-08-22T01:30:00+02:00", "cleanup:2026-08-21T00:00Z"},
		{time.Hour, "2026-08-21T02:00:00Z", "cleanup:2026-08-21T02:00Z"},
		{time.Hour, "2026-08-21T02:59:59Z", "cleanup:2026-08-21T02:00Z"},
		{time.Minute, "2026-08-21T02:07:30Z", "cleanup:2026-08-21T02:07Z"},
		{7 * time.Hour, "1970-01-01T07:00:00Z", "cleanup:1970-01-01T07:00Z"},
		{time.Hour, "1969-12-31T23:30:00Z", "cleanup:1969-12-31T23:00Z"},
	} {
		if got, err := SlotID("cleanup", c.every, at(c.now)); err != nil || got != c.want {
			t.Errorf("%s at %s: %q, %v; want %q", c.every, c.now, got, err, c.want)
		}
	}
	for _, every := range []time.Duration{0, -time.Hour, 59 * time.Second, 90 * time.Second} {
		if id, err := SlotID("cleanup", every, admitted); err == nil {
			t.Errorf("every %s: %q", every, id)
		}
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"cleanup:2026-08-21T02:00Z", "a", "A-b_c.d@e+f:1", strings.Repeat("x", 128)} {
		if err := CheckID(id); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"", " a", "a b", "-a", "a\n", "é", "a/b", strings.Repeat("x", 129)} {
		if CheckID(id) == nil {
			t.Errorf("%q is accepted", id)
		}
	}
}
