package memcluster

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// nullVersion is the id of the version that lies outside the version folder.
const nullVersion = "null"

// oldFormatLimit parts version ids by the time in their first sixteen digits:
// above it that time is counted down from the end of time, so that newer ids
// come first.
const oldFormatLimit = 0x4000000000000000

func versionFolder(key string) string { return key + s3_constants.VersionsFolder }

func versionPath(key, versionID string) string {
	return versionFolder(key) + "/v_" + versionID
}

func isInverted(versionID string) bool {
	if len(versionID) < 16 {
		return false
	}
	t, err := strconv.ParseUint(versionID[:16], 16, 64)
	return err == nil && t > oldFormatLimit
}

// newVersionID follows the format of the key's latest version.
func (c *Cluster) newVersionID(inverted bool) string {
	n := c.next()
	t := c.gatewayNow().UnixNano() + n
	if inverted {
		t = math.MaxInt64 - t
	}
	return fmt.Sprintf("%016x%016x", t, n)
}

// invertedFor is the format that a key's next version gets. A null marker as
// the latest counts as the old format.
func (c *Cluster) invertedFor(b *bucket, key string) bool {
	container := b.get(versionFolder(key))
	if container == nil {
		return true
	}
	latest, ok := container.Extended[s3_constants.ExtLatestVersionIdKey]
	return !ok || isInverted(string(latest))
}

func (c *Cluster) putVersion(b *bucket, key string, e *engine.Entry, committed func() error) (string, error) {
	inverted := c.invertedFor(b, key)
	id := c.newVersionID(inverted)
	e.Extended[s3_constants.ExtVersionIdKey] = []byte(id)
	demotedNs := c.gatewayNow().UnixNano()
	if err := c.create(b, versionPath(key, id), e); err != nil {
		return "", err
	}
	if err := committed(); err != nil {
		return "", err
	}
	c.recompute(b, key, recompute{descending: !inverted, demotedNs: demotedNs})
	return id, nil
}

func (c *Cluster) putDeleteMarker(b *bucket, key string) (string, error) {
	return c.putVersion(b, key, c.deleteMarkerEntry(), func() error { return nil })
}

func (c *Cluster) deleteMarkerEntry() *engine.Entry {
	return &engine.Entry{
		Nature: engine.File, HasAttributes: true,
		MtimeNs: c.gatewaySecondNs(), CreatedNs: c.gatewaySecondNs(),
		Extended: map[string][]byte{s3_constants.ExtDeleteMarkerKey: []byte("true")},
	}
}

// recompute says how a container's pointer is found anew.
type recompute struct {
	// descending takes the last name instead of the first.
	descending bool
	// exclude leaves out a version that is about to go, onlyIfCurrent does
	// nothing while the pointer names another. Both are file names.
	exclude, onlyIfCurrent string
	// demotedNs is stamped on the version that is no longer the latest; 0 is
	// not stamped.
	demotedNs int64
}

// pointerCopies maps what a container keeps of its latest version to where the
// version has it.
var pointerCopies = map[string]string{
	s3_constants.ExtLatestVersionIdKey:          s3_constants.ExtVersionIdKey,
	s3_constants.ExtLatestVersionETagKey:        s3_constants.ExtETagKey,
	s3_constants.ExtLatestVersionIsDeleteMarker: s3_constants.ExtDeleteMarkerKey,
}

// recompute sets a container's pointer from the files in it, then stamps the
// version that it pointed to before. The pointer is logged even if it stays.
func (c *Cluster) recompute(b *bucket, key string, r recompute) {
	folder := versionFolder(key)
	before := b.get(folder)
	if before == nil {
		return
	}
	prior := string(before.Extended[s3_constants.ExtLatestVersionFileNameKey])
	if r.onlyIfCurrent != "" && prior != r.onlyIfCurrent {
		return
	}
	names := slices.DeleteFunc(slices.Clone(b.children(folder)), func(n string) bool { return n == r.exclude })
	var latest *engine.Entry
	if len(names) > 0 {
		name := names[0]
		if r.descending {
			name = names[len(names)-1]
		}
		latest = b.get(join(folder, name))
	}
	after := modified(before, func(e *engine.Entry) {
		delete(e.Extended, s3_constants.ExtNullVersionIsLatestKey)
		point(e.Extended, latest)
	})
	after.CommitNs = c.stamp()
	b.set(folder, after)
	c.record(b, clean(folder), "", before, after)
	if r.demotedNs != 0 && prior != "" && (latest == nil || latest.Name != prior) {
		c.demote(b, key, prior, r.demotedNs)
	}
}

// point makes a container's attributes name a version, or none.
func point(ext map[string][]byte, latest *engine.Entry) {
	if latest == nil {
		for k := range pointerCopies {
			delete(ext, k)
		}
		delete(ext, s3_constants.ExtLatestVersionFileNameKey)
		delete(ext, s3_constants.ExtLatestVersionSizeKey)
		delete(ext, s3_constants.ExtLatestVersionMtimeKey)
		return
	}
	for to, from := range pointerCopies {
		if v, ok := latest.Extended[from]; ok {
			ext[to] = v
		} else {
			delete(ext, to)
		}
	}
	ext[s3_constants.ExtLatestVersionFileNameKey] = []byte(latest.Name)
	ext[s3_constants.ExtLatestVersionSizeKey] = strconv.AppendInt(nil, latest.Size, 10)
	ext[s3_constants.ExtLatestVersionMtimeKey] = strconv.AppendInt(nil, latest.MtimeNs/1e9, 10)
}

// demote stamps a version as noncurrent; one that is gone is left.
func (c *Cluster) demote(b *bucket, key, fileName string, ns int64) {
	path := join(versionFolder(key), fileName)
	if b.get(path) == nil {
		return
	}
	_ = c.update(b, path, func(e *engine.Entry) {
		e.Extended[s3_constants.ExtNoncurrentSinceNsKey] = strconv.AppendInt(nil, ns, 10)
	})
}

// putNullMarker makes the one null delete marker of a key the latest version.
// Unlike elsewhere the version before it is stamped first.
func (c *Cluster) putNullMarker(b *bucket, key string) error {
	marker := c.deleteMarkerEntry()
	marker.Extended[s3_constants.ExtVersionIdKey] = []byte(nullVersion)
	if err := c.create(b, versionPath(key, nullVersion), marker); err != nil {
		return err
	}
	folder := versionFolder(key)
	prior := string(b.get(folder).Extended[s3_constants.ExtLatestVersionFileNameKey])
	if prior != "" && prior != marker.Name {
		c.demote(b, key, prior, c.gatewayNow().UnixNano())
	}
	return c.create(b, folder, modified(b.get(folder), func(e *engine.Entry) {
		delete(e.Extended, s3_constants.ExtNullVersionIsLatestKey)
		point(e.Extended, marker)
	}))
}

// retireNullMarker makes the object at the bare path the latest version, after
// it was written while versioning is suspended.
func (c *Cluster) retireNullMarker(b *bucket, key string) error {
	folder := versionFolder(key)
	container := b.get(folder)
	if container == nil {
		return nil
	}
	if len(container.Extended) > 0 {
		if prior := string(container.Extended[s3_constants.ExtLatestVersionFileNameKey]); prior != "" {
			c.demote(b, key, prior, c.gatewayNow().UnixNano())
		}
		err := c.create(b, folder, modified(b.get(folder), func(e *engine.Entry) {
			point(e.Extended, nil)
			e.Extended[s3_constants.ExtNullVersionIsLatestKey] = []byte("true")
		}))
		if err != nil {
			return err
		}
	}
	return c.remove(b, versionPath(key, nullVersion), false)
}

// DeleteVersion deletes one version of a key, the null version too; the next
// one takes its place when it was the latest. It is no error when there is no
// such version. The null marker is out of its reach, as it is on the server.
func (c *Cluster) DeleteVersion(bucketName, key, versionID string) error {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return err
	}
	return c.removeVersion(b, key, versionID)
}

// removeVersion checks the lock against the filer's clock: the filer carries
// the condition out.
func (c *Cluster) removeVersion(b *bucket, key, versionID string) error {
	if versionID == nullVersion {
		if c.protected(b, b.get(key), c.filerNow().Truncate(1e9)) {
			return ErrLocked
		}
		return c.removeObject(b, key)
	}
	path := versionPath(key, versionID)
	if c.protected(b, b.get(path), c.filerNow().Truncate(1e9)) {
		return ErrLocked
	}
	name := "v_" + versionID
	c.recompute(b, key, recompute{descending: !isInverted(versionID), exclude: name, onlyIfCurrent: name})
	if err := c.remove(b, path, false); err != nil {
		return err
	}
	if folder := versionFolder(key); len(b.children(folder)) == 0 {
		return c.remove(b, folder, false)
	}
	return nil
}

// resolve finds the entry of a version and its path; an empty version id is the
// latest, as the gateway resolves it. The entry is nil when there is none.
func (c *Cluster) resolve(b *bucket, key, versionID string) (string, *engine.Entry) {
	switch {
	case versionID == nullVersion, versionID == "" && b.info.Versioning == engine.Unversioned:
		return clean(key), b.get(key)
	case versionID != "":
		path := versionPath(key, versionID)
		return clean(path), b.get(path)
	}
	return c.latest(b, key)
}

// latest finds a key's latest version as the gateway does, and mends the
// container's pointer when it is missing or leads nowhere.
func (c *Cluster) latest(b *bucket, key string) (string, *engine.Entry) {
	path, e, pointed := b.current(key)
	if !pointed {
		c.healPointer(b, key, e)
	}
	return path, e
}

// current resolves a key's latest version: the file that the container points
// to, or without a pointer the bare object, or the newest file. Pointed is
// false when the pointer ought to name it and does not.
func (b *bucket) current(key string) (path string, e *engine.Entry, pointed bool) {
	folder := versionFolder(key)
	container := b.get(folder)
	name := ""
	if container != nil && len(container.Extended[s3_constants.ExtLatestVersionIdKey]) > 0 {
		name = string(container.Extended[s3_constants.ExtLatestVersionFileNameKey])
	}
	if name != "" {
		if e := b.get(join(folder, name)); e != nil {
			return clean(join(folder, name)), e, true
		}
	} else if e := b.get(key); e != nil && isNullVersion(e, key) {
		return clean(key), e, true
	}
	if container == nil {
		return "", nil, true
	}
	for _, name := range b.children(folder) {
		file := b.get(join(folder, name))
		if e == nil || newerVersion(versionIDOf(file), versionIDOf(e)) {
			path, e = clean(join(folder, name)), file
		}
	}
	return path, e, false
}

// healPointer makes a container point to a version, or removes it when there
// is none. That the null version was said to be the latest stays written.
func (c *Cluster) healPointer(b *bucket, key string, newest *engine.Entry) {
	if newest == nil {
		_ = c.remove(b, versionFolder(key), false)
		return
	}
	_ = c.update(b, versionFolder(key), func(e *engine.Entry) { point(e.Extended, newest) })
}

// isNullVersion reports whether a bare entry is the object of a key: a folder
// is only if it is marked as one.
func isNullVersion(e *engine.Entry, key string) bool {
	if len(key) > 0 && key[len(key)-1] == '/' {
		return e.Nature == engine.FolderMarker
	}
	return e.Nature == engine.File || e.Nature == engine.PrefixObject || e.Size > 0
}

func versionIDOf(e *engine.Entry) string {
	if id := string(e.Extended[s3_constants.ExtVersionIdKey]); id != "" {
		return id
	}
	return nullVersion
}

// newerVersion orders version ids as the gateway does: by the time in them, the
// null version last.
func newerVersion(a, b string) bool {
	switch {
	case a == nullVersion || b == nullVersion:
		return b == nullVersion && a != nullVersion
	case isInverted(a) && isInverted(b):
		return a < b
	case isInverted(a) == isInverted(b):
		return a > b
	}
	return versionTime(a) > versionTime(b)
}

func versionTime(id string) int64 {
	if len(id) < 16 {
		return 0
	}
	t, err := strconv.ParseUint(id[:16], 16, 64)
	if err != nil {
		return 0
	}
	if t > oldFormatLimit {
		return int64(math.MaxInt64 - t)
	}
	return int64(t)
}
