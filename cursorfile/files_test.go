package cursorfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"weedlc/cursorfile"
	"weedlc/cursorfile/filestest"
)

func TestMemoryConforms(t *testing.T) {
	filestest.Conformance(t, func(*testing.T) cursorfile.Files { return filestest.NewMemory() })
}

func TestDirConforms(t *testing.T) {
	filestest.Conformance(t, func(t *testing.T) cursorfile.Files {
		return cursorfile.NewDir(filepath.Join(t.TempDir(), "etc", "daily-cursors"))
	})
}

func TestDirRefusesNames(t *testing.T) {
	d := cursorfile.NewDir(t.TempDir())
	for _, name := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "../a", "/a"} {
		if _, _, err := d.Read(t.Context(), name); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("read %q: %v, want a refusal", name, err)
		}
		if _, err := d.Write(t.Context(), name, nil, ""); err == nil {
			t.Errorf("write %q succeeded", name)
		}
		if err := d.Remove(t.Context(), name, "x"); err == nil || errors.Is(err, cursorfile.ErrChanged) {
			t.Errorf("remove %q: %v, want a refusal", name, err)
		}
	}
}

// Two values on one directory stand for two processes.
func TestDirExcludesOtherWriters(t *testing.T) {
	path := t.TempDir()
	was := ""
	for range 20 {
		var wg sync.WaitGroup
		versions, errs := make([]string, 4), make([]error, 4)
		for n := range versions {
			wg.Go(func() {
				versions[n], errs[n] = cursorfile.NewDir(path).Write(t.Context(), "f", []byte(was+string(rune('a'+n))), was)
			})
		}
		wg.Wait()
		won := slices.Index(errs, nil)
		if won < 0 {
			t.Fatalf("no writer won: %v", errs)
		}
		for n, err := range errs {
			if n != won && !errors.Is(err, cursorfile.ErrChanged) {
				t.Fatalf("writers %d and %d: %v, want ErrChanged", won, n, err)
			}
		}
		was = versions[won]
	}
}

func TestDirLeavesNoTemporaryFiles(t *testing.T) {
	path := t.TempDir()
	d := cursorfile.NewDir(path)
	version, err := d.Write(t.Context(), "f", []byte("one"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write(t.Context(), "f", []byte("two"), version); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write(t.Context(), "f", []byte("three"), version); !errors.Is(err, cursorfile.ErrChanged) {
		t.Fatalf("stale write: %v", err)
	}
	if err := os.Mkdir(filepath.Join(path, "g"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write(t.Context(), "g", []byte("one"), ""); err == nil {
		t.Fatal("a directory was replaced")
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 2 {
		t.Fatalf("directory holds %v, %v, want f and g", entries, err)
	}
	info, err := os.Stat(filepath.Join(path, "f"))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Fatalf("f has mode %v, %v, want 0644", info.Mode(), err)
	}
}
