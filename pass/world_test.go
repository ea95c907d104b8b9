package pass_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// fataler is what a test of either kind can do.
type fataler interface {
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Helper()
}

// world is a simulated cluster, its cursors, and what is needed to judge from
// outside what a pass did.
type world struct {
	t     fataler
	c     *memcluster.Cluster
	store *memcluster.Store
	opts  pass.Options
	// ctx is that of the passes; nil is never done.
	ctx context.Context
	// late is set when events may show up in the log after their time.
	late bool
}

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

var allShards = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

func newWorld(t fataler, cfg memcluster.Config) *world {
	c := memcluster.New(cfg)
	w := &world{t: t, c: c, store: memcluster.NewStore(c), late: cfg.Late != nil}
	w.opts = pass.Options{
		Shards: allShards, Concurrency: 2, Settle: 5 * time.Minute, ReconcileInterval: 0, Clock: c.HostTime,
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) bucket(name string, v engine.Versioning, lock bool, rules ...string) {
	w.t.Helper()
	w.must(w.c.CreateBucket(name, v, lock))
	w.setRules(name, rules...)
}

func (w *world) setRules(name string, rules ...string) {
	w.t.Helper()
	w.must(w.c.SetRules(name, document(rules...)))
}

// document wraps rules; none is no document.
func document(rules ...string) string {
	if len(rules) == 0 {
		return ""
	}
	return "<LifecycleConfiguration>" + strings.Join(rules, "") + "</LifecycleConfiguration>"
}

// rule is one enabled rule from its filter's and its actions' XML.
func rule(filter, actions string) string {
	return "<Rule><Status>Enabled</Status><Filter>" + filter + "</Filter>" + actions + "</Rule>"
}

func expireAfter(days int) string {
	return fmt.Sprintf("<Expiration><Days>%d</Days></Expiration>", days)
}

func noncurrentAfter(days, keep int) string {
	s := fmt.Sprintf("<NoncurrentDays>%d</NoncurrentDays>", days)
	if keep > 0 {
		s += fmt.Sprintf("<NewerNoncurrentVersions>%d</NewerNoncurrentVersions>", keep)
	}
	return "<NoncurrentVersionExpiration>" + s + "</NoncurrentVersionExpiration>"
}

func abortAfter(days int) string {
	return fmt.Sprintf("<AbortIncompleteMultipartUpload><DaysAfterInitiation>%d</DaysAfterInitiation></AbortIncompleteMultipartUpload>", days)
}

func tagFilter(key, value string) string {
	return "<Tag><Key>" + key + "</Key><Value>" + value + "</Value></Tag>"
}

func (w *world) deps() pass.Deps { return pass.Deps{Filer: w.c, Gateway: w.c, Store: w.store} }

// pass runs one pass at the host's time.
func (w *world) pass() *pass.Report {
	o := w.opts
	o.Now = w.c.HostTime()
	ctx := w.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	return pass.Run(ctx, o, w.deps())
}

// interruptAfter has the next passes interrupted after so many calls.
func (w *world) interruptAfter(calls int, also memcluster.Hook) {
	ctx, cancel := context.WithCancel(context.Background())
	w.ctx = ctx
	var left atomic.Int64
	left.Store(int64(calls))
	w.c.SetHook(func(c memcluster.Call) error {
		if !c.Done && left.Add(-1) < 0 {
			cancel()
		}
		if also != nil {
			return also(c)
		}
		return nil
	})
}

// uninterrupted ends what interruptAfter began.
func (w *world) uninterrupted() {
	w.ctx = nil
	w.c.SetHook(nil)
}

// okPass runs a pass that must end ok and leave nothing.
func (w *world) okPass() *pass.Report {
	w.t.Helper()
	rep := w.pass()
	if rep.Status != pass.OK {
		w.t.Fatalf("at %v the pass ended %q: %+v", w.c.Time(), rep.Status, rep.Errors)
	}
	if left := w.left(rep.Now, w.opts.Shards); len(left) > 0 {
		w.t.Fatalf("at %v the pass left: %s", rep.Now, strings.Join(left, "; "))
	}
	return rep
}

// object is one live object as the oracle sees it.
type object struct {
	engine.Object
	paths []string // its events can have these paths
	// lastNs is when something last happened at one of the paths.
	lastNs int64
}

// live reads the whole tree of a bucket, not in the way that a pass does.
func (w *world) live(b engine.Bucket) []object {
	objects := w.scan(b)
	last := map[string]int64{}
	for _, ev := range w.c.Events() {
		if ev.Bucket == b.Name {
			last[ev.Path], last[ev.OldPath] = ev.TsNs, ev.TsNs
		}
	}
	for i := range objects {
		o := &objects[i]
		o.lastNs = o.CommitNs
		for _, p := range o.paths {
			o.lastNs = max(o.lastNs, last[p])
		}
	}
	return objects
}

func (w *world) scan(b engine.Bucket) []object {
	entries := w.c.Tree(b.Name)
	var out []object
	groups := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(entries)) {
		e := entries[p]
		if id, ok := strings.CutPrefix(p, ".uploads/"); ok {
			if o, is := engine.NewUpload(b.Name, &e); is && !strings.Contains(id, "/") {
				out = append(out, object{Object: o, paths: []string{o.Path, o.Key}})
			}
			continue
		}
		if p == ".uploads" {
			continue
		}
		if !b.Versioned() {
			if e.Nature != engine.Folder {
				out = append(out, object{Object: engine.NewObject(b.Name, p, &e), paths: []string{p}})
			}
			continue
		}
		key := p
		if i := strings.LastIndex(p, ".versions/"); i >= 0 {
			key = p[:i]
		} else if k, ok := strings.CutSuffix(p, ".versions"); ok {
			key = k
		} else if e.Nature == engine.FolderMarker {
			key = p + "/"
		} else if e.Nature == engine.Folder {
			continue
		}
		if !groups[key] {
			groups[key] = true
			out = append(out, w.versions(b, key, entries)...)
		}
	}
	return out
}

func (w *world) versions(b engine.Bucket, key string, entries map[string]engine.Entry) []object {
	var container, bare *engine.Entry
	var files []engine.Entry
	paths := []string{strings.TrimSuffix(key, "/"), key + ".versions"}
	if e, ok := entries[strings.TrimSuffix(key, "/")]; ok {
		bare = &e
	}
	if e, ok := entries[key+".versions"]; ok {
		container = &e
	}
	for p, e := range entries {
		if strings.HasPrefix(p, key+".versions/") {
			files = append(files, e)
			paths = append(paths, p)
		}
	}
	slices.SortFunc(files, func(a, b engine.Entry) int { return strings.Compare(a.Name, b.Name) })
	g := engine.NewGroup(b.Name, key, container, files, bare)
	if g.Unresolved != "" {
		w.t.Fatalf("key %q: %s", key, g.Unresolved)
	}
	var out []object
	for _, o := range g.Objects {
		out = append(out, object{Object: o, paths: paths})
	}
	return out
}

// actions are those of the rules in force.
func (w *world) snapshot() (*engine.Snapshot, []engine.Bucket) {
	buckets := w.c.Stored()
	var sources []engine.Source
	for _, b := range buckets {
		rules, _ := engine.ParseXML(b.Name, b.Rules, engine.ParseOptions{Versioning: b.Versioning, KnownVersioning: true})
		sources = append(sources, engine.Source{Bucket: b, Rules: rules})
	}
	return engine.New().Compile(sources), buckets
}

func (w *world) clock() engine.DayClock {
	if w.opts.MidnightClock {
		return engine.MidnightClock
	}
	return engine.ExactClock
}

// left lists the objects that are due at now, not locked, and whose every shard
// is among those given.
func (w *world) left(now time.Time, shards []int) []string {
	snap, buckets := w.snapshot()
	shown := now.UnixNano()
	if w.late {
		shown = now.Add(-w.opts.Settle).UnixNano()
	}
	var left []string
	for _, b := range buckets {
		for _, o := range w.live(b) {
			a, v, fires := engine.FirstDue(snap.Matching(b.Name, o.Key), &o.Object, now, w.clock())
			if !fires || o.Lock.Locked(now) || a.Kind == engine.ExpiredDeleteMarker {
				continue
			}
			if o.lastNs >= shown {
				continue // the log may not show it yet, or the pass itself changed it
			}
			owed := !slices.ContainsFunc(o.paths, func(p string) bool {
				return !slices.Contains(shards, engine.ShardOf(b.Name, p))
			})
			if owed {
				left = append(left, fmt.Sprintf("%s/%s version %q, %s, due %v, mtime %v, shard %d", b.Name, o.Path, o.VersionID, a.Kind, v.Due, o.ModTime, engine.ShardOf(b.Name, o.Path)))
			}
		}
	}
	return left
}

// early is a hook's part: it fails when a delete is about to reach an object
// that no rule in force makes due by the filer's clock.
func (w *world) early(req *engine.DeleteRequest) error {
	snap, buckets := w.snapshot()
	for _, b := range buckets {
		if b.Name != req.Bucket {
			continue
		}
		for _, o := range w.live(b) {
			if o.Path != req.Path || o.VersionID != req.VersionID || o.Identity() == nil || o.Identity().MtimeNs != req.Identity.MtimeNs {
				continue
			}
			if string(o.Identity().ExtendedHash) != string(req.Identity.ExtendedHash) {
				continue
			}
			if _, _, fires := engine.FirstDue(snap.Matching(b.Name, o.Key), &o.Object, w.c.FilerTime(), w.clock()); !fires {
				why := ""
				for _, other := range w.live(b) {
					if other.Key == o.Key {
						why += fmt.Sprintf("\n  lies there: %s latest=%v marker=%v mtime %v demoted %v", other.VersionID, other.Latest, other.DeleteMarker, other.ModTime, other.DemotedAt)
					}
				}
				for _, d := range w.c.Deletes() {
					if d.Request.Path == req.Path {
						why += fmt.Sprintf("\n  sent: %v %s %s: %v", d.At, d.Request.VersionID, d.Request.Kind, d.Response)
					}
				}
				for _, a := range snap.Matching(b.Name, o.Key) {
					why += fmt.Sprintf("\n  %s: %+v", a.Kind, engine.Evaluate(a, &o.Object, w.c.FilerTime(), w.clock()))
				}
				return fmt.Errorf("early: %s/%s version %q, mtime %v, %v, at %v: %s", req.Bucket, req.Path, req.VersionID, o.ModTime, req.Kind, w.c.FilerTime(), why)
			}
		}
	}
	return nil
}
