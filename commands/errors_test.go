package commands

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"weedlc/internal/cluster"
)

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestTell(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"nothing", nil, ""},
		{"plain", errors.New("it broke"), "weedlc: it broke\n"},
		{"told already", ending{exitUndone}, ""},
		{"hint", hint(errors.New("it broke"), "weedlc mend"), "weedlc: it broke\nhint: weedlc mend\n"},
		{"hint beneath", fmt.Errorf("step: %w", hint(errors.New("it broke"), "weedlc mend")), "weedlc: step: it broke\nhint: weedlc mend\n"},
		{"several", errors.Join(errors.New("one"), hint(errors.New("two"), "weedlc two")), "weedlc: one\nweedlc: two\nhint: weedlc two\n"},
		{"several and a hint", hint(errors.Join(errors.New("one"), errors.New("two")), "both"), "weedlc: one\nweedlc: two\nhint: both\n"},
		{"control characters", errors.New("key \x1b[2J\nweedlc: fine"), `weedlc: key \x1b[2J\nweedlc: fine` + "\n"},
		{"server", &cluster.ConnectError{Role: cluster.Filer, Address: "f:1", Reason: "is gone", Hint: "start it"}, "weedlc: filer \"f:1\" is gone\nhint: start it\n"},
	} {
		var b bytes.Buffer
		tell(&b, c.err)
		equal(t, c.name, b.String(), c.want)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"shard", "shards", "settle", "runtime", "explain-rule"}
	for word, want := range map[string]string{
		"shrads":   "shards",
		"shard":    "shard",
		"shardss":  "shards",
		"run-time": "runtime",
		"settel":   "settle",
		"x":        "",
		"":         "",
		"bucket":   "",
		"explain":  "explain-rule",
		"expl":     "",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
