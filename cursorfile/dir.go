package cursorfile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"weedlc/engine"
)

// Dir is a local directory as Files. A write is durable once it has returned,
// and a reader sees the old file or the new one, whole.
type Dir struct {
	path string
	mu   sync.Mutex
}

// NewDir returns the files of a directory, which the first write creates.
func NewDir(path string) *Dir { return &Dir{path: path} }

// Read returns a file; its version is the hash of its content.
func (d *Dir) Read(ctx context.Context, name string) ([]byte, string, error) {
	path, err := d.file(ctx, name)
	if err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%s: %w", path, engine.ErrNotFound)
	}
	if err != nil {
		return nil, "", err
	}
	return data, contentVersion(data), nil
}

// Write implements Files.
func (d *Dir) Write(ctx context.Context, name string, data []byte, was string) (string, error) {
	path, err := d.file(ctx, name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return "", err
	}
	err = d.exclusive(path, was, func() error { return replace(path, data) })
	if err != nil {
		return "", err
	}
	return contentVersion(data), nil
}

// Remove implements Files.
func (d *Dir) Remove(ctx context.Context, name, was string) error {
	path, err := d.file(ctx, name)
	if err != nil {
		return err
	}
	if was == "" {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return d.exclusive(path, was, func() error {
		if err := os.Remove(path); err != nil {
			return err
		}
		return syncDir(d.path)
	})
}

// List implements Files.
func (d *Dir) List(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// file is the path of a name.
func (d *Dir) file(ctx context.Context, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not a plain file name", name)
	}
	return filepath.Join(d.path, name), ctx.Err()
}

// exclusive calls change while no other writer of the directory is at work, if
// the file has the version was.
func (d *Dir) exclusive(path, was string, change func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	unlock, err := lockDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	if err != nil {
		return err
	}
	defer unlock()
	version := ""
	data, err := os.ReadFile(path)
	switch {
	case err == nil:
		version = contentVersion(data)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if version != was {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return change()
}

// replace writes a file beside its target and moves it there.
func replace(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func contentVersion(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
