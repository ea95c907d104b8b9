package memcluster_test

import (
	"testing"
	"time"

	"weedlc/internal/clustertest"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

var (
	_ pass.Filer         = (*memcluster.Cluster)(nil)
	_ pass.Gateway       = (*memcluster.Cluster)(nil)
	_ pass.Store         = (*memcluster.Store)(nil)
	_ clustertest.Driver = memcluster.Driver{}
)

func subject(t *testing.T) clustertest.Subject {
	c := memcluster.New(memcluster.Config{Tick: time.Millisecond})
	return clustertest.Subject{Filer: c, Gateway: c, Driver: memcluster.Driver{Cluster: c, T: t}}
}

func TestConformance(t *testing.T) { clustertest.Conformance(t, subject) }

// A history plays out in the same way each time, whatever is drawn.
func TestHistoriesAreReproducible(t *testing.T) {
	clustertest.Histories(t, 50, subject, subject)
}
