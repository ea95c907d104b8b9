// Package promtest has promtool, of Debian's package prometheus, judge rules
// and metrics. A host without one checks nothing; CI has one.
package promtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Run fails the test unless promtool in a directory accepts something.
func Run(t testing.TB, dir string, args ...string) {
	t.Helper()
	if said, err := promtool(t, dir, "", args...); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

// CheckMetrics fails the test unless promtool accepts what a scrape returned,
// and at most objects to the two names of the lifecycle document that end in
// _ns.
func CheckMetrics(t testing.TB, scraped string) {
	t.Helper()
	said, err := promtool(t, ".", scraped, "check", "metrics")
	if err == nil {
		return
	}
	for line := range strings.Lines(said) {
		name, finding, _ := strings.Cut(strings.TrimSpace(line), " ")
		if finding != "metric names should not contain abbreviated units" ||
			name != "s3_lifecycle_cursor_min_ts_ns" && name != "s3_lifecycle_daily_run_last_walked_ns" {
			t.Errorf("promtool check metrics: %v: %s", err, line)
		}
	}
	if said == "" {
		t.Errorf("promtool check metrics: %v", err)
	}
}

func promtool(t testing.TB, dir, stdin string, args ...string) (said string, err error) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: apt-get install prometheus", err)
		}
		t.Logf("not checked: %v", err)
		return "", nil
	}
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
