package memcluster_test

import (
	"fmt"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// must is for calls that cannot fail in the test at hand.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCluster(t testing.TB, v engine.Versioning, lock bool) *memcluster.Cluster {
	t.Helper()
	c := memcluster.New(memcluster.Config{})
	must(t, c.CreateBucket("b", v, lock))
	c.Advance(time.Second)
	return c
}

func put(t testing.TB, c *memcluster.Cluster, key string, o memcluster.Object) string {
	t.Helper()
	c.Advance(time.Second)
	id, err := c.PutObject("b", key, o)
	must(t, err)
	return id
}

func setRules(t testing.TB, c *memcluster.Cluster, rules string) {
	t.Helper()
	must(t, c.SetRules("b", "<LifecycleConfiguration>"+rules+"</LifecycleConfiguration>"))
}

func expireAfter(prefix string, days int) string {
	return fmt.Sprintf("<Rule><ID>%s%d</ID><Status>Enabled</Status><Filter><Prefix>%s</Prefix></Filter><Expiration><Days>%d</Days></Expiration></Rule>", prefix, days, prefix, days)
}

func noncurrentAfter(days, keep int) string {
	return fmt.Sprintf("<Rule><ID>nc%d</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><NoncurrentVersionExpiration><NoncurrentDays>%d</NoncurrentDays><NewerNoncurrentVersions>%d</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule>", days, days, keep)
}

func lookup(t testing.TB, c *memcluster.Cluster, path string) engine.Entry {
	t.Helper()
	e, err := c.Lookup(t.Context(), "b", path)
	must(t, err)
	return e
}

// request is a delete of the live entry.
func request(t testing.TB, c *memcluster.Cluster, path, version string, kind engine.Kind) engine.DeleteRequest {
	t.Helper()
	at := path
	if version != "" && version != "null" {
		at = path + ".versions/v_" + version
	}
	e := lookup(t, c, at)
	id, ok := e.Identity()
	if !ok {
		t.Fatalf("%q has no identity", at)
	}
	return engine.DeleteRequest{Bucket: "b", Path: path, VersionID: version, Kind: kind, Identity: id}
}

func paths(events []engine.Event) []string {
	var out []string
	for _, ev := range events {
		out = append(out, ev.Path)
	}
	return out
}

func readLog(t testing.TB, c *memcluster.Cluster, r engine.LogRange) []engine.Event {
	t.Helper()
	var out []engine.Event
	must(t, c.ReadLog(t.Context(), r, func(ev *engine.Event) error {
		out = append(out, *ev)
		return nil
	}))
	return out
}
