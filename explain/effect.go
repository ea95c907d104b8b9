package explain

import (
	"time"

	"weedlc/engine"
)

// Effect is what becomes of one version.
type Effect string

// The effects, in the words of the JSON output.
const (
	Keep           Effect = "keep"
	Expire         Effect = "expire"           // the object is removed
	ExpireToMarker Effect = "expire_to_marker" // a delete marker is put on top
	DeleteVersion  Effect = "delete_version"
	DeleteMarker   Effect = "delete_marker" // a lone delete marker is removed
	AbortMPU       Effect = "abort_mpu"
	SkipLock       Effect = "skip_lock" // due, but locked
)

// String is the effect in the words of a text line.
func (e Effect) String() string {
	switch e {
	case ExpireToMarker:
		return "expire→marker"
	case DeleteVersion:
		return "delete-version"
	case DeleteMarker:
		return "delete-marker"
	case AbortMPU:
		return "abort-mpu"
	case SkipLock:
		return "skip-lock"
	}
	return string(e)
}

// EffectOf is what an action of that kind does when it is carried out in a
// bucket of that versioning state.
func EffectOf(k engine.Kind, v engine.Versioning) Effect {
	switch k {
	case engine.ExpirationDays, engine.ExpirationDate:
		if v == engine.Unversioned {
			return Expire
		}
		return ExpireToMarker
	case engine.NoncurrentDays, engine.NewerNoncurrent:
		return DeleteVersion
	case engine.AbortMPU:
		return AbortMPU
	case engine.ExpiredDeleteMarker:
		return DeleteMarker
	}
	return Keep
}

// isCurrentExpiry reports whether a kind is about current objects.
func isCurrentExpiry(k engine.Kind) bool {
	return k == engine.ExpirationDays || k == engine.ExpirationDate
}

// isNoncurrentExpiry reports whether a kind is about noncurrent versions.
func isNoncurrentExpiry(k engine.Kind) bool {
	return k == engine.NoncurrentDays || k == engine.NewerNoncurrent
}

// GoesAt is when an object that is due at that time can go: the later of its
// due time and the end of its retention. It is false while there is no such
// time: under a legal hold, or a retention that cannot be read.
func GoesAt(o *engine.Object, due time.Time) (time.Time, bool) {
	switch {
	case o.Lock.LegalHold, o.Lock.Unreadable:
		return time.Time{}, false
	case o.Lock.RetainUntil.After(due):
		return o.Lock.RetainUntil, true
	}
	return due, true
}

// lockWords says what a lock is and until when; empty when nothing is written.
func lockWords(l engine.Lock, now time.Time) string {
	switch {
	case l.LegalHold:
		return "legal hold"
	case l.Unreadable:
		return "a retention that cannot be read"
	case l.RetainUntil.IsZero():
		return ""
	}
	text := "retention until " + stamp(l.RetainUntil)
	if l.Mode != "" {
		text = l.Mode + " " + text
	}
	if !l.Locked(now) {
		text += ", over"
	}
	return text
}
