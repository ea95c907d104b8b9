package commands

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// checkGolden compares a result with a file of testdata/golden, or writes the
// file with -update. Tests run in directories of their own, so the place is
// that of this file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(here), "testdata", "golden", name)
	if *update {
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s\n%v (go test ./commands -run '^%s$' -update)", name, got, want, err, t.Name())
	}
}

// checkNarrow fails for a line that is wider than 80 columns, but for what is
// there to be copied.
func checkNarrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if displayWidth(line) > 80 && !strings.HasPrefix(strings.TrimSpace(line), "<") {
			t.Errorf("a line of %d columns: %s", displayWidth(line), line)
		}
	}
}
