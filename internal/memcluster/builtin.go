package memcluster

import (
	"math"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// Builtin is a model of SeaweedFS's own lifecycle worker, as far as it changes
// a cluster that weedlc shares with it: one position per shard, frozen in front
// of the first event that is not due; events judged by the entry that they
// carry; a walk instead of a replay when the hashes of its cursor differ; a
// cursor and no side file. It always counts days exactly.
type Builtin struct {
	Cluster *Cluster
	Store   *Store
	Shards  []int
	// Retention is how far back it takes the log to reach; 0 is the longest
	// delay.
	Retention time.Duration
}

// Pass makes one pass at the host's time.
func (w Builtin) Pass() {
	p := builtinPass{
		Builtin: w, c: w.Cluster, now: w.Cluster.HostTime(),
		oracle: Oracle{Cluster: w.Cluster, AllowUnfiltered: true},
	}
	p.rules = p.oracle.Rules()
	p.longest = engine.MaxEffectiveTTL(p.rules)
	if p.Retention == 0 {
		p.Retention = p.longest
	}
	p.replay, p.walk = p.rules.RulesForShard(0, p.Retention)
	p.cursor.RuleSetHash = engine.ReplayContentHash(p.rules)
	p.cursor.PromotedHash = engine.PromotedHash(p.rules, p.Retention)
	for _, sh := range w.Shards {
		w.Store.PutCursor(sh, p.shard(sh))
	}
}

type builtinPass struct {
	Builtin
	c                   *Cluster
	now                 time.Time
	oracle              Oracle
	rules, replay, walk *engine.Snapshot
	longest             time.Duration
	// cursor has the hashes of today.
	cursor engine.Cursor
}

// shard works through one shard and returns its new cursor.
func (p *builtinPass) shard(sh int) engine.Cursor {
	was, found := p.Store.Cursor(sh)
	next := p.cursor
	next.LastWalkedNs = p.now.UnixNano()
	changed := found && (was.RuleSetHash != next.RuleSetHash || was.PromotedHash != next.PromotedHash)
	switch {
	case next.RuleSetHash.IsZero():
		p.walkShard(sh, p.walk)
		return next
	case changed:
		p.walkShard(sh, engine.RecoveryView(p.rules))
		next.TsNs = p.now.Add(-p.longest).UnixNano()
		return next
	case !found:
		p.walkShard(sh, engine.RecoveryView(p.rules))
		was.TsNs = p.now.Add(-p.longest).UnixNano()
	default:
		p.walkShard(sh, p.walk)
	}
	next.TsNs = p.drain(sh, was.TsNs)
	return next
}

// walkShard sends what is due and lies in a shard.
func (p *builtinPass) walkShard(sh int, view *engine.Snapshot) {
	for _, bucket := range view.Buckets() {
		for _, l := range p.oracle.Live(bucket) {
			at := l.Path
			if l.UploadID != "" {
				at = l.Key
			}
			if engine.ShardOf(bucket, at) != sh {
				continue
			}
			if a, _, fires := engine.FirstDue(view.Matching(bucket, l.Key), &l.Object, p.now, engine.ExactClock); fires {
				p.send(a, &l.Object, l.RequestVersion(a.Kind))
			}
		}
	}
}

// drain replays a shard's events from a position on and returns the new one.
func (p *builtinPass) drain(sh int, position int64) int64 {
	p.c.mu.Lock()
	events := p.c.log.read(engine.LogRange{AfterNs: position, UntilNs: p.now.UnixNano()}, p.c.filerNow().UnixNano())
	p.c.mu.Unlock()
	frozen := false
	for i := range events {
		ev := &events[i]
		if engine.ShardOf(ev.Bucket, ev.Path) != sh {
			continue
		}
		waits := false
		for _, m := range p.route(ev) {
			if m.due.After(p.now) {
				waits = true
			} else if !p.send(m.action, &m.object, m.version).Settled() {
				return position
			}
		}
		frozen = frozen || waits
		if !frozen {
			position = ev.TsNs
		}
	}
	return position
}

// builtinMatch is an action that an event makes due at a time, perhaps a past
// one.
type builtinMatch struct {
	action  *engine.Action
	object  engine.Object
	version string
	due     time.Time
}

// route finds the matches of an event.
func (p *builtinPass) route(ev *engine.Event) []builtinMatch {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	b := p.c.buckets[ev.Bucket]
	if b == nil || ev.New == nil {
		return nil
	}
	versioned := b.info.Versioned()
	key, inContainer := strings.CutSuffix(ev.Path, s3_constants.VersionsFolder)
	if versioned && inContainer && ev.New.Nature.IsFolder() {
		return p.displaced(b, key, ev)
	}
	var o engine.Object
	folder, _ := split(ev.Path)
	switch upload, ok := engine.NewUpload(ev.Bucket, ev.New); {
	case ok && folder == s3_constants.MultipartUploadsFolder:
		o = upload
	case ev.New.Nature != engine.File:
		return nil
	case versioned && strings.HasSuffix(folder, s3_constants.VersionsFolder):
		if len(ev.New.Extended[s3_constants.ExtVersionIdKey]) == 0 {
			return nil
		}
		o = engine.NewObject(ev.Bucket, strings.TrimSuffix(folder, s3_constants.VersionsFolder), ev.New)
	default:
		o = engine.NewObject(ev.Bucket, ev.Path, ev.New)
	}
	return p.judge(&o, "")
}

// displaced finds the matches of the version that a pointer has left. Of a rule
// that keeps some versions every noncurrent one is looked at.
func (p *builtinPass) displaced(b *bucket, key string, ev *engine.Event) []builtinMatch {
	if ev.Old == nil {
		return nil
	}
	was := string(ev.Old.Extended[s3_constants.ExtLatestVersionIdKey])
	if was == string(ev.New.Extended[s3_constants.ExtLatestVersionIdKey]) {
		return nil
	}
	if was == "" {
		was = nullVersion
	}
	var out []builtinMatch
	for _, l := range b.versions(key) {
		if l.Latest {
			continue
		}
		if !l.DemotedAt.IsZero() {
			l.SuccessorAt = time.Time{}
		}
		for _, m := range p.judge(&l.Object, l.VersionID) {
			if l.VersionID == was || m.action.Rule.NewerNoncurrent > 0 {
				out = append(out, m)
			}
		}
	}
	return out
}

// judge lists the replay actions that match an object, due or not.
func (p *builtinPass) judge(o *engine.Object, version string) []builtinMatch {
	var out []builtinMatch
	for _, a := range p.replay.Matching(o.Bucket, o.Key) {
		if v := engine.Judge(a, o, time.Unix(0, math.MaxInt64), engine.ExactClock); v.Matches {
			out = append(out, builtinMatch{a, *o, version, v.Due})
		}
	}
	return out
}

func (p *builtinPass) send(a *engine.Action, o *engine.Object, version string) engine.Outcome {
	identity := o.Identity()
	if identity == nil {
		return engine.NoopResolved
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return p.c.lifecycleDelete(engine.DeleteRequest{
		Bucket: o.Bucket, Path: o.Path, VersionID: version, RuleHash: a.Hash, Kind: a.Kind, Identity: *identity,
	}).Outcome
}
