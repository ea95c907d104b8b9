package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"
)

// Identity is the entry's witness as the gateway computes it; false when the
// entry has no attributes.
func (e *Entry) Identity() (Identity, bool) {
	if !e.HasAttributes {
		return Identity{}, false
	}
	id := Identity{
		MtimeNs:      e.MtimeNs,
		Size:         e.Size,
		ExtendedHash: s3lifecycle.HashExtended(e.Extended),
	}
	if len(e.Chunks) > 0 {
		id.HeadChunk = e.Chunks[0]
	}
	return id, true
}

// Tags are the object tags of the entry; nil when it has none.
func (e *Entry) Tags() map[string]string {
	var tags map[string]string
	for name, value := range e.Extended {
		key, ok := strings.CutPrefix(name, s3_constants.AmzObjectTagging+"-")
		if !ok {
			continue
		}
		if tags == nil {
			tags = make(map[string]string)
		}
		tags[key] = string(value)
	}
	return tags
}

// Lock is the object lock of the entry. A retention time counts with any mode
// and with none: the filer refuses to delete such an entry, whatever the
// gateway says.
func (e *Entry) Lock() Lock {
	l := Lock{
		Mode:      string(e.Extended[s3_constants.ExtObjectLockModeKey]),
		LegalHold: string(e.Extended[s3_constants.ExtLegalHoldKey]) == s3_constants.LegalHoldOn,
	}
	if raw, ok := e.Extended[s3_constants.ExtRetentionUntilDateKey]; ok {
		seconds, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		if err != nil {
			l.Unreadable = true
		} else {
			l.RetainUntil = time.Unix(seconds, 0).UTC()
		}
	}
	return l
}

// VersionID is the version ID written on the entry; empty when there is none.
func (e *Entry) VersionID() string { return string(e.Extended[s3_constants.ExtVersionIdKey]) }

// IsDeleteMarker reports whether the entry is a delete marker.
func (e *Entry) IsDeleteMarker() bool {
	return string(e.Extended[s3_constants.ExtDeleteMarkerKey]) == "true"
}

// DemotedNs is the entry's noncurrent-since stamp in Unix nanoseconds; 0 when
// there is none that can be read.
func (e *Entry) DemotedNs() int64 {
	stamp := e.Extended[s3_constants.ExtNoncurrentSinceNsKey]
	if len(stamp) == 0 {
		return 0 // most entries have none, and parsing nothing allocates an error
	}
	ns, err := strconv.ParseInt(string(stamp), 10, 64)
	if err != nil || ns < 0 {
		return 0
	}
	return ns
}

// UploadID is the upload that the entry's object was completed from; empty when
// it was not uploaded in parts.
func (e *Entry) UploadID() string { return string(e.Extended[s3_constants.SeaweedFSUploadId]) }

// mtime is zero for an entry without attributes.
func (e *Entry) mtime() time.Time {
	if !e.HasAttributes {
		return time.Time{}
	}
	return time.Unix(0, e.MtimeNs).UTC()
}
