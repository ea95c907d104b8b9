//go:build !linux

package pgtest

import "syscall"

// credential is the user that the server runs as.
type credential struct{ uid, gid int }

// attributes are the platform's: the server runs as the tests' user.
func attributes(*credential) *syscall.SysProcAttr { return nil }
