package pass

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// recorder stands for the executor in a preview: it sends nothing and answers
// as if everything was deleted.
type recorder struct {
	*recorded
	// tell is told of each object; nil is nobody.
	tell func(Deletion)
}

// recorded is what the recorders of a preview count together.
type recorded struct {
	mu       sync.Mutex
	calls    int64
	outcomes map[Outcome]int64
}

// newRecorder returns a recorder that tells one object at a time.
func newRecorder(observe func(Deletion)) *recorder {
	r := &recorder{recorded: &recorded{outcomes: map[Outcome]int64{}}}
	if observe != nil {
		var mu sync.Mutex
		r.tell = func(d Deletion) {
			mu.Lock()
			defer mu.Unlock()
			observe(d)
		}
	}
	return r
}

// execute implements carrier.
func (r *recorder) execute(_ context.Context, a *engine.Action, o *engine.Object, due time.Time) result {
	res := result{outcome: Done}
	if reason := unsendable(o); reason != "" {
		res = result{outcome: Blocked, reason: reason}
	}
	r.settle(Deletion{Action: a, Object: o, Due: due, Outcome: res.outcome, Reason: res.reason})
	return res
}

// skipLocked implements carrier.
func (r *recorder) skipLocked(a *engine.Action, o *engine.Object, due time.Time) {
	r.settle(Deletion{Action: a, Object: o, Due: due, Outcome: SkippedObjectLock})
}

func (r *recorder) settle(d Deletion) {
	r.mu.Lock()
	r.outcomes[d.Outcome]++
	if d.Outcome == Done {
		r.calls++
	}
	r.mu.Unlock()
	if r.tell != nil {
		r.tell(d)
	}
}

// counts implements carrier: the calls are those that would be made.
func (r *recorder) counts() (calls int64, outcomes map[Outcome]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls, maps.Clone(r.outcomes)
}

// err implements carrier.
func (r *recorder) err() error { return nil }

// ghosts are the versions that a preview of a pass has told of and that are
// still there, where a pass would not meet them again: neither by another event
// of the key nor by a walk. It remembers what the pass would delete, no more. A
// nil one remembers nothing.
type ghosts struct {
	mu    sync.Mutex
	byKey map[keyName][]ghost
}

// ghost is one version that was dealt with. Its mtime tells it from another
// object that has come in its place.
type ghost struct {
	version string
	mtimeNs int64
	fate    fate
}

type fate int

const (
	isRemoved fate = iota
	isDemoted      // it is noncurrent behind a delete marker
	isSkipped      // it is locked and was told of
)

func newGhosts() *ghosts { return &ghosts{byKey: map[keyName][]ghost{}} }

func (h *ghosts) removed(bucket, path string, o *engine.Object) { h.add(bucket, path, o, isRemoved) }
func (h *ghosts) demoted(bucket, path string, o *engine.Object) { h.add(bucket, path, o, isDemoted) }

func (h *ghosts) add(bucket, path string, o *engine.Object, f fate) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := keyName{bucket, path}
	h.byKey[name] = append(h.byKey[name], ghost{o.VersionID, o.ModTime.UnixNano(), f})
}

// isKnown reports whether a locked object was told of before; from now on it
// was.
func (h *ghosts) isKnown(bucket, path string, o *engine.Object) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	known := slices.Contains(h.byKey[keyName{bucket, path}], ghost{o.VersionID, o.ModTime.UnixNano(), isSkipped})
	h.mu.Unlock()
	if !known {
		h.add(bucket, path, o, isSkipped)
	}
	return known
}

// takeOut does to a group what was done to its key before.
func (h *ghosts) takeOut(g *engine.Group, path string, state engine.Versioning, now time.Time) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, was := range h.byKey[keyName{g.Bucket, path}] {
		i := slices.IndexFunc(g.Objects, func(o engine.Object) bool {
			return o.VersionID == was.version && o.ModTime.UnixNano() == was.mtimeNs
		})
		switch {
		case i < 0, was.fate == isSkipped:
		case was.fate == isDemoted:
			g.Demote(now, state)
		default:
			g.Remove(i)
		}
	}
}
