package memcluster

import (
	"fmt"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// rulesKey is the extended attribute of a bucket that holds its lifecycle
// document.
const rulesKey = "s3-bucket-lifecycle-configuration-xml"

// CreateBucket makes a bucket. Object lock comes with versioning.
func (c *Cluster) CreateBucket(name string, v engine.Versioning, objectLock bool) error {
	defer c.write()()
	if c.buckets[name] != nil {
		return fmt.Errorf("bucket %q already exists", name)
	}
	b := &bucket{info: engine.Bucket{Name: name}, tree: newTree()}
	b.entry = &engine.Entry{
		Name: name, Nature: engine.Folder, HasAttributes: true,
		MtimeNs: c.gatewaySecondNs(), CreatedNs: c.gatewaySecondNs(),
		Extended: map[string][]byte{}, CommitNs: c.stamp(),
	}
	if objectLock {
		v = engine.Enabled
		b.entry.Extended[s3_constants.ExtObjectLockEnabledKey] = []byte(s3_constants.ObjectLockEnabled)
	}
	if v != engine.Unversioned {
		b.entry.Extended[s3_constants.ExtVersioningKey] = versioningValue(v)
	}
	b.refresh()
	c.buckets[name] = b
	c.record(b, "", "", nil, b.entry)
	return nil
}

// SetVersioning enables or suspends a bucket's versioning.
func (c *Cluster) SetVersioning(name string, v engine.Versioning) error {
	return c.editBucket(name, func(e *engine.Entry) {
		e.Extended[s3_constants.ExtVersioningKey] = versioningValue(v)
	})
}

// SetRules stores a lifecycle document as it is; an empty one removes it.
func (c *Cluster) SetRules(name, document string) error {
	return c.editBucket(name, func(e *engine.Entry) {
		if document == "" {
			delete(e.Extended, rulesKey)
			return
		}
		e.Extended[rulesKey] = []byte(document)
	})
}

func (c *Cluster) editBucket(name string, fn func(*engine.Entry)) error {
	defer c.write()()
	b, err := c.find(name)
	if err != nil {
		return err
	}
	before := b.entry
	after := modified(before, fn)
	if sameEntry(before, after) {
		return nil
	}
	after.CommitNs = c.stamp()
	b.entry = after
	b.refresh()
	c.record(b, "", "", before, after)
	return nil
}

// DeleteBucket removes a bucket and all that is in it.
func (c *Cluster) DeleteBucket(name string) error {
	defer c.write()()
	b, err := c.find(name)
	if err != nil {
		return err
	}
	for _, child := range append([]string(nil), b.children("")...) {
		if err := c.remove(b, child, true); err != nil {
			return err
		}
	}
	delete(c.buckets, name)
	c.record(b, "", "", b.entry, nil)
	return nil
}

func versioningValue(v engine.Versioning) []byte {
	if v == engine.Suspended {
		return []byte(s3_constants.VersioningSuspended)
	}
	return []byte(s3_constants.VersioningEnabled)
}

// refresh reads what the bucket's entry says.
func (b *bucket) refresh() {
	ext := b.entry.Extended
	b.info = engine.Bucket{
		Name: b.entry.Name, Rules: ext[rulesKey], CreatedNs: b.entry.CreatedNs,
		ObjectLock: string(ext[s3_constants.ExtObjectLockEnabledKey]) == s3_constants.ObjectLockEnabled,
	}
	switch {
	case b.info.ObjectLock, string(ext[s3_constants.ExtVersioningKey]) == s3_constants.VersioningEnabled:
		b.info.Versioning = engine.Enabled
	case string(ext[s3_constants.ExtVersioningKey]) == s3_constants.VersioningSuspended:
		b.info.Versioning = engine.Suspended
	}
}
