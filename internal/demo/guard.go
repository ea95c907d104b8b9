package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"weedlc/internal/weedtest"
)

// guard is a weedtest.TB outside a test: what fails ends the function that
// guarded runs.
type guard struct {
	ctx      context.Context
	err      error
	cleanups []func()
}

// guarded runs fn and then its clean-ups, the last one first. It returns fn's
// error, or why the guard ended it.
func guarded(ctx context.Context, fn func(weedtest.TB) error) error {
	g := &guard{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := fn(g); err != nil {
			g.err = err
		}
	}()
	<-done
	for _, cleanup := range slices.Backward(g.cleanups) {
		cleanup()
	}
	return g.err
}

func (g *guard) Helper()                  {}
func (g *guard) Logf(string, ...any)      {}
func (g *guard) Failed() bool             { return g.err != nil }
func (g *guard) Cleanup(fn func())        { g.cleanups = append(g.cleanups, fn) }
func (g *guard) Context() context.Context { return g.ctx }

// Fatalf ends the guarded function.
func (g *guard) Fatalf(format string, args ...any) {
	g.err = fmt.Errorf(format, args...)
	runtime.Goexit()
}
