package memcluster_test

import (
	"testing"

	"weedlc/internal/clustertest"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

var (
	_ pass.Filer   = (*memcluster.Cluster)(nil)
	_ pass.Gateway = (*memcluster.Cluster)(nil)
	_ pass.Store   = (*memcluster.Store)(nil)
)

func TestConformance(t *testing.T) { clustertest.Conformance(t, clustertest.Memory) }
