package memcluster

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// tagPrefix comes before a tag's key in the extended attribute that holds it.
const tagPrefix = s3_constants.AmzObjectTagging + "-"

// ErrLocked is returned for a delete that an object lock forbids.
var ErrLocked = errors.New("object is locked")

// Object is what a client sends of an object.
type Object struct {
	Size int64
	Tags map[string]string
	// Mtime is preserved as an import does; zero is the gateway's clock.
	Mtime time.Time
	// Mode and RetainUntil are an object's retention; an empty mode is none.
	Mode        string
	RetainUntil time.Time
	LegalHold   bool
	// TTL is stamped on the entry; zero is none.
	TTL time.Duration
}

// PutObject writes an object as the bucket's versioning wants it and returns
// its version id: empty in a bucket that never had versions, "null" while
// versioning is suspended.
func (c *Cluster) PutObject(bucketName, key string, o Object) (string, error) {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(key, "/") {
		return "", c.create(b, key, c.markerEntry(o))
	}
	return c.putEntry(b, key, c.objectEntry(o), func() error { return nil })
}

// putEntry writes an object's entry and then what its bucket's versioning adds
// to it; between the two it calls committed.
func (c *Cluster) putEntry(b *bucket, key string, e *engine.Entry, committed func() error) (string, error) {
	switch b.info.Versioning {
	case engine.Enabled:
		return c.putVersion(b, key, e, committed)
	case engine.Suspended:
		e.Extended[s3_constants.ExtVersionIdKey] = []byte(nullVersion)
		if err := c.createObject(b, key, e); err != nil {
			return "", err
		}
		if err := committed(); err != nil {
			return "", err
		}
		return nullVersion, c.retireNullMarker(b, key)
	default:
		if err := c.createObject(b, key, e); err != nil {
			return "", err
		}
		return "", committed()
	}
}

// objectEntry is the entry of a new object.
func (c *Cluster) objectEntry(o Object) *engine.Entry {
	e := c.markerEntry(o)
	e.Nature = engine.File
	n := c.next()
	e.Extended[s3_constants.SeaweedFSWriteId] = fmt.Appendf(nil, "%032x", n)
	e.Extended[s3_constants.ExtETagKey] = fmt.Appendf(nil, "%032x", o.Size)
	if o.Size > 0 {
		e.Chunks = []string{fmt.Sprintf("%d,%08x", 1+n%7, n)}
	}
	return e
}

// markerEntry is the entry of a key that ends in a slash.
func (c *Cluster) markerEntry(o Object) *engine.Entry {
	e := &engine.Entry{
		Nature: engine.FolderMarker, HasAttributes: true, Size: o.Size, TTL: o.TTL,
		MtimeNs: c.gatewaySecondNs(), CreatedNs: c.gatewaySecondNs(),
		Extended: map[string][]byte{s3_constants.ExtETagKey: fmt.Appendf(nil, "%032x", o.Size)},
	}
	if !o.Mtime.IsZero() {
		e.MtimeNs = o.Mtime.UnixNano()
	}
	setTags(e, o.Tags)
	if o.Mode != "" {
		setRetention(e, o.Mode, o.RetainUntil)
	}
	if o.LegalHold {
		e.Extended[s3_constants.ExtLegalHoldKey] = []byte(s3_constants.LegalHoldOn)
	}
	return e
}

// DeleteObject deletes a key without naming a version: a bucket that never had
// versions loses the object, one with versions gets a delete marker, whose
// version id is returned. It is no error when there is no object.
func (c *Cluster) DeleteObject(bucketName, key string) (string, error) {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(key, "/") {
		return "", c.deleteFolderMarker(b, key)
	}
	switch b.info.Versioning {
	case engine.Enabled:
		return c.putDeleteMarker(b, key)
	case engine.Suspended:
		if c.protected(b, b.get(key), c.gatewayNow()) {
			return "", ErrLocked
		}
		if err := c.removeObject(b, key); err != nil {
			return "", err
		}
		return nullVersion, c.putNullMarker(b, key)
	default:
		return "", c.removeObject(b, key)
	}
}

// deleteFolderMarker deletes a key that ends in a slash, in every bucket
// alike: with the versions that its expiration may have left, and without a
// marker. A folder that holds data of the key without the slash stays.
func (c *Cluster) deleteFolderMarker(b *bucket, key string) error {
	e := b.get(key)
	if e == nil || len(e.Chunks) > 0 {
		return nil
	}
	locked := c.protected(b, e, c.gatewayNow())
	for _, name := range b.children(versionFolder(key)) {
		locked = locked || c.protected(b, b.get(join(clean(versionFolder(key)), name)), c.gatewayNow())
	}
	if locked {
		return ErrLocked
	}
	if err := c.remove(b, versionFolder(key), true); err != nil {
		return err
	}
	return c.removeObject(b, key)
}

// SetTags replaces an object's tags. An empty version id is the latest.
func (c *Cluster) SetTags(bucketName, key, versionID string, tags map[string]string) error {
	return c.editObject(bucketName, key, versionID, func(e *engine.Entry) {
		maps.DeleteFunc(e.Extended, func(k string, _ []byte) bool { return strings.HasPrefix(k, tagPrefix) })
		setTags(e, tags)
	})
}

// SetRetention sets an object's retention, without the rules of S3 about who
// may shorten one. An empty version id is the latest.
func (c *Cluster) SetRetention(bucketName, key, versionID, mode string, until time.Time) error {
	return c.editObject(bucketName, key, versionID, func(e *engine.Entry) { setRetention(e, mode, until) })
}

// SetLegalHold sets or lifts an object's legal hold. An empty version id is the
// latest.
func (c *Cluster) SetLegalHold(bucketName, key, versionID string, on bool) error {
	return c.editObject(bucketName, key, versionID, func(e *engine.Entry) {
		value := s3_constants.LegalHoldOff
		if on {
			value = s3_constants.LegalHoldOn
		}
		e.Extended[s3_constants.ExtLegalHoldKey] = []byte(value)
	})
}

func (c *Cluster) editObject(bucketName, key, versionID string, fn func(*engine.Entry)) error {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return err
	}
	path, e := c.resolve(b, key, versionID)
	if e == nil || isDeleteMarker(e) {
		return fmt.Errorf("object %q, version %q: %w", key, versionID, engine.ErrNotFound)
	}
	return c.update(b, path, fn)
}

// Touch sets an entry's mtime, as a client of the filer does.
func (c *Cluster) Touch(bucketName, path string, mtime time.Time) error {
	return c.Edit(bucketName, path, func(e *engine.Entry) { e.MtimeNs = mtime.UnixNano() })
}

func setTags(e *engine.Entry, tags map[string]string) {
	for k, v := range tags {
		e.Extended[tagPrefix+k] = []byte(v)
	}
}

func setRetention(e *engine.Entry, mode string, until time.Time) {
	e.Extended[s3_constants.ExtObjectLockModeKey] = []byte(mode)
	e.Extended[s3_constants.ExtRetentionUntilDateKey] = strconv.AppendInt(nil, until.Unix(), 10)
}

func isDeleteMarker(e *engine.Entry) bool {
	return string(e.Extended[s3_constants.ExtDeleteMarkerKey]) == "true"
}

// protected reports whether an object lock forbids to delete an entry. A bucket
// without object lock has none; lifecycle and plain deletes never bypass
// governance.
func (c *Cluster) protected(b *bucket, e *engine.Entry, now time.Time) bool {
	if !b.info.ObjectLock || e == nil {
		return false
	}
	if string(e.Extended[s3_constants.ExtLegalHoldKey]) == s3_constants.LegalHoldOn {
		return true
	}
	until, err := strconv.ParseInt(string(e.Extended[s3_constants.ExtRetentionUntilDateKey]), 10, 64)
	return err == nil && len(e.Extended[s3_constants.ExtObjectLockModeKey]) > 0 && time.Unix(until, 0).After(now)
}
