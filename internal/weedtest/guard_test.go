package weedtest_test

import (
	"errors"
	"testing"

	"weedlc/internal/weedtest"
)

func TestGuarded(t *testing.T) {
	order := ""
	err := weedtest.Guarded(t.Context(), func(tb weedtest.TB) error {
		tb.Cleanup(func() { order += "a" })
		tb.Cleanup(func() { order += "b" })
		tb.Fatalf("cannot %s", "go on")
		order += "c"
		return nil
	})
	if err == nil || err.Error() != "cannot go on" {
		t.Errorf("%v, want %q", err, "cannot go on")
	}
	if order != "ba" {
		t.Errorf("clean-ups ran %q, want %q", order, "ba")
	}
	failed := errors.New("failed")
	if err := weedtest.Guarded(t.Context(), func(weedtest.TB) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
}
