package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
)

// backupLoader turns a backup's file into a table.
type backupLoader struct {
	in      *backupReader
	options BackupOptions
	sort    sorter

	// doubtful is the first entry when it may be its folder itself (see take),
	// siblings whether others lie in that folder, and parent whether the folder
	// has an entry of its own.
	doubtful         *filer_pb.FullEntry
	doubtfulAt       int64
	siblings, parent bool
	// found is whether anything is the buckets folder or lies in it.
	found bool
}

func newBackupLoader(in *backupReader, o BackupOptions) *backupLoader {
	return &backupLoader{
		in: in, options: o,
		sort: sorter{tempDir: o.TempDir, memory: o.sizes.sort, fanIn: o.sizes.fanIn},
	}
}

// progressStep is how many entries are read between two reports of progress.
const progressStep = 1 << 13

// load reads the file and returns its entries below the buckets folder.
func (l *backupLoader) load(ctx context.Context) (*table, error) {
	for n := int64(0); ; n++ {
		if n%progressStep == 0 {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			l.options.Progress(n, l.in.taken.n.Load(), l.in.info.Size())
		}
		full, at, err := l.in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := l.take(full, at); err != nil {
			return nil, err
		}
	}
	if err := l.resolveDoubt(); err != nil {
		return nil, err
	}
	if !l.found {
		return nil, fmt.Errorf("backup %q: nothing of %q in it, which is to be the folder of the buckets", l.in.path, l.options.BucketsPath)
	}
	l.options.Progress(l.in.entries, l.in.taken.n.Load(), l.in.info.Size())
	return l.table(ctx)
}

// take takes an entry in. Told to save "/x/", with a slash at the end,
// fs.meta.save writes the entry of that folder as if it lay in itself, as
// "/x/x", before the others. What the others are tells it from a folder that
// is called like its own: some lie in "/x", and none is "/x".
func (l *backupLoader) take(full *filer_pb.FullEntry, at int64) error {
	dir, e := strings.TrimRight(full.Dir, "/"), full.Entry
	if l.in.entries == 1 && e.IsDirectory && path.Base(dir) == e.Name {
		full.Dir = dir
		l.doubtful, l.doubtfulAt = full, at
		return nil
	}
	if d := l.doubtful; d != nil {
		l.siblings = l.siblings || dir == d.Dir
		l.parent = l.parent || e.Name == d.Entry.Name && dir+"/"+e.Name == d.Dir
	}
	return l.keep(dir, e, at)
}

func (l *backupLoader) resolveDoubt() error {
	if l.doubtful == nil {
		return nil
	}
	dir := l.doubtful.Dir
	if l.siblings && !l.parent {
		dir = strings.TrimRight(path.Dir(dir), "/")
	}
	return l.keep(dir, l.doubtful.Entry, l.doubtfulAt)
}

// keep sorts an entry in if it lies below the buckets folder.
func (l *backupLoader) keep(dir string, e *filer_pb.Entry, at int64) error {
	root := l.options.BucketsPath
	if dir+"/"+e.Name == root {
		l.found = true
		return nil
	}
	folder, inside := "", dir == root
	if !inside {
		folder, inside = strings.CutPrefix(dir, root+"/")
	}
	if !inside || e.Name == "" { // the filer's root has no name
		return nil
	}
	l.found = true
	var offset [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(offset[:], uint64(at))
	s := slim(e)
	value, err := l.sort.add(folder, e.Name, n+s.SizeVT())
	if err != nil {
		return fmt.Errorf("cannot sort backup %q: %w", l.in.path, err)
	}
	copy(value, offset[:n])
	if _, err := s.MarshalToSizedBufferVT(value[n:]); err != nil {
		return l.in.fault(at, err, "an entry that cannot be encoded again")
	}
	return nil
}

// table writes the sorted entries to a table and checks that each is there
// once and lies in a folder.
func (l *backupLoader) table(ctx context.Context) (_ *table, err error) {
	file, err := newTempFile(l.options.TempDir)
	if err != nil {
		return nil, fmt.Errorf("cannot sort backup %q: %w", l.in.path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.close())
		}
	}()
	t, err := l.write(ctx, file)
	if err != nil {
		return nil, err
	}
	if err := l.checkFolders(ctx, t); err != nil {
		return nil, err
	}
	return t, nil
}

func (l *backupLoader) write(ctx context.Context, file *tempFile) (*table, error) {
	w := newTableWriter(file, l.options.sizes.block)
	next := l.sort.sorted()
	var last record
	for n := 0; ; n++ {
		if n%progressStep == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := next()
		if err == io.EOF {
			break
		}
		if err == nil && n > 0 && r.compare(last.folder, last.name) == 0 {
			return nil, l.duplicate(last, r)
		}
		if err == nil {
			err = w.add(r)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot sort backup %q: %w", l.in.path, err)
		}
		last.folder = append(last.folder[:0], r.folder...)
		last.name = append(last.name[:0], r.name...)
		last.value = append(last.value[:0], r.value...)
	}
	t, err := w.finish(file, l.options.sizes.cache)
	if err != nil {
		return nil, fmt.Errorf("cannot sort backup %q: %w", l.in.path, err)
	}
	return t, nil
}

func (l *backupLoader) duplicate(a, b record) error {
	first, second := storedOffset(a.value), storedOffset(b.value)
	if first > second {
		first, second = second, first
	}
	return l.in.fault(second, nil, fmt.Sprintf("a second entry %q; the first is at offset %d",
		l.full(string(a.folder), string(a.name)), first))
}

// checkFolders checks that what entries lie in are folders of the backup.
func (l *backupLoader) checkFolders(ctx context.Context, t *table) error {
	c, err := t.seek(nil, nil)
	if err != nil {
		return err
	}
	var last []byte // the buckets folder, which need not be in the backup
	for n := 0; ; n++ {
		if n%progressStep == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := c.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes.Equal(r.folder, last) {
			continue
		}
		last = append(last[:0], r.folder...)
		if err := l.checkFolder(t, r); err != nil {
			return err
		}
	}
}

func (l *backupLoader) checkFolder(t *table, r record) error {
	at := string(r.folder)
	parent, name := splitPath(at)
	value, ok, err := t.get([]byte(parent), []byte(name))
	if err != nil {
		return err
	}
	what := ""
	if !ok {
		what = "is not in the backup"
		if parent == "" {
			what += "; save the whole bucket or what it lies in"
		}
	} else {
		e, err := storedEntry(record{value: value})
		if err != nil {
			return err
		}
		if e.IsDirectory {
			return nil
		}
		what = "is a file"
	}
	return l.in.fault(storedOffset(r.value), nil, fmt.Sprintf("the entry %q lies in %q, which %s",
		l.full(at, string(r.name)), l.full(parent, name), what))
}

// full is the filer's path of an entry.
func (l *backupLoader) full(folder, name string) string {
	if folder != "" {
		name = folder + "/" + name
	}
	return l.options.BucketsPath + "/" + name
}

// checkFullEntry checks that an entry has a place.
func checkFullEntry(full *filer_pb.FullEntry) error {
	e := full.Entry
	switch {
	case e == nil:
		return fmt.Errorf("a folder %q without an entry", full.Dir)
	case !strings.HasPrefix(full.Dir, "/"):
		return fmt.Errorf("an entry %q in %q, which is no absolute path", e.Name, full.Dir)
	case e.Name == "" && strings.Trim(full.Dir, "/") != "":
		return fmt.Errorf("an entry without a name in %q", full.Dir)
	case strings.Contains(e.Name, "/"):
		return fmt.Errorf("an entry in %q with a slash in its name %q", full.Dir, e.Name)
	}
	return nil
}
