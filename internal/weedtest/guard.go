package weedtest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
)

// guard is a TB outside a test.
type guard struct {
	ctx      context.Context
	err      error
	cleanups []func()
}

// Guarded runs a function of a program with a TB: what fails ends the function.
// Then its clean-ups run, the last one first. It returns the function's error,
// or why the TB ended it.
func Guarded(ctx context.Context, fn func(TB) error) error {
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

// Fatalf ends the guarded function, from its own goroutine.
func (g *guard) Fatalf(format string, args ...any) {
	g.err = fmt.Errorf(format, args...)
	runtime.Goexit()
}
