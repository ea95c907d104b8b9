package pgtest

import "syscall"

// credential is the user that the server runs as.
type credential struct{ uid, gid int }

// attributes keep a terminal's Ctrl-C from the server, and end it with the
// thread that started it.
func attributes(c *credential) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	if c != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.gid)}
	}
	return attr
}
