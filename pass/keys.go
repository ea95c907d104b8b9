package pass

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
)

func isNotFound(err error) bool { return errors.Is(err, engine.ErrNotFound) }

// keys reads what lies at a key, judges it and has the executor carry out what
// is due. Replay and walk share it.
type keys struct {
	filer Filer
	exec  carrier
	now   time.Time
	clock engine.DayClock
	pages int // entries of one listing call
	// leftover is told of an upload that shares its chunks with an object.
	leftover func(o *engine.Object)
	// ghosts is nil unless what was carried out is still there: in a preview.
	ghosts *ghosts
}

// carrier carries out verdicts: the executor, or the recorder in its place.
type carrier interface {
	// execute has one object deleted and says how that ended.
	execute(ctx context.Context, a *engine.Action, o *engine.Object, due time.Time) result
	// skipLocked counts an object that is due and not sent because its own entry
	// shows a lock.
	skipLocked(a *engine.Action, o *engine.Object, due time.Time)
	// counts are the delete calls and the ends of objects so far.
	counts() (calls int64, outcomes map[Outcome]int64)
	// err is the error that ends the pass, nil while there is none.
	err() error
}

// maxRereads is how often a key that changes under our hands is read again.
const maxRereads = 3

// nullVersion is the id of the version without an id of its own.
const nullVersion = "null"

// pending is a match that is not due yet.
type pending struct {
	delay time.Duration
	// clockNs is the time that the action counts from, due when it fires.
	clockNs, dueNs int64
	// retainNs is the end of the object's retention; 0 is none.
	retainNs int64
}

// settled is what came of one key.
type settled struct {
	pending []pending
	// lockEndsNs are the ends of retention of objects that are due and locked.
	lockEndsNs []int64
	failures   []engine.Failure
	// ending is set when something due was not sent because the pass ends.
	ending bool
	calls  int
	// missed is set when the gateway did not find what it was sent for.
	missed bool
}

// read returns everything that lies at a path as rules judge it: the object of
// a bucket without versions, all versions of a key, or an upload. With versions
// the path is the key: that of a folder marker ends in a slash. A key with
// nothing at it is an empty group.
func (k *keys) read(ctx context.Context, b engine.Bucket, path string) (engine.Group, error) {
	group := engine.Group{Bucket: b.Name, Key: path}
	if isUpload(path) {
		e, err := k.filer.Lookup(ctx, b.Name, path)
		if isNotFound(err) {
			return group, nil
		}
		if err != nil {
			return group, fmt.Errorf("look up %q: %w", path, err)
		}
		if o, ok := engine.NewUpload(b.Name, &e); ok {
			group.Objects = []engine.Object{o}
		}
		return group, nil
	}
	bare, err := k.lookup(ctx, b.Name, path)
	if err != nil {
		return group, err
	}
	if !b.Versioned() {
		if o, ok := single(b.Name, path, bare); ok {
			group.Objects = []engine.Object{o}
		}
		return group, nil
	}
	container, err := k.lookup(ctx, b.Name, versionsOf(path))
	if err != nil {
		return group, err
	}
	var files []engine.Entry
	if container != nil {
		if files, err = k.children(ctx, b.Name, versionsOf(path)); err != nil {
			return group, err
		}
	}
	return engine.NewGroup(b.Name, path, container, files, bare), nil
}

// single is the object of one entry in a bucket without versions.
func single(bucket, path string, e *engine.Entry) (engine.Object, bool) {
	if e == nil || e.Nature == engine.Folder {
		return engine.Object{}, false
	}
	return engine.NewObject(bucket, path, e), true
}

// versionsOf is the version folder of a key. A folder marker's lies inside the
// folder.
func versionsOf(key string) string { return key + versionsSuffix }

const versionsSuffix = ".versions"

// isUpload reports whether a path is that of an upload's folder.
func isUpload(path string) bool {
	id, ok := strings.CutPrefix(path, uploadsFolder+"/")
	return ok && id != "" && !strings.Contains(id, "/")
}

// lookup is nil when there is nothing.
func (k *keys) lookup(ctx context.Context, bucket, path string) (*engine.Entry, error) {
	e, err := k.filer.Lookup(ctx, bucket, path)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up %q: %w", path, err)
	}
	return &e, nil
}

// children lists a whole folder.
func (k *keys) children(ctx context.Context, bucket, folder string) ([]engine.Entry, error) {
	var all []engine.Entry
	page := Page{Bucket: bucket, Folder: folder, Limit: k.pages}
	for {
		entries, err := k.filer.List(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("list %q: %w", folder, err)
		}
		all = append(all, entries...)
		if len(entries) < page.Limit {
			return all, nil
		}
		page.After = entries[len(entries)-1].Name
	}
}

// settle judges a group newest first and has what is due carried out, one call
// an object. Versions are ranked again after each delete, so a version is
// never removed beyond what the rules allow for what is left. When the gateway
// answers that something changed, the key is read again.
func (k *keys) settle(ctx context.Context, b engine.Bucket, path string, g engine.Group, actions []*engine.Action) settled {
	var out settled
	sent := map[string]*engine.Identity{} // by version id: the entry that a call was made for
	k.ghosts.takeOut(&g, path, b.Versioning, k.now)
	for reread := 0; ; reread++ {
		changed := k.settleOnce(ctx, b, path, &g, actions, sent, &out)
		if !changed || reread == maxRereads {
			return out
		}
		fresh, err := k.read(ctx, b, path)
		if err != nil && ctx.Err() != nil {
			out.ending = true
			return out
		}
		if err != nil {
			out.failures = append(out.failures, lookupFailure(b.Name, path, err))
			return out
		}
		g, out.pending, out.lockEndsNs = fresh, nil, nil
	}
}

// settleOnce works through one reading of a key. It reports whether the key
// must be read again.
func (k *keys) settleOnce(ctx context.Context, b engine.Bucket, path string, g *engine.Group, actions []*engine.Action, sent map[string]*engine.Identity, out *settled) (changed bool) {
	removed := false
	for i := 0; ; {
		if i == len(g.Objects) {
			if !removed || i != 1 || !g.Objects[0].DeleteMarker {
				return false
			}
			removed, i = false, 0 // the delete marker is alone now: judge it again
		}
		o := &g.Objects[i]
		a, verdict, fires := engine.FirstDue(actions, o, k.now, k.clock)
		if !fires {
			out.pending = append(out.pending, k.pendings(actions, o)...)
			i++
			continue
		}
		if o.Lock.Locked(k.now) {
			if !k.ghosts.isKnown(b.Name, path, o) {
				k.exec.skipLocked(a, o, verdict.Due)
			}
			if o.Lock.RetainUntil.After(k.now) {
				out.lockEndsNs = append(out.lockEndsNs, nanos(o.Lock.RetainUntil))
			}
			i++
			continue
		}
		if o.UploadID != "" {
			left, err := k.isLeftover(ctx, b, o)
			if err != nil && ctx.Err() != nil {
				out.ending = true
				return false
			}
			if err != nil {
				out.failures = append(out.failures, failureOf(a, o, result{outcome: RetryLater, reason: err.Error()}, k.now))
				return false
			}
			if left {
				k.leftover(o)
				i++
				continue
			}
		}
		if o.DeleteMarker && o.VersionID == nullVersion {
			i++ // the gateway has no way to remove a null delete marker
			continue
		}
		identity := o.Identity()
		if was := sent[o.VersionID]; was != nil && identity != nil && was.Equal(*identity) {
			i++
			continue
		}
		sent[o.VersionID] = identity
		res := k.exec.execute(ctx, a, o, verdict.Due)
		switch {
		case res.unsent == unsentEnding:
			out.ending = true
			return false
		case res.unsent == unsentRuleGone:
			i++
		case res.failed():
			out.calls++
			out.failures = append(out.failures, failureOf(a, o, res, k.now))
			return false
		case res.outcome == NoopResolved && !isGone(res.reason):
			out.calls++
			out.missed = true
			return true
		case res.outcome == Done && b.Versioned() && currentExpiry(a.Kind):
			out.calls++
			k.ghosts.demoted(b.Name, path, o)
			version := o.VersionID
			g.Demote(k.now, b.Versioning)
			if i < len(g.Objects) && g.Objects[i].VersionID == version {
				i++ // kept behind its delete marker
			}
		default:
			out.calls++
			out.missed = out.missed || res.outcome == NoopResolved
			k.ghosts.removed(b.Name, path, o)
			g.Remove(i)
			removed = true
		}
	}
}

func currentExpiry(kind engine.Kind) bool {
	return kind == engine.ExpirationDays || kind == engine.ExpirationDate
}

// isGone tells a no-op for something that is not there from one for something
// that changed meanwhile.
func isGone(reason string) bool {
	return strings.HasPrefix(reason, "NOT_FOUND") || reason == "BUCKET_NOT_FOUND"
}

// pendings are the matches of an object that wait for their time.
func (k *keys) pendings(actions []*engine.Action, o *engine.Object) []pending {
	var waiting []pending
	for _, a := range actions {
		if !a.IsReplayKind() {
			continue
		}
		v := engine.Judge(a, o, k.now, k.clock)
		if !v.Matches || v.Fires || v.Due.IsZero() {
			continue
		}
		waiting = append(waiting, pending{
			delay: a.Delay, clockNs: nanos(v.Clock), dueNs: nanos(v.Due), retainNs: retainNs(o),
		})
	}
	return waiting
}

// nanos is a time in Unix nanoseconds; beyond their reach it is never.
func nanos(t time.Time) int64 {
	if t.Year() >= 2262 {
		return never
	}
	return t.UnixNano()
}

// never is later than anything that a list of times to walk at is kept for.
const never = math.MaxInt64

func retainNs(o *engine.Object) int64 {
	if o.Lock.RetainUntil.IsZero() {
		return 0
	}
	return nanos(o.Lock.RetainUntil)
}

// isLeftover reports whether an upload's folder was left behind by a completed
// upload: a live object or version of its target key then owns its chunks, and
// aborting would delete them.
func (k *keys) isLeftover(ctx context.Context, b engine.Bucket, o *engine.Object) (bool, error) {
	var owners []engine.Entry
	if bare, err := k.lookup(ctx, b.Name, o.Key); err != nil {
		return false, err
	} else if bare != nil {
		owners = append(owners, *bare)
	}
	versions, err := k.children(ctx, b.Name, versionsOf(o.Key))
	if err != nil {
		return false, err
	}
	owners = append(owners, versions...)
	owned := map[string]bool{}
	for i := range owners {
		if owners[i].UploadID() == o.UploadID {
			return true, nil
		}
		for _, c := range owners[i].Chunks {
			owned[c] = true
		}
	}
	if len(owned) == 0 {
		return false, nil
	}
	parts, err := k.children(ctx, b.Name, o.Path)
	if err != nil {
		return false, err
	}
	for i := range parts {
		if slices.ContainsFunc(parts[i].Chunks, func(c string) bool { return owned[c] }) {
			return true, nil
		}
	}
	return false, nil
}

func failureOf(a *engine.Action, o *engine.Object, r result, now time.Time) engine.Failure {
	return engine.Failure{
		Bucket: o.Bucket, Key: o.Path, VersionID: o.VersionID,
		Action: a.Kind.String(), RuleID: a.Rule.Label(), RuleHash: a.Hash.String(),
		Outcome: string(r.outcome), Reason: r.reason, SinceNs: now.UnixNano(), Attempts: 1,
	}
}

func lookupFailure(bucket, path string, err error) engine.Failure {
	return engine.Failure{Bucket: bucket, Key: path, Outcome: string(RetryLater), Reason: err.Error(), Attempts: 1}
}
