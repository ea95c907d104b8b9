package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/internal/cluster"
)

// The configuration is written as fs.configure of weed shell writes it, for
// buckets that are not there.
func TestPathTTLs(t *testing.T) {
	cl, c := shared.Client(t), dialShared(t)
	const file = "/etc/seaweedfs/filer.conf"
	t.Cleanup(func() { cl.Remove(file) })
	none, err := c.PathTTLs(t.Context(), "ttl-a")
	if err != nil || len(none) != 0 {
		t.Fatalf("without a configuration: %v, %v", none, err)
	}
	cl.WriteFile(file, []byte(`{"version": 2, "locations": [
		{"locationPrefix": "/buckets/ttl-a/img/", "ttl": "3d"},
		{"locationPrefix": "/buckets/ttl-a/", "ttl": "1M"},
		{"locationPrefix": "/buckets/", "ttl": "5h"},
		{"locationPrefix": "/buckets/ttl-a/plain/", "replication": "001"},
		{"locationPrefix": "/buckets/ttl-ab/", "ttl": "7"}
	]}`))
	const day = 24 * time.Hour
	for bucket, want := range map[string][]cluster.PathTTL{
		"ttl-a":  {{Prefix: "", TTL: 30 * day}, {Prefix: "img/", TTL: 3 * day}},
		"ttl-ab": {{Prefix: "", TTL: 7 * time.Minute}},
		"ttl-b":  {{Prefix: "", TTL: 5 * time.Hour}},
	} {
		got, err := c.PathTTLs(t.Context(), bucket)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", bucket, got, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"locations": [{"locationPrefix": "/buckets/ttl-a/", "ttl": "5x"}]}`: `ttl "5x": must be a number and m, h, d, w, M or y`,
		`{"locations": `: "malformed",
	} {
		cl.WriteFile(file, []byte(text))
		if got, err := c.PathTTLs(t.Context(), "ttl-a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", text, got, err, want)
		}
	}
}
