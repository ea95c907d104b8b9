package pass

import (
	"context"
	"strings"
	"unicode/utf8"

	"weedlc/engine"
)

const (
	// batch is how many look-ups are taken from the backlog at a time, so that
	// those of one folder are found together.
	batch = 2048
	// fewest is how many look-ups in one folder are worth a listing.
	fewest = 16
	// listedEach is how many entries are listed at most for each look-up spared:
	// that many cost less than it does.
	listedEach = 4
)

// scout hands look-ups over. Where many are of one folder, a listing answers
// them together; in a bucket in which it did not, no other is tried.
func (r *replay) scout(ctx context.Context, tasks []keyTask) error {
	var folders [][]keyTask
	at := map[keyName]int{}
	for _, t := range tasks {
		if !r.listable(&t) {
			if err := r.hand(ctx, t); err != nil {
				return err
			}
			continue
		}
		folder, _ := splitPath(t.path)
		in := keyName{t.bucket.Name, folder}
		i, ok := at[in]
		if !ok {
			i = len(folders)
			at[in], folders = i, append(folders, nil)
		}
		folders[i] = append(folders[i], t)
	}
	for _, group := range folders {
		if len(group) < fewest {
			if err := r.handAll(ctx, group); err != nil {
				return err
			}
			continue
		}
		select {
		case r.lists <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.scouts.Go(func() {
			defer func() { <-r.lists }()
			_ = r.handAll(ctx, r.answer(ctx, group)) // what is not handed over stays unsettled
		})
	}
	return nil
}

func (r *replay) handAll(ctx context.Context, tasks []keyTask) error {
	for _, t := range tasks {
		if err := r.hand(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// listable reports whether a listing may stand for the look-up, and the look-up
// is needed.
func (r *replay) listable(t *keyTask) bool {
	if r.lists == nil || isUpload(t.path) || r.barren[t.bucket.Name].Load() {
		return false
	}
	_, guessed := r.guessed(t)
	return !guessed
}

// answer lists a part of a folder and settles the look-ups of paths at which
// nothing lies. It returns the others, with what lies there as far as the listing
// tells.
func (r *replay) answer(ctx context.Context, tasks []keyTask) (rest []keyTask) {
	folder, first := splitPath(tasks[0].path)
	last := first
	for i := range tasks {
		_, name := splitPath(tasks[i].path)
		first, last = min(first, name), max(last, name)
	}
	page := Page{
		Bucket: tasks[0].bucket.Name, Folder: folder, Prefix: commonPrefix(first, last), Limit: listedEach * len(tasks),
	}
	entries, err := r.keys.filer.List(ctx, page)
	if err != nil {
		return tasks
	}
	byName := make(map[string]*engine.Entry, len(entries))
	for i := range entries {
		byName[entries[i].Name] = &entries[i]
	}
	// What a listing that was cut off does not show may still be there. Stores
	// differ in how they order names, so where it was cut off says nothing.
	complete := len(entries) < page.Limit
	told := 0
	rest = tasks[:0]
	for _, t := range tasks {
		_, name := splitPath(t.path)
		t.live = byName[name]
		if t.live != nil || complete {
			told++
		}
		if t.live == nil && complete && !t.run.stopped() {
			r.learn(&t, nil)
			t.run.done(t.ts)
			continue
		}
		rest = append(rest, t)
	}
	if told < len(tasks)/2 {
		r.barren[page.Bucket].Store(true)
	}
	return rest
}

// commonPrefix is what both begin with, in whole characters.
func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) {
		_, size := utf8.DecodeRuneInString(a[n:])
		if !strings.HasPrefix(b[n:], a[n:n+size]) {
			break
		}
		n += size
	}
	return a[:n]
}

// splitPath is the folder of a path, empty for the bucket's own, and the name.
func splitPath(p string) (folder, name string) {
	i := strings.LastIndexByte(p, '/')
	return p[:max(0, i)], p[i+1:]
}

// found is what a listing found at the path, as a look-up would have.
func (t *keyTask) found() engine.Group {
	g := engine.Group{Bucket: t.bucket.Name, Key: t.path}
	if o, ok := single(t.bucket.Name, t.path, t.live); ok {
		g.Objects = []engine.Object{o}
	}
	return g
}

// takeBatch takes the look-ups that have waited longest, but those whose entry
// was removed meanwhile.
func (r *replay) takeBatch() []keyTask {
	tasks := make([]keyTask, 0, batch)
	for r.backlog.count > 0 && len(tasks) < batch {
		t, removed := r.backlog.pop()
		if removed {
			t.run.done(t.ts)
			continue
		}
		tasks = append(tasks, t)
	}
	return tasks
}
