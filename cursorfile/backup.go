package cursorfile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weedlc/engine"
)

// maxCopies bounds the copies of one file within one second.
const maxCopies = 100

// Backup copies the files of a shard that are there, whatever is in them, and
// returns the names of the copies: none for a shard without files. The copies
// are named after now.
func (s *Store) Backup(ctx context.Context, shard int, now time.Time) ([]string, error) {
	names, _, err := s.backup(ctx, shard, now)
	return names, err
}

// Reset removes the files of a shard after a backup, so that its next pass is a
// cold start. It returns the names of the copies. A file that changes meanwhile
// stays, and the error is ErrChanged.
func (s *Store) Reset(ctx context.Context, shard int, now time.Time) ([]string, error) {
	names, backed, err := s.backup(ctx, shard, now)
	if err != nil {
		return names, err
	}
	for _, f := range backed {
		err := s.files.Remove(ctx, f.name, f.version)
		if errors.Is(err, ErrChanged) {
			return names, fmt.Errorf("%s %w", f.name, ErrChanged)
		}
		if err != nil {
			return names, fmt.Errorf("remove %s: %w", f.name, err)
		}
	}
	return names, nil
}

// backedFile is a file as it was copied.
type backedFile struct{ name, version string }

// backup lists the side file first: a cursor without one is a safe state to be
// interrupted in, the reverse is a cold start with a memory.
func (s *Store) backup(ctx context.Context, shard int, now time.Time) (names []string, backed []backedFile, err error) {
	for _, name := range []string{SideName(shard), CursorName(shard)} {
		data, version, err := s.read(ctx, name)
		if errors.Is(err, engine.ErrNotFound) {
			continue
		}
		if err != nil {
			return names, nil, err
		}
		copied, err := s.copyOf(ctx, name, asBackup, now, data)
		if err != nil {
			return names, nil, err
		}
		names = append(names, copied)
		backed = append(backed, backedFile{name, version})
	}
	return names, backed, nil
}

// copyOf writes a copy under a name that is not taken, and returns the name.
func (s *Store) copyOf(ctx context.Context, name, as string, at time.Time, data []byte) (string, error) {
	for number := 1; number <= maxCopies; number++ {
		copied := copyName(name, as, at, number)
		_, err := s.files.Write(ctx, copied, data, "")
		if err == nil {
			return copied, nil
		}
		if !errors.Is(err, ErrChanged) {
			return "", fmt.Errorf("write %s: %w", copied, err)
		}
	}
	return "", fmt.Errorf("%s has %d copies of one second already", name, maxCopies)
}
