package memcluster

import (
	"maps"
	"path"
	"slices"
	"strings"

	"weedlc/engine"
)

// tree holds entries by their path, and each folder's names in order. Entries
// are never changed in place: events share them.
type tree struct {
	entries map[string]*engine.Entry
	names   map[string][]string
}

func newTree() tree {
	return tree{entries: map[string]*engine.Entry{}, names: map[string][]string{}}
}

// clean is the path of an entry: without a slash at either end.
func clean(p string) string { return strings.Trim(p, "/") }

// split parts a path into its folder and its name.
func split(p string) (folder, name string) {
	folder, name = path.Split(p)
	return strings.TrimSuffix(folder, "/"), name
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

func (t *tree) get(p string) *engine.Entry { return t.entries[clean(p)] }

func (t *tree) set(p string, e *engine.Entry) {
	p = clean(p)
	if t.entries[p] == nil {
		folder, name := split(p)
		names := t.names[folder]
		i, _ := slices.BinarySearch(names, name)
		t.names[folder] = slices.Insert(names, i, name)
	}
	t.entries[p] = e
}

func (t *tree) remove(p string) {
	p = clean(p)
	if t.entries[p] == nil {
		return
	}
	delete(t.entries, p)
	folder, name := split(p)
	names := t.names[folder]
	if i, ok := slices.BinarySearch(names, name); ok {
		t.names[folder] = slices.Delete(names, i, i+1)
	}
	if len(t.names[folder]) == 0 {
		delete(t.names, folder)
	}
}

// children lists a folder's names in order.
func (t *tree) children(folder string) []string { return t.names[clean(folder)] }

// page lists a part of a folder.
func (t *tree) page(p engine.Page) []engine.Entry {
	folder := clean(p.Folder)
	names := t.names[folder]
	from := max(p.Prefix, p.After)
	i, found := slices.BinarySearch(names, from)
	if found && from == p.After {
		i++
	}
	var out []engine.Entry
	for ; i < len(names) && len(out) < p.Limit; i++ {
		if !strings.HasPrefix(names[i], p.Prefix) {
			break
		}
		out = append(out, *t.entries[join(folder, names[i])])
	}
	return out
}

// modified is a copy of an entry with an Extended map of its own, changed by
// fn.
func modified(e *engine.Entry, fn func(*engine.Entry)) *engine.Entry {
	out := *e
	out.Extended = maps.Clone(e.Extended)
	if out.Extended == nil {
		out.Extended = map[string][]byte{}
	}
	fn(&out)
	return &out
}

// sameEntry compares what an update can change; the commit stamp is not part
// of it.
func sameEntry(a, b *engine.Entry) bool {
	return a.Nature == b.Nature && a.HasAttributes == b.HasAttributes &&
		a.MtimeNs == b.MtimeNs && a.CreatedNs == b.CreatedNs && a.Size == b.Size && a.TTL == b.TTL &&
		slices.Equal(a.Chunks, b.Chunks) &&
		maps.EqualFunc(a.Extended, b.Extended, func(x, y []byte) bool { return string(x) == string(y) })
}
