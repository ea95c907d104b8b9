package memcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// futureTolerance is how far in the future a cursor's position may be; one that
// is nearer counts as now.
const futureTolerance = 5 * time.Minute

// Damaged is the error of a cursor that cannot be read.
type Damaged string

func (d Damaged) Error() string { return string(d) }

// Corrupt reports that the cursor itself is damaged.
func (Damaged) Corrupt() bool { return true }

// Store keeps the states of shards in memory. It implements pass.Store and
// asks the cluster's hook before and after each of a save's two steps.
type Store struct {
	cluster *Cluster

	mu     sync.Mutex
	shards map[int]*shardFiles
	serial int
	// cursorFirst saves in the wrong order.
	cursorFirst bool
}

// shardFiles are the two files of one shard; nil is absent.
type shardFiles struct {
	cursor        *engine.Cursor
	cursorVersion string
	side          *engine.Side
	sideVersion   string
	damage        error
}

// NewStore returns an empty store.
func NewStore(c *Cluster) *Store {
	return &Store{cluster: c, shards: map[int]*shardFiles{}}
}

// SaveCursorFirst makes a save write the cursor before the side file, which is
// wrong: a simulation shows that it is.
func (s *Store) SaveCursorFirst() { s.cursorFirst = true }

func (s *Store) files(shard int) *shardFiles {
	f := s.shards[shard]
	if f == nil {
		f = &shardFiles{}
		s.shards[shard] = f
	}
	return f
}

// version is a token that no file had before.
func (s *Store) version() string {
	s.serial++
	return fmt.Sprintf("v%d", s.serial)
}

// Load returns a shard's state. A position beyond now is taken as now, with a
// warning; one too far beyond it is damage.
func (s *Store) Load(ctx context.Context, shard int, now time.Time) (st engine.ShardState, err error) {
	err = s.cluster.around(ctx, Call{Op: OpLoad, Shard: shard}, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files(shard)
		if f.damage != nil {
			return f.damage
		}
		st = engine.ShardState{
			Shard: shard, CursorVersion: f.cursorVersion, SideVersion: f.sideVersion,
			Side: engine.Side{Groups: map[time.Duration]int64{}, Buckets: map[string]engine.BucketMemory{}},
		}
		if f.side != nil {
			st.SideFound, st.Side = true, copySide(*f.side)
		}
		if f.cursor == nil {
			return nil
		}
		st.Found, st.Cursor = true, *f.cursor
		switch ahead := time.Duration(f.cursor.TsNs - now.UnixNano()); {
		case ahead > futureTolerance:
			return Damaged(fmt.Sprintf("shard %d: ts_ns %d is %v in the future", shard, f.cursor.TsNs, ahead))
		case ahead > 0:
			st.Cursor.TsNs = now.UnixNano()
			st.Warnings = append(st.Warnings, fmt.Sprintf("ts_ns is %v in the future: taken as now", ahead))
			if st.Side.TsNs == f.cursor.TsNs {
				st.Side.TsNs = st.Cursor.TsNs
			}
		}
		return nil
	})
	return st, err
}

// Save writes the side file, marked as the cursor's, and then the cursor. Each
// step fails when its file is not the one that the state was loaded from.
func (s *Store) Save(ctx context.Context, st *engine.ShardState) error {
	ctx = context.WithoutCancel(ctx)
	st.Side.TsNs, st.Side.RuleSetHash = st.Cursor.TsNs, st.Cursor.RuleSetHash
	steps := []func(context.Context, *engine.ShardState) error{s.saveSide, s.saveCursor}
	if s.cursorFirst {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) saveSide(ctx context.Context, st *engine.ShardState) error {
	return s.cluster.around(ctx, Call{Op: OpSaveSide, Shard: st.Shard}, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files(st.Shard)
		if f.sideVersion != st.SideVersion {
			return fmt.Errorf("side file of shard %d: %w", st.Shard, engine.ErrChanged)
		}
		side := copySide(st.Side)
		f.side, f.sideVersion = &side, s.version()
		st.SideVersion = f.sideVersion
		return nil
	})
}

func (s *Store) saveCursor(ctx context.Context, st *engine.ShardState) error {
	return s.cluster.around(ctx, Call{Op: OpSaveCursor, Shard: st.Shard}, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		f := s.files(st.Shard)
		if f.cursorVersion != st.CursorVersion {
			return fmt.Errorf("cursor of shard %d: %w", st.Shard, engine.ErrChanged)
		}
		cursor := st.Cursor
		f.cursor, f.cursorVersion = &cursor, s.version()
		st.CursorVersion = f.cursorVersion
		return nil
	})
}

// Cursor returns a shard's cursor file.
func (s *Store) Cursor(shard int) (engine.Cursor, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files(shard); f.cursor != nil {
		return *f.cursor, true
	}
	return engine.Cursor{}, false
}

// Side returns a shard's side file.
func (s *Store) Side(shard int) (engine.Side, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files(shard); f.side != nil {
		return copySide(*f.side), true
	}
	return engine.Side{}, false
}

// PutCursor writes a shard's cursor file alone, as the built-in worker and a
// person with an editor do.
func (s *Store) PutCursor(shard int, cursor engine.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files(shard)
	f.cursor, f.cursorVersion, f.damage = &cursor, s.version(), nil
}

// RemoveSide loses a shard's side file.
func (s *Store) RemoveSide(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files(shard)
	f.side, f.sideVersion = nil, ""
}

// RemoveCursor loses a shard's cursor file.
func (s *Store) RemoveCursor(shard int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files(shard)
	f.cursor, f.cursorVersion, f.damage = nil, "", nil
}

// Damage makes a shard's cursor unreadable until it is written or removed; its
// load returns err.
func (s *Store) Damage(shard int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files(shard).damage = err
}

// copySide is a side that shares nothing with the original.
func copySide(side engine.Side) engine.Side {
	side.Groups = maps.Clone(side.Groups)
	side.Buckets = maps.Clone(side.Buckets)
	for name, m := range side.Buckets {
		m.WalkAtNs = slices.Clone(m.WalkAtNs)
		side.Buckets[name] = m
	}
	side.Failed = slices.Clone(side.Failed)
	if side.Blocked != nil {
		blocked := *side.Blocked
		side.Blocked = &blocked
	}
	return side
}
