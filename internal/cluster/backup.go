package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
)

// BackupOptions say how to read a metadata backup. The zero value will do.
type BackupOptions struct {
	// TempDir is where the temporary files go; empty is os.TempDir(). While a
	// backup is opened they hold up to about twice what it unpacks to, later
	// once.
	TempDir string
	// BucketsPath is the filer's folder of the buckets; empty is "/buckets".
	BucketsPath string
	// Now is the backup's clock; zero is the time at which the file was last
	// modified.
	Now time.Time
	// Progress is told now and then, while the backup is opened, how many
	// entries and how many of the file's bytes have been read, and last of all
	// once everything has; nil is nobody.
	Progress func(entries, read, size int64)

	sizes backupSizes
}

// backupSizes bound the memory that a backup takes.
type backupSizes struct {
	// sort is how many bytes are sorted at a time, fanIn how many runs of
	// them are merged at a time, block the size of a table's block, cache how
	// many bytes of blocks are kept.
	sort, fanIn, block, cache int
}

func (o *BackupOptions) setDefaults() {
	if o.BucketsPath == "" {
		o.BucketsPath = "/buckets"
	}
	o.BucketsPath = strings.TrimRight(o.BucketsPath, "/")
	if o.Progress == nil {
		o.Progress = func(int64, int64, int64) {}
	}
	if o.sizes == (backupSizes{}) {
		o.sizes = backupSizes{sort: 16 << 20, fanIn: 32, block: 32 << 10, cache: 8 << 20}
	}
}

// Backup is a metadata backup as fs.meta.save of weed shell writes it, plain or
// packed: a filer that answers from a file. It is safe for concurrent use.
//
// The file lists folders side by side and says nothing of where one begins, so
// it is sorted into a temporary file first, and a listing is then a range of
// that. Memory depends neither on how many entries there are nor on their
// order, only on the longest.
type Backup struct {
	bucketsDir string
	now        time.Time
	// table holds the entries below the buckets folder by their folder, from
	// there on, and their name. A value is the entry's offset in the file, for
	// errors, and the entry without its name (see slim).
	table *table
}

// OpenBackup reads a backup, to its end and every entry of it, so that what is
// wrong with it comes out before anything is answered from it: as a
// *BackupError where an entry is at fault. Close the backup when it is no
// longer needed.
//
// fs.meta.save of a folder that is no bucket, nor above one, is an error: rules
// and versioning are written on the bucket's own entry. A plain file that is
// cut off between two entries cannot be told from a whole one.
func OpenBackup(ctx context.Context, path string, o BackupOptions) (*Backup, error) {
	o.setDefaults()
	r, err := openBackupReader(path)
	if err != nil {
		return nil, err
	}
	l := newBackupLoader(r, o)
	t, err := l.load(ctx)
	if err := errors.Join(err, l.sort.close(), r.close()); err != nil {
		if t != nil {
			err = errors.Join(err, t.close())
		}
		return nil, err
	}
	b := &Backup{bucketsDir: o.BucketsPath, now: o.Now, table: t}
	if b.now.IsZero() {
		b.now = r.info.ModTime()
	}
	return b, nil
}

// Close removes the temporary file. Calls in flight fail.
func (b *Backup) Close() error { return b.table.close() }

// Now is the backup's clock, which stands still.
func (b *Backup) Now(context.Context) (time.Time, error) { return b.now, nil }

// Buckets lists every bucket, in the order of their names.
func (b *Backup) Buckets(ctx context.Context) ([]engine.Bucket, error) {
	var buckets []engine.Bucket
	err := b.scan(ctx, "", "", "", func(e *filer_pb.Entry) bool {
		if e.IsDirectory {
			buckets = append(buckets, bucketOf(e))
		}
		return true
	})
	return buckets, err
}

// Bucket looks one bucket up.
func (b *Backup) Bucket(ctx context.Context, name string) (engine.Bucket, error) {
	e, err := b.lookup(ctx, name)
	if err != nil {
		return engine.Bucket{}, err
	}
	if !e.IsDirectory {
		return engine.Bucket{}, fmt.Errorf("bucket %q: %w", name, engine.ErrNotFound)
	}
	return bucketOf(e), nil
}

// List returns one page of a folder's entries in the order of their names. A
// missing folder is an empty page.
func (b *Backup) List(ctx context.Context, p engine.Page) ([]engine.Entry, error) {
	folder, ok := b.resolve(p.Bucket, p.Folder)
	if !ok {
		return nil, nil
	}
	var entries []engine.Entry
	err := b.scan(ctx, folder, p.Prefix, p.After, func(e *filer_pb.Entry) bool {
		entries = append(entries, entryOf(e))
		return len(entries) < p.Limit
	})
	return entries, err
}

// Lookup returns the entry at a path inside the bucket.
func (b *Backup) Lookup(ctx context.Context, bucket, inBucket string) (engine.Entry, error) {
	at, ok := b.resolve(bucket, inBucket)
	if !ok {
		return engine.Entry{}, fmt.Errorf("bucket %q, path %q: %w", bucket, inBucket, engine.ErrNotFound)
	}
	e, err := b.lookup(ctx, at)
	if err != nil {
		return engine.Entry{}, err
	}
	return entryOf(e), nil
}

// ReadLog fails: a backup has no meta-log.
func (b *Backup) ReadLog(context.Context, engine.LogRange, func(*engine.Event) error) error {
	return errors.New("a metadata backup has no meta-log")
}

// LogHorizon is unknown.
func (b *Backup) LogHorizon(context.Context) (int64, error) { return 0, nil }

// resolve is the path from the buckets folder of a path inside a bucket.
func (b *Backup) resolve(bucket, inBucket string) (string, bool) {
	full, ok := resolvePath(b.bucketsDir, bucket, inBucket)
	return strings.TrimPrefix(full, b.bucketsDir+"/"), ok
}

// scan hands over the entries of a folder whose names begin with a prefix and
// come after another name, until fn returns false.
func (b *Backup) scan(ctx context.Context, folder, prefix, after string, fn func(*filer_pb.Entry) bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := b.table.seek([]byte(folder), []byte(max(prefix, after)))
	if err != nil {
		return err
	}
	for {
		r, err := c.next()
		if err == io.EOF || err == nil && (string(r.folder) != folder || !bytes.HasPrefix(r.name, []byte(prefix))) {
			return nil
		}
		if err != nil {
			return err
		}
		if after != "" && string(r.name) == after {
			continue
		}
		e, err := storedEntry(r)
		if err != nil {
			return err
		}
		if !fn(e) {
			return nil
		}
	}
}

// lookup returns the entry at a path from the buckets folder.
func (b *Backup) lookup(ctx context.Context, at string) (*filer_pb.Entry, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	folder, name := splitPath(at)
	value, ok, err := b.table.get([]byte(folder), []byte(name))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%q: %w", b.bucketsDir+"/"+at, engine.ErrNotFound)
	}
	return storedEntry(record{name: []byte(name), value: value})
}

// splitPath splits a path from the buckets folder; a bucket lies in the folder
// "".
func splitPath(at string) (folder, name string) {
	i := strings.LastIndexByte(at, '/')
	return at[:max(i, 0)], at[i+1:]
}

// storedOffset is where the entry of a record lies in the backup's file.
func storedOffset(value []byte) int64 {
	at, _ := binary.Uvarint(value)
	return int64(at)
}

func storedEntry(r record) (*filer_pb.Entry, error) {
	_, n := binary.Uvarint(r.value)
	e := &filer_pb.Entry{}
	if err := e.UnmarshalVT(r.value[n:]); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	e.Name = string(r.name)
	return e, nil
}

// slim is what of an entry entryOf and bucketOf read, but for the name.
func slim(e *filer_pb.Entry) *filer_pb.Entry {
	s := &filer_pb.Entry{IsDirectory: e.IsDirectory, Extended: e.Extended, CommitTsNs: e.CommitTsNs}
	for _, c := range e.Chunks {
		s.Chunks = append(s.Chunks, &filer_pb.FileChunk{FileId: c.GetFileIdString()})
	}
	if a := e.Attributes; a != nil {
		s.Attributes = &filer_pb.FuseAttributes{
			FileSize: a.FileSize, TtlSec: a.TtlSec,
			Mtime: a.Mtime, MtimeNs: a.MtimeNs, Crtime: a.Crtime, CrtimeNs: a.CrtimeNs,
		}
	}
	if !e.IsDirectory {
		return s
	}
	// What makes a folder an object.
	if e.Attributes != nil {
		s.Attributes.Mime = e.Attributes.Mime
	}
	s.Content = e.Content[:min(1, len(e.Content))]
	if r := e.RemoteEntry; r != nil {
		s.RemoteEntry = &filer_pb.RemoteEntry{RemoteSize: r.RemoteSize}
	}
	return s
}
