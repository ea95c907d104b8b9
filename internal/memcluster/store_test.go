package memcluster_test

import (
	"errors"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

func TestStoreRefusesToReplaceWhatChanged(t *testing.T) {
	changes := map[string]func(s *memcluster.Store){
		"cursor written": func(s *memcluster.Store) { s.PutCursor(1, engine.Cursor{TsNs: 5}) },
		"cursor removed": func(s *memcluster.Store) { s.RemoveCursor(1) },
		"side removed":   func(s *memcluster.Store) { s.RemoveSide(1) },
	}
	for name, change := range changes {
		c := memcluster.New(memcluster.Config{})
		s := memcluster.NewStore(c)
		st := load(t, s, c)
		st.Cursor.TsNs = 1
		must(t, s.Save(t.Context(), &st))
		must(t, s.Save(t.Context(), &st)) // its tokens are up to date
		change(s)
		if err := s.Save(t.Context(), &st); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestStoreSavesTheSideFileFirst(t *testing.T) {
	for _, cursorFirst := range []bool{false, true} {
		c := memcluster.New(memcluster.Config{})
		s := memcluster.NewStore(c)
		if cursorFirst {
			s.SaveCursorFirst()
		}
		st := load(t, s, c)
		st.Cursor.TsNs, st.Side.ArrivalsNs = 7, 8
		c.SetHook(memcluster.KillAfter(2, nil))
		if err := s.Save(t.Context(), &st); !errors.Is(err, memcluster.Killed{}) {
			t.Errorf("got %v", err)
		}
		_, cursor := s.Cursor(1)
		side, hasSide := s.Side(1)
		if cursor != cursorFirst || hasSide == cursorFirst {
			t.Errorf("cursor first %v: cursor saved %v, side saved %v", cursorFirst, cursor, hasSide)
		}
		if hasSide && side.TsNs != 7 {
			t.Errorf("side belongs to ts_ns %d", side.TsNs)
		}
	}
}

func TestStoreSharesNothing(t *testing.T) {
	c := memcluster.New(memcluster.Config{})
	s := memcluster.NewStore(c)
	st := load(t, s, c)
	st.Side.Groups[day] = 1
	st.Side.Buckets["b"] = engine.BucketMemory{WalkAtNs: []int64{1}}
	st.Side.Failed = []engine.Failure{{Key: "k"}}
	st.Side.Blocked = &engine.Failure{Key: "k"}
	must(t, s.Save(t.Context(), &st))
	st.Side.Groups[day], st.Side.Buckets["b"].WalkAtNs[0], st.Side.Failed[0].Key, st.Side.Blocked.Key = 2, 2, "changed", "changed"
	again := load(t, s, c)
	if again.Side.Groups[day] != 1 || again.Side.Buckets["b"].WalkAtNs[0] != 1 || again.Side.Failed[0].Key != "k" || again.Side.Blocked.Key != "k" {
		t.Errorf("a saved state changed: %+v", again.Side)
	}
}

func TestStoreLoad(t *testing.T) {
	c := memcluster.New(memcluster.Config{})
	s := memcluster.NewStore(c)
	if st := load(t, s, c); st.Found || st.SideFound || st.Side.Groups == nil || st.Side.Buckets == nil {
		t.Errorf("empty store: %+v", st)
	}
	now := c.HostTime()
	for _, tc := range []struct {
		ahead, want time.Duration
		damaged     bool
	}{{0, 0, false}, {5 * time.Minute, 0, false}, {5*time.Minute + 1, 0, true}, {-hour, -hour, false}} {
		s.PutCursor(1, engine.Cursor{TsNs: now.Add(tc.ahead).UnixNano()})
		st, err := s.Load(t.Context(), 1, now)
		if (err != nil) != tc.damaged {
			t.Errorf("%v ahead: %v", tc.ahead, err)
		} else if err == nil && (st.Cursor.TsNs != now.Add(tc.want).UnixNano() || (len(st.Warnings) > 0) != (tc.ahead > 0)) {
			t.Errorf("%v ahead: %+v", tc.ahead, st)
		}
	}
	bad := errors.New("31 bytes of hash")
	s.Damage(1, bad)
	if _, err := s.Load(t.Context(), 1, now); !errors.Is(err, bad) {
		t.Errorf("damaged: %v", err)
	}
	s.PutCursor(1, engine.Cursor{TsNs: 1})
	load(t, s, c)
}

func load(t *testing.T, s *memcluster.Store, c *memcluster.Cluster) engine.ShardState {
	t.Helper()
	st, err := s.Load(t.Context(), 1, c.HostTime())
	must(t, err)
	return st
}
