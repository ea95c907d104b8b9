package adminworker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Peer is a worker that is connected to the admin server.
type Peer struct {
	ID, Address, Version string
	// Runs are the job types that it serves.
	Runs []string
}

// mark is what the version of each weedlc worker begins with.
const mark = "weedlc "

func (p Peer) serves() bool { return slices.Contains(p.Runs, JobType) }

func (p Peer) builtIn() bool { return p.serves() && !strings.HasPrefix(p.Version, mark) }

// BuiltInError says that a worker that is not weedlc's serves the job type too.
// Each of the two would be given jobs that the other proposed.
type BuiltInError struct{ Peer Peer }

func (e *BuiltInError) Error() string {
	return fmt.Sprintf("worker %q at %q, version %q, serves %q on the same admin server", e.Peer.ID, e.Peer.Address, e.Peer.Version, JobType)
}

// Without lists the other job types of the worker, which it can go on to serve.
func (e *BuiltInError) Without() []string {
	return slices.DeleteFunc(slices.Clone(e.Peer.Runs), func(job string) bool { return job == JobType })
}

// lookTimeout bounds a look at the peers.
const lookTimeout = 5 * time.Second

// look counts the workers that share a pass, this one included; 0 is not known.
// It fails when one of them is not weedlc's.
func (w *Worker) look(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	peers, err := w.o.Peers(ctx)
	if err != nil {
		if !w.blind.Swap(true) && ctx.Err() == nil {
			w.o.Log.Warn("cannot see the admin server's other workers; a built-in one among them goes unnoticed until it proposes a job", "error", err)
		}
		return 0, nil
	}
	w.blind.Store(false)
	n := 0
	for _, p := range peers {
		if p.builtIn() {
			return 0, &BuiltInError{Peer: p}
		}
		if p.serves() {
			n++
		}
	}
	return max(n, 1), nil
}
