package pass_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// hazards are what a history may contain beside puts, deletes and passes.
type hazards struct {
	tags, odd, locks, failures, kills, subsets, trim, hand, builtin, late, skew, edits, versions, suspended, uploads bool
	midnight, minutes, reconcile                                                                                     bool
}

func drawHazards(t *rapid.T) hazards {
	b := func(name string) bool { return rapid.IntRange(0, 2).Draw(t, name) == 0 }
	return hazards{
		tags: b("tags"), odd: b("odd"), locks: b("locks"), failures: b("failures"), kills: b("kills"), subsets: b("subsets"),
		trim: b("trim"), hand: b("hand"), builtin: b("builtin"), late: b("late"), skew: b("skew"), edits: b("edits"),
		versions: b("versions"), suspended: b("suspended"), uploads: b("uploads"), midnight: b("midnight"), minutes: b("minutes"),
		reconcile: b("reconcile"),
	}
}

// history is one random history under way.
type history struct {
	*rapid.T
	*world
	h    hazards
	keys []string
	// gatewaySkew stays: version ids order by the gateway's clock, and one that
	// is set back hides its own markers.
	gatewaySkew time.Duration
	mu          sync.Mutex
	failed      error // found by a hook
	calls       map[string]int
	killed      bool
}

var expiryDays = []int{1, 2, 5, 10}

func (h *history) Helper() {}

func (h *history) randomRules(bucket string, versioned bool) []string {
	n := rapid.IntRange(1, 2).Draw(h.T, "rules")
	var rules []string
	for i := range n {
		days := rapid.SampledFrom(expiryDays).Draw(h.T, "days")
		filter := rapid.SampledFrom([]string{"<Prefix></Prefix>", "<Prefix>a/</Prefix>", "<Prefix>a</Prefix>", "<ObjectSizeGreaterThan>10</ObjectSizeGreaterThan>", tagFilter("t", "1")}).Draw(h.T, "filter")
		if !h.h.tags && strings.HasPrefix(filter, "<Tag>") {
			filter = "<Prefix></Prefix>"
		}
		var actions string
		switch kind := rapid.IntRange(0, 5).Draw(h.T, "kind"); {
		case versioned && kind <= 2:
			actions = noncurrentAfter(days, rapid.IntRange(0, 2).Draw(h.T, "keep"))
			if i == 1 {
				actions += expireAfter(rapid.SampledFrom(expiryDays).Draw(h.T, "expire"))
			}
		case h.h.uploads && kind == 3 && strings.HasPrefix(filter, "<Prefix"):
			actions = abortAfter(days)
		default:
			actions = expireAfter(days)
		}
		rules = append(rules, rule(filter, actions))
	}
	return rules
}

// Whatever happens to a cluster, a pass that ends ok leaves nothing that was
// due, nothing goes early, and an undisturbed pass spends one call an object.
// Each batch is 100 histories, or as many as -rapid.checks says.
func TestSimulation(t *testing.T) {
	for batch := range 10 {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			simulate(t)
		})
	}
}

func simulate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hz := drawHazards(rt)
		h := &history{T: rt, h: hz, keys: []string{"a/1", "a/2", "b", "a", "c/d/e"}, calls: map[string]int{}}
		cfg := memcluster.Config{}
		if hz.late {
			cfg.Late = func(ev *engine.Event) time.Duration { return time.Duration(ev.TsNs % int64(280*time.Second)) }
		}
		h.world = newWorld(rt, cfg)
		h.opts.MidnightClock = hz.midnight
		if hz.reconcile {
			h.opts.ReconcileInterval = 7 * day
		}
		h.opts.Concurrency = rapid.IntRange(1, 3).Draw(rt, "concurrency")
		if rapid.Bool().Draw(rt, "saves on the way") {
			h.opts.SaveInterval = 50 * time.Microsecond
		}
		if hz.skew {
			h.gatewaySkew = skew(rt, "gateway")
			h.c.SetSkews(0, h.gatewaySkew, 0)
		}
		h.c.SetHook(h.hook)
		h.bucket("plain", engine.Unversioned, false, h.randomRules("plain", false)...)
		if hz.versions {
			state := engine.Enabled
			if hz.suspended {
				state = engine.Suspended
			}
			h.bucket("versioned", engine.Enabled, hz.locks, h.randomRules("versioned", true)...)
			if hz.suspended && !hz.locks {
				h.must(h.c.SetVersioning("versioned", state))
			}
		}
		steps := rapid.IntRange(5, 60).Draw(rt, "steps")
		for range steps {
			h.step()
			if h.failed != nil {
				rt.Fatalf("%v", h.failed)
			}
		}
	})
}

// hook checks every delete before it is carried out.
func (h *history) hook(c memcluster.Call) error {
	if c.Op == memcluster.OpDelete && !c.Done {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err := h.early(c.Delete); err != nil && h.failed == nil {
			h.failed = err
		}
		h.calls[fmt.Sprintf("%s/%s@%s %v %+v", c.Delete.Bucket, c.Delete.Path, c.Delete.VersionID, c.Delete.Kind, c.Delete.Identity)]++
	}
	return nil
}

func skew(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.IntRange(-45, 45).Draw(t, name)) * time.Minute
}

func (h *history) pickBucket() (string, bool) {
	if h.h.versions && rapid.Bool().Draw(h.T, "versioned") {
		return "versioned", true
	}
	return "plain", false
}

// step advances time and does one thing.
func (h *history) step() {
	if h.h.skew && rapid.IntRange(0, 4).Draw(h.T, "new skew") == 0 {
		h.c.SetSkews(0, h.gatewaySkew, skew(h.T, "host"))
	}
	if h.h.minutes && rapid.Bool().Draw(h.T, "soon") {
		h.c.Advance(time.Duration(rapid.IntRange(1, 90).Draw(h.T, "minutes")) * time.Minute)
	} else {
		h.c.Advance(time.Duration(rapid.IntRange(1, 30*60).Draw(h.T, "ahead")) * time.Minute)
	}
	if rapid.IntRange(0, 2).Draw(h.T, "pass?") == 0 {
		h.onePass()
		return
	}
	bucket, versioned := h.pickBucket()
	key := rapid.SampledFrom(h.keys).Draw(h.T, "key")
	switch op := rapid.IntRange(0, 11).Draw(h.T, "op"); {
	case op <= 3:
		o := memcluster.Object{Size: int64(rapid.IntRange(0, 20).Draw(h.T, "size"))}
		if h.h.tags && rapid.Bool().Draw(h.T, "tagged") {
			o.Tags = map[string]string{"t": "1"}
		}
		if h.h.odd && rapid.IntRange(0, 2).Draw(h.T, "odd?") == 0 {
			o.Mtime = h.oddTime()
		}
		if h.h.locks && versioned && rapid.IntRange(0, 2).Draw(h.T, "lock?") == 0 {
			o.Mode, o.RetainUntil = "GOVERNANCE", h.c.Time().Add(time.Duration(rapid.IntRange(-2, 20*24).Draw(h.T, "retain"))*hour)
		}
		_, err := h.c.PutObject(bucket, key, o)
		h.allowed(err)
	case op == 4:
		_, err := h.c.DeleteObject(bucket, key)
		h.allowed(err)
	case op == 5 && h.h.tags:
		tags := map[string]string{"t": rapid.SampledFrom([]string{"1", "2"}).Draw(h.T, "tag")}
		h.allowed(h.c.SetTags(bucket, key, h.anyVersion(bucket, key), tags))
	case op == 6 && h.h.odd:
		h.allowed(h.c.Touch(bucket, h.anyPath(bucket, key), h.oddTime()))
	case op == 7 && h.h.edits:
		h.setRules(bucket, h.randomRules(bucket, versioned)...)
		if rapid.IntRange(0, 3).Draw(h.T, "no rules") == 0 {
			h.setRules(bucket)
		}
	case op == 8 && versioned:
		if id := h.anyVersion(bucket, key); id != "" {
			h.allowed(h.c.DeleteVersion(bucket, key, id))
		}
	case op == 9 && h.h.locks && versioned:
		id := h.anyVersion(bucket, key)
		if rapid.Bool().Draw(h.T, "hold") {
			h.allowed(h.c.SetLegalHold(bucket, key, id, rapid.Bool().Draw(h.T, "on")))
		} else {
			h.allowed(h.c.SetRetention(bucket, key, id, "GOVERNANCE", h.c.Time().Add(time.Duration(rapid.IntRange(-2, 20*24).Draw(h.T, "retain"))*hour)))
		}
	case op == 10 && h.h.uploads:
		id, err := h.c.CreateUpload(bucket, key, memcluster.Object{})
		h.allowed(err)
		if err == nil && rapid.IntRange(0, 2).Draw(h.T, "complete") == 0 {
			h.must(h.c.UploadPart(bucket, id, 1, 5))
			_, err := h.c.CompleteUpload(bucket, id, false)
			h.allowed(err)
		}
	case op == 11 && h.h.odd && !versioned:
		h.allowed(h.c.Rename(bucket, key, rapid.SampledFrom(h.keys).Draw(h.T, "to")))
	}
}

// allowed passes over what a server may refuse: a missing object, a lock, a
// folder in the way.
func (h *history) allowed(err error) {
	if err != nil {
		h.Logf("refused: %v", err)
	}
}

// oddTime is a clock far from the event that sets it. The built-in worker's cold
// start passes over what has a clock in the future, and its cursor does not
// tell: then only reconciliation finds it.
func (h *history) oddTime() time.Time {
	latest := 3 * 24 * time.Hour
	if h.h.builtin {
		latest = engine.Slack()
	}
	return h.c.Time().Add(time.Duration(rapid.IntRange(-14*24*60, int(latest/time.Minute)).Draw(h.T, "mtime")) * time.Minute)
}

func (h *history) anyVersion(bucket, key string) string {
	if bucket != "versioned" {
		return ""
	}
	ids := []string{}
	for _, o := range h.live(h.bucketOf(bucket)) {
		if o.Key == key && o.VersionID != "" {
			ids = append(ids, o.VersionID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return rapid.SampledFrom(ids).Draw(h.T, "version")
}

func (h *history) anyPath(bucket, key string) string {
	if id := h.anyVersion(bucket, key); id != "" && id != "null" {
		return key + ".versions/v_" + id
	}
	return key
}

func (h *history) bucketOf(name string) engine.Bucket {
	buckets := h.c.Stored()
	return buckets[slices.IndexFunc(buckets, func(b engine.Bucket) bool { return b.Name == name })]
}

// onePass runs a pass, perhaps a disturbed one, and checks what it left.
func (h *history) onePass() {
	saved := h.opts
	defer func() { h.opts = saved }()
	disturbed := h.disturb()
	if h.h.subsets && rapid.IntRange(0, 3).Draw(h.T, "subset") == 0 {
		h.opts.Shards = []int{0, 1, 2, 3, 4, 5, 6, 7}
		if rapid.Bool().Draw(h.T, "upper") {
			h.opts.Shards = []int{8, 9, 10, 11, 12, 13, 14, 15}
		}
	}
	clear(h.calls)
	before, goesOn := h.cursors(), walkPoints(h.world) > 0
	rep := h.pass()
	h.Logf("pass at %v, shards %v: %s\n  before %s\n  after %s", rep.Now, len(h.opts.Shards), rep.Status, before, h.cursors())
	h.ctx = nil
	h.c.SetHook(h.hook)
	h.c.ClearFaults()
	if h.failed != nil {
		h.T.Fatalf("%v", h.failed)
	}
	if !disturbed {
		for what, n := range h.calls {
			if n > 1 {
				h.T.Fatalf("%d calls in one pass for %s", n, what)
			}
		}
		// A host far behind finds positions in its future; a walk that went on may
		// find that the next one is due.
		if rep.Status != pass.OK && !(h.h.skew && rep.Corrupt) && !(goesOn && rep.Status == pass.CutShort) && !h.lateUnlock(rep) {
			h.T.Fatalf("undisturbed pass at %v ended %q: %+v", rep.Now, rep.Status, rep.Errors)
		}
	}
	if rep.Status == pass.OK {
		if left := h.left(rep.Now, h.opts.Shards); len(left) > 0 {
			h.T.Fatalf("pass at %v left %s", rep.Now, strings.Join(left, "; "))
		}
	}
}

// lateUnlock reports whether all that went wrong is that the clock of the gateway
// is behind the end of a retention that is over by the filer's.
func (h *history) lateUnlock(rep *pass.Report) bool {
	return h.gatewaySkew < 0 && rep.Status == pass.Partial && !slices.ContainsFunc(rep.Errors, func(p pass.Problem) bool {
		return !strings.HasSuffix(p.Message, "object is locked")
	})
}

// cursors describes the positions of the shards with anything special.
func (h *history) cursors() string {
	out := ""
	for _, sh := range allShards {
		if sh != debugShard && debugShard >= 0 {
			continue
		}
		cur, ok := h.store.Cursor(sh)
		if !ok {
			continue
		}
		side, _ := h.store.Side(sh)
		out += fmt.Sprintf("shard %d: ts %v, belongs to %v, arrivals %v, groups", sh, time.Unix(0, cur.TsNs).UTC(), time.Unix(0, side.TsNs).UTC(), time.Unix(0, side.ArrivalsNs).UTC())
		for d, ns := range side.Groups {
			out += fmt.Sprintf(" %v: %v", d, time.Unix(0, ns).UTC())
		}
		for b, m := range side.Buckets {
			out += fmt.Sprintf(" [%s %.4s walk_at", b, m.Rules)
			for _, ns := range m.WalkAtNs {
				out += " " + time.Unix(0, ns).UTC().Format("02T15:04:05")
			}
			out += "]"
		}
	}
	return out
}

// debugShard is the shard whose state is logged beside the draws of a failing
// history; -1 is all.
const debugShard = 10

// disturb prepares what goes wrong around the next pass.
func (h *history) disturb() (disturbed bool) {
	rare := func(on bool, name string) bool { return on && rapid.IntRange(0, 3).Draw(h.T, name) == 0 }
	if rare(h.h.builtin, "built-in") {
		h.builtinPass()
		h.c.Advance(time.Duration(rapid.IntRange(1, 600).Draw(h.T, "after built-in")) * time.Minute)
	}
	if rare(h.h.hand, "hand edit") {
		sh := rapid.IntRange(0, 15).Draw(h.T, "shard")
		if cur, ok := h.store.Cursor(sh); ok && cur.TsNs > 0 {
			cur.TsNs -= int64(time.Duration(rapid.IntRange(1, 5*24).Draw(h.T, "back")) * hour)
			h.store.PutCursor(sh, cur)
		}
	}
	if rare(h.h.trim, "trim") {
		h.c.Trim(h.c.Time().Add(-time.Duration(rapid.IntRange(1, 6*24).Draw(h.T, "kept")) * hour))
	}
	if rare(h.h.failures, "failures") {
		for _, b := range []string{"plain", "versioned"} {
			for _, k := range h.keys {
				switch rapid.IntRange(0, 5).Draw(h.T, "fault") {
				case 0:
					h.c.AnswerDeletes(b, k, memcluster.Answer{Outcome: engine.RetryLater, Reason: "busy"})
				case 1:
					h.c.AnswerDeletes(b, k, memcluster.Answer{Outcome: engine.Blocked, Reason: "stuck", Applied: true})
				case 2:
					h.c.FailLookups(b, k, 1)
				case 3:
					h.c.FailLists(b, k+".versions", 1)
				}
			}
		}
		disturbed = true
	}
	if rare(h.h.kills, "kill") {
		kill := memcluster.KillAfter(rapid.IntRange(5, 250).Draw(h.T, "calls"), &h.killed)
		h.c.SetHook(func(c memcluster.Call) error {
			err := h.hook(c)
			h.mu.Lock()
			defer h.mu.Unlock()
			return errors.Join(err, kill(c))
		})
		disturbed = true
	}
	if rare(h.h.kills, "interrupt") {
		h.interruptAfter(rapid.IntRange(20, 300).Draw(h.T, "calls"), h.hook)
		disturbed = true
	}
	if rare(h.h.kills, "budget") {
		h.opts.PageSize = rapid.IntRange(1, 3).Draw(h.T, "page size")
		h.opts.Events = int64(rapid.IntRange(1, 20).Draw(h.T, "events"))
		disturbed = true
	}
	return disturbed
}

// builtinPass is a pass of the built-in kind, as far as it concerns the
// cursors: one position in the log, frozen at the first event that something
// waits for, no side file, recovery by the hash of all rules. It overlooks
// nothing that ours sees: what the real one overlooks before ours first runs,
// only reconciliation can find.
func (h *history) builtinPass() {
	h.c.SetHook(nil)
	defer h.c.SetHook(h.hook)
	ctx := context.Background()
	snap, buckets := h.snapshot()
	now := h.c.FilerTime()
	rsh, ttl := engine.ReplayContentHash(snap), engine.MaxEffectiveTTL(snap)
	promoted := engine.PromotedHash(snap, ttl)
	byName := map[string]engine.Bucket{}
	for _, b := range buckets {
		byName[b.Name] = b
	}
	recover := map[int]bool{}
	start := map[int]int64{}
	for _, sh := range allShards {
		cur, ok := h.store.Cursor(sh)
		recover[sh] = rsh.IsZero() || !ok || cur.RuleSetHash != rsh || cur.PromotedHash != promoted
		start[sh] = cur.TsNs
		if recover[sh] {
			start[sh] = now.Add(-ttl).UnixNano()
		}
	}
	remove := func(b engine.Bucket, o *engine.Object) {
		a, _, fires := engine.FirstDue(snap.Matching(b.Name, o.Key), o, now, engine.ExactClock)
		if !fires || o.Identity() == nil {
			return
		}
		_, err := h.c.Delete(ctx, engine.DeleteRequest{Bucket: b.Name, Path: o.Path, VersionID: o.RequestVersion(a.Kind), RuleHash: a.Hash, Kind: a.Kind, Identity: *o.Identity()})
		h.must(err)
	}
	for _, b := range buckets {
		for _, o := range h.live(b) {
			if recover[engine.ShardOf(b.Name, o.Path)] {
				remove(b, &o.Object)
			}
		}
	}
	frozen := map[int]bool{}
	last := map[int]int64{}
	for _, ev := range h.c.Events() {
		sh := engine.ShardOf(ev.Bucket, ev.Path)
		b, known := byName[ev.Bucket]
		if !known || ev.TsNs <= start[sh] || ev.TsNs > now.UnixNano() || frozen[sh] || recover[sh] {
			continue
		}
		for _, o := range h.live(b) {
			if !slices.Contains(o.paths, ev.Path) {
				continue
			}
			for _, a := range snap.Matching(ev.Bucket, o.Key) {
				if v := engine.Judge(a, &o.Object, now, engine.ExactClock); v.Matches && !v.Fires && a.IsReplayKind() {
					frozen[sh] = true
				}
			}
			if !frozen[sh] {
				remove(b, &o.Object)
			}
		}
		if frozen[sh] {
			continue
		}
		last[sh] = ev.TsNs
	}
	for _, sh := range allShards {
		cur, _ := h.store.Cursor(sh)
		cur.RuleSetHash, cur.PromotedHash = rsh, promoted
		cur.TsNs = max(start[sh], last[sh])
		if rsh.IsZero() {
			cur.TsNs = 0
		}
		h.store.PutCursor(sh, cur)
	}
}
