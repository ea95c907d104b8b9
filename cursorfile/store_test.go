package cursorfile_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/cursorfile"
	"weedlc/cursorfile/filestest"
	"weedlc/engine"
)

// newStore returns a store in memory and what it warns of.
func newStore() (*cursorfile.Store, *filestest.Memory, *[]string) {
	files, lines := filestest.NewMemory(), &[]string{}
	return cursorfile.NewStore(files, func(line string) { *lines = append(*lines, line) }), files, lines
}

func load(t *testing.T, s *cursorfile.Store, shard int) engine.ShardState {
	t.Helper()
	st, err := s.Load(t.Context(), shard, now)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func save(t *testing.T, s *cursorfile.Store, st *engine.ShardState) {
	t.Helper()
	if err := s.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, files cursorfile.Files) []string {
	t.Helper()
	names, err := files.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestStoreColdStart(t *testing.T) {
	s, _, _ := newStore()
	want := engine.ShardState{Shard: 3, Side: engine.Side{Groups: map[time.Duration]int64{}, Buckets: map[string]engine.BucketMemory{}}}
	if st := load(t, s, 3); !reflect.DeepEqual(st, want) {
		t.Errorf("loaded %+v, want %+v", st, want)
	}
}

func TestStoreSavesAndLoads(t *testing.T) {
	s, files, warned := newStore()
	st := load(t, s, 3)
	st.Cursor, st.Side = sampleCursor(), sampleSide()
	st.Side.TsNs, st.Side.RuleSetHash = 0, engine.Hash{}
	save(t, s, &st)
	holds(t, files, "shard-03.json", sampleCursorText)
	holds(t, files, "shard-03.weedlc.json", sampleSideText)
	if st.CursorVersion == "" || st.SideVersion == "" || st.Side.TsNs != st.Cursor.TsNs || st.Side.RuleSetHash != st.Cursor.RuleSetHash {
		t.Errorf("saved as %+v", st)
	}

	again := load(t, s, 3)
	want := engine.ShardState{
		Shard: 3, Found: true, Cursor: sampleCursor(), SideFound: true, Side: sampleSide(),
		CursorVersion: st.CursorVersion, SideVersion: st.SideVersion,
	}
	if !reflect.DeepEqual(again, want) {
		t.Errorf("loaded %+v, want %+v", again, want)
	}

	again.Cursor.TsNs++
	save(t, s, &again)
	again.Cursor.TsNs++
	save(t, s, &again)
	if st := load(t, s, 3); st.Cursor.TsNs != sampleCursor().TsNs+2 || st.Side.TsNs != st.Cursor.TsNs {
		t.Errorf("after two more saves loaded %+v", st)
	}
	if len(*warned) != 0 {
		t.Errorf("warned of %q", *warned)
	}
}

// Shard 0 is fine, 1 empty, 2 says 7, 3 has a 31-byte hash, 4 version 99, 5 is
// absent.
func TestScenario47_EachShardByItself(t *testing.T) {
	s, files, _ := newStore()
	of := func(shard string) string { return edit(t, sampleCursorText, `"shard_id": 3`, `"shard_id": `+shard) }
	put(t, files, "shard-00.json", of("0"))
	put(t, files, "shard-01.json", "")
	put(t, files, "shard-02.json", of("7"))
	put(t, files, "shard-03.json", edit(t, sampleCursorText, onesHash, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=="))
	put(t, files, "shard-04.json", edit(t, of("4"), `"version": 1`, `"version": 99`))

	if st := load(t, s, 0); !st.Found || st.Cursor != sampleCursor() {
		t.Errorf("shard 0 loaded as %+v", st)
	}
	for shard, want := range map[int]string{
		1: `shard-01.json is empty`,
		2: `shard-02.json: shard_id "7" is not 2`,
		3: `shard-03.json: rule_set_hash "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==" is 31 bytes long, not 32`,
		4: `shard-04.json: version "99" is not 1`,
	} {
		st, err := s.Load(t.Context(), shard, now)
		wantCorrupt(t, err, want)
		if !reflect.DeepEqual(st, engine.ShardState{}) {
			t.Errorf("shard %d: %+v comes beside error %v", shard, st, err)
		}
	}
	if st := load(t, s, 5); st.Found {
		t.Errorf("shard 5 loaded as %+v", st)
	}
}

func TestStoreLoadFails(t *testing.T) {
	for _, name := range []string{"shard-03.json", "shard-03.weedlc.json"} {
		s, files, _ := newStore()
		put(t, files, "shard-03.json", sampleCursorText)
		broken := errors.New("connection refused")
		files.Before(func(op, n string) error {
			if n == name {
				return broken
			}
			return nil
		})
		st, err := s.Load(t.Context(), 3, now)
		if !errors.Is(err, broken) || err.Error() != "read "+name+": connection refused" || !reflect.DeepEqual(st, engine.ShardState{}) {
			t.Errorf("loaded %+v, %v", st, err)
		}
		var corrupt *cursorfile.CorruptError
		if errors.As(err, &corrupt) {
			t.Errorf("%v counts as damage", err)
		}
	}
}

func TestStoreForeignCursor(t *testing.T) {
	for _, tc := range []struct {
		name, cursor string
		own          bool
	}{
		{"own", sampleCursorText, true},
		{"moved by 1 ns", edit(t, sampleCursorText, "1907751600000000000", "1907751600000000001"), false},
		{"other hash", edit(t, sampleCursorText, onesHash, zeroHash), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, files, _ := newStore()
			put(t, files, "shard-03.json", tc.cursor)
			put(t, files, "shard-03.weedlc.json", sampleSideText)
			st := load(t, s, 3)
			if own := st.Side.TsNs == st.Cursor.TsNs && st.Side.RuleSetHash == st.Cursor.RuleSetHash; own != tc.own || !st.SideFound {
				t.Errorf("loaded %+v, %+v, own is %v, want %v", st.Cursor, st.Side, own, tc.own)
			}
		})
	}
}

// A position that is taken as now stays the side's own, and does not become the
// own of one that was written for another.
func TestStoreForeignCursorAheadOfNow(t *testing.T) {
	for _, tc := range []struct {
		name, side string
		own        bool
	}{
		{"same position", "1907755260000000000", true},
		{"another one ahead", "1907755260000000001", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, files, _ := newStore()
			put(t, files, "shard-03.json", edit(t, sampleCursorText, "1907751600000000000", "1907755260000000000"))
			put(t, files, "shard-03.weedlc.json", edit(t, sampleSideText, `"ts_ns": 1907751600000000000`, `"ts_ns": `+tc.side))
			st := load(t, s, 3)
			if st.Cursor.TsNs != ago(0) || len(st.Warnings) != 1 {
				t.Errorf("loaded position %d with warnings %q, want now with one", st.Cursor.TsNs, st.Warnings)
			}
			if own := st.Side.TsNs == st.Cursor.TsNs; own != tc.own {
				t.Errorf("side belongs to %d, cursor is at %d, own is %v, want %v", st.Side.TsNs, st.Cursor.TsNs, own, tc.own)
			}
		})
	}
}

func TestStoreSideWithoutCursor(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.weedlc.json", sampleSideText)
	if st := load(t, s, 3); st.Found || !st.SideFound || !reflect.DeepEqual(st.Side, sampleSide()) {
		t.Errorf("loaded %+v, want a cold start with the side", st)
	}
}

func TestStoreKeepsUnknownFields(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", edit(t, sampleCursorText, "{", `{"newer": 1,`))
	put(t, files, "shard-03.weedlc.json", edit(t, sampleSideText, "{\n  \"version\"", `{"newer": 2,"version"`))
	st := load(t, s, 3)
	save(t, s, &st)
	holds(t, files, "shard-03.json", edit(t, sampleCursorText, "0000\n}", "0000,\n  \"newer\": 1\n}"))
	holds(t, files, "shard-03.weedlc.json", edit(t, sampleSideText, "  ]\n}", "  ],\n  \"newer\": 2\n}"))
}

func TestStoreDamagedSide(t *testing.T) {
	s, files, warned := newStore()
	damaged := edit(t, sampleSideText, `"shard_id": 3`, `"shard_id": 4`)
	put(t, files, "shard-03.json", sampleCursorText)
	put(t, files, "shard-03.weedlc.json", damaged)

	st := load(t, s, 3)
	if !st.Found || st.SideFound || st.SideVersion == "" || len(st.Side.Groups) != 0 {
		t.Errorf("loaded %+v, want no side", st)
	}
	if want := []string{`shard-03.weedlc.json: shard_id "4" is not 3: taken as missing`}; !slices.Equal(st.Warnings, want) {
		t.Errorf("warnings are %q, want %q", st.Warnings, want)
	}
	if got := names(t, files); len(got) != 2 {
		t.Errorf("a load left %q", got)
	}

	save(t, s, &st)
	holds(t, files, "shard-03.weedlc.json.damaged-20300615T120000Z", damaged)
	if want := []string{"damaged shard-03.weedlc.json is kept as shard-03.weedlc.json.damaged-20300615T120000Z"}; !slices.Equal(*warned, want) {
		t.Errorf("warned of %q, want %q", *warned, want)
	}
	if st := load(t, s, 3); !st.SideFound || len(st.Warnings) != 0 {
		t.Errorf("after the save loaded %+v", st)
	}

	// The copy is made once, also when the state is saved again without a load.
	save(t, s, &st)
	if got := names(t, files); len(got) != 3 || len(*warned) != 1 {
		t.Errorf("a second save left %q and warned of %q", got, *warned)
	}
}

func TestStoreDamagedSideTwiceInASecond(t *testing.T) {
	s, files, _ := newStore()
	for _, damaged := range []string{"", "{", "}"} {
		put(t, files, "shard-03.weedlc.json", damaged)
		st := load(t, s, 3)
		save(t, s, &st)
	}
	holds(t, files, "shard-03.weedlc.json.damaged-20300615T120000Z", "")
	holds(t, files, "shard-03.weedlc.json.damaged-20300615T120000Z.2", "{")
	holds(t, files, "shard-03.weedlc.json.damaged-20300615T120000Z.3", "}")
}

// A file that was damaged once and is whole when the state is loaded is not set
// aside.
func TestStoreDamagedSideRepaired(t *testing.T) {
	s, files, warned := newStore()
	put(t, files, "shard-03.weedlc.json", "{")
	load(t, s, 3)
	put(t, files, "shard-03.weedlc.json", sampleSideText)
	st := load(t, s, 3)
	save(t, s, &st)
	if got := names(t, files); len(got) != 2 || len(*warned) != 0 {
		t.Errorf("the save left %q and warned of %q", got, *warned)
	}
}

func TestStoreDamagedSideIsCopiedOnce(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.weedlc.json", "{")
	st := load(t, s, 3)
	gone := errors.New("filer gone")
	files.Before(func(op, name string) error {
		if op == "write" && name == "shard-03.weedlc.json" {
			return gone
		}
		return nil
	})
	if err := s.Save(t.Context(), &st); !errors.Is(err, gone) {
		t.Fatalf("save = %v, want %v", err, gone)
	}
	files.Before(nil)
	save(t, s, &st)
	if got := names(t, files); len(got) != 3 {
		t.Errorf("the repeated save left %q", got)
	}
}

// The damaged file is replaced only once the copy is there.
func TestStoreDamagedSideCannotBeSetAside(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", sampleCursorText)
	put(t, files, "shard-03.weedlc.json", "{")
	st := load(t, s, 3)
	full := errors.New("disk full")
	files.Before(func(op, name string) error {
		if op == "write" && strings.Contains(name, ".damaged-") {
			return full
		}
		return nil
	})
	if err := s.Save(t.Context(), &st); !errors.Is(err, full) {
		t.Fatalf("save = %v, want %v", err, full)
	}
	holds(t, files, "shard-03.weedlc.json", "{")
	holds(t, files, "shard-03.json", sampleCursorText)
	files.Before(nil)
	save(t, s, &st)
	holds(t, files, "shard-03.weedlc.json.damaged-20300615T120000Z", "{")
}

func TestStoreSaveRefusesWhatChanged(t *testing.T) {
	other := edit(t, sampleCursorText, "1907751600000000000", "5")
	for _, tc := range []struct {
		name string
		// before and since are the file at Load and at Save; empty is absent.
		file, before, since string
	}{
		{"cursor edited", "shard-03.json", sampleCursorText, other},
		{"cursor appeared", "shard-03.json", "", other},
		{"cursor removed", "shard-03.json", sampleCursorText, ""},
		{"side edited", "shard-03.weedlc.json", sampleSideText, sampleSideText + "\n"},
		{"side appeared", "shard-03.weedlc.json", "", sampleSideText},
		{"side removed", "shard-03.weedlc.json", sampleSideText, ""},
		{"damaged side edited", "shard-03.weedlc.json", "{", sampleSideText},
		{"damaged side removed", "shard-03.weedlc.json", "{", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, files, _ := newStore()
			if tc.before != "" {
				put(t, files, tc.file, tc.before)
			}
			st := load(t, s, 3)
			if tc.since != "" {
				put(t, files, tc.file, tc.since)
			} else if err := files.Remove(t.Context(), tc.file, map[bool]string{true: st.CursorVersion, false: st.SideVersion}[tc.file == "shard-03.json"]); err != nil {
				t.Fatal(err)
			}
			st.Cursor.TsNs = ago(time.Minute)
			err := s.Save(t.Context(), &st)
			if want := tc.file + " changed since it was read"; !errors.Is(err, cursorfile.ErrChanged) || err.Error() != want {
				t.Fatalf("save = %v, want %s", err, want)
			}
			if tc.since != "" {
				holds(t, files, tc.file, tc.since)
			}
			if left := names(t, files); slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, ".damaged-") }) {
				t.Errorf("a file that changed was set aside: %q", left)
			}
			if tc.file == "shard-03.weedlc.json" && slices.Contains(names(t, files), "shard-03.json") {
				t.Error("the cursor was saved without its side file")
			}
		})
	}
}

func TestStoreSavesSideFirst(t *testing.T) {
	s, files, _ := newStore()
	var written []string
	files.Before(func(op, name string) error {
		if op == "write" {
			written = append(written, name)
		}
		return nil
	})
	st := load(t, s, 3)
	save(t, s, &st)
	if want := []string{"shard-03.weedlc.json", "shard-03.json"}; !slices.Equal(written, want) {
		t.Errorf("wrote %q, want %q", written, want)
	}
}

// A pass that dies between the two saves leaves a cursor that is foreign to its
// side file; a save that failed there can be repeated.
func TestStoreSaveEndsBetweenTheTwo(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", sampleCursorText)
	put(t, files, "shard-03.weedlc.json", sampleSideText)
	st := load(t, s, 3)
	st.Cursor.TsNs = ago(time.Minute)
	gone := errors.New("filer gone")
	files.Before(func(op, name string) error {
		if op == "write" && name == "shard-03.json" {
			return gone
		}
		return nil
	})
	if err := s.Save(t.Context(), &st); !errors.Is(err, gone) || err.Error() != "write shard-03.json: filer gone" {
		t.Fatalf("save = %v", err)
	}
	files.Before(nil)
	if cut := load(t, s, 3); cut.Cursor != sampleCursor() || cut.Side.TsNs != ago(time.Minute) {
		t.Errorf("loaded %+v with a side of %d, want the old cursor and the new side", cut.Cursor, cut.Side.TsNs)
	}
	save(t, s, &st)
	if done := load(t, s, 3); done.Cursor.TsNs != ago(time.Minute) || done.Side.TsNs != done.Cursor.TsNs {
		t.Errorf("loaded %+v with a side of %d", done.Cursor, done.Side.TsNs)
	}
}

func TestStoreSaveRefusesBeforeWriting(t *testing.T) {
	for name, spoil := range map[string]func(*engine.ShardState){
		"side":   func(st *engine.ShardState) { st.Side.ArrivalsNs = -1 },
		"cursor": func(st *engine.ShardState) { st.Cursor.LastWalkedNs = -1 },
	} {
		s, files, _ := newStore()
		st := load(t, s, 3)
		spoil(&st)
		err := s.Save(t.Context(), &st)
		if err == nil || !strings.Contains(err.Error(), name) || len(names(t, files)) != 0 {
			t.Errorf("%s: save = %v and left %q", name, err, names(t, files))
		}
		var corrupt *cursorfile.CorruptError
		if errors.As(err, &corrupt) {
			t.Errorf("%v counts as a damaged file", err)
		}
	}
}

// The context of a save is its own: the caller's end does not reach it, the
// caller's values do.
func TestStoreSavesAfterTheContextEnded(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	watched := &watchedFiles{Files: filestest.NewMemory()}
	s := cursorfile.NewStore(watched, nil)
	st := load(t, s, 3)
	cancel()
	if err := s.Save(ctx, &st); err != nil {
		t.Fatal(err)
	}
	if len(watched.writes) != 2 {
		t.Fatalf("%d writes, want 2", len(watched.writes))
	}
	for _, ctx := range watched.writes {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left <= 0 || left > cursorfile.SaveTimeout {
			t.Errorf("a write has %v left (%v), want at most %v", left, ok, cursorfile.SaveTimeout)
		}
		if ctx.Value(key{}) != "value" {
			t.Error("a write lost the caller's values")
		}
	}
}

// watchedFiles keeps the contexts of writes.
type watchedFiles struct {
	cursorfile.Files
	writes []context.Context
}

func (w *watchedFiles) Write(ctx context.Context, name string, data []byte, was string) (string, error) {
	w.writes = append(w.writes, ctx)
	return w.Files.Write(ctx, name, data, was)
}

func TestStoreRoundTrip(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		s, _, _ := newStore()
		shard := rapid.IntRange(0, engine.ShardCount-1).Draw(t, "shard")
		var st engine.ShardState
		for range rapid.IntRange(1, 3).Draw(t, "saves") {
			st = engine.ShardState{
				Shard: shard, Cursor: drawCursor(t), Side: drawSide(t),
				CursorExtra: drawExtra(t, "cursor extra"), SideExtra: drawExtra(t, "side extra"),
				CursorVersion: st.CursorVersion, SideVersion: st.SideVersion,
			}
			if err := s.Save(ctx, &st); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Load(ctx, shard, now)
		st.Found, st.SideFound = true, true
		if err != nil || !reflect.DeepEqual(got, st) {
			t.Fatalf("loaded %+v, %v, want %+v", got, err, st)
		}
	})
}

// Shards are kept apart, whatever their order.
func TestStoreShardsAreApart(t *testing.T) {
	s, files, _ := newStore()
	for shard := range engine.ShardCount {
		st := load(t, s, shard)
		st.Cursor.TsNs = int64(shard) + 1
		save(t, s, &st)
	}
	want := map[string]bool{}
	for shard := range engine.ShardCount {
		want[cursorfile.CursorName(shard)], want[cursorfile.SideName(shard)] = true, true
		if st := load(t, s, shard); st.Cursor.TsNs != int64(shard)+1 {
			t.Errorf("shard %d is at %d", shard, st.Cursor.TsNs)
		}
	}
	if got := names(t, files); len(want) != 2*engine.ShardCount || !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("files are %q", got)
	}
}
