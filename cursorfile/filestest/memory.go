package filestest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// Memory is cursorfile.Files in memory. Its versions count the writes.
type Memory struct {
	mu     sync.Mutex
	files  map[string]memoryFile
	writes int
	before func(op, name string) error
}

type memoryFile struct {
	data    []byte
	version string
}

// NewMemory returns an empty directory.
func NewMemory() *Memory { return &Memory{files: map[string]memoryFile{}} }

// Before sets what is asked before each call ("read", "write", "remove" or
// "list"; the name is empty for a list). Its error becomes the call's, and
// nothing else happens. It may itself call m.
func (m *Memory) Before(fn func(op, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = fn
}

func (m *Memory) ask(ctx context.Context, op, name string) error {
	m.mu.Lock()
	before := m.before
	m.mu.Unlock()
	if before != nil {
		if err := before(op, name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Read implements cursorfile.Files.
func (m *Memory) Read(ctx context.Context, name string) ([]byte, string, error) {
	if err := m.ask(ctx, "read", name); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	if !ok {
		return nil, "", fmt.Errorf("%s: %w", name, engine.ErrNotFound)
	}
	return bytes.Clone(f.data), f.version, nil
}

// Write implements cursorfile.Files.
func (m *Memory) Write(ctx context.Context, name string, data []byte, was string) (string, error) {
	if err := m.ask(ctx, "write", name); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name].version != was {
		return "", fmt.Errorf("%s %w", name, cursorfile.ErrChanged)
	}
	m.writes++
	f := memoryFile{data: bytes.Clone(data), version: strconv.Itoa(m.writes)}
	m.files[name] = f
	return f.version, nil
}

// Remove implements cursorfile.Files.
func (m *Memory) Remove(ctx context.Context, name, was string) error {
	if err := m.ask(ctx, "remove", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[name]
	if !ok || f.version != was {
		return fmt.Errorf("%s %w", name, cursorfile.ErrChanged)
	}
	delete(m.files, name)
	return nil
}

// List implements cursorfile.Files.
func (m *Memory) List(ctx context.Context) ([]string, error) {
	if err := m.ask(ctx, "list", ""); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files)), nil
}
