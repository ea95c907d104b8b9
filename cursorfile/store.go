package cursorfile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weedlc/engine"
)

// SaveTimeout bounds a save as a whole. It runs on also when the caller's
// context has ended, so that a pass cut short keeps its progress.
const SaveTimeout = 5 * time.Second

// Store keeps the states of shards in files. It is safe for concurrent use.
type Store struct {
	files Files
	warn  func(line string)

	mu sync.Mutex
	// damaged are the side files that Load could not read, by shard.
	damaged map[int]damagedSide
}

// damagedSide is one damaged file and when it was met.
type damagedSide struct {
	version string
	at      time.Time
}

// NewStore returns a store over files. Warn is told, one line at a time, what a
// person must know of a save; nil tells no one.
func NewStore(files Files, warn func(line string)) *Store {
	if warn == nil {
		warn = func(string) {}
	}
	return &Store{files: files, warn: warn, damaged: map[int]damagedSide{}}
}

// Load returns what is kept of a shard. A cursor that is there and damaged is a
// *CorruptError; an absent one is a cold start, also beside a side file. A
// damaged side file counts as missing, with a warning. The maps of the side are
// never nil.
func (s *Store) Load(ctx context.Context, shard int, now time.Time) (engine.ShardState, error) {
	st := engine.ShardState{
		Shard: shard,
		Side:  engine.Side{Groups: map[time.Duration]int64{}, Buckets: map[string]engine.BucketMemory{}},
	}
	var cursor CursorFile
	data, version, err := s.read(ctx, CursorName(shard))
	if err == nil {
		cursor, err = DecodeCursor(CursorName(shard), shard, data, now, false)
		if err != nil {
			return engine.ShardState{}, err
		}
		st.Found, st.CursorVersion = true, version
		st.Cursor, st.CursorExtra, st.Warnings = cursor.Cursor, cursor.Extra, cursor.Warnings
	} else if !errors.Is(err, engine.ErrNotFound) {
		return engine.ShardState{}, err
	}

	data, version, err = s.read(ctx, SideName(shard))
	if errors.Is(err, engine.ErrNotFound) {
		return st, nil
	}
	if err != nil {
		return engine.ShardState{}, err
	}
	st.SideVersion = version
	side, err := DecodeSide(SideName(shard), shard, data, now, false)
	if err != nil {
		s.noteDamaged(shard, damagedSide{version, now})
		st.Warnings = append(st.Warnings, fmt.Sprintf("%v: taken as missing", err))
		return st, nil
	}
	st.SideFound = true
	st.Side, st.SideExtra = side.Side, side.Extra
	st.Warnings = append(st.Warnings, side.Warnings...)
	if st.Found && side.Side.TsNs == cursor.writtenTsNs {
		st.Side.TsNs = cursor.Cursor.TsNs
	}
	return st, nil
}

// Save writes the side file of a shard and then its cursor, each only if it is
// still what the state was loaded from or last saved to; otherwise the error
// names the file and is ErrChanged. The side is marked as belonging to the
// cursor. A side file that Load found damaged is copied aside first. The
// state's version tokens follow each file as it is written, so a save that
// failed between the two can be repeated.
func (s *Store) Save(ctx context.Context, st *engine.ShardState) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SaveTimeout)
	defer cancel()
	st.Side.TsNs, st.Side.RuleSetHash = st.Cursor.TsNs, st.Cursor.RuleSetHash
	side, err := EncodeSide(st.Shard, st.Side, st.SideExtra)
	if err != nil {
		return err
	}
	cursor, err := EncodeCursor(st.Shard, st.Cursor, st.CursorExtra)
	if err != nil {
		return err
	}
	if err := s.setAside(ctx, st); err != nil {
		return err
	}
	if err := s.write(ctx, SideName(st.Shard), side, &st.SideVersion); err != nil {
		return err
	}
	return s.write(ctx, CursorName(st.Shard), cursor, &st.CursorVersion)
}

// setAside copies the side file if it is one that Load found damaged.
func (s *Store) setAside(ctx context.Context, st *engine.ShardState) error {
	damaged := s.damagedAt(st.Shard)
	if damaged.version == "" || damaged.version != st.SideVersion {
		return nil
	}
	name := SideName(st.Shard)
	data, version, err := s.read(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	if version != damaged.version {
		return fmt.Errorf("%s %w", name, ErrChanged)
	}
	copied, err := s.copyOf(ctx, name, asDamaged, damaged.at, data)
	if err != nil {
		return err
	}
	s.noteDamaged(st.Shard, damagedSide{})
	s.warn(fmt.Sprintf("damaged %s is kept as %s", name, copied))
	return nil
}

func (s *Store) noteDamaged(shard int, damaged damagedSide) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[shard] = damaged
}

func (s *Store) damagedAt(shard int) damagedSide {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damaged[shard]
}

// read adds the file's name to an error.
func (s *Store) read(ctx context.Context, name string) ([]byte, string, error) {
	data, version, err := s.files.Read(ctx, name)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", name, err)
	}
	return data, version, nil
}

// write replaces a file that still has the version, and moves the version on.
func (s *Store) write(ctx context.Context, name string, data []byte, version *string) error {
	written, err := s.files.Write(ctx, name, data, *version)
	if errors.Is(err, ErrChanged) {
		return fmt.Errorf("%s %w", name, ErrChanged)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	*version = written
	return nil
}
