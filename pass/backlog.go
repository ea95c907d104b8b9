package pass

import (
	"slices"
	"time"

	"weedlc/engine"
)

const (
	// behind is how many look-ups wait while the reading of the log goes on.
	behind = 32 << 10
	// longestWait is how long one waits: where reading the log takes longer than
	// a pass may, a pass must still get on.
	longestWait = 5 * time.Second
)

// backlog holds the look-ups of paths that wait, in the order of their events,
// and what later events did at each path.
type backlog struct {
	tasks []*waiting // a ring
	first int
	count int
	paths map[keyName]*waiting // the newest of each path
}

// waiting is a look-up, and what later events did to its entry.
type waiting struct {
	keyTask
	since time.Time
	// commitNs is the stamp of the event that wrote the entry. It names one state
	// of the path, whichever filer's clock it comes from; 0 names none.
	commitNs int64
	// changed is set once another event of the path was read, removed once the
	// entry itself was seen to go.
	changed, removed bool
}

// note takes in an event of a bucket without versions.
func (b *backlog) note(ev *engine.Event) {
	if ev.OldPath != "" {
		b.change(keyName{ev.Bucket, ev.OldPath}, ev.Old)
		b.change(keyName{ev.Bucket, ev.Path}, nil)
		return
	}
	var gone *engine.Entry
	if ev.New == nil {
		gone = ev.Old
	}
	b.change(keyName{ev.Bucket, ev.Path}, gone)
}

// change notes that an event touched a path, and what it took away.
func (b *backlog) change(at keyName, gone *engine.Entry) {
	if a := b.paths[at]; a != nil {
		a.changed = true
		a.removed = a.removed || gone != nil && a.commitNs != 0 && gone.CommitNs == a.commitNs
	}
}

// push puts a look-up at the end.
func (b *backlog) push(t keyTask, now time.Time) {
	if b.paths == nil {
		b.paths = map[keyName]*waiting{}
	}
	if b.count == len(b.tasks) {
		tasks := slices.Concat(b.tasks[b.first:], b.tasks[:b.first])
		b.tasks, b.first = append(tasks, make([]*waiting, max(64, len(tasks)))...), 0
	}
	w := &waiting{keyTask: t, since: now, commitNs: t.entry.CommitNs}
	b.paths[keyName{t.bucket.Name, t.path}] = w
	b.tasks[(b.first+b.count)%len(b.tasks)] = w
	b.count++
}

// ready reports whether look-ups have waited enough; there is at least one.
func (b *backlog) ready(now time.Time) bool {
	return b.count >= behind+batch || now.Sub(b.tasks[b.first].since) >= longestWait
}

// pop takes the first look-up. Its entry stays only while no later event of the
// path was read.
func (b *backlog) pop() (t keyTask, removed bool) {
	w := b.tasks[b.first]
	b.tasks[b.first] = nil
	b.first = (b.first + 1) % len(b.tasks)
	b.count--
	if at := (keyName{w.bucket.Name, w.path}); b.paths[at] == w {
		delete(b.paths, at)
	}
	if w.changed {
		w.entry = nil
	}
	return w.keyTask, w.removed
}

// guessed is the object at a path as the log shows it, where it can be sent so:
// it is due, shows no lock, and no rule asks for its tags. The gateway does
// nothing if the live entry is another; while that is what mostly happens in
// the bucket, a look-up costs less.
func (r *replay) guessed(t *keyTask) (engine.Group, bool) {
	if r.luck == nil || r.luck[t.bucket.Name].Load() < 0 || t.entry == nil {
		return engine.Group{}, false
	}
	o, ok := t.logged()
	if !ok || o.Lock != (engine.Lock{}) {
		return engine.Group{}, false
	}
	actions := r.view.Matching(t.bucket.Name, o.Key)
	if slices.ContainsFunc(actions, func(a *engine.Action) bool { return len(a.Rule.Tags) > 0 }) {
		return engine.Group{}, false
	}
	if _, _, due := engine.FirstDue(actions, &o, r.now, r.clock); !due {
		return engine.Group{}, false
	}
	return engine.Group{Bucket: t.bucket.Name, Key: o.Key, Objects: []engine.Object{o}}, true
}

// logged is the object that the log's entry is.
func (t *keyTask) logged() (engine.Object, bool) {
	if t.entry == nil || t.entry.Nature != engine.File || isUpload(t.path) {
		return engine.Object{}, false
	}
	return single(t.bucket.Name, t.path, t.entry)
}

// longMemory bounds how much luck outweighs what happens next.
const longMemory = 64

// learn notes whether the entry that the log shows is the live one; live is nil
// where there is none, or not the one that was sent for.
func (r *replay) learn(t *keyTask, live *engine.Identity) {
	o, ok := t.logged()
	if !ok || r.luck == nil {
		return
	}
	hit := false
	if live != nil {
		logged := o.Identity()
		hit = logged != nil && live.Equal(*logged)
	}
	luck := r.luck[t.bucket.Name]
	switch now := luck.Load(); {
	case hit && now < longMemory:
		luck.Add(1)
	case !hit && now > -longMemory:
		luck.Add(-1)
	}
}
