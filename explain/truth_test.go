package explain_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// history is a random history of a simulated cluster. Before each pass every key
// is explained; what the pass then does must be what was said.
type history struct {
	*rapid.T
	c     *memcluster.Cluster
	store *memcluster.Store
	opts  pass.Options
	// next counts what was said to go in the next pass, by replay and by walk.
	next map[string]int
}

const day = 24 * time.Hour

func (h *history) must(err error) {
	if err != nil {
		h.Fatalf("%v", err)
	}
}

// pick is one of the choices.
func pick[T any](h *history, name string, from ...T) T {
	return rapid.SampledFrom(from).Draw(h.T, name)
}

func (h *history) document(versioned bool) string {
	var rules []string
	for range rapid.IntRange(1, 3).Draw(h.T, "rules") {
		filter := pick(h, "filter", "<Prefix/>", "<Prefix>a</Prefix>", "<Prefix>a/</Prefix>",
			"<Tag><Key>t</Key><Value>1</Value></Tag>", "<ObjectSizeGreaterThan>5</ObjectSizeGreaterThan>")
		days := pick(h, "days", 1, 2, 5, 9)
		kinds := []string{"days", "abort", "date"}
		if versioned {
			kinds = []string{"noncurrent", "days", "count", "marker", "both", "date", "abort"}
		}
		var action string
		switch kind := pick(h, "kind", kinds...); kind {
		case "abort", "marker":
			filter = "<Prefix/>" // neither goes with a tag
			action = fmt.Sprintf("<AbortIncompleteMultipartUpload><DaysAfterInitiation>%d</DaysAfterInitiation></AbortIncompleteMultipartUpload>", days)
			if kind == "marker" {
				action = "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"
			}
		case "date":
			action = "<Expiration><Date>2030-06-20T00:00:00Z</Date></Expiration>"
		case "both":
			action = fmt.Sprintf("<NoncurrentVersionExpiration><NoncurrentDays>%d</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>", days)
		case "count":
			action = "<NoncurrentVersionExpiration><NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>"
		case "noncurrent":
			action = fmt.Sprintf("<NoncurrentVersionExpiration><NoncurrentDays>%d</NoncurrentDays></NoncurrentVersionExpiration>", days)
		default:
			action = fmt.Sprintf("<Expiration><Days>%d</Days></Expiration>", days)
		}
		status := pick(h, "status", "Enabled", "Enabled", "Enabled", "Disabled")
		rules = append(rules, "<Rule><Status>"+status+"</Status><Filter>"+filter+"</Filter>"+action+"</Rule>")
	}
	return "<LifecycleConfiguration>" + strings.Join(rules, "") + "</LifecycleConfiguration>"
}

func (h *history) step(bucket string) {
	versioned := bucket != "plain"
	key := pick(h, "key", "a", "a/1", "b/c")
	switch rapid.IntRange(0, 13).Draw(h.T, "step") {
	case 0, 1, 2, 3:
		o := memcluster.Object{Size: int64(rapid.IntRange(0, 9).Draw(h.T, "size"))}
		if pick(h, "tagged", true, false) {
			o.Tags = map[string]string{"t": "1"}
		}
		if bucket == "versioned" && pick(h, "locked", true, false, false) {
			o.Mode, o.RetainUntil = "GOVERNANCE", h.c.Time().Add(time.Duration(rapid.IntRange(1, 8).Draw(h.T, "retention"))*day)
		}
		if !versioned && pick(h, "backdated", true, false, false) {
			o.Mtime = h.c.Time().Add(-time.Duration(rapid.IntRange(1, 100).Draw(h.T, "hours")) * time.Hour)
		}
		_, err := h.c.PutObject(bucket, key, o)
		h.must(err)
	case 4:
		_, _ = h.c.DeleteObject(bucket, key) // there may be nothing
	case 5:
		_ = h.c.SetTags(bucket, key, "", map[string]string{"t": "1"})
	case 6:
		_, err := h.c.CreateUpload(bucket, key, memcluster.Object{})
		h.must(err)
	case 7:
		h.must(h.c.SetRules(bucket, h.document(versioned)))
	case 8:
		shard := rapid.IntRange(0, engine.ShardCount-1).Draw(h.T, "shard")
		switch rapid.IntRange(0, 5).Draw(h.T, "hand") {
		case 0:
			h.store.RemoveSide(shard)
		case 1:
			h.store.RemoveSide(shard)
			h.store.RemoveCursor(shard)
		case 2:
			h.c.Trim(h.c.Time().Add(-time.Duration(rapid.IntRange(1, 99).Draw(h.T, "log")) * time.Hour))
		case 3:
			h.moveForward(shard)
		default:
			if cur, ok := h.store.Cursor(shard); ok && cur.TsNs > 0 {
				cur.TsNs -= int64(rapid.IntRange(1, 50).Draw(h.T, "back")) * int64(time.Hour)
				h.store.PutCursor(shard, cur)
			}
		}
	case 9:
		var answers []memcluster.Answer
		for range rapid.IntRange(1, 5).Draw(h.T, "answers") {
			answers = append(answers, memcluster.Answer{Outcome: engine.RetryLater, Reason: "busy"})
		}
		h.c.AnswerDeletes(bucket, key, answers...)
	case 10:
		h.c.Advance(time.Duration(rapid.IntRange(1, 40).Draw(h.T, "hours")) * time.Hour)
	default:
		h.c.Advance(time.Duration(rapid.IntRange(1, 30).Draw(h.T, "hours")) * time.Hour)
		h.pass()
	}
}

// moveForward sets a shard's positions as cursor reset --to now does.
func (h *history) moveForward(shard int) {
	now := h.c.HostTime()
	st, err := h.store.Load(context.Background(), shard, now)
	h.must(err)
	if !st.SideFound || st.Foreign() || len(st.Side.Groups) == 0 {
		return
	}
	st.Side.ArrivalsNs, st.Cursor.TsNs = now.UnixNano(), now.UnixNano()
	for d := range st.Side.Groups {
		st.Side.Groups[d] = now.Add(-d - engine.Slack()).UnixNano()
		st.Cursor.TsNs = min(st.Cursor.TsNs, st.Side.Groups[d])
	}
	st.Side.TsNs = st.Cursor.TsNs
	h.must(h.store.Save(context.Background(), &st))
}

// target is what one delete is about, act what it does.
type (
	target struct{ bucket, path, version string }
	act    struct {
		action, rule string
		outcome      pass.Outcome
	}
)

func (h *history) pass() {
	now := h.c.HostTime()
	said := h.explain(now)
	o := h.opts
	o.Now = now
	done := map[target][]act{}
	o.Observe = func(d pass.Deletion) {
		if d.Object.DeleteMarker && !d.Object.ModTime.Before(now.Truncate(time.Second)) {
			return // the pass itself put it there
		}
		if d.Outcome == engine.NoopResolved {
			return // sent as the log showed it, and nothing done
		}
		t := target{d.Object.Bucket, d.Object.Path, d.Object.VersionID}
		done[t] = append(done[t], act{d.Action.Kind.String(), d.Action.Rule.Label(), d.Outcome})
	}
	rep := pass.Run(context.Background(), o, pass.Deps{Filer: h.c, Gateway: h.c, Store: h.store})
	for _, v := range said {
		if what := v.belied(done[v.target], rep.Status == pass.OK); what != "" {
			h.Fatalf("at %v %+v: said %q (%s, handled by %+v), but %s", now, v.target, v.Verdict, v.Why, v.Handling, what)
		}
		delete(done, v.target)
		if by := v.Handling; by != nil && by.NextPass {
			h.next[by.By]++
		}
	}
	for t, acts := range done {
		h.Fatalf("at %v %+v: %v, but nothing was said of it", now, t, acts)
	}
}

// belied is what a pass did otherwise than was said; empty for nothing. A pass
// that did not end ok may have left out what was said.
func (v *saying) belied(acts []act, ok bool) string {
	fires := slices.ContainsFunc(v.Rules, func(r explain.RuleVerdict) bool { return r.Fires })
	locked := slices.ContainsFunc(acts, func(a act) bool { return a.outcome == engine.SkippedObjectLock })
	h := v.Handling
	switch {
	case v.Verdict == explain.Keep && !fires && len(acts) > 0:
		return fmt.Sprintf("%v", acts)
	case v.Verdict == explain.Keep, h == nil:
		return ""
	case locked != (v.Verdict == explain.SkipLock) && len(acts) > 0:
		return fmt.Sprintf("%v", acts)
	case v.Verdict == explain.SkipLock, h.Blocked, !ok, strings.HasSuffix(h.Words, "or in the one after"):
		return "" // what blocks may have cleared
	case h.NextPass != (len(acts) > 0):
		return fmt.Sprintf("done: %v", acts)
	}
	for _, a := range acts {
		// Where replay and walk both have something due, either may come first.
		firing := slices.ContainsFunc(v.Rules, func(r explain.RuleVerdict) bool {
			return r.Fires && r.Action == a.action && r.RuleID == a.rule
		})
		if !firing && (a.action != h.Action || a.rule != h.RuleID) {
			return fmt.Sprintf("%v", acts)
		}
	}
	return ""
}

type saying struct {
	target
	explain.VersionExplanation
}

// explain says of everything in the cluster what the next pass does with it.
func (h *history) explain(now time.Time) []saying {
	var sources []engine.Source
	for _, b := range h.c.Stored() {
		rules, _ := engine.ParseXML(b.Name, b.Rules, engine.ParseOptions{Versioning: b.Versioning, KnownVersioning: true})
		sources = append(sources, engine.Source{Bucket: b, Rules: rules})
	}
	snapshot := engine.New().Compile(sources)
	retention := engine.MaxEffectiveTTL(snapshot)
	if h.opts.MetaLogRetention > 0 {
		retention = h.opts.MetaLogRetention
	}
	s := &explain.Schedule{
		Shards: map[int]engine.ShardState{}, RuleSetHash: engine.ReplayContentHash(snapshot),
		PromotedHash: engine.PromotedHash(snapshot, retention), WalkerInterval: h.opts.WalkerInterval, ReconcileInterval: h.opts.ReconcileInterval,
	}
	var err error
	s.HorizonNs, err = h.c.LogHorizon(context.Background())
	h.must(err)
	for _, shard := range h.opts.Shards {
		s.Shards[shard], err = h.store.Load(context.Background(), shard, now)
		h.must(err)
	}
	var out []saying
	for _, src := range sources {
		for _, in := range h.keys(src.Bucket) {
			in.Bucket, in.Rules, in.Now, in.Retention, in.Schedule = src.Bucket, src.Rules, now, h.opts.MetaLogRetention, s
			if h.opts.MidnightClock {
				in.DayClock = engine.MidnightClock
			}
			for _, v := range explain.Key(in).Versions {
				path := in.Group.Key
				if v.UploadID != "" {
					path = ".uploads/" + v.UploadID
				}
				out = append(out, saying{target{src.Bucket.Name, path, v.VersionID}, v})
			}
		}
	}
	return out
}

// keys reads all keys of a bucket.
func (h *history) keys(b engine.Bucket) []explain.KeyInput {
	tree := h.c.Tree(b.Name)
	found := map[string]*explain.KeyInput{}
	at := func(key string) *explain.KeyInput {
		if found[key] == nil {
			found[key] = &explain.KeyInput{Group: engine.Group{Bucket: b.Name, Key: key}}
		}
		return found[key]
	}
	for path, e := range tree {
		if strings.HasPrefix(path, ".uploads") {
			if o, ok := engine.NewUpload(b.Name, &e); ok && strings.Count(path, "/") == 1 {
				in := at(o.Key)
				in.Uploads = append(in.Uploads, o)
			}
			continue
		}
		key, _, _ := strings.Cut(path, ".versions")
		if e.Nature == engine.Folder && key == path || found[key] != nil && len(found[key].Group.Objects) > 0 {
			continue
		}
		var container, bare *engine.Entry
		if e, ok := tree[key]; ok {
			bare = &e
		}
		if !b.Versioned() {
			at(key).Group.Objects = []engine.Object{engine.NewObject(b.Name, key, bare)}
			continue
		}
		if e, ok := tree[key+".versions"]; ok {
			container = &e
		}
		var files []engine.Entry
		for p, e := range tree {
			if strings.HasPrefix(p, key+".versions/") {
				files = append(files, e)
			}
		}
		at(key).Group = engine.NewGroup(b.Name, key, container, files, bare)
	}
	var out []explain.KeyInput
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, *found[key])
	}
	return out
}

// What is said of a key before a pass is what the pass then does: verdicts, who
// is served in the next pass, and who is not.
func TestWhatIsSaidIsWhatAPassDoes(t *testing.T) {
	next := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{T: rt, c: memcluster.New(memcluster.Config{Tick: time.Second}), next: next}
		h.store = memcluster.NewStore(h.c)
		h.opts = pass.Options{
			Concurrency: 2, Settle: 5 * time.Minute, Clock: h.c.HostTime,
			MidnightClock: pick(h, "midnight", true, false), ReconcileInterval: pick(h, "reconcile", 0, 7*day),
			WalkerInterval: pick(h, "walker", 0, 30*time.Hour), MetaLogRetention: pick(h, "retention", 0, 3*day),
		}
		for shard := range engine.ShardCount {
			h.opts.Shards = append(h.opts.Shards, shard)
		}
		h.must(h.c.CreateBucket("plain", engine.Unversioned, false))
		h.must(h.c.SetRules("plain", h.document(false)))
		h.must(h.c.CreateBucket("versioned", engine.Enabled, true))
		h.must(h.c.SetRules("versioned", h.document(true)))
		h.must(h.c.CreateBucket("suspended", engine.Enabled, false))
		h.must(h.c.SetRules("suspended", h.document(true)))
		_, err := h.c.PutObject("suspended", "a", memcluster.Object{})
		h.must(err)
		h.must(h.c.SetVersioning("suspended", engine.Suspended))
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			h.step(pick(h, "bucket", "plain", "versioned", "suspended"))
		}
	})
	if next[explain.Replay] == 0 || next[explain.Walk] == 0 {
		t.Errorf("the histories have too little that is due: %v", next)
	}
}
