package cursorfile_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"weedlc/cursorfile"
)

func TestBackup(t *testing.T) {
	const cursorCopy, sideCopy = "shard-03.json.bak-20300615T120000Z", "shard-03.weedlc.json.bak-20300615T120000Z"
	for _, tc := range []struct {
		name, cursor, side string
		want               []string
	}{
		{"nothing", "", "", nil},
		{"cursor", sampleCursorText, "", []string{cursorCopy}},
		{"side", "", sampleSideText, []string{sideCopy}},
		{"both", sampleCursorText, sampleSideText, []string{sideCopy, cursorCopy}},
		{"damaged", "{", "}", []string{sideCopy, cursorCopy}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, files, _ := newStore()
			texts := map[string]string{"shard-03.json": tc.cursor, "shard-03.weedlc.json": tc.side}
			copies := map[string]string{cursorCopy: tc.cursor, sideCopy: tc.side}
			put(t, files, "shard-04.json", "another")
			for name, text := range texts {
				if text != "" {
					put(t, files, name, text)
				}
			}
			got, err := s.Backup(t.Context(), 3, now.In(time.FixedZone("", 3600)))
			if err != nil || !slices.Equal(got, tc.want) {
				t.Fatalf("backup = %q, %v, want %q", got, err, tc.want)
			}
			for name, text := range texts {
				if text != "" {
					holds(t, files, name, text)
				}
			}
			for _, name := range got {
				holds(t, files, name, copies[name])
			}
			if got, want := len(names(t, files)), 1+2*len(tc.want); got != want {
				t.Errorf("%d files, want %d", got, want)
			}
		})
	}
}

func TestReset(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", "damaged")
	put(t, files, "shard-03.weedlc.json", sampleSideText)
	put(t, files, "shard-04.json", "another")
	got, err := s.Reset(t.Context(), 3, now)
	want := []string{"shard-03.weedlc.json.bak-20300615T120000Z", "shard-03.json.bak-20300615T120000Z"}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("reset = %q, %v, want %q", got, err, want)
	}
	holds(t, files, want[0], sampleSideText)
	holds(t, files, want[1], "damaged")
	if got := names(t, files); !slices.Equal(got, []string{want[1], want[0], "shard-04.json"}) {
		t.Errorf("files are %q", got)
	}
	if st := load(t, s, 3); st.Found || st.SideFound {
		t.Errorf("loaded %+v, want a cold start", st)
	}
	if got, err := s.Reset(t.Context(), 3, now); err != nil || got != nil {
		t.Errorf("reset of nothing = %q, %v", got, err)
	}

	// A second reset within the second does not lose the first one's copy.
	put(t, files, "shard-03.json", "another damage")
	got, err = s.Reset(t.Context(), 3, now)
	if want := []string{want[1] + ".2"}; err != nil || !slices.Equal(got, want) {
		t.Fatalf("reset = %q, %v, want %q", got, err, want)
	}
	holds(t, files, want[1], "damaged")
	holds(t, files, want[1]+".2", "another damage")
}

func TestResetRemovesNothingWithoutABackup(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", sampleCursorText)
	put(t, files, "shard-03.weedlc.json", sampleSideText)
	full := errors.New("disk full")
	files.Before(func(op, name string) error {
		if op == "write" && name == "shard-03.json.bak-20300615T120000Z" {
			return full
		}
		return nil
	})
	got, err := s.Reset(t.Context(), 3, now)
	if !errors.Is(err, full) || !slices.Equal(got, []string{"shard-03.weedlc.json.bak-20300615T120000Z"}) {
		t.Errorf("reset = %q, %v", got, err)
	}
	holds(t, files, "shard-03.json", sampleCursorText)
	holds(t, files, "shard-03.weedlc.json", sampleSideText)
}

// A cursor that changes between its copy and its removal stays.
func TestResetRefusesWhatChanged(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", sampleCursorText)
	files.Before(func(op, name string) error {
		if op == "remove" {
			files.Before(nil)
			put(t, files, name, "newer")
		}
		return nil
	})
	got, err := s.Reset(t.Context(), 3, now)
	if !errors.Is(err, cursorfile.ErrChanged) || err.Error() != "shard-03.json changed since it was read" || len(got) != 1 {
		t.Errorf("reset = %q, %v", got, err)
	}
	holds(t, files, "shard-03.json", "newer")
}

func TestBackupReadFails(t *testing.T) {
	s, files, _ := newStore()
	files.Before(func(op, name string) error { return errors.New("connection refused") })
	got, err := s.Backup(t.Context(), 3, now)
	if err == nil || err.Error() != "read shard-03.weedlc.json: connection refused" || got != nil {
		t.Errorf("backup = %q, %v", got, err)
	}
}

func TestBackupNamesRunOut(t *testing.T) {
	s, files, _ := newStore()
	put(t, files, "shard-03.json", sampleCursorText)
	for range 100 {
		if _, err := s.Backup(t.Context(), 3, now); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Backup(t.Context(), 3, now); err == nil || err.Error() != "shard-03.json has 100 copies of one second already" {
		t.Errorf("backup = %v", err)
	}
	if _, err := s.Backup(t.Context(), 3, now.Add(time.Second)); err != nil {
		t.Errorf("a second later: %v", err)
	}
}
