package cursorfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceCleansUpAfterItself(t *testing.T) {
	path := t.TempDir()
	inTheWay := filepath.Join(path, "f")
	if err := os.Mkdir(inTheWay, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := replace(inTheWay, []byte("one")); err == nil {
		t.Fatal("a directory was replaced")
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 || !entries[0].IsDir() {
		t.Errorf("left %v, %v", entries, err)
	}
}
