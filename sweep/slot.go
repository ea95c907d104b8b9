package sweep

import (
	"fmt"
	"regexp"
	"time"
)

// SlotID names the slot of a schedule that now falls into: the name and the
// floor of now (UTC) to every, counted from the Unix epoch. A tick that comes
// late or twice names the same sweep.
func SlotID(name string, every time.Duration, now time.Time) (string, error) {
	if every < time.Minute || every%time.Minute != 0 {
		return "", fmt.Errorf("interval %q of a schedule is not a whole number of minutes", every)
	}
	seconds := int64(every / time.Second)
	slot := time.Unix(floorDiv(now.Unix(), seconds)*seconds, 0).UTC()
	id := name + ":" + slot.Format("2006-01-02T15:04Z")
	return id, CheckID(id)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var sweepID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$`)

// CheckID refuses a sweep id that is not one short word of ASCII.
func CheckID(id string) error {
	if !sweepID.MatchString(id) {
		return fmt.Errorf("sweep id %q is not 1 to 128 letters, digits and any of \"._:@+-\", such as %q",
			id, "cleanup:2026-08-21T02:00Z")
	}
	return nil
}
