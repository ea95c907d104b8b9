package engine

import (
	"bytes"
	"errors"
	"time"
)

// ErrNotFound is returned by look-ups of an entry, a bucket or a file that is
// not there.
var ErrNotFound = errors.New("not found")

// ErrChanged is returned by a conditional write or removal of a file that is
// no longer the one that was read.
var ErrChanged = errors.New("changed since it was read")

// Nature is what an entry of a bucket's tree stands for.
type Nature int

const (
	// File is an object, a version, or a part of an upload.
	File Nature = iota
	// Folder holds other entries and is no object itself.
	Folder
	// FolderMarker is a folder that is also the object whose key ends in "/".
	FolderMarker
	// PrefixObject is a folder that is also the object whose key has no
	// trailing slash: other keys lie below it.
	PrefixObject
)

// IsFolder reports whether other entries may lie below.
func (n Nature) IsFolder() bool { return n != File }

// Entry is one filer entry, as much of it as the lifecycle needs.
type Entry struct {
	Name   string
	Nature Nature
	// HasAttributes is false for an entry that carries no attributes; it has no
	// identity and is never deleted.
	HasAttributes bool
	// MtimeNs, CreatedNs and CommitNs are Unix nanoseconds. CommitNs is the
	// filer's commit stamp of this version of the entry; 0 when it has none.
	MtimeNs   int64
	CreatedNs int64
	CommitNs  int64
	Size      int64
	// Chunks are the file ids of the entry's chunks, in order.
	Chunks []string
	// TTL is the time to live stamped on the entry; 0 is none.
	TTL      time.Duration
	Extended map[string][]byte
}

// Identity is the witness of a LifecycleDelete: the gateway compares it with
// the live entry and does nothing when they differ.
type Identity struct {
	MtimeNs      int64
	Size         int64
	HeadChunk    string
	ExtendedHash []byte
}

// Equal reports whether both witness the same entry.
func (i Identity) Equal(other Identity) bool {
	return i.MtimeNs == other.MtimeNs && i.Size == other.Size && i.HeadChunk == other.HeadChunk &&
		bytes.Equal(i.ExtendedHash, other.ExtendedHash)
}

// Event is one meta-log event of a bucket. Old is nil for a create, New for a
// delete.
type Event struct {
	TsNs   int64
	Bucket string
	// Path is inside the bucket, as logged: the new path of a rename. Empty
	// for an event of the bucket itself.
	Path string
	// OldPath is where a renamed entry was; empty when it did not move.
	OldPath  string
	Old, New *Entry
}

// Bucket is a bucket's filer entry, as much of it as the lifecycle needs.
type Bucket struct {
	Name string
	// Rules is the stored lifecycle document; empty when there is none.
	Rules []byte
	// Versioning is Enabled, Suspended or Unversioned.
	Versioning Versioning
	ObjectLock bool
	CreatedNs  int64
}

// Versioning is a bucket's versioning state. Object lock implies Enabled when
// the state is not written.
type Versioning int

const (
	Unversioned Versioning = iota
	Enabled
	Suspended
)

func (v Versioning) String() string {
	return [...]string{"unversioned", "enabled", "suspended"}[v]
}

// Versioned reports whether the bucket's keys may have version folders.
func (b Bucket) Versioned() bool { return b.Versioning != Unversioned }

// Object is what a rule judges: a current object, one version of a key, or an
// unfinished upload.
type Object struct {
	Bucket string
	// Key is the object's key; for an upload the key that it would make.
	Key string
	// Path is what LifecycleDelete is sent for: the key, or ".uploads/<id>".
	Path string
	// VersionID is empty in a bucket without versions, "null" for the version
	// that lies outside the version folder.
	VersionID string
	// UploadID is set for an upload, and only for one.
	UploadID string

	ModTime time.Time
	Size    int64
	Tags    map[string]string
	TTL     time.Duration

	Latest       bool
	DeleteMarker bool
	// Versions is how many versions the key has, this one included, delete
	// markers and the null version too. 0 is unknown.
	Versions int
	// Rank is the place among the noncurrent versions, newest first, from 0;
	// RankUnknown for a current version or when it could not be determined.
	Rank int
	// DemotedAt is the entry's own noncurrent-since stamp, SuccessorAt the
	// mtime of the next newer surviving version. Zero: not known.
	DemotedAt, SuccessorAt time.Time

	Lock Lock
	// CommitNs is the filer's commit stamp; 0 when there is none.
	CommitNs int64
	// Entry is the entry that holds it, which must not change.
	Entry *Entry
}

// Identity is the witness for a LifecycleDelete of the object; nil when its
// entry has no attributes. It is made anew by each call.
func (o *Object) Identity() *Identity {
	if o.Entry == nil {
		return nil
	}
	id, ok := o.Entry.Identity()
	if !ok {
		return nil
	}
	return &id
}

// RankUnknown marks an object without a place among noncurrent versions.
const RankUnknown = -1

// Lock is an object lock as written on the entry.
type Lock struct {
	Mode        string // GOVERNANCE, COMPLIANCE or empty
	RetainUntil time.Time
	LegalHold   bool
	// Unreadable is set when a retention is written that is no time.
	Unreadable bool
}

// Locked reports whether the lock forbids a delete at now. A retention that
// ends at or before now is over; one that cannot be read never is.
func (l Lock) Locked(now time.Time) bool {
	return l.LegalHold || l.Unreadable || l.RetainUntil.After(now)
}
