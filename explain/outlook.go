package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
)

// Schedule is where the shards stand, and what decides when they are walked.
type Schedule struct {
	// Shards are the states as loaded, of the shards that are run.
	Shards map[int]engine.ShardState
	// Damaged says of a shard why its cursor cannot be read.
	Damaged map[int]string
	// RuleSetHash and PromotedHash are today's, of all rules of the cluster.
	RuleSetHash, PromotedHash engine.Hash
	// WalkerInterval is the least time between two walks of walk-bound rules, 0
	// is every pass; ReconcileInterval how often each bucket is walked over all
	// its rules, 0 is never.
	WalkerInterval, ReconcileInterval time.Duration
	// HorizonNs is the start of the meta-log; 0 is not known.
	HorizonNs int64
}

// Handling says who deals with a version, and in which pass.
type Handling struct {
	// By is "replay" or "walk"; empty for nobody.
	By string `json:"by"`
	// Shard is the shard whose cursor decides; -1 is none in particular.
	Shard int `json:"shard"`
	// NextPass is set when the next pass does it, at the clock of the
	// explanation. Else it is the first pass after After, if that is set.
	NextPass bool       `json:"next_pass"`
	After    *time.Time `json:"after"`
	// Blocked is set when the shard stands in front of something that failed.
	Blocked bool `json:"blocked"`
	// Action and RuleID are those of the delete that it sends: others than those
	// of the verdict where the part of the rules that is served first has others.
	Action string `json:"action"`
	RuleID string `json:"rule_id"`
	Words  string `json:"words"`
}

// outlook foresees who deals with the versions of one key. It follows what a
// pass plans from the same cursors.
type outlook struct {
	in     *KeyInput
	s      *Schedule
	served service
	// shards are those that an event of the key can have, ascending.
	shards []int
}

// newOutlook needs a schedule.
func newOutlook(in *KeyInput, served service, g engine.Group) *outlook {
	set := map[int]bool{}
	for _, p := range groupPaths(in.Bucket, g) {
		set[engine.ShardOf(in.Bucket.Name, p)] = true
	}
	return &outlook{in: in, s: in.Schedule, served: served, shards: slices.Sorted(maps.Keys(set))}
}

// versionFolder and versionFile make the path of a version file out of a key and
// a version ID.
const (
	versionFolder = ".versions"
	versionFile   = versionFolder + "/v_"
)

// entryPath is where an object's own entry lies, as its events are logged.
func entryPath(o *engine.Object) string {
	switch {
	case o.UploadID != "":
		return o.Path
	case o.VersionID == "" || o.VersionID == nullVersion && !o.DeleteMarker:
		return strings.TrimSuffix(o.Key, "/")
	}
	return o.Key + versionFile + o.VersionID
}

// groupPaths are the paths that an event of a key, or of one upload, can have.
func groupPaths(b engine.Bucket, g engine.Group) []string {
	var paths []string
	for i := range g.Objects {
		o := &g.Objects[i]
		paths = append(paths, entryPath(o))
		switch {
		case o.UploadID != "":
			paths = append(paths, o.Key)
		case b.Versioned():
			paths = append(paths, strings.TrimSuffix(o.Key, "/"), o.Key+versionFolder)
		}
	}
	return paths
}

// logged is an event that the log is known to have: the last one of an entry.
type logged struct {
	shard int
	ns    int64
}

// lastEvents are the last events of a key's versions. Any of them has a pass look
// at the whole key.
func lastEvents(g engine.Group) []logged {
	var events []logged
	for i := range g.Objects {
		if o := &g.Objects[i]; o.CommitNs > 0 {
			events = append(events, logged{ShardOf(o), o.CommitNs})
		}
	}
	return events
}

// clockShard is the shard of the event that set the clock of a verdict.
func clockShard(g engine.Group, i int, v engine.Verdict) int {
	if v.ClockFrom == engine.FromSuccessor && i > 0 {
		i--
	}
	return ShardOf(&g.Objects[i])
}

// handle says who carries out a matching action, and when. goes is when it can
// be carried out.
func (k *outlook) handle(a *engine.Action, g engine.Group, i int, v engine.Verdict, goes time.Time) Handling {
	if len(k.running()) == 0 {
		return k.nobody()
	}
	replay := k.served.by(a) == Replay
	if goes.After(k.in.Now) {
		switch {
		case !replay:
			return k.boundLater(goes)
		case goes.After(v.Due):
			return retentionEnds(goes)
		}
		return k.replayLater(a, g, i, v)
	}
	if h, ok := k.owed(&g.Objects[i]); ok {
		return h
	}
	if h, ok := k.walkNext(); ok {
		return h
	}
	if !replay {
		return k.boundNow()
	}
	return k.replayNow(g, i, v)
}

// retentionEnds is for a version that is due and locked: a walk is put down for
// the end of its retention.
func retentionEnds(goes time.Time) Handling {
	return Handling{By: Walk, Shard: -1, After: moment(goes),
		Words: "walk, in the first pass after " + stamp(goes) + ", when its retention ends"}
}

// running are the key's shards that the next pass runs.
func (k *outlook) running() []int {
	var ids []int
	for _, sh := range k.shards {
		if _, ok := k.s.Shards[sh]; ok {
			ids = append(ids, sh)
		}
	}
	return ids
}

// nobody is for a key whose shards are all left out.
func (k *outlook) nobody() Handling {
	h := Handling{Shard: -1, Words: "nobody: no state of its shards is known"}
	for _, sh := range k.shards {
		if why, damaged := k.s.Damaged[sh]; damaged {
			h.Shard = sh
			h.Words = fmt.Sprintf("nobody: the cursor of shard %d is damaged (%s), a pass leaves the shard out", sh, why)
			break
		}
	}
	return h
}

// owed is for a key that failed in a walk: all of it is looked at again.
func (k *outlook) owed(o *engine.Object) (Handling, bool) {
	for _, sh := range k.running() {
		for _, f := range k.s.Shards[sh].Side.Failed {
			if f.Bucket != o.Bucket || f.Key != o.Path {
				continue
			}
			what := "it"
			if f.VersionID != o.VersionID {
				what = "its key"
			}
			return Handling{By: Walk, Shard: sh, NextPass: true,
				Words: fmt.Sprintf("walk, first thing in the next pass: %s failed since %s (%s)", what, stampNs(f.SinceNs), failure(f))}, true
		}
	}
	return Handling{}, false
}

// walkNext is for a bucket that the next pass walks over all its rules.
func (k *outlook) walkNext() (Handling, bool) {
	for _, sh := range k.running() {
		if why := k.fullWalk(sh); why != "" {
			return Handling{By: Walk, Shard: sh, NextPass: true,
				Words: "walk, in the next pass, which walks the bucket over all its rules: " + why}, true
		}
	}
	return Handling{}, false
}

// boundNow is for a walk-bound action that is due.
func (k *outlook) boundNow() Handling {
	at, sh := k.nextBound()
	if !at.After(k.in.Now) {
		return Handling{By: Walk, Shard: sh, NextPass: true, Words: "walk, in the next pass"}
	}
	return Handling{By: Walk, Shard: sh, After: moment(at),
		Words: fmt.Sprintf("walk, in the first pass after %s: what only a walk finds is walked at most once in %s", stamp(at), Duration(k.s.WalkerInterval))}
}

// boundLater is for a walk-bound action that is not due yet.
func (k *outlook) boundLater(goes time.Time) Handling {
	h := Handling{By: Walk, Shard: -1, After: moment(goes), Words: "walk, in the first pass after " + stamp(goes)}
	if k.s.WalkerInterval > 0 {
		h.Words += ", or up to " + Duration(k.s.WalkerInterval) + " later: what only a walk finds is walked at most once in that time"
	}
	return h
}

// nextBound is the earliest time of the next walk of walk-bound rules, and its
// shard.
func (k *outlook) nextBound() (time.Time, int) {
	var next time.Time
	shard := -1
	for _, sh := range k.running() {
		at := k.in.Now
		if last := k.s.Shards[sh].Cursor.LastWalkedNs; last != 0 {
			at = time.Unix(0, last).Add(k.s.WalkerInterval)
		}
		if shard < 0 || at.Before(next) {
			next, shard = at, sh
		}
	}
	return next, shard
}

// replayNow is for a replay action that is due, where the next pass does not
// walk the bucket.
func (k *outlook) replayNow(g engine.Group, i int, v engine.Verdict) Handling {
	o := &g.Objects[i]
	events := lastEvents(g)
	delays := k.delaysFor(o.Key)
	sh := clockShard(g, i, v)
	for _, d := range delays {
		if k.ahead(sh, d, v.Clock) && !v.Clock.Add(d).After(k.in.Now) {
			events = append(events, logged{sh, v.Clock.UnixNano()})
			break
		}
	}
	var blocked *Handling
	for _, ev := range events {
		st, ok := k.s.Shards[ev.shard]
		if !ok || !k.inWindow(&st, delays, ev.ns) {
			continue
		}
		if h, is := k.blocked(&st, ev, o); is {
			if blocked == nil {
				blocked = &h
			}
			continue
		}
		return Handling{By: Replay, Shard: ev.shard, NextPass: true,
			Words: fmt.Sprintf("replay, in the next pass: it is due, and its event lies in the window of shard %d", ev.shard)}
	}
	if blocked != nil {
		return *blocked
	}
	return k.passedOver("due since "+stamp(v.Due), k.in.Now)
}

// delaysFor are the delays of the replay actions that can match a key: an event
// in the window of any of them has the key looked at.
func (k *outlook) delaysFor(key string) []time.Duration {
	var delays []time.Duration
	for _, a := range k.served.active {
		if k.served.by(a) == Replay && strings.HasPrefix(key, a.Rule.Prefix) {
			delays = append(delays, a.Delay)
		}
	}
	return delays
}

// replayLater is for a replay action that is not due yet.
func (k *outlook) replayLater(a *engine.Action, g engine.Group, i int, v engine.Verdict) Handling {
	h := Handling{By: Replay, Shard: clockShard(g, i, v), After: moment(v.Due),
		Words: "replay, in the first pass after " + stamp(v.Due)}
	if at, ok := k.listed(v.Due); ok {
		return Handling{By: Walk, Shard: -1, After: moment(at),
			Words: "walk, in the first pass after " + stamp(at) + ": the bucket is down for a walk then"}
	}
	if _, walks := k.walkNext(); walks {
		return h // the walk sets the positions back to where its event is ahead
	}
	st, runs := k.s.Shards[h.Shard]
	if runs && k.ahead(h.Shard, a.Delay, v.Clock) {
		if st.Side.Blocked != nil && time.Unix(0, st.Side.Blocked.TsNs).Before(v.Clock) {
			h.Blocked = true
			h.Words += ", once the shard is past what blocks it: " + standsBefore(&st)
		}
		return h
	}
	for _, ev := range lastEvents(g) {
		st, ok := k.s.Shards[ev.shard]
		if !ok || k.position(&st, a.Delay) >= ev.ns+int64(logLag) {
			continue
		}
		at := time.Unix(0, ev.ns).Add(a.Delay - engine.Slack())
		if at.Before(v.Due) {
			at = v.Due
		}
		return Handling{By: Replay, Shard: ev.shard, After: moment(at), Words: "replay, in the first pass after " + stamp(at)}
	}
	return k.passedOver("due "+stamp(v.Due), v.Due)
}

// passedOver is for a version that no event and no list leads to.
func (k *outlook) passedOver(due string, from time.Time) Handling {
	h := Handling{By: Walk, Shard: -1}
	at, sh := k.reconciliation(from)
	if at.IsZero() {
		h.Words = due + ", but its event was passed over: only a walk of the bucket finds it"
		return h
	}
	h.Shard, h.After = sh, moment(at)
	h.Words = fmt.Sprintf("%s, but its event was passed over: the reconciliation in the first pass after %s finds it, or a walk of the bucket before that", due, stamp(at))
	return h
}

// blocked is for an event behind the failure that a shard stands in front of.
func (k *outlook) blocked(st *engine.ShardState, ev logged, o *engine.Object) (Handling, bool) {
	f := st.Side.Blocked
	if f == nil {
		return Handling{}, false
	}
	h := Handling{By: Replay, Shard: ev.shard, NextPass: true, Blocked: true}
	if f.Bucket == o.Bucket && f.Key == o.Path && (f.VersionID == "" || f.VersionID == o.VersionID) {
		h.Words = fmt.Sprintf("blocked: shard %d stands in front of it since %s (%s, %s); the next pass tries again",
			ev.shard, stampNs(f.SinceNs), failure(*f), counted(int64(f.Attempts), "attempt"))
		return h, true
	}
	if f.TsNs > ev.ns {
		return Handling{}, false
	}
	h.NextPass = false
	h.Words = "blocked: " + standsBefore(st) + ", and its event comes after that; a walk goes around it"
	return h, true
}

// standsBefore says what blocks a shard.
func standsBefore(st *engine.ShardState) string {
	f := st.Side.Blocked
	return fmt.Sprintf("shard %d stands in front of %s in bucket %s since %s (%s, %s)",
		st.Shard, quote(f.Key), quote(f.Bucket), stampNs(f.SinceNs), failure(*f), counted(int64(f.Attempts), "attempt"))
}

func failure(f engine.Failure) string {
	if f.Reason == "" {
		return f.Outcome
	}
	return f.Outcome + ": " + f.Reason
}

func stampNs(ns int64) string { return stamp(time.Unix(0, ns)) }
