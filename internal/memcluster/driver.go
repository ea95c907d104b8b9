package memcluster

import (
	"time"

	"weedlc/engine"
)

// Driver writes to a cluster as clients of its gateway and filer do, for tests:
// what fails ends the test.
type Driver struct {
	Cluster *Cluster
	T       interface {
		Helper()
		Fatal(args ...any)
	}
}

// check ends the test when err is set.
func (d Driver) check(err error) {
	d.T.Helper()
	if err != nil {
		d.T.Fatal(err)
	}
}

// CreateBucket makes a bucket.
func (d Driver) CreateBucket(bucket string, v engine.Versioning, objectLock bool) {
	d.T.Helper()
	d.check(d.Cluster.CreateBucket(bucket, v, objectLock))
}

// SetVersioning enables or suspends a bucket's versioning.
func (d Driver) SetVersioning(bucket string, v engine.Versioning) {
	d.T.Helper()
	d.check(d.Cluster.SetVersioning(bucket, v))
}

// SetRules stores a lifecycle document; an empty one removes it.
func (d Driver) SetRules(bucket, document string) {
	d.T.Helper()
	d.check(d.Cluster.SetRules(bucket, document))
}

// Put writes an object and returns its version id.
func (d Driver) Put(bucket, key string, size int, tags map[string]string) string {
	d.T.Helper()
	id, err := d.Cluster.PutObject(bucket, key, Object{Size: int64(size), Tags: tags})
	d.check(err)
	return id
}

// Delete deletes a key and returns the id of its delete marker.
func (d Driver) Delete(bucket, key string) string {
	d.T.Helper()
	id, err := d.Cluster.DeleteObject(bucket, key)
	d.check(err)
	return id
}

// DeleteVersion deletes one version.
func (d Driver) DeleteVersion(bucket, key, versionID string) {
	d.T.Helper()
	d.check(d.Cluster.DeleteVersion(bucket, key, versionID))
}

// SetTags replaces a version's tags.
func (d Driver) SetTags(bucket, key, versionID string, tags map[string]string) {
	d.T.Helper()
	d.check(d.Cluster.SetTags(bucket, key, versionID, tags))
}

// SetRetention sets a version's retention.
func (d Driver) SetRetention(bucket, key, versionID, mode string, until time.Time) {
	d.T.Helper()
	d.check(d.Cluster.SetRetention(bucket, key, versionID, mode, until))
}

// SetHold sets or lifts a version's legal hold.
func (d Driver) SetHold(bucket, key, versionID string, on bool) {
	d.T.Helper()
	d.check(d.Cluster.SetLegalHold(bucket, key, versionID, on))
}

// StartUpload begins an upload, adds parts of these sizes and returns its id.
func (d Driver) StartUpload(bucket, key string, partSizes ...int) string {
	d.T.Helper()
	id, err := d.Cluster.CreateUpload(bucket, key, Object{})
	d.check(err)
	for i, size := range partSizes {
		d.check(d.Cluster.UploadPart(bucket, id, i+1, int64(size)))
	}
	return id
}

// CompleteUpload completes an upload with all its parts. The upload knows its
// key.
func (d Driver) CompleteUpload(bucket, _, id string) {
	d.T.Helper()
	_, err := d.Cluster.CompleteUpload(bucket, id, false)
	d.check(err)
}

// AbortUpload ends an upload.
func (d Driver) AbortUpload(bucket, _, id string) {
	d.T.Helper()
	d.check(d.Cluster.AbortUpload(bucket, id))
}

// SetMtime sets an entry's mtime.
func (d Driver) SetMtime(bucket, path string, mtime time.Time) {
	d.T.Helper()
	d.check(d.Cluster.Touch(bucket, path, mtime))
}

// Rename moves an entry.
func (d Driver) Rename(bucket, from, to string) {
	d.T.Helper()
	d.check(d.Cluster.Rename(bucket, from, to))
}
