//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package cursorfile

import (
	"errors"
	"os"
	"syscall"
)

// lockDir keeps the writers of other processes out of a directory. The lock
// goes with the process.
func lockDir(path string) (unlock func(), err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "flock", Path: path, Err: err}, dir.Close())
	}
	// The close releases the lock; a read-only handle has nothing to lose.
	return func() { _ = dir.Close() }, nil
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
