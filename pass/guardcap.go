package pass

import (
	"context"
	"fmt"
	"sync"

	"weedlc/engine"
)

// allowance is how many deletes a pass may still make. What is under way counts
// until it is known to have deleted nothing, so that a pass neither exceeds its
// number nor ends in front of it. A nil one has no end.
type allowance struct {
	max int64

	mu             sync.Mutex
	made, underway int64
	// lost counts those of made whose answer was lost.
	lost int64
	// changed is closed, and replaced, when something under way has ended.
	changed chan struct{}
}

// newAllowance is nil for 0.
func newAllowance(most int64) *allowance {
	if most == 0 {
		return nil
	}
	return &allowance{max: most, changed: make(chan struct{})}
}

// take reserves one delete. It is false once all have been made, or when the
// pass ends while it waits for those under way.
func (l *allowance) take(ctx context.Context) bool {
	if l == nil {
		return true
	}
	for {
		l.mu.Lock()
		free, used := l.made+l.underway < l.max, l.made >= l.max
		if free {
			l.underway++
		}
		changed := l.changed
		l.mu.Unlock()
		if free || used {
			return free
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// end settles what take reserved: it deleted, or its answer was lost so that it
// may have, or it did not.
func (l *allowance) end(deleted, lost bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underway--
	if deleted || lost {
		l.made++
	}
	if lost && !deleted {
		l.lost++
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// reached is the problem of the first object beyond the allowance.
func (l *allowance) reached(a *engine.Action, o *engine.Object) Problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := plural(int(l.made), "delete") + " made, as many as are allowed"
	if l.lost > 0 {
		text += fmt.Sprintf(" (of %d the answer was lost)", l.lost)
	}
	text += fmt.Sprintf("; the next is key %q", o.Key)
	if o.VersionID != "" {
		text += " version " + o.VersionID
	}
	return Problem{
		Bucket: o.Bucket, RuleID: a.Rule.Label(), Guard: GuardMaxDeletes,
		Message: fmt.Sprintf("%s, by rule %q", text, a.Rule.Label()),
	}
}
