package cursorfile

import (
	"context"

	"weedlc/engine"
)

// ErrChanged is returned by a conditional write or removal of a file that is
// not, or no longer, what the caller read.
var ErrChanged = engine.ErrChanged

// Files is one flat directory of small files with conditional writes. The
// names are plain: no separator, no leading dot. Implementations are safe for
// concurrent use.
//
// A version stands for the content of a file: it is never empty, two reads
// that return the same version of a name saw the same bytes, and a write of
// other bytes changes it.
type Files interface {
	// Read returns a file and its version. An absent file is
	// engine.ErrNotFound; an empty one is there.
	Read(ctx context.Context, name string) (data []byte, version string, err error)
	// Write replaces the file as a whole if it still has the version was, and
	// returns the new version. An empty was means that there must be no such
	// file. Otherwise nothing is written and the error is ErrChanged. The
	// check and the write are one step for every other writer.
	Write(ctx context.Context, name string, data []byte, was string) (version string, err error)
	// Remove deletes the file if it still has the version was. Otherwise, also
	// when it is gone, nothing is deleted and the error is ErrChanged.
	Remove(ctx context.Context, name, was string) error
	// List returns the names of the files in ascending order; none when the
	// directory is absent. Directories are not listed.
	List(ctx context.Context) ([]string, error)
}
