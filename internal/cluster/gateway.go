package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"

	"weedlc/engine"
)

// Delete sends one LifecycleDelete, to each gateway in turn. An error means
// that there is no outcome; it is a PermanentError when another attempt cannot
// mend it, a RetryError when the gateway asks for a pause.
func (c *Cluster) Delete(ctx context.Context, req engine.DeleteRequest) (engine.DeleteResponse, error) {
	if len(c.gateways) == 0 {
		return engine.DeleteResponse{}, errors.New("no S3 gateway was asked for")
	}
	g := c.gateways[(c.turn.Add(1)-1)%uint64(len(c.gateways))]
	call, cancel := context.WithTimeoutCause(c.dialer.creds.admin(ctx), c.options.CallTimeout, errSilent{c.options.CallTimeout})
	defer cancel()
	resp, err := g.client.LifecycleDelete(call, &s3_lifecycle_pb.LifecycleDeleteRequest{
		Bucket:     req.Bucket,
		ObjectPath: req.Path,
		VersionId:  req.VersionID,
		RuleHash:   req.RuleHash[:],
		ActionKind: s3_lifecycle_pb.ActionKind(req.Kind),
		ExpectedIdentity: &s3_lifecycle_pb.EntryIdentity{
			MtimeNs:      req.Identity.MtimeNs,
			Size:         req.Identity.Size,
			HeadFid:      req.Identity.HeadChunk,
			ExtendedHash: req.Identity.ExtendedHash,
		},
	})
	op := fmt.Sprintf("delete %q from bucket %q", req.Path, req.Bucket)
	if err != nil {
		if ctx.Err() != nil {
			return engine.DeleteResponse{}, fmt.Errorf("%s: %w", op, context.Cause(ctx))
		}
		return engine.DeleteResponse{}, classify(g.callError(op, cause(call, err)))
	}
	outcome, ok := outcomeOf(resp.Outcome)
	if !ok {
		e := g.callError(op, fmt.Errorf("unknown outcome %q, reason %q", resp.Outcome, resp.Reason))
		return engine.DeleteResponse{}, &e
	}
	return engine.DeleteResponse{Outcome: outcome, Reason: resp.Reason}, nil
}

func outcomeOf(o s3_lifecycle_pb.LifecycleDeleteOutcome) (engine.Outcome, bool) {
	switch o {
	case s3_lifecycle_pb.LifecycleDeleteOutcome_DONE:
		return engine.Done, true
	case s3_lifecycle_pb.LifecycleDeleteOutcome_NOOP_RESOLVED:
		return engine.NoopResolved, true
	case s3_lifecycle_pb.LifecycleDeleteOutcome_SKIPPED_OBJECT_LOCK:
		return engine.SkippedObjectLock, true
	case s3_lifecycle_pb.LifecycleDeleteOutcome_RETRY_LATER:
		return engine.RetryLater, true
	case s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED:
		return engine.Blocked, true
	}
	return "", false
}
