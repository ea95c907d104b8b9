package memcluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

var (
	errIsFolder = errors.New("existing entry is a folder")
	errIsFile   = errors.New("existing entry is a file")
	errNotEmpty = errors.New("folder is not empty")
)

// create writes an entry, over the one that is there when their types agree,
// makes its folders and logs it all.
func (c *Cluster) create(b *bucket, path string, e *engine.Entry) error {
	return c.createLogged(b, path, e, true)
}

// createLogged does without the events when logged is false: a rename logs one
// of its own, and none for the folders it makes.
func (c *Cluster) createLogged(b *bucket, path string, e *engine.Entry, logged bool) error {
	path = clean(path)
	_, e.Name = split(path)
	before := b.get(path)
	if before != nil {
		if before.Nature.IsFolder() && !e.Nature.IsFolder() {
			return fmt.Errorf("%q: %w", path, errIsFolder)
		}
		if !before.Nature.IsFolder() && e.Nature.IsFolder() {
			return fmt.Errorf("%q: %w", path, errIsFile)
		}
		e.CreatedNs = before.CreatedNs
	}
	e.CommitNs = c.stamp()
	b.set(path, e)
	if before == nil {
		c.ensureFolders(b, path, logged)
	}
	if logged {
		c.record(b, path, "", before, e)
	}
	return nil
}

// ensureFolders makes the folders above a path. A file that is in the way
// becomes a folder that keeps its data.
func (c *Cluster) ensureFolders(b *bucket, path string, logged bool) {
	folder, _ := split(path)
	if folder == "" {
		return
	}
	var made *engine.Entry
	switch e := b.get(folder); {
	case e == nil:
		c.ensureFolders(b, folder, logged)
		_, name := split(folder)
		now := c.filerNow()
		made = &engine.Entry{
			Name: name, Nature: engine.Folder, HasAttributes: true,
			MtimeNs: now.UnixNano(), CreatedNs: now.Unix() * 1e9, CommitNs: c.stamp(),
		}
	case !e.Nature.IsFolder():
		made = modified(e, func(e *engine.Entry) {
			e.Nature = engine.PrefixObject
			e.Extended[s3_constants.SeaweedFSPrefixObject] = []byte("true")
			e.CommitNs = c.stamp()
		})
	default:
		return
	}
	b.set(folder, made)
	if logged {
		c.record(b, folder, "", nil, made)
	}
}

// createObject writes an object's entry. Where other keys lie below its key it
// goes onto the folder they live in.
func (c *Cluster) createObject(b *bucket, path string, e *engine.Entry) error {
	err := c.create(b, path, e)
	if errors.Is(err, errIsFolder) {
		e.Nature = engine.PrefixObject
		e.Extended[s3_constants.SeaweedFSPrefixObject] = []byte("true")
		err = c.create(b, path, e)
	}
	return err
}

// update changes an entry in place. A change of nothing is not logged.
func (c *Cluster) update(b *bucket, path string, fn func(*engine.Entry)) error {
	path = clean(path)
	before := b.get(path)
	if before == nil {
		return fmt.Errorf("entry %q in bucket %q: %w", path, b.info.Name, engine.ErrNotFound)
	}
	after := modified(before, fn)
	if sameEntry(before, after) {
		return nil
	}
	after.CommitNs = c.stamp()
	b.set(path, after)
	c.record(b, path, "", before, after)
	return nil
}

// remove deletes an entry, and with recursive what lies below it. It is no
// error when there is none.
func (c *Cluster) remove(b *bucket, path string, recursive bool) error {
	path = clean(path)
	e := b.get(path)
	if e == nil {
		return nil
	}
	names := b.children(path)
	if len(names) > 0 && !recursive {
		return fmt.Errorf("%q: %w", path, errNotEmpty)
	}
	for _, name := range append([]string(nil), names...) {
		if err := c.remove(b, join(path, name), true); err != nil {
			return err
		}
	}
	b.tree.remove(path)
	c.record(b, path, "", e, nil)
	return nil
}

// removeObject deletes an object's entry. A folder that still has children
// stays and is no longer an object.
func (c *Cluster) removeObject(b *bucket, path string) error {
	err := c.remove(b, path, false)
	if !errors.Is(err, errNotEmpty) {
		return err
	}
	if b.get(path).Nature == engine.Folder {
		return nil
	}
	return c.update(b, path, func(e *engine.Entry) {
		e.Nature, e.Size, e.Chunks = engine.Folder, 0, nil
		for k := range e.Extended {
			lower := strings.ToLower(k)
			internal := strings.HasPrefix(lower, "xattr-") || strings.HasPrefix(lower, s3_constants.SeaweedFSInternalPrefix)
			if !internal || lower == s3_constants.SeaweedFSPrefixObject {
				delete(e.Extended, k)
			}
		}
	})
}

// Rename moves an entry, and what lies below it, within a bucket, over an entry
// of the same type that is in the way. Each entry keeps its mtime and gets one
// event, with its old and its new path.
func (c *Cluster) Rename(bucketName, from, to string) error {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return err
	}
	from, to = clean(from), clean(to)
	if b.get(from) == nil {
		return fmt.Errorf("entry %q in bucket %q: %w", from, bucketName, engine.ErrNotFound)
	}
	if from == to || strings.HasPrefix(to, from+"/") {
		return fmt.Errorf("cannot move %q to %q", from, to)
	}
	var moves []move
	if err := c.move(b, from, to, &moves); err != nil {
		return err
	}
	for _, m := range moves {
		if m.replaced != nil {
			c.record(b, m.to, "", m.replaced, nil)
		}
		c.record(b, m.to, m.from, m.before, m.after)
	}
	return nil
}

type move struct {
	from, to                string
	before, after, replaced *engine.Entry
}

func (c *Cluster) move(b *bucket, from, to string, moves *[]move) error {
	before := b.get(from)
	m := move{from: from, to: to, before: before, replaced: b.get(to)}
	if m.replaced != nil {
		if m.replaced.Nature.IsFolder() != before.Nature.IsFolder() {
			return fmt.Errorf("cannot move %q over %q: one is a folder", from, to)
		}
		if len(b.children(to)) > 0 {
			return fmt.Errorf("cannot move %q over %q: %w", from, to, errNotEmpty)
		}
		b.tree.remove(to)
	}
	m.after = modified(before, func(*engine.Entry) {})
	if err := c.createLogged(b, to, m.after, false); err != nil {
		return err
	}
	*moves = append(*moves, m)
	for _, name := range append([]string(nil), b.children(from)...) {
		if err := c.move(b, join(from, name), join(to, name), moves); err != nil {
			return err
		}
	}
	b.tree.remove(from)
	return nil
}

// Edit changes an entry as a client of the filer does, and logs it unless
// nothing changed. fn gets a copy that it may change.
func (c *Cluster) Edit(bucketName, path string, fn func(*engine.Entry)) error {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return err
	}
	return c.update(b, path, fn)
}
