package cursorfile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/cursorfile/filestest"
)

func TestPauseIsSetOnceAndLifted(t *testing.T) {
	ctx := context.Background()
	for name, files := range map[string]cursorfile.Files{"memory": filestest.NewMemory(), "directory": cursorfile.NewDir(t.TempDir() + "/new")} {
		t.Run(name, func(t *testing.T) {
			read := func() *cursorfile.Pause {
				t.Helper()
				p, err := cursorfile.ReadPause(ctx, files)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			if p := read(); p != nil {
				t.Fatalf("there is a pause: %v", p)
			}
			if was, err := cursorfile.LiftPause(ctx, files); was != nil || err != nil {
				t.Fatalf("lifted %v, %v", was, err)
			}
			first := cursorfile.Pause{Reason: "incident \"12\"\n<b>", By: "ann@h1", Since: time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)}
			if was, err := cursorfile.SetPause(ctx, files, first); was != nil || err != nil {
				t.Fatalf("set beside %v, %v", was, err)
			}
			second := cursorfile.Pause{By: "bob@h2", Since: first.Since.Add(time.Hour)}
			if was, err := cursorfile.SetPause(ctx, files, second); err != nil || was == nil || *was != first {
				t.Fatalf("a second pause meets %v, %v", was, err)
			}
			if p := read(); *p != first {
				t.Fatalf("read %+v, want %+v", p, first)
			}
			if was, err := cursorfile.LiftPause(ctx, files); err != nil || *was != first {
				t.Fatalf("lifted %v, %v", was, err)
			}
			if p := read(); p != nil {
				t.Fatalf("there is still a pause: %v", p)
			}
		})
	}
}

// Whatever is in the file, it pauses; resume removes it.
func TestPauseOfAnyContent(t *testing.T) {
	ctx := context.Background()
	for name, text := range map[string]string{
		"is empty":             "",
		"malformed":            "paused by hand",
		"not an object":        "[]",
		"version":              `{"version":2,"reason":"x","by":"y","since":"2030-06-15T12:00:00Z"}`,
		"since \"today\"":      `{"version":1,"reason":"x","by":"y","since":"today"}`,
		"by is missing":        `{"version":1,"reason":"x","since":"2030-06-15T12:00:00Z"}`,
		"reason is not a text": `{"version":1,"reason":7,"by":"y","since":"2030-06-15T12:00:00Z"}`,
	} {
		files := filestest.NewMemory()
		if _, err := files.Write(ctx, cursorfile.PauseName, []byte(text), ""); err != nil {
			t.Fatal(err)
		}
		p, err := cursorfile.ReadPause(ctx, files)
		if err != nil || p == nil || p.Damage == nil || !strings.HasPrefix(p.String(), "paused, but who did it and why cannot be read: "+cursorfile.PauseName) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
		if was, err := cursorfile.LiftPause(ctx, files); was == nil || err != nil {
			t.Errorf("%s: lifted %v, %v", name, was, err)
		}
	}
	newer := `{"version":1,"reason":"x","by":"y","since":"2030-06-15T12:00:00Z","ticket":"OPS-1"}`
	files := filestest.NewMemory()
	if _, err := files.Write(ctx, cursorfile.PauseName, []byte(newer), ""); err != nil {
		t.Fatal(err)
	}
	if p, err := cursorfile.ReadPause(ctx, files); err != nil || p.String() != "paused since 2030-06-15T12:00:00Z by y: x" {
		t.Errorf("%v, %v", p, err)
	}
}

// unreachable are files that cannot be read.
type unreachable struct{ cursorfile.Files }

var errUnreachable = errors.New("no answer")

func (unreachable) Read(context.Context, string) ([]byte, string, error) {
	return nil, "", errUnreachable
}

func TestPauseThatCannotBeReadIsAnError(t *testing.T) {
	if p, err := cursorfile.ReadPause(context.Background(), unreachable{}); p != nil || !errors.Is(err, errUnreachable) {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := cursorfile.LiftPause(context.Background(), unreachable{}); p != nil || !errors.Is(err, errUnreachable) {
		t.Errorf("%v, %v", p, err)
	}
}
