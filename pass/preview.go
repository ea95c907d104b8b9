package pass

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weedlc/engine"
)

// PreviewOptions say what a preview covers and who is told of it. Observe and
// what limits deletes have no effect.
type PreviewOptions struct {
	WalkOptions
	// Rules are judged by in place of those that are installed, by bucket. They
	// must not change.
	Rules map[string][]*engine.Rule
	// Compare has the installed rules judged by as well.
	Compare bool
	// Later tells of objects too that are not due at Now but will be.
	Later bool
	// SideBySide is how many buckets are walked at a time; 0 is one.
	SideBySide int
	// Tell is told of every object that goes, one at a time: bucket by bucket in
	// the order of their names, and in a bucket in the order of the walk. It must
	// not keep the pointers. Nil is nobody.
	Tell func(Judgement)
}

// Judgement is what a preview finds out about one object: by which action it
// goes, and when. At least one of the two prospects has an action.
type Judgement struct {
	Object *engine.Object
	Prospect
	// Installed is what the installed rules say, if Compare is set.
	Installed Prospect
}

// Prospect is the action that an object goes by, the one that is due first. The
// zero value is that none takes it.
type Prospect struct {
	Action *engine.Action
	Due    time.Time
	// Outcome is how a pass would end for the object: Done, SkippedObjectLock, or
	// Blocked with the reason. It is empty for an object that is not due yet.
	Outcome Outcome
	Reason  string
}

// Preview tells what a full evaluation of the rules at o.Now would delete: a
// walk over every rule with a recorder in place of the executor. o.Now may be
// past or future. No cursor is read, nothing is deleted, nothing is written.
// What was told is complete unless the report has a problem of
// CategoryTransport, a failure that ended in RetryLater, or says that the walk
// was interrupted or cut short.
func Preview(ctx context.Context, o PreviewOptions, filer Filer) *Report {
	w, done := begin(ctx, o.Options, Deps{Filer: filer})
	defer done()
	w.anyTime = true
	o.Buckets = sortedSet(o.Buckets)
	w.about = func(bucket string) bool {
		_, replaced := o.Rules[bucket]
		return (len(o.Buckets) == 0 || slices.Contains(o.Buckets, bucket)) && (!replaced || o.Compare)
	}
	rep := &Report{Now: w.o.Now}
	f := &foresight{o: o, recorded: newRecorder(nil).recorded}
	book, err := w.readRules()
	if err == nil {
		err = f.plan(w, book)
	}
	if err != nil {
		w.fail(err)
		return w.report(ctx, rep, nil, nil)
	}
	w.foretell(f)
	return w.report(ctx, rep, w.walkedStates(), nil)
}

// foretell makes the walks that were planned, as previews.
func (w *work) foretell(f *foresight) {
	if len(f.o.Shards) == engine.ShardCount {
		f.anyShard = f.o.Shards[:1]
	}
	w.exec = &recorder{recorded: f.recorded}
	defer w.watch()()
	walker := w.walker(w.keys())
	walker.foresight, walker.together = f, max(1, f.o.SideBySide)
	told := make(chan struct{})
	go func() {
		defer close(told)
		f.tellInOrder(w.plan.walks)
	}()
	w.walkPlanned(walker, f.o.WalkOptions)
	<-told
}

// PreviewRun tells o.Observe what the next Run would do from the cursors as
// they are, in the order in which it would be met by a pass that does one thing
// at a time. It holds no lock and writes nothing. It remembers each key that
// would be deleted, so that it tells of none twice.
func PreviewRun(ctx context.Context, o Options, filer Filer, store Store) *Report {
	o.Concurrency = 1
	w, done := begin(ctx, o, Deps{Filer: filer, Store: readOnly{store}})
	defer done()
	w.preview = true
	return w.run(ctx)
}

// readOnly keeps nothing.
type readOnly struct{ Store }

func (readOnly) Save(context.Context, *engine.ShardState) error { return nil }

// foresight is what makes a walk a preview: by which rules it judges, and whom
// it tells.
type foresight struct {
	o        PreviewOptions
	recorded *recorded
	rules    *engine.Snapshot
	// installed is nil unless the two are compared.
	installed *engine.Snapshot
	// whole is set when what no rule reaches is walked too.
	whole bool
	// anyShard is one of the shards where all are walked, so that no key needs
	// to be looked at for its own; nil where they are not.
	anyShard []int
}

// judged is a Judgement that owns its object.
type judged struct {
	object              engine.Object
	prospect, installed Prospect
}

// ahead is how many judgements a bucket may be ahead of whom they are told to.
const ahead = 256

// plan decides which buckets are walked, and by which rules.
func (f *foresight) plan(w *work, book *ruleBook) error {
	sources := slices.DeleteFunc(slices.Clone(book.sources), func(src engine.Source) bool {
		_, replaced := f.o.Rules[src.Bucket.Name]
		return replaced
	})
	for _, name := range sortedKeys(f.o.Rules) {
		b, err := w.existing(name)
		if err != nil {
			return err
		}
		sources = append(sources, engine.Source{Bucket: b, Rules: f.o.Rules[name]})
	}
	f.rules = engine.RecoveryView(engine.New().Compile(sources))
	all := f.rules
	if f.o.Compare {
		f.installed = engine.RecoveryView(book.snapshot)
		all = engine.RecoveryView(engine.New().Compile(slices.Concat(book.sources, sources)))
	}
	if err := w.planWalk(f.o.WalkOptions, book, all); err != nil {
		return err
	}
	for _, bw := range w.plan.walks {
		bw.told = make(chan judged, ahead)
	}
	return nil
}

// tellInOrder hands on what the walks find out, one walk after the other.
func (f *foresight) tellInOrder(walks []*bucketWalk) {
	for _, bw := range walks {
		for j := range bw.told {
			if f.o.Tell != nil {
				f.o.Tell(Judgement{Object: &j.object, Prospect: j.prospect, Installed: j.installed})
			}
		}
	}
}

// foresee judges a key and hands on what becomes of its objects.
func (t *traversal) foresee(ctx context.Context, path string, g *engine.Group, paths []string) error {
	f, bw := t.foresight, t.walk
	shards := f.anyShard
	if shards == nil {
		if shards, _ = t.shardsOf(paths); len(shards) == 0 {
			return nil
		}
	}
	t.count(shards, nil, len(g.Objects))
	prospects := t.prospects(ctx, f.rules, path, g, paths)
	var installed []Prospect
	if f.installed != nil {
		installed = t.prospects(ctx, f.installed, path, g, paths)
	}
	if g.Unresolved != "" && len(t.view.Matching(g.Bucket, g.Objects[0].Key)) > 0 {
		t.reportUnresolved(path, g)
	}
	if prospects == nil && installed == nil {
		return nil
	}
	for i := range g.Objects {
		j := judged{object: g.Objects[i]}
		if prospects != nil {
			j.prospect = prospects[i]
		}
		if installed != nil {
			j.installed = installed[i]
		}
		if j.prospect.Action == nil && j.installed.Action == nil {
			continue
		}
		select {
		case bw.told <- j:
		case <-ctx.Done():
			return errEnding
		}
	}
	return nil
}

// prospects says what becomes of each object of a key, by the code that deletes.
// It is nil when nothing goes.
func (t *traversal) prospects(ctx context.Context, rules *engine.Snapshot, path string, g *engine.Group, paths []string) []Prospect {
	w := t.walker
	actions := rules.Matching(g.Objects[0].Bucket, g.Objects[0].Key)
	later := w.foresight.o.Later || w.foresight.o.Compare
	due := false
	for i := range g.Objects {
		if _, _, fires := engine.FirstDue(actions, &g.Objects[i], w.now, w.clock); fires {
			due = true
			break
		}
	}
	if len(actions) == 0 || !due && !later {
		return nil
	}
	left := *g
	prospects := make([]Prospect, len(g.Objects))
	if due {
		left.Objects = slices.Clone(g.Objects)
		t.rehearse(ctx, path, g, &left, actions, paths, prospects)
	}
	if !later {
		return prospects
	}
	some, at := due, 0
	for i := range left.Objects {
		o := &left.Objects[i]
		at = placeOf(g.Objects, o, at)
		if prospects[at].Action != nil {
			continue
		}
		if a, v, ok := engine.NextDue(actions, o, w.now, w.clock); ok && !v.Fires {
			prospects[at], some = Prospect{Action: a, Due: v.Due}, true
		}
	}
	if !some {
		return nil
	}
	return prospects
}

// rehearse does to a copy of a group what a pass would do to its key, and puts
// down what becomes of each object.
func (t *traversal) rehearse(ctx context.Context, path string, g, left *engine.Group, actions []*engine.Action, paths []string, prospects []Prospect) {
	at := 0
	k := *t.keys
	k.exec = &recorder{recorded: t.foresight.recorded, tell: func(d Deletion) {
		at = placeOf(g.Objects, d.Object, at)
		prospects[at] = Prospect{Action: d.Action, Due: d.Due, Outcome: d.Outcome, Reason: d.Reason}
	}}
	var out settled
	k.settleOnce(ctx, t.walk.bucket, path, left, actions, map[string]*engine.Identity{}, &out)
	if len(out.failures) > 0 {
		full, _ := t.shardsOf(paths)
		t.put(out, full, nil)
	}
}

// placeOf is where a version is among others; it is looked for from a place on
// first, because versions come in order.
func placeOf(objects []engine.Object, o *engine.Object, from int) int {
	for i := range objects {
		at := (from + i) % len(objects)
		if objects[at].VersionID == o.VersionID && objects[at].ModTime.Equal(o.ModTime) {
			return at
		}
	}
	return from
}

// existing looks up a bucket that has to be there.
func (w *work) existing(name string) (engine.Bucket, error) {
	b, err := w.deps.Filer.Bucket(w.ctx, name)
	switch {
	case isNotFound(err):
		return b, fmt.Errorf("bucket %q does not exist", name)
	case err != nil:
		return b, fmt.Errorf("look up bucket %q: %w", name, err)
	}
	return b, nil
}

// sortedSet sorts words and drops those that stand twice.
func sortedSet(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}
