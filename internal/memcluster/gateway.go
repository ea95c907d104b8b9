package memcluster

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"

	"weedlc/engine"
)

// Delete is the gateway's LifecycleDelete: it compares the identity with the
// live entry, asks the object lock, and for some kinds whether the version is
// the latest or the marker alone. It looks at neither age nor rule.
func (c *Cluster) Delete(ctx context.Context, req engine.DeleteRequest) (resp engine.DeleteResponse, err error) {
	call := Call{Op: OpDelete, Bucket: req.Bucket, Path: req.Path, Delete: &req}
	err = c.around(ctx, call, func() error {
		defer c.write()()
		c.counts.Deletes++
		var err error
		resp, err = c.answer(req)
		c.deletes = append(c.deletes, DeleteRecord{At: c.now, Request: req, Response: resp})
		return err
	})
	if err != nil {
		return engine.DeleteResponse{}, err
	}
	return resp, nil
}

// answer takes the next scripted answer of a path, or the gateway's own.
func (c *Cluster) answer(req engine.DeleteRequest) (engine.DeleteResponse, error) {
	at := join(req.Bucket, clean(req.Path))
	queue := c.faults.answers[at]
	if len(queue) == 0 {
		return c.lifecycleDelete(req), nil
	}
	c.faults.answers[at] = queue[1:]
	a := queue[0]
	if a.Applied {
		resp := c.lifecycleDelete(req)
		if a.Outcome == "" {
			return resp, a.Err
		}
	}
	return engine.DeleteResponse{Outcome: a.Outcome, Reason: a.Reason}, a.Err
}

func (c *Cluster) lifecycleDelete(req engine.DeleteRequest) engine.DeleteResponse {
	if req.Bucket == "" || req.Path == "" {
		return blocked("FATAL_EVENT_ERROR: empty bucket or object_path")
	}
	b := c.buckets[req.Bucket]
	if req.Kind == engine.AbortMPU {
		return c.lifecycleAbort(b, req.Path)
	}
	if b == nil {
		return noop("NOT_FOUND")
	}
	e := c.lifecycleFetch(b, req)
	if e == nil {
		return noop("NOT_FOUND")
	}
	if !sameIdentity(e, &req.Identity) {
		return noop("STALE_IDENTITY")
	}
	if c.protected(b, c.lifecycleFetch(b, req), c.gatewayNow()) {
		return engine.DeleteResponse{Outcome: engine.SkippedObjectLock, Reason: "object is locked"}
	}
	switch req.Kind {
	case engine.ExpirationDays, engine.ExpirationDate:
		return c.expireCurrent(b, req, e)
	case engine.NoncurrentDays, engine.NewerNoncurrent, engine.ExpiredDeleteMarker:
		return c.expireVersion(b, req)
	}
	return blocked("FATAL_EVENT_ERROR: unknown action_kind " + req.Kind.String())
}

// lifecycleFetch finds the entry that a request is for. Without a version id
// that is the latest version only while versioning is enabled.
func (c *Cluster) lifecycleFetch(b *bucket, req engine.DeleteRequest) *engine.Entry {
	switch {
	case req.VersionID == nullVersion:
		if e := b.get(req.Path); e != nil && isNullVersion(e, req.Path) {
			return e
		}
		return nil
	case req.VersionID != "":
		return b.get(versionPath(req.Path, req.VersionID))
	case b.info.Versioning == engine.Enabled:
		_, e := c.latest(b, req.Path)
		return e
	}
	return b.get(req.Path)
}

// expireCurrent expires a current object: versions stay under a delete marker,
// which gets an id of its own even while versioning is suspended.
func (c *Cluster) expireCurrent(b *bucket, req engine.DeleteRequest, e *engine.Entry) engine.DeleteResponse {
	v := b.info.Versioning
	if v == engine.Suspended || v == engine.Enabled && req.VersionID != "" {
		_, latest := c.latest(b, req.Path)
		if latest == nil {
			return noop("NOT_FOUND")
		}
		addressed := req.VersionID
		if addressed == "" {
			addressed = versionIDOf(e)
		}
		if versionIDOf(latest) != addressed {
			return noop("VERSION_NOT_LATEST")
		}
	}
	var err error
	switch v {
	case engine.Enabled:
		_, err = c.putDeleteMarker(b, req.Path)
	case engine.Suspended:
		if err = c.removeVersion(b, req.Path, nullVersion); err == nil {
			_, err = c.putDeleteMarker(b, req.Path)
		}
	default:
		err = c.removeObject(b, req.Path)
	}
	return answered(err)
}

// expireVersion removes one version or a lone delete marker.
func (c *Cluster) expireVersion(b *bucket, req engine.DeleteRequest) engine.DeleteResponse {
	if req.VersionID == "" {
		return blocked("FATAL_EVENT_ERROR: version_id required for noncurrent / delete-marker delete")
	}
	container := b.get(versionFolder(req.Path))
	if req.Kind == engine.ExpiredDeleteMarker {
		if resp, ok := c.soleSurvivor(b, container, req); !ok {
			return resp
		}
	} else {
		if container == nil {
			return noop("NOT_FOUND")
		}
		if string(container.Extended[s3_constants.ExtLatestVersionIdKey]) == req.VersionID {
			return noop("VERSION_IS_LATEST")
		}
	}
	return answered(c.removeVersion(b, req.Path, req.VersionID))
}

// soleSurvivor reports whether a marker is all that is left of its key.
func (c *Cluster) soleSurvivor(b *bucket, container *engine.Entry, req engine.DeleteRequest) (engine.DeleteResponse, bool) {
	names := b.children(versionFolder(req.Path))
	switch {
	case len(names) == 0:
		return noop("NOT_FOUND"), false
	case len(names) > 1:
		return noop("NOT_SOLE_SURVIVOR"), false
	case names[0] != "v_"+req.VersionID:
		return noop("MARKER_REPLACED"), false
	}
	latest := string(container.Extended[s3_constants.ExtLatestVersionIdKey])
	if latest == "" {
		return engine.DeleteResponse{Outcome: engine.RetryLater, Reason: "PENDING_LATEST_POINTER"}, false
	}
	if latest != req.VersionID {
		return noop("MARKER_NOT_LATEST"), false
	}
	if bare := b.get(req.Path); bare != nil && bare.Nature != engine.Folder {
		return noop("NULL_VERSION_PRESENT"), false
	}
	return engine.DeleteResponse{}, true
}

// lifecycleAbort ends an upload. It compares no identity.
func (c *Cluster) lifecycleAbort(b *bucket, path string) engine.DeleteResponse {
	id, ok := strings.CutPrefix(path, s3_constants.MultipartUploadsFolder+"/")
	if !ok {
		return blocked("FATAL_EVENT_ERROR: ABORT_MPU object_path missing .uploads/ prefix")
	}
	if id == "" || id == "." || id == ".." || strings.Contains(id, "/") {
		return blocked("FATAL_EVENT_ERROR: ABORT_MPU object_path malformed: " + path)
	}
	if b == nil || b.get(path) == nil {
		return noop("NOT_FOUND")
	}
	return answered(c.removeUpload(b, id))
}

// sameIdentity compares an entry with what a request says of it.
func sameIdentity(e *engine.Entry, want *engine.Identity) bool {
	head := ""
	if len(e.Chunks) > 0 {
		head = e.Chunks[0]
	}
	return e.MtimeNs == want.MtimeNs && e.Size == want.Size && head == want.HeadChunk &&
		bytes.Equal(s3lifecycle.HashExtended(e.Extended), want.ExtendedHash)
}

func answered(err error) engine.DeleteResponse {
	switch {
	case err == nil:
		return engine.DeleteResponse{Outcome: engine.Done}
	case errors.Is(err, ErrLocked):
		return engine.DeleteResponse{Outcome: engine.RetryLater, Reason: "ACCESS_DENIED: object lock"}
	}
	return engine.DeleteResponse{Outcome: engine.RetryLater, Reason: "TRANSPORT_ERROR: " + err.Error()}
}

func noop(reason string) engine.DeleteResponse {
	return engine.DeleteResponse{Outcome: engine.NoopResolved, Reason: reason}
}

func blocked(reason string) engine.DeleteResponse {
	return engine.DeleteResponse{Outcome: engine.Blocked, Reason: reason}
}
