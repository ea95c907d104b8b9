package cluster

import (
	"os"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/glog"
)

func TestGlogWritesNoFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	quietGlog()
	if glog.V(0) {
		t.Error("SeaweedFS's informational messages are on")
	}
	glog.Warningf("a message of the test %s", t.Name())
	glog.Flush()
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("log files %v, %v", files, err)
	}
}
