package pass

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weedlc/engine"
)

// replay reads the events of every window of every shard once, in the order of
// the log, and has the keys looked at that they point to.
type replay struct {
	keys    *keys
	view    *engine.Snapshot // the replay rules
	shards  map[int]*shardRun
	now     time.Time
	slackNs int64
	clock   engine.DayClock
	wall    func() time.Time
	budget  int64 // events that may be read; 0 is no limit
	report  func(Problem)
	meter   Meter

	// luck counts, for each bucket, how often the log's entry was still the live
	// one: see guessed. Nil is to guess nothing.
	luck map[string]*atomic.Int64
	// lists bounds the listings in flight that stand for look-ups; nil is none.
	lists chan struct{}
	// barren are the buckets in which they told too little.
	barren map[string]*atomic.Bool

	scouts  sync.WaitGroup
	workers []chan keyTask
	seed    maphash.Seed
	backlog backlog
	read    atomic.Int64
	// readTo is the event time through which everything has been handed over.
	readTo atomic.Int64
}

// errBudget ends the reading when the budget of events is used up.
var errBudget = errors.New("event budget used up")

// keyTask is a key to look at because of an event.
type keyTask struct {
	run     *shardRun
	ts      int64
	bucket  engine.Bucket
	path    string
	arrival bool
	// delays are the groups in whose windows the event lies.
	delays []time.Duration
	// entry is what lies at the path as far as the log has been read; nil where
	// that is not known.
	entry *engine.Entry
	// live is what lies at the path, where a listing told; else nil.
	live *engine.Entry
}

// queued is how many keys may wait for one worker.
const queued = 64

// remembered is how many keys one worker keeps the outcome of, so that further
// events of a key in the same pass cost nothing.
const remembered = 1024

// run reads the log. A nil error means that every window was read to its end.
// The workers have finished when it returns.
func (r *replay) run(ctx context.Context, log Filer, workers int) error {
	r.seed = maphash.MakeSeed()
	r.barren = map[string]*atomic.Bool{}
	for _, name := range r.view.Buckets() {
		r.barren[name] = new(atomic.Bool)
		if r.luck != nil {
			r.luck[name] = new(atomic.Int64)
		}
	}
	var wg sync.WaitGroup
	for range workers {
		ch := make(chan keyTask, queued)
		r.workers = append(r.workers, ch)
		wg.Go(func() { r.work(ctx, ch) })
	}
	err := r.readRanges(ctx, log)
	for r.backlog.count > 0 && ctx.Err() == nil {
		if r.scout(ctx, r.takeBatch()) != nil {
			break
		}
	}
	r.scouts.Wait()
	for _, ch := range r.workers {
		close(ch)
	}
	wg.Wait()
	return err
}

func (r *replay) readRanges(ctx context.Context, log Filer) error {
	paths := logPaths(r.view)
	for _, w := range r.ranges() {
		r.readTo.Store(max(r.readTo.Load(), w.AfterNs))
		w.Paths = paths
		err := log.ReadLog(ctx, w, func(ev *engine.Event) error {
			if r.budget > 0 && r.read.Load() >= r.budget {
				return errBudget
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			r.read.Add(1)
			if err := r.event(ctx, ev); err != nil {
				return err
			}
			r.readTo.Store(ev.TsNs)
			return nil
		})
		if err != nil {
			if errors.Is(err, errBudget) || ctx.Err() != nil {
				return err
			}
			return fmt.Errorf("read the meta-log: %w", err)
		}
		r.readTo.Store(w.UntilNs)
		r.meter.RangeRead()
	}
	return nil
}

// ranges merges the windows of all shards into disjoint ascending ranges.
func (r *replay) ranges() []LogRange {
	var windows []LogRange
	add := func(from, end int64) {
		if end > from {
			windows = append(windows, LogRange{AfterNs: from, UntilNs: end})
		}
	}
	for _, run := range r.shards {
		add(run.arrivals, run.arrivalsEnd)
		for delay, from := range run.groups {
			add(from, run.groupEnds[delay])
		}
	}
	return mergeRanges(windows)
}

func mergeRanges(windows []LogRange) []LogRange {
	slices.SortFunc(windows, func(a, b LogRange) int {
		if a.AfterNs != b.AfterNs {
			if a.AfterNs < b.AfterNs {
				return -1
			}
			return 1
		}
		return 0
	})
	var merged []LogRange
	for _, w := range windows {
		if n := len(merged); n > 0 && w.AfterNs <= merged[n-1].UntilNs {
			merged[n-1].UntilNs = max(merged[n-1].UntilNs, w.UntilNs)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// logPaths are the path prefixes that the replay rules can match, as
// "bucket/prefix" without a trailing slash.
func logPaths(view *engine.Snapshot) []string {
	var paths []string
	for _, name := range view.Buckets() {
		for _, p := range view.Prefixes(name) {
			paths = append(paths, strings.TrimSuffix(name+"/"+p, "/"))
		}
		if view.HasUploadActions(name) {
			paths = append(paths, name+"/"+uploadsFolder)
		}
	}
	slices.Sort(paths)
	kept := paths[:0]
	for _, p := range paths {
		if n := len(kept); n > 0 && (p == kept[n-1] || strings.HasPrefix(p, kept[n-1]+"/")) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// event finds out what an event may mean for which window of its shard.
func (r *replay) event(ctx context.Context, ev *engine.Event) error {
	if ev.Path == "" || len(r.view.BucketActions(ev.Bucket)) == 0 {
		return nil
	}
	run := r.shards[engine.ShardOf(ev.Bucket, ev.Path)]
	if run == nil {
		return nil
	}
	bucket, _ := r.view.Bucket(ev.Bucket)
	byPath := !bucket.Versioned() || isUpload(ev.Path)
	if byPath {
		r.backlog.note(ev)
	}
	if run.stopped() {
		return nil
	}
	run.events++
	r.meter.Scanned(run.id)
	arrival := run.arrivals < ev.TsNs && ev.TsNs <= run.arrivalsEnd
	var delays []time.Duration
	for _, d := range r.view.Delays(ev.Bucket) {
		if run.groups[d] < ev.TsNs && ev.TsNs <= run.groupEnds[d] {
			delays = append(delays, d)
		}
	}
	if !arrival && len(delays) == 0 {
		return nil
	}
	task := keyTask{run: run, ts: ev.TsNs, bucket: bucket, arrival: arrival, delays: delays}
	if byPath {
		if !r.judgeEvent(ev, &task) {
			return nil
		}
		task.path = ev.Path
		return r.put(ctx, ev, task)
	}
	if arrival {
		r.oddVersion(ev, &task)
	}
	for _, key := range versionedKeys(ev) {
		if !r.concerns(ev.Bucket, key, arrival, delays) {
			continue
		}
		task.path = key
		if err := r.send(ctx, task); err != nil {
			return err
		}
	}
	return nil
}

// concerns reports whether a rule of one of the windows can match the key.
func (r *replay) concerns(bucket, key string, arrival bool, delays []time.Duration) bool {
	return slices.ContainsFunc(r.view.Matching(bucket, key), func(a *engine.Action) bool {
		return arrival || slices.Contains(delays, a.Delay)
	})
}

// judgeEvent judges the event's own entry in a bucket without versions, or an
// upload's, as far as that goes, and reports whether the live one must be
// looked at.
func (r *replay) judgeEvent(ev *engine.Event, task *keyTask) (look bool) {
	o, ok := eventObject(ev)
	if !ok {
		return false
	}
	clockNs := nanos(o.ModTime)
	odd := setMtime(ev) && r.far(clockNs, ev.TsNs)
	for _, a := range r.view.Matching(ev.Bucket, o.Key) {
		due, fits := engine.DueUnderAny(a, &o, r.clock)
		if !fits {
			continue
		}
		if slices.Contains(task.delays, a.Delay) {
			look = true
		}
		if !task.arrival {
			continue
		}
		if !due.After(r.now) {
			look = true
			continue
		}
		if odd {
			task.run.addWalkAt(ev.Bucket, nanos(due))
		}
		if o.Lock.RetainUntil.After(due) {
			task.run.addWalkAt(ev.Bucket, nanos(o.Lock.RetainUntil))
		}
		if v := engine.Judge(a, &o, r.now, r.clock); v.Matches && !slices.Contains(task.delays, a.Delay) {
			task.run.hold(heldMatch{bucket: ev.Bucket, delay: a.Delay, clockNs: clockNs, dueNs: nanos(due)})
		}
	}
	return look
}

// eventObject is the object that an event's new entry makes in a bucket
// without versions, or the upload.
func eventObject(ev *engine.Event) (engine.Object, bool) {
	if ev.New == nil {
		return engine.Object{}, false
	}
	if strings.HasPrefix(ev.Path, uploadsFolder+"/") {
		if !isUpload(ev.Path) {
			return engine.Object{}, false
		}
		return engine.NewUpload(ev.Bucket, ev.New)
	}
	return single(ev.Bucket, ev.Path, ev.New)
}

// setMtime reports whether the event set the entry's mtime: by creating it,
// moving it here, or changing the time.
func setMtime(ev *engine.Event) bool {
	return ev.New != nil && (ev.Old == nil || ev.OldPath != "" || ev.Old.MtimeNs != ev.New.MtimeNs)
}

// far reports whether a clock is further from its event than the slack.
func (r *replay) far(clockNs, eventNs int64) bool {
	d := clockNs - eventNs
	return d > r.slackNs || d < -r.slackNs
}

// oddVersion puts down when a version comes due that an event gave a clock far
// from its own time. Tags, rank and being current may change before then, so
// every rule whose prefix and size fit counts.
func (r *replay) oddVersion(ev *engine.Event, task *keyTask) {
	if ev.New == nil || ev.New.Nature == engine.Folder {
		return
	}
	key := ev.Path
	if k, ok := versionFileKey(ev.Path, ev.New); ok {
		key = k
	}
	o := engine.NewObject(ev.Bucket, key, ev.New)
	mtimeOdd := setMtime(ev) && r.far(ev.New.MtimeNs, ev.TsNs)
	stamp := ev.New.DemotedNs()
	stampOdd := stamp != 0 && (ev.Old == nil || ev.OldPath != "" || ev.Old.DemotedNs() != stamp) && r.far(stamp, ev.TsNs)
	if !mtimeOdd && !stampOdd {
		return
	}
	for _, a := range r.view.Matching(ev.Bucket, o.Key) {
		for _, at := range []struct {
			odd bool
			ns  int64
		}{{mtimeOdd, ev.New.MtimeNs}, {stampOdd, stamp}} {
			if !at.odd {
				continue
			}
			o.ModTime, o.DemotedAt = time.Unix(0, at.ns), time.Time{}
			if due, fits := engine.DueUnderAny(a, &o, r.clock); fits && due.After(r.now) {
				task.run.addWalkAt(ev.Bucket, nanos(due))
			}
		}
	}
}

// versionedKeys are the keys that an event of a bucket with versions points to:
// that of the version file, of the version folder, or the path itself, and the
// same for where a renamed entry was.
func versionedKeys(ev *engine.Event) []string {
	var found []string
	add := func(p string, e *engine.Entry) {
		if e == nil || p == "" || strings.HasPrefix(p, uploadsFolder+"/") {
			return
		}
		key, ok := versionFileKey(p, e)
		if !ok {
			folder, isVersions := engine.IsVersionFolder(p)
			switch {
			case isVersions && e.Nature.IsFolder():
				key = folder
			case e.Nature == engine.Folder:
				return
			case e.Nature == engine.FolderMarker:
				key = p + "/"
			default:
				key = p
			}
		}
		if key != "" && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	add(ev.Path, ev.New)
	if ev.OldPath != "" {
		add(ev.OldPath, ev.Old)
	} else {
		add(ev.Path, ev.Old)
	}
	return found
}

// versionFileKey is the key of a version file.
func versionFileKey(p string, e *engine.Entry) (string, bool) {
	key, ok := engine.IsVersionFolder(path.Dir(p))
	if !ok || key == "" || e.Nature != engine.File || e.VersionID() == "" {
		return "", false
	}
	return key, true
}

// put has a path looked at once the reading is some way on: a removal that is
// read meanwhile makes it needless.
func (r *replay) put(ctx context.Context, ev *engine.Event, t keyTask) error {
	t.run.begin(t.ts)
	t.entry = ev.New
	now := r.wall()
	r.backlog.push(t, now)
	if r.backlog.ready(now) {
		return r.scout(ctx, r.takeBatch())
	}
	return nil
}

// send has a key looked at.
func (r *replay) send(ctx context.Context, t keyTask) error {
	t.run.begin(t.ts)
	return r.hand(ctx, t)
}

// hand gives a key to its worker: always the same one for a key, so that a key
// is worked on once at a time.
func (r *replay) hand(ctx context.Context, t keyTask) error {
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.WriteString(t.bucket.Name)
	h.WriteByte('/')
	h.WriteString(t.path)
	select {
	case r.workers[h.Sum64()%uint64(len(r.workers))] <- t:
		return nil
	case <-ctx.Done():
		return ctx.Err() // the event stays unsettled
	}
}

type keyName struct{ bucket, path string }

// looked is what a worker remembers of a key.
type looked struct {
	settled
	unresolved string
	err        error
	// oddNs are due times of versions whose clock is another version's mtime
	// that its own commit stamp does not bear out.
	oddNs []int64
}

func (r *replay) work(ctx context.Context, tasks <-chan keyTask) {
	memo := map[keyName]*looked{}
	for t := range tasks {
		if t.run.stopped() {
			continue // the event stays unsettled
		}
		name := keyName{t.bucket.Name, t.path}
		found := memo[name]
		if found == nil {
			if len(memo) >= remembered {
				clear(memo)
			}
			found = r.look(ctx, t)
			memo[name] = found
			t.run.mu.Lock()
			t.run.calls += int64(found.calls)
			t.run.mu.Unlock()
		}
		r.apply(ctx, t, found)
	}
}

// look reads a key, judges it and has what is due carried out.
func (r *replay) look(ctx context.Context, t keyTask) *looked {
	if ctx.Err() != nil {
		return &looked{settled: settled{ending: true}}
	}
	group, guessed := r.guessed(&t)
	switch {
	case guessed:
	case t.live != nil:
		group = t.found()
	default:
		var err error
		if group, err = r.keys.read(ctx, t.bucket, t.path); err != nil {
			return &looked{err: err}
		}
	}
	key := group.Key
	if len(group.Objects) > 0 {
		key = group.Objects[0].Key
	}
	actions := r.view.Matching(t.bucket.Name, key)
	found := &looked{unresolved: group.Unresolved, oddNs: r.oddSuccessors(&group, actions)}
	var live *engine.Identity
	if len(group.Objects) > 0 {
		live = group.Objects[0].Identity()
	}
	found.settled = r.keys.settle(ctx, t.bucket, t.path, group, actions)
	if found.missed {
		live = nil
	}
	r.learn(&t, live)
	return found
}

// oddSuccessors are the due times of noncurrent versions that count from the
// next newer version's mtime where that version's commit stamp is far from it:
// no event lies near such a clock.
func (r *replay) oddSuccessors(g *engine.Group, actions []*engine.Action) []int64 {
	var due []int64
	for i := 1; i < len(g.Objects); i++ {
		o, newer := &g.Objects[i], &g.Objects[i-1]
		if o.Latest || o.SuccessorAt.IsZero() || !r.far(o.SuccessorAt.UnixNano(), newer.CommitNs) {
			continue
		}
		if !o.DemotedAt.IsZero() && !r.far(o.DemotedAt.UnixNano(), o.SuccessorAt.UnixNano()) {
			continue
		}
		for _, a := range actions {
			if at, fits := engine.DueUnderAny(a, o, r.clock); fits && at.After(r.now) {
				due = append(due, nanos(at))
			}
		}
	}
	return due
}

// apply draws what follows for one event from what was found at its key.
func (r *replay) apply(ctx context.Context, t keyTask, found *looked) {
	switch {
	case found.ending:
		return // the event stays unsettled
	case found.err != nil:
		if ctx.Err() == nil {
			t.run.fail(t.ts, lookupFailureAt(t, found.err, r.now))
		}
		return
	case len(found.failures) > 0:
		t.run.fail(t.ts, found.failures[0])
		return
	}
	if found.unresolved != "" {
		r.report(Problem{Shard: t.run.id, Bucket: t.bucket.Name, Category: CategoryBlocked,
			Message: fmt.Sprintf("key %q is left alone: %s", t.path, found.unresolved)})
	}
	for _, p := range found.pending {
		if slices.Contains(t.delays, p.delay) && !r.far(p.clockNs, t.ts) {
			t.run.stop(p.delay, t.ts)
		} else {
			t.run.hold(heldMatch{bucket: t.bucket.Name, delay: p.delay, clockNs: p.clockNs, dueNs: p.dueNs})
		}
		if t.arrival && p.retainNs > p.dueNs {
			t.run.addWalkAt(t.bucket.Name, p.retainNs)
		}
	}
	for _, ns := range found.lockEndsNs {
		t.run.addWalkAt(t.bucket.Name, ns)
	}
	if t.arrival {
		for _, ns := range found.oddNs {
			t.run.addWalkAt(t.bucket.Name, ns)
		}
	}
	t.run.done(t.ts)
}

func lookupFailureAt(t keyTask, err error, now time.Time) engine.Failure {
	f := lookupFailure(t.bucket.Name, t.path, err)
	f.SinceNs = now.UnixNano()
	return f
}
