package cursorfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// formatDelay spells a delay: whole days of 24 hours as "30d", anything else as
// Go does ("36h0m0s"). Each delay has one spelling.
func formatDelay(delay time.Duration) string {
	if delay%day == 0 {
		return strconv.FormatInt(int64(delay/day), 10) + "d"
	}
	return delay.String()
}

// parseDelay reads the one spelling of a positive delay.
func parseDelay(s string) (time.Duration, error) {
	delay, err := readDelay(s)
	if err != nil || delay <= 0 {
		return 0, fmt.Errorf("is not a delay such as %q or %q", formatDelay(30*day), formatDelay(36*time.Hour))
	}
	if spelling := formatDelay(delay); spelling != s {
		return 0, fmt.Errorf("is not spelled %q", spelling)
	}
	return delay, nil
}

func readDelay(s string) (time.Duration, error) {
	digits, inDays := strings.CutSuffix(s, "d")
	if !inDays {
		return time.ParseDuration(s)
	}
	days, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, err
	}
	delay := time.Duration(days) * day
	if delay/day != time.Duration(days) {
		return 0, strconv.ErrRange
	}
	return delay, nil
}
