package pass

import (
	"slices"

	"weedlc/engine"
)

// behind is how many look-ups wait while the reading of the log goes on.
const behind = 32 << 10

// backlog holds the look-ups of paths that wait, in the order of their events,
// and what became of the entry of each event since.
type backlog struct {
	tasks []waiting // a ring
	first int
	count int
	// byStamp finds the look-up of an entry. The stamp is that of the event that
	// wrote the entry, and so names one state of one path, whichever filer's
	// clock it comes from.
	byStamp map[stamped]*aftermath
}

type waiting struct {
	keyTask
	at   stamped
	then *aftermath
}

type stamped struct {
	keyName
	commitNs int64
}

// aftermath is what a later event did to an entry.
type aftermath struct {
	// removed is set when the entry went from its path, changed when another took
	// its place.
	removed, changed bool
}

// note takes in an event of a bucket without versions.
func (b *backlog) note(ev *engine.Event) {
	if ev.Old == nil || ev.Old.CommitNs == 0 {
		return
	}
	at := stamped{keyName{ev.Bucket, ev.Path}, ev.Old.CommitNs}
	moved := ev.OldPath != ""
	if moved {
		at.path = ev.OldPath
	}
	if f := b.byStamp[at]; f != nil {
		f.removed = f.removed || moved || ev.New == nil
		f.changed = true
	}
}

// push puts a look-up at the end.
func (b *backlog) push(t keyTask) {
	if b.byStamp == nil {
		b.byStamp = map[stamped]*aftermath{}
	}
	if b.count == len(b.tasks) {
		tasks := slices.Concat(b.tasks[b.first:], b.tasks[:b.first])
		b.tasks, b.first = append(tasks, make([]waiting, max(64, len(tasks)))...), 0
	}
	w := waiting{t, stamped{keyName{t.bucket.Name, t.path}, t.entry.CommitNs}, &aftermath{}}
	b.byStamp[w.at] = w.then
	b.tasks[(b.first+b.count)%len(b.tasks)] = w
	b.count++
}

// pop takes the first look-up. Its entry stays only while it is the path's
// latest.
func (b *backlog) pop() (t keyTask, removed bool) {
	w := b.tasks[b.first]
	b.tasks[b.first] = waiting{}
	b.first = (b.first + 1) % len(b.tasks)
	b.count--
	if b.byStamp[w.at] == w.then {
		delete(b.byStamp, w.at)
	}
	if w.then.changed {
		w.entry = nil
	}
	return w.keyTask, w.then.removed
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
	hit := live != nil && o.Identity != nil && live.Equal(*o.Identity)
	luck := r.luck[t.bucket.Name]
	switch now := luck.Load(); {
	case hit && now < longMemory:
		luck.Add(1)
	case !hit && now > -longMemory:
		luck.Add(-1)
	}
}
