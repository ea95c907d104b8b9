package pass

import (
	"context"
	"slices"
	"strings"
	"sync"

	"weedlc/engine"
)

// traversal is one walk of one bucket in the order of its tree.
type traversal struct {
	*walker
	walk  *bucketWalk
	view  *engine.Snapshot
	scope scope
	turn  *turn
	wg    sync.WaitGroup
	place
	lookahead
}

// scope is what a walk must see: the keys with one of these prefixes. An empty
// scope is nothing.
type scope []string

// scopeOf narrows rule prefixes to a prefix asked for.
func scopeOf(rules []string, asked string) scope {
	var s scope
	for _, p := range rules {
		switch {
		case strings.HasPrefix(p, asked):
			s = append(s, p)
		case strings.HasPrefix(asked, p):
			s = append(s, asked)
		}
	}
	return s.minimal()
}

// minimal sorts and drops what a shorter prefix covers.
func (s scope) minimal() scope {
	slices.Sort(s)
	out := s[:0]
	for _, p := range s {
		if n := len(out); n > 0 && strings.HasPrefix(p, out[n-1]) {
			continue
		}
		out = append(out, p)
	}
	return out
}

// selection is one thing to look at in a folder: the names with a prefix, or
// exactly one folder.
type selection struct {
	name   string
	folder bool
}

// in lists what to look at in a folder whose keys begin with dir, which is
// empty or ends in a slash, in the order of the names. Nothing is listed twice.
// A minimal scope holds at most one prefix of dir, right in front of those that
// begin with it.
func (s scope) in(dir string) []selection {
	at, _ := slices.BinarySearch(s, dir)
	if at < len(s) && s[at] == dir || at > 0 && strings.HasPrefix(dir, s[at-1]) {
		return []selection{{}}
	}
	var out []selection
	for _, p := range s[at:] {
		rest, below := strings.CutPrefix(p, dir)
		if !below {
			break
		}
		name, _, deeper := strings.Cut(rest, "/")
		out = append(out, selection{name: name, folder: deeper})
	}
	slices.SortFunc(out, func(a, b selection) int { return strings.Compare(a.name, b.name) })
	return slices.Compact(out)
}

// bucket walks the uploads, where a rule aborts them, and then the tree: from a
// path on, or all of it.
func (t *traversal) bucket(ctx context.Context, from string) error {
	upload, inUploads := strings.CutPrefix(from+"/", uploadsFolder+"/")
	upload = strings.TrimSuffix(upload, "/")
	if t.view.HasUploadActions(t.walk.bucket.Name) && (from == "" || inUploads) {
		if err := t.uploads(ctx, upload); err != nil {
			return err
		}
	}
	if inUploads {
		from = ""
	}
	return t.folder(ctx, "", from)
}

func (t *traversal) uploads(ctx context.Context, from string) error {
	b := t.walk.bucket.Name
	return t.within(uploadsFolder+"/", func(l *level) error {
		visit := func(e *engine.Entry) error {
			l.name = e.Name
			o, ok := engine.NewUpload(b, e)
			if !ok {
				return nil
			}
			return t.visit(ctx, o.Path, engine.Group{Bucket: b, Key: o.Key, Objects: []engine.Object{o}}, []string{o.Path, o.Key})
		}
		if from != "" {
			e, err := t.keys.lookup(ctx, b, l.dir+from)
			if err != nil {
				return t.broken(ctx, err)
			}
			if e != nil {
				if err := visit(e); err != nil {
					return err
				}
			}
		}
		return t.list(ctx, uploadsFolder, "", from, visit)
	})
}

// folder walks one folder; dir is empty or ends in a slash. From is where to
// begin, relative to it; empty is at the beginning.
func (t *traversal) folder(ctx context.Context, dir, from string) error {
	if t.excludes(dir) {
		return nil
	}
	selections := t.scope.in(dir)
	name, rest, deeper := strings.Cut(from, "/")
	if from != "" {
		if i := slices.IndexFunc(selections, func(s selection) bool { return s.holds(name) }); i >= 0 {
			selections = selections[i:]
		} else {
			from, rest, deeper = "", "", false
		}
	}
	for i, sel := range selections {
		if i > 0 {
			from, rest, deeper = "", "", false
		}
		if dir == "" && sel.folder && sel.name == uploadsFolder {
			continue
		}
		var err error
		if sel.folder {
			err = t.only(ctx, dir, sel.name, rest, deeper)
		} else {
			err = t.names(ctx, dir, sel.name, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether a name belongs to the selection.
func (s selection) holds(name string) bool {
	if s.folder {
		return s.name == name
	}
	return strings.HasPrefix(name, s.name)
}

// only walks one folder of a folder. Deeper says that the walk goes on inside
// it, so the object that the folder may be has been dealt with.
func (t *traversal) only(ctx context.Context, dir, name, rest string, deeper bool) error {
	return t.within(dir, func(l *level) error {
		l.name = name
		e, err := t.keys.lookup(ctx, t.walk.bucket.Name, dir+name)
		if err != nil {
			return t.broken(ctx, err)
		}
		if e == nil || !e.Nature.IsFolder() {
			return nil
		}
		if e.Nature == engine.FolderMarker && !deeper {
			if err := t.marker(ctx, dir+name, e); err != nil {
				return err
			}
		}
		return t.folder(ctx, dir+name+"/", rest)
	})
}

// names walks the entries of a folder whose names have a prefix. In a bucket
// with versions an entry waits until its version folder, which sorts later,
// can no longer come: then it is the key's only version. The names that wait
// are prefixes of the one that the listing is at, so they are few.
func (t *traversal) names(ctx context.Context, dir, prefix, from string) error {
	return t.within(dir, func(l *level) error {
		visit := func(e *engine.Entry) error {
			l.name = e.Name
			if dir == "" && e.Name == uploadsFolder && e.Nature.IsFolder() {
				return nil
			}
			if !t.walk.bucket.Versioned() {
				return t.plain(ctx, dir, e)
			}
			return t.versioned(ctx, l, e)
		}
		name, rest, deeper := strings.Cut(from, "/")
		if from != "" {
			l.name = name
			e, err := t.keys.lookup(ctx, t.walk.bucket.Name, dir+name)
			switch {
			case err != nil:
				return t.broken(ctx, err)
			case e == nil:
			case deeper && e.Nature.IsFolder():
				err = t.folder(ctx, dir+name+"/", rest)
			case !deeper:
				err = visit(e)
			}
			if err != nil {
				return err
			}
		}
		if err := t.list(ctx, strings.TrimSuffix(dir, "/"), prefix, name, visit); err != nil {
			return err
		}
		return t.flush(ctx, l, "")
	})
}

// versioned visits an entry of a bucket with versions, or puts it by.
func (t *traversal) versioned(ctx context.Context, l *level, e *engine.Entry) error {
	dir, waiting := l.dir, l.waiting
	if err := t.flush(ctx, l, e.Name); err != nil {
		return err
	}
	if name, ok := engine.IsVersionFolder(e.Name); ok && e.Nature.IsFolder() {
		if name != "" {
			l.name = name // a walk that goes on here needs the bare entry too
		}
		var bare *engine.Entry
		if b, found := waiting[name]; found {
			bare = &b
		}
		isGroup, err := t.versions(ctx, dir, name, e, bare)
		if err != nil {
			return err
		}
		if isGroup {
			delete(waiting, name)
			return nil
		}
		l.name = e.Name
		return t.folder(ctx, dir+e.Name+"/", "")
	}
	switch e.Nature {
	case engine.File, engine.PrefixObject:
		waiting[e.Name] = *e
	case engine.FolderMarker:
		if err := t.marker(ctx, dir+e.Name, e); err != nil {
			return err
		}
	}
	if e.Nature.IsFolder() {
		return t.folder(ctx, dir+e.Name+"/", "")
	}
	return nil
}

// flush visits the entries whose version folder can no longer come, now that
// the listing is at next; empty is its end.
func (t *traversal) flush(ctx context.Context, l *level, next string) error {
	for _, name := range sortedKeys(l.waiting) {
		if next != "" && next <= name+versionsSuffix {
			continue
		}
		e := l.waiting[name]
		if err := t.bare(ctx, l.dir+name, &e); err != nil {
			return err
		}
		delete(l.waiting, name)
	}
	return nil
}

// plain visits an entry of a bucket without versions and what lies below it.
func (t *traversal) plain(ctx context.Context, dir string, e *engine.Entry) error {
	path := dir + e.Name
	if o, ok := single(t.walk.bucket.Name, path, e); ok {
		g := engine.Group{Bucket: o.Bucket, Key: o.Key, Objects: []engine.Object{o}}
		if err := t.visit(ctx, path, g, []string{path}); err != nil {
			return err
		}
	}
	if e.Nature.IsFolder() {
		return t.folder(ctx, path+"/", "")
	}
	return nil
}

// bare visits an entry of a bucket with versions that has no version folder.
func (t *traversal) bare(ctx context.Context, path string, e *engine.Entry) error {
	b := t.walk.bucket.Name
	return t.visit(ctx, path, engine.NewGroup(b, path, nil, nil, e), []string{path, versionsOf(path)})
}

// marker visits the object that a folder is. With versions, one whose version
// folder lies inside it is visited there.
func (t *traversal) marker(ctx context.Context, path string, e *engine.Entry) error {
	b, key := t.walk.bucket, path+"/"
	if !b.Versioned() {
		o, _ := single(b.Name, path, e)
		return t.visit(ctx, key, engine.Group{Bucket: b.Name, Key: o.Key, Objects: []engine.Object{o}}, []string{path})
	}
	container, err := t.keys.lookup(ctx, b.Name, versionsOf(key))
	if err != nil {
		return t.broken(ctx, err)
	}
	if container != nil {
		return nil
	}
	return t.visit(ctx, key, engine.NewGroup(b.Name, key, nil, nil, e), []string{path, versionsOf(key)})
}

// versions visits the versions of a key. A folder without a version file in it
// only looks like a version folder and is not a group.
func (t *traversal) versions(ctx context.Context, dir, name string, container, bare *engine.Entry) (isGroup bool, err error) {
	b, key := t.walk.bucket, dir+name
	files, err := t.children(ctx, versionsOf(key))
	if err != nil {
		return false, t.broken(ctx, err)
	}
	if key == "" || !slices.ContainsFunc(files, func(e engine.Entry) bool { return e.VersionID() != "" }) {
		return false, nil
	}
	if name == "" { // the versions of the folder marker around it
		if bare, err = t.keys.lookup(ctx, b.Name, key); err != nil {
			return false, t.broken(ctx, err)
		}
	}
	paths := []string{strings.TrimSuffix(key, "/"), versionsOf(key)}
	for i := range files {
		paths = append(paths, versionsOf(key)+"/"+files[i].Name)
	}
	return true, t.visit(ctx, key, engine.NewGroup(b.Name, key, container, files, bare), paths)
}

// list hands over the entries of a folder behind a name.
func (t *traversal) list(ctx context.Context, folder, prefix, after string, fn func(*engine.Entry) error) error {
	dir := folder + "/"
	if folder == "" {
		dir = ""
	}
	wanted := func(e *engine.Entry) (string, bool) { return dir + e.Name, t.lists(dir, e) }
	return t.broken(ctx, t.pagesOf(ctx, Page{Folder: folder, Prefix: prefix, After: after}, func(entries []engine.Entry) error {
		t.turn.list(len(entries))
		t.mark()
		ahead := row{lookahead: &t.lookahead, entries: entries, wanted: wanted}
		for i := range entries {
			ahead.advance(ctx, i)
			if err := fn(&entries[i]); err != nil {
				return err
			}
		}
		return ctx.Err()
	}))
}

// lists reports whether the traversal is going to list all of an entry's folder.
func (t *traversal) lists(dir string, e *engine.Entry) bool {
	if !e.Nature.IsFolder() || dir == uploadsFolder+"/" || dir == "" && e.Name == uploadsFolder {
		return false
	}
	if _, ok := engine.IsVersionFolder(e.Name); ok && t.walk.bucket.Versioned() {
		return true
	}
	in := t.scope.in(dir + e.Name + "/")
	return !t.excludes(dir+e.Name) && len(in) == 1 && in[0] == selection{}
}

// children lists a whole folder.
func (t *traversal) children(ctx context.Context, folder string) ([]engine.Entry, error) {
	var all []engine.Entry
	err := t.pagesOf(ctx, Page{Folder: folder}, func(entries []engine.Entry) error {
		all = append(all, entries...)
		return nil
	})
	return all, err
}

// broken tells an error of the filer from the end of the pass.
func (t *traversal) broken(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errEnding
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sortedShards(m map[int]*shardRun) []int {
	ids := make([]int, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
