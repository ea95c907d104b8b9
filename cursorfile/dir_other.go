//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package cursorfile

// lockDir does nothing: on this system only the writers of one Dir exclude each
// other.
func lockDir(string) (unlock func(), err error) { return func() {}, nil }

// syncDir does nothing: on this system a directory cannot be synced.
func syncDir(string) error { return nil }
