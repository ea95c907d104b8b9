package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
	"weedlc/internal/clustertest"
	"weedlc/internal/memcluster"
	"weedlc/internal/weedtest"
)

func TestConformance(t *testing.T) {
	shared.Client(t) // empties the cluster, now and at the end
	c := dialShared(t)
	open := func(t *testing.T) clustertest.Subject {
		return clustertest.Subject{Filer: c, Gateway: c, Driver: driver{t, shared.Cluster(t).Client(t)}}
	}
	clustertest.Conformance(t, open)
	t.Run("histories", func(t *testing.T) { clustertest.Histories(t, 10, inMemory, open) })
}

// inMemory is a cluster to compare the real one with.
func inMemory(t *testing.T) clustertest.Subject {
	c := memcluster.New(memcluster.Config{Tick: time.Millisecond})
	return clustertest.Subject{Filer: c, Gateway: c, Driver: memcluster.Driver{Cluster: c, T: t}}
}

// driver drives a real server as the conformance suite asks.
type driver struct {
	t *testing.T
	*weedtest.Client
}

func (d driver) CreateBucket(bucket string, v engine.Versioning, lock bool) {
	kind := map[engine.Versioning]weedtest.BucketKind{
		engine.Unversioned: weedtest.Plain, engine.Enabled: weedtest.Versioned, engine.Suspended: weedtest.Suspended,
	}[v]
	if lock {
		kind = weedtest.Locked
	}
	d.Client.CreateBucket(bucket, kind, "")
}

func (d driver) SetVersioning(bucket string, v engine.Versioning) {
	d.Client.SetVersioning(bucket, v == engine.Enabled)
}

func (d driver) SetRules(bucket, document string) {
	if document != "" {
		d.PutRules(bucket, document)
		return
	}
	if _, err := d.S3.DeleteBucketLifecycle(d.t.Context(), &s3.DeleteBucketLifecycleInput{Bucket: &bucket}); err != nil {
		d.t.Fatal(err)
	}
}

func (d driver) Put(bucket, key string, size int, tags map[string]string) string {
	return d.Client.Put(bucket, key, weedtest.Object{Body: strings.Repeat("x", size), Tags: tags})
}

func (d driver) StartUpload(bucket, key string, sizes ...int) string {
	var parts []string
	for _, size := range sizes {
		parts = append(parts, strings.Repeat("x", size))
	}
	return d.Client.StartUpload(bucket, key, parts...)
}

func (d driver) AbortUpload(bucket, key, id string) {
	if _, err := d.S3.AbortMultipartUpload(d.t.Context(), &s3.AbortMultipartUploadInput{Bucket: &bucket, Key: &key, UploadId: &id}); err != nil {
		d.t.Fatal(err)
	}
}

func (d driver) SetMtime(bucket, path string, mtime time.Time) {
	d.Client.SetMtime(bucket, path, mtime)
}

func (d driver) Rename(bucket, from, to string) {
	oldDir, oldName := inBuckets(bucket, from)
	newDir, newName := inBuckets(bucket, to)
	if _, err := d.Filer.AtomicRenameEntry(d.t.Context(), &filer_pb.AtomicRenameEntryRequest{
		OldDirectory: oldDir, OldName: oldName, NewDirectory: newDir, NewName: newName,
	}); err != nil {
		d.t.Fatal(err)
	}
}

func inBuckets(bucket, path string) (dir, name string) {
	full := "/buckets/" + bucket + "/" + path
	i := strings.LastIndex(full, "/")
	return full[:i], full[i+1:]
}
