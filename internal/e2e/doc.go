// Package e2e holds the end-to-end tests: passes of package pass over a real
// SeaweedFS, with its cursors on the filer and a proxy in front of its gateway
// that counts every call.
//
// The tests share one server and run one after the other, because a pass
// covers every bucket of its cluster. Time is the one thing that is not real
// in some of them: a pass can be told that it is later than it is (see the
// filer of doubles_test.go), since the gateway checks no age.
package e2e
