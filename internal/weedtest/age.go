package weedtest

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
)

// S3 takes no rule below a day and no timestamp from a client, so tests move
// clocks through the filer. Each change is an event of the meta-log of its
// own, at the time of the change: an aged entry is what the design calls odd.

// Age sets the clocks of the entry at a path of a bucket back: its mtime and,
// where it has one, its noncurrent-since stamp.
func (cl *Client) Age(bucket, p string, by time.Duration) {
	cl.t.Helper()
	cl.Update(path.Join(bucketsFolder, bucket, p), func(e *filer_pb.Entry) { age(e, by) })
}

// AgeVersion is Age for one version of a key. An empty id is the object outside
// the versions folder, "null" the null version wherever it lies.
func (cl *Client) AgeVersion(bucket, key, id string, by time.Duration) {
	cl.t.Helper()
	cl.updateVersion(bucket, key, id, func(e *filer_pb.Entry) { age(e, by) })
}

// AgeUpload is Age for an unfinished upload.
func (cl *Client) AgeUpload(bucket, id string, by time.Duration) {
	cl.t.Helper()
	cl.Age(bucket, path.Join(s3_constants.MultipartUploadsFolder, id), by)
}

// AgeTree is Age for everything below a path of a bucket, versions and uploads
// included; an empty path is the whole bucket.
func (cl *Client) AgeTree(bucket, p string, by time.Duration) {
	cl.t.Helper()
	cl.Walk(path.Join(bucketsFolder, bucket, p), func(p string, _ *filer_pb.Entry) {
		cl.Update(p, func(e *filer_pb.Entry) { age(e, by) })
	})
}

// SetMtime sets the mtime of the entry at a path of a bucket.
func (cl *Client) SetMtime(bucket, p string, t time.Time) {
	cl.t.Helper()
	cl.Update(path.Join(bucketsFolder, bucket, p), func(e *filer_pb.Entry) { setMtime(e, t) })
}

// SetVersionMtime sets the mtime of one version.
func (cl *Client) SetVersionMtime(bucket, key, id string, t time.Time) {
	cl.t.Helper()
	cl.updateVersion(bucket, key, id, func(e *filer_pb.Entry) { setMtime(e, t) })
}

// SetDemoted sets the noncurrent-since stamp of one version; the zero time
// removes it.
func (cl *Client) SetDemoted(bucket, key, id string, t time.Time) {
	cl.t.Helper()
	cl.updateVersion(bucket, key, id, func(e *filer_pb.Entry) {
		if t.IsZero() {
			delete(e.Extended, s3_constants.ExtNoncurrentSinceNsKey)
			return
		}
		setExtended(e, s3_constants.ExtNoncurrentSinceNsKey, strconv.FormatInt(t.UnixNano(), 10))
	})
}

// SetRetention writes a retention past S3's checks: also one that is over, and
// also over a stricter one. The zero time removes it.
func (cl *Client) SetRetention(bucket, key, id, mode string, until time.Time) {
	cl.t.Helper()
	cl.updateVersion(bucket, key, id, func(e *filer_pb.Entry) {
		if until.IsZero() {
			delete(e.Extended, s3_constants.ExtObjectLockModeKey)
			delete(e.Extended, s3_constants.ExtRetentionUntilDateKey)
			return
		}
		setExtended(e, s3_constants.ExtObjectLockModeKey, mode)
		setExtended(e, s3_constants.ExtRetentionUntilDateKey, strconv.FormatInt(until.Unix(), 10))
	})
}

// VersionPath is where a version's entry lies in its bucket.
func (cl *Client) VersionPath(bucket, key, id string) string {
	cl.t.Helper()
	inFolder := versionsFolder(key) + "/v_" + id
	switch {
	case id == "":
		return key
	case id == "null" && cl.Lookup(path.Join(bucketsFolder, bucket, inFolder)) == nil:
		return key
	}
	return inFolder
}

// updateVersion changes a version's entry and keeps the listing data that its
// versions folder holds of the latest version in step.
func (cl *Client) updateVersion(bucket, key, id string, change func(*filer_pb.Entry)) {
	cl.t.Helper()
	var mtime int64
	cl.Update(path.Join(bucketsFolder, bucket, cl.VersionPath(bucket, key, id)), func(e *filer_pb.Entry) {
		change(e)
		mtime = e.GetAttributes().GetMtime()
	})
	folder := path.Join(bucketsFolder, bucket, versionsFolder(key))
	latest := cl.Lookup(folder).GetExtended()[s3_constants.ExtLatestVersionIdKey]
	if id != "" && string(latest) == id {
		cl.Update(folder, func(e *filer_pb.Entry) {
			setExtended(e, s3_constants.ExtLatestVersionMtimeKey, strconv.FormatInt(mtime, 10))
		})
	}
}

func versionsFolder(key string) string {
	return strings.TrimSuffix(key, "/") + s3_constants.VersionsFolder
}

// age moves every clock of an entry back: also that of the latest version,
// which a versions folder holds for listings.
func age(e *filer_pb.Entry, by time.Duration) {
	if a := e.GetAttributes(); a != nil {
		setMtime(e, time.Unix(a.GetMtime(), int64(a.GetMtimeNs())).Add(-by))
	}
	if ns, err := strconv.ParseInt(string(e.GetExtended()[s3_constants.ExtNoncurrentSinceNsKey]), 10, 64); err == nil {
		setExtended(e, s3_constants.ExtNoncurrentSinceNsKey, strconv.FormatInt(ns-by.Nanoseconds(), 10))
	}
	if secs, err := strconv.ParseInt(string(e.GetExtended()[s3_constants.ExtLatestVersionMtimeKey]), 10, 64); err == nil {
		setExtended(e, s3_constants.ExtLatestVersionMtimeKey, strconv.FormatInt(time.Unix(secs, 0).Add(-by).Unix(), 10))
	}
}

func setMtime(e *filer_pb.Entry, t time.Time) {
	if e.Attributes == nil {
		e.Attributes = &filer_pb.FuseAttributes{}
	}
	e.Attributes.Mtime, e.Attributes.MtimeNs = t.Unix(), int32(t.Nanosecond())
}
