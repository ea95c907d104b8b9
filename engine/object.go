package engine

import (
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
)

// nullVersion is the ID of the version that lies outside the version folder.
const nullVersion = "null"

// NewObject is the object of an entry in a bucket without versions. The key of
// a folder marker gets its trailing slash. An entry without attributes makes an
// object that has neither time nor identity and that no action fires on.
func NewObject(bucket, key string, e *Entry) Object {
	if e.Nature == FolderMarker && !strings.HasSuffix(key, "/") {
		key += "/"
	}
	o := newObject(bucket, key, e)
	o.Latest = true
	o.Versions = 1
	return o
}

// NewUpload is the unfinished upload whose folder is e, an entry of ".uploads".
// It is false when e is no folder or does not say which key it is for: an
// upload in the making, or none.
func NewUpload(bucket string, e *Entry) (Object, bool) {
	target := string(e.Extended[s3_constants.ExtMultipartObjectKey])
	if !e.Nature.IsFolder() || target == "" {
		return Object{}, false
	}
	o := Object{
		Bucket:   bucket,
		Key:      target,
		Path:     s3_constants.MultipartUploadsFolder + "/" + e.Name,
		UploadID: e.Name,
		ModTime:  e.mtime(),
		Size:     e.Size,
		Rank:     RankUnknown,
		CommitNs: e.CommitNs,
		Entry:    e,
	}
	return o, true
}

// newObject fills in what the entry alone says.
func newObject(bucket, key string, e *Entry) Object {
	o := Object{
		Bucket:       bucket,
		Key:          key,
		Path:         key,
		ModTime:      e.mtime(),
		Size:         e.Size,
		Tags:         e.Tags(),
		TTL:          e.TTL,
		DeleteMarker: e.IsDeleteMarker(),
		Rank:         RankUnknown,
		Lock:         e.Lock(),
		CommitNs:     e.CommitNs,
		Entry:        e,
	}
	if ns := e.DemotedNs(); ns > 0 {
		o.DemotedAt = time.Unix(0, ns).UTC()
	}
	return o
}

// RequestVersion is the version_id of the LifecycleDelete that carries out an
// action of this kind on the object.
//
// In a bucket with versions it is always the version's own ID, for the current
// version too. The gateway then reads exactly that version, compares it with
// the identity, and for an expiration answers VERSION_NOT_LATEST once another
// one is current. Without an ID it would take what is current under its own
// view, and in a suspended bucket only ever the null version, so that a current
// version with an ID of its own would never expire.
func (o *Object) RequestVersion(kind Kind) string {
	if kind == AbortMPU {
		return ""
	}
	return o.VersionID
}

// IsVersionFolder reports whether a folder of this name holds the versions of a
// key, and the last part of that key. The part is empty for ".versions" itself,
// which holds those of the folder marker around it: "dir/.versions" belongs to
// the key "dir/", "dir.versions" to "dir".
func IsVersionFolder(name string) (keyName string, ok bool) {
	return strings.CutSuffix(name, s3_constants.VersionsFolder)
}
