package memcluster_test

import (
	"errors"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

func TestLocksEndByTheGatewaysClockAndTheFilers(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		gateway, filer, untilFrom time.Duration
		want                      engine.Outcome
	}{
		{"over", 0, 0, -time.Second, engine.Done},
		{"ends now", 0, 0, 0, engine.Done},
		{"not over", 0, 0, time.Second, engine.SkippedObjectLock},
		{"gateway behind", -hour, 0, -time.Second, engine.SkippedObjectLock},
		{"gateway ahead, filer not", hour, 0, time.Second, engine.RetryLater},
		{"both ahead", hour, hour, time.Second, engine.Done},
	} {
		c := newCluster(t, engine.Enabled, true)
		old := put(t, c, "k", memcluster.Object{})
		put(t, c, "k", memcluster.Object{})
		c.SetSkews(tc.filer, tc.gateway, 0)
		must(t, c.SetRetention("b", "k", old, "GOVERNANCE", c.Time().Add(tc.untilFrom)))
		resp, err := c.Delete(t.Context(), request(t, c, "k", old, engine.NoncurrentDays))
		if err != nil || resp.Outcome != tc.want {
			t.Errorf("%s: got %+v, %v, want %s", tc.name, resp, err, tc.want)
		}
	}
}

func TestSkewsStampTheRightClock(t *testing.T) {
	c := newCluster(t, engine.Enabled, false)
	c.Advance(2 * hour)
	c.SetSkews(-hour, 2*hour, 3*hour)
	id := put(t, c, "k", memcluster.Object{})
	put(t, c, "k", memcluster.Object{})
	e := lookup(t, c, "k.versions/v_"+id)
	at := c.Time().Add(-time.Second)
	if got := time.Unix(0, e.MtimeNs); !got.Equal(at.Add(2 * hour)) {
		t.Errorf("mtime %v", got)
	}
	if got := time.Unix(0, e.DemotedNs()); got.Before(at.Add(2*hour)) || got.After(at.Add(2*hour+2*time.Second)) {
		t.Errorf("demoted at %v", got)
	}
	if got := time.Unix(0, e.CommitNs); got.Before(at.Add(-hour)) || got.After(at.Add(-hour+2*time.Second)) {
		t.Errorf("committed at %v", got)
	}
	if got := c.HostTime(); !got.Equal(c.Time().Add(3 * hour)) {
		t.Errorf("host %v", got)
	}
}

// A gateway whose clock fell back gives out an older id: the version is born
// noncurrent.
func TestVersionFromABackwardClockIsNotLatest(t *testing.T) {
	c := newCluster(t, engine.Enabled, false)
	first := put(t, c, "k", memcluster.Object{Size: 1})
	c.SetSkews(0, -hour, 0)
	put(t, c, "k", memcluster.Object{Size: 2})
	for _, l := range (memcluster.Oracle{Cluster: c}).Live("b") {
		if l.Latest != (l.VersionID == first) {
			t.Errorf("version of %d bytes is latest: %v", l.Size, l.Latest)
		}
	}
}

func TestLeftoverUploadSharesItsChunks(t *testing.T) {
	for _, v := range []engine.Versioning{engine.Unversioned, engine.Enabled, engine.Suspended} {
		c := newCluster(t, v, false)
		id, err := c.CreateUpload("b", "k", memcluster.Object{Tags: map[string]string{"a": "1"}})
		must(t, err)
		must(t, c.UploadPart("b", id, 1, 5))
		version, err := c.CompleteUpload("b", id, true)
		must(t, err)
		path := "k"
		if v == engine.Enabled {
			path = "k.versions/v_" + version
		}
		e, parts := lookup(t, c, path), listed(t, c, ".uploads/"+id)
		if len(parts) != 1 || e.Chunks[0] != parts[0].Chunks[0] || e.UploadID() != id || e.Tags()["a"] != "1" {
			t.Errorf("%v: object %+v, parts %+v", v, e, parts)
		}
		// The gateway sees whose chunks they are as long as the object is at its
		// key.
		other, err := c.CreateUpload("b", "k", memcluster.Object{})
		must(t, err)
		must(t, c.UploadPart("b", other, 1, 5))
		must(t, c.AbortUpload("b", other))
		must(t, c.AbortUpload("b", id))
		if lost := c.LostData(); lost != nil {
			t.Errorf("%v: lost %q", v, lost)
		}
	}
}

func TestAbortOfAMovedObjectsUploadLosesItsData(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	id, err := c.CreateUpload("b", "k", memcluster.Object{})
	must(t, err)
	must(t, c.UploadPart("b", id, 1, 5))
	_, err = c.CompleteUpload("b", id, true)
	must(t, err)
	must(t, c.Rename("b", "k", "moved"))
	resp, err := c.Delete(t.Context(), engine.DeleteRequest{Bucket: "b", Path: ".uploads/" + id, Kind: engine.AbortMPU})
	if err != nil || resp.Outcome != engine.Done {
		t.Fatalf("got %+v, %v", resp, err)
	}
	if lost := c.LostData(); len(lost) != 1 || lost[0] != "b/moved" {
		t.Errorf("lost %q", lost)
	}
}

func TestLockedObjectsCannotBeDeleted(t *testing.T) {
	c := newCluster(t, engine.Enabled, true)
	id := put(t, c, "k", memcluster.Object{Mode: "COMPLIANCE", RetainUntil: c.Time().Add(day)})
	if err := c.DeleteVersion("b", "k", id); !errors.Is(err, memcluster.ErrLocked) {
		t.Errorf("got %v", err)
	}
	_, err := c.DeleteObject("b", "k") // a marker goes on top
	must(t, err)
	c.Advance(day + time.Second)
	must(t, c.DeleteVersion("b", "k", id))
}

func listed(t *testing.T, c *memcluster.Cluster, folder string) []engine.Entry {
	t.Helper()
	entries, err := c.List(t.Context(), engine.Page{Bucket: "b", Folder: folder, Limit: 100})
	must(t, err)
	return entries
}
