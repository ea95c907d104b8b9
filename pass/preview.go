package pass

import (
	"context"

	"weedlc/engine"
)

// Preview tells what a full evaluation of the rules at o.Now would delete: a
// walk over every rule with nobody at the other end. Every object that is due
// is told to o.Observe, the locked ones as SkippedObjectLock. o.Now may be past
// or future. No cursor is read, nothing is deleted, nothing is written; a nil
// Gateway and Store will do.
func Preview(ctx context.Context, o WalkOptions, filer Filer) *Report {
	return walkOnly(ctx, o, Deps{Filer: filer, Gateway: recorder{}}, true)
}

// PreviewRun tells what the next Run would do from the cursors as they are. It
// holds no lock and writes nothing.
func PreviewRun(ctx context.Context, o Options, filer Filer, store Store) *Report {
	return Run(ctx, o, Deps{Filer: filer, Gateway: recorder{}, Store: readOnly{store}})
}

// recorder is a gateway that answers as if everything was deleted.
type recorder struct{}

func (recorder) Delete(context.Context, DeleteRequest) (DeleteResponse, error) {
	return DeleteResponse{Outcome: Done}, nil
}

// readOnly keeps nothing.
type readOnly struct{ Store }

func (readOnly) Save(context.Context, *engine.ShardState) error { return nil }
