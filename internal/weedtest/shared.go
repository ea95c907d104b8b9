package weedtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Shared is the cluster of a test package. It starts when the first test asks
// for it, so a run of tests that need none does not wait.
//
//	var shared weedtest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
//
//	func TestX(t *testing.T) { cl := shared.Client(t); … }
type Shared struct {
	// Config of the cluster.
	Config Config

	once    sync.Once
	cluster *Cluster
	err     error
}

// Main runs the package's tests and closes the cluster. It returns the exit
// code, and prints the ends of the servers' logs when tests failed.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.cluster == nil {
		return code
	}
	if code != 0 {
		fmt.Fprint(os.Stderr, s.cluster.Logs(20))
	}
	if err := s.cluster.Close(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot clean up SeaweedFS: %v\n", err)
	}
	return code
}

// Cluster returns the running cluster.
func (s *Shared) Cluster(t TB) *Cluster {
	t.Helper()
	s.once.Do(func() { s.cluster, s.err = Start(context.Background(), s.Config) })
	if s.err != nil {
		t.Fatalf("cannot start SeaweedFS: %v", s.err)
	}
	return s.cluster
}

// Client returns a client of the emptied cluster. A pass sees all buckets, so
// tests that share a cluster do not run in parallel.
func (s *Shared) Client(t TB) *Client {
	t.Helper()
	cl := s.Cluster(t).Client(t)
	cl.Reset()
	t.Cleanup(cl.Reset)
	return cl
}

// TB is the part of testing.TB that this package uses; a program can
// implement it.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	// Fatalf does not return.
	Fatalf(format string, args ...any)
	Failed() bool
	Cleanup(func())
	Context() context.Context
}
