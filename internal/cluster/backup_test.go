package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"weedlc/engine"
)

// tiny sizes put a few entries through runs, merges of runs and several levels
// of index.
var tiny = backupSizes{sort: 300, fanIn: 2, block: 60, cache: 200}

func folderAt(dir, name string) *filer_pb.FullEntry {
	return &filer_pb.FullEntry{Dir: dir, Entry: &filer_pb.Entry{Name: name, IsDirectory: true}}
}

func fileAt(dir, name string) *filer_pb.FullEntry {
	return &filer_pb.FullEntry{Dir: dir, Entry: &filer_pb.Entry{Name: name, Attributes: &filer_pb.FuseAttributes{FileSize: 1}}}
}

// backupBytes is a plain backup and where its entries begin.
func backupBytes(t testing.TB, entries ...*filer_pb.FullEntry) ([]byte, []int64) {
	t.Helper()
	var out []byte
	var starts []int64
	for _, e := range entries {
		data, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, int64(len(out)))
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, data...)
	}
	return out, starts
}

func packed(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if _, err := zip.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func backupFile(t testing.TB, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.meta")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// open opens a backup that is whole and closes it with the test.
func open(t testing.TB, data []byte, o BackupOptions) *Backup {
	t.Helper()
	if o.TempDir == "" {
		o.TempDir = t.TempDir()
	}
	b, err := OpenBackup(context.Background(), backupFile(t, data), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestBackupErrors(t *testing.T) {
	whole, at := backupBytes(t,
		folderAt("/", "buckets"), folderAt("/buckets", "b"), fileAt("/buckets/b", "k"), fileAt("/buckets/b", "l"))
	then := func(entries ...*filer_pb.FullEntry) []byte {
		data, _ := backupBytes(t, entries...)
		return slices.Concat(whole, data)
	}
	end := int64(len(whole))
	size := func(n uint32) []byte { return binary.BigEndian.AppendUint32(slices.Clone(whole), n) }
	zip := packed(t, whole)
	broken := func(i int) []byte {
		data := slices.Clone(zip)
		data[i] ^= 0xff
		return data
	}
	const notOne = "is it a file that fs.meta.save wrote?"
	for _, tc := range []struct {
		name string
		data []byte
		want []string
		at   int64 // -1: no offset
	}{
		{"empty", nil, []string{"empty"}, -1},
		{"one byte", []byte{0}, []string{"cut off before its end", notOne}, 0},
		{"a text", []byte("key,size\na,1\n"), []string{"an entry of 1801812268 bytes, which cannot be", notOne}, 0},
		{"zeros", make([]byte, 64), []string{"an entry of 0 bytes, which cannot be", notOne}, 0},
		{"cut in a size", whole[:at[3]+3], []string{"cut off before its end"}, at[3]},
		{"cut after a size", whole[:at[3]+4], []string{"cut off before its end"}, at[3]},
		{"cut in an entry", whole[:end-1], []string{"cut off before its end"}, at[3]},
		{"bytes behind", slices.Concat(whole, []byte{1}), []string{"cut off before its end"}, end},
		{"the greatest size and nothing behind", size(maxBackupEntry), []string{"cut off before its end"}, end},
		{"a greater size", size(maxBackupEntry + 1), []string{"an entry of 268435457 bytes, which cannot be"}, end},
		{"a size of 0", size(0), []string{"an entry of 0 bytes, which cannot be"}, end},
		{"no protobuf", slices.Concat(size(3), []byte{0xff, 0xff, 0xff}), []string{"an entry that cannot be decoded"}, end},
		{"protobuf cut", slices.Concat(size(3), []byte{0x0a, 0x05, '/'}), []string{"an entry that cannot be decoded", "EOF"}, end},
		{"no entry", then(&filer_pb.FullEntry{Dir: "/buckets/b"}), []string{`a folder "/buckets/b" without an entry`}, end},
		{"a folder that is no path", then(fileAt("b", "m")), []string{`an entry "m" in "b", which is no absolute path`}, end},
		{"no name", then(fileAt("/buckets/b", "")), []string{`an entry without a name in "/buckets/b"`}, end},
		{"a slash in a name", then(fileAt("/buckets/b", "m/n")), []string{`an entry in "/buckets/b" with a slash in its name "m/n"`}, end},
		{"a bad entry elsewhere", then(fileAt("/etc", "")), []string{`an entry without a name in "/etc"`}, end},
		{"an entry twice", then(fileAt("/buckets/b", "m"), fileAt("/buckets/b", "k")),
			[]string{`a second entry "/buckets/b/k"`, fmt.Sprintf("the first is at offset %d", at[2])}, end + (at[3] - at[2])},
		{"a bucket twice", then(folderAt("/buckets", "b")),
			[]string{`a second entry "/buckets/b"`, fmt.Sprintf("the first is at offset %d", at[1])}, end},
		{"no folder", then(fileAt("/buckets/b/x", "m")), []string{`the entry "/buckets/b/x/m" lies in "/buckets/b/x", which is not in the backup`}, end},
		{"no folder above a folder", then(folderAt("/buckets/b/x", "y"), fileAt("/buckets/b/x/y", "m")),
			[]string{`the entry "/buckets/b/x/y" lies in "/buckets/b/x", which is not in the backup`}, end},
		{"a folder with a slash too many", then(folderAt("/buckets/b", "x"), fileAt("/buckets/b//x", "m")),
			[]string{`the entry "/buckets/b//x/m" lies in "/buckets/b//x", which is not in the backup`}, end + 4 + int64(proto.Size(folderAt("/buckets/b", "x")))},
		{"a file as a folder", then(fileAt("/buckets/b/k", "m")), []string{`the entry "/buckets/b/k/m" lies in "/buckets/b/k", which is a file`}, end},
		{"no bucket", then(fileAt("/buckets/c", "m")), []string{`lies in "/buckets/c", which is not in the backup; save the whole bucket or what it lies in`}, end},
		{"gzip cut in its header", zip[:5], []string{"no gzip header", "EOF", notOne}, 0},
		{"gzip cut", zip[:len(zip)-1], []string{"cut off before its end"}, end},
		{"gzip with another checksum", broken(len(zip) - 8), []string{"cannot be read: gzip: invalid checksum"}, end},
		{"gzip with another length", broken(len(zip) - 1), []string{"cannot be read: gzip: invalid checksum"}, end},
		{"gzip with another header", broken(2), []string{"no gzip header: gzip: invalid header", notOne}, 0},
		{"gzip and bytes behind", slices.Concat(zip, []byte("more than a gzip header has")), []string{"something that is not gzip follows the packed data"}, end},
		{"gzip and one byte behind", slices.Concat(zip, []byte{0}), []string{"cut off before its end"}, end},
		{"two backups", slices.Concat(zip, zip), []string{"a second entry"}, end + at[1]},
	} {
		for _, form := range []string{"as it is", "packed"} {
			if form == "packed" {
				if tc.name == "empty" || strings.HasPrefix(tc.name, "gzip") || tc.name == "two backups" {
					continue
				}
				tc.data = packed(t, tc.data)
			}
			t.Run(tc.name+" "+form, func(t *testing.T) {
				temp, file := t.TempDir(), backupFile(t, tc.data)
				b, err := OpenBackup(t.Context(), file, BackupOptions{TempDir: temp, sizes: tiny})
				if err == nil {
					t.Fatalf("opened; close: %v", b.Close())
				}
				for _, want := range append(tc.want, fmt.Sprintf("backup %q: ", file)) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q lacks %q", err, want)
					}
				}
				fault, ok := errors.AsType[*BackupError](err)
				isPacked := form == "packed" || bytes.HasPrefix(tc.data, []byte("\x1f\x8b"))
				if ok != (tc.at >= 0) || ok && (fault.Offset != tc.at || fault.Path != file) {
					t.Errorf("error %q is at another offset than %d", err, tc.at)
				}
				if ok && isPacked != fault.Packed && !strings.Contains(err.Error(), "no gzip header") {
					t.Errorf("error %q: packed is %v", err, fault.Packed)
				}
				wantEmpty(t, temp)
			})
		}
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBackupOfSomethingElse(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "home"), fileAt("/home", "buckets"), fileAt("/bucketsandmore", "k"))
	_, err := OpenBackup(t.Context(), backupFile(t, data), BackupOptions{})
	if err == nil || !strings.Contains(err.Error(), `nothing of "/buckets" in it`) {
		t.Error(err)
	}
	for _, file := range []string{filepath.Join(t.TempDir(), "none.meta"), t.TempDir()} {
		if _, err := OpenBackup(t.Context(), file, BackupOptions{}); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestBackupNeedsItsTempDir(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "buckets"), folderAt("/buckets", "b"))
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := OpenBackup(t.Context(), backupFile(t, data), BackupOptions{TempDir: missing})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Error(err)
	}
}

// A size that the file does not back up takes no memory.
func TestBackupBelievesNoSize(t *testing.T) {
	file := backupFile(t, binary.BigEndian.AppendUint32(nil, maxBackupEntry))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := OpenBackup(t.Context(), file, BackupOptions{}); err == nil {
		t.Fatal("opened")
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
}

// fs.meta.save writes what it is told to save first, and when that ends in a
// slash as if it lay in itself.
func TestBackupOfAPathWithASlash(t *testing.T) {
	rules := func(e *filer_pb.FullEntry) *filer_pb.FullEntry {
		e.Entry.Extended = map[string][]byte{rulesKey: []byte("rules")}
		return e
	}
	for _, tc := range []struct {
		name    string
		entries []*filer_pb.FullEntry
		want    []string
	}{
		{"the buckets", []*filer_pb.FullEntry{
			folderAt("/", "buckets"), rules(folderAt("/buckets", "b")), fileAt("/buckets/b", "k")}, []string{"b rules"}},
		{"the buckets, with a slash", []*filer_pb.FullEntry{
			folderAt("/buckets", "buckets"), rules(folderAt("/buckets", "b")), fileAt("/buckets/b", "k")}, []string{"b rules"}},
		{"a bucket", []*filer_pb.FullEntry{
			rules(folderAt("/buckets", "b")), fileAt("/buckets/b", "k")}, []string{"b rules"}},
		{"a bucket, with a slash", []*filer_pb.FullEntry{
			rules(folderAt("/buckets/b", "b")), fileAt("/buckets/b", "k")}, []string{"b rules"}},
		{"a bucket called buckets", []*filer_pb.FullEntry{
			rules(folderAt("/buckets", "buckets")), fileAt("/buckets/buckets", "k")}, []string{"buckets rules"}},
		{"a bucket called buckets, with a slash", []*filer_pb.FullEntry{
			rules(folderAt("/buckets/buckets", "buckets")), fileAt("/buckets/buckets", "k")}, []string{"buckets rules"}},
		{"a bucket called buckets among others, with a slash", []*filer_pb.FullEntry{
			folderAt("/buckets", "buckets"), folderAt("/buckets", "b"), rules(folderAt("/buckets", "buckets")), fileAt("/buckets/buckets", "k")},
			[]string{"b ", "buckets rules"}},
		{"folders that end in a slash", []*filer_pb.FullEntry{
			folderAt("/", "buckets"), rules(folderAt("/buckets/", "b")), fileAt("/buckets/b/", "k")}, []string{"b rules"}},
		{"everything", []*filer_pb.FullEntry{
			folderAt("/", ""), folderAt("/", "etc"), folderAt("/", "buckets"), rules(folderAt("/buckets", "b")), fileAt("/etc", "x")}, []string{"b rules"}},
		{"no buckets yet", []*filer_pb.FullEntry{folderAt("/", ""), folderAt("/", "buckets")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, _ := backupBytes(t, tc.entries...)
			buckets, err := open(t, data, BackupOptions{}).Buckets(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range buckets {
				got = append(got, b.Name+" "+string(b.Rules))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("buckets %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBackupBucketsElsewhere(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "data"), folderAt("/data", "s3"), folderAt("/data/s3", "b"),
		fileAt("/data/s3/b", "k"), folderAt("/", "buckets"), folderAt("/buckets", "other"))
	for _, where := range []string{"/data/s3", "/data/s3/"} {
		b := open(t, data, BackupOptions{BucketsPath: where})
		if e, err := b.Lookup(t.Context(), "b", "k"); err != nil || e.Name != "k" {
			t.Errorf("%s: %+v, %v", where, e, err)
		}
		if buckets, err := b.Buckets(t.Context()); err != nil || len(buckets) != 1 {
			t.Errorf("%s: %+v, %v", where, buckets, err)
		}
	}
}

func TestBackupClock(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "buckets"))
	modified := time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)
	file := backupFile(t, data)
	if err := os.Chtimes(file, time.Time{}, modified); err != nil {
		t.Fatal(err)
	}
	other := modified.Add(time.Hour)
	for given, want := range map[time.Time]time.Time{{}: modified, other: other} {
		b, err := OpenBackup(t.Context(), file, BackupOptions{Now: given})
		if err != nil {
			t.Fatal(err)
		}
		if now, err := b.Now(t.Context()); err != nil || !now.Equal(want) {
			t.Errorf("now is %s, %v, want %s", now, err, want)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBackupHasNoLog(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "buckets"))
	b := open(t, data, BackupOptions{})
	if err := b.ReadLog(t.Context(), engine.LogRange{}, nil); err == nil {
		t.Error("a log was read")
	}
	if horizon, err := b.LogHorizon(t.Context()); horizon != 0 || err != nil {
		t.Errorf("horizon %d, %v", horizon, err)
	}
}

func TestBackupEndsWithItsContext(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "buckets"), folderAt("/buckets", "b"))
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	temp := t.TempDir()
	if _, err := OpenBackup(ctx, backupFile(t, data), BackupOptions{TempDir: temp}); !errors.Is(err, stop) {
		t.Errorf("open: %v", err)
	}
	wantEmpty(t, temp)
	b := open(t, data, BackupOptions{})
	if _, err := b.List(ctx, engine.Page{Bucket: "b", Limit: 1}); !errors.Is(err, stop) {
		t.Errorf("list: %v", err)
	}
	if _, err := b.Lookup(ctx, "b", "k"); !errors.Is(err, stop) {
		t.Errorf("look-up: %v", err)
	}
}

func TestBackupProgress(t *testing.T) {
	entries := []*filer_pb.FullEntry{folderAt("/", "buckets"), folderAt("/buckets", "b")}
	for i := range 3 * progressStep {
		entries = append(entries, fileAt("/buckets/b", fmt.Sprint(i)))
	}
	data, _ := backupBytes(t, entries...)
	size := int64(len(data))
	var told [][3]int64
	open(t, data, BackupOptions{Progress: func(entries, read, size int64) { told = append(told, [3]int64{entries, read, size}) }})
	if last := told[len(told)-1]; last != [3]int64{int64(len(entries)), size, size} {
		t.Errorf("told of %v in the end", last)
	}
	for i, p := range told[:len(told)-1] {
		if p[0] != int64(i)*progressStep || p[1] > size || p[2] != size || i > 0 && p[1] < told[i-1][1] {
			t.Errorf("report %d is %v after %v", i, p, told[:i])
		}
	}
	if len(told) != 5 {
		t.Errorf("told %d times", len(told))
	}
}

// After Close nothing is left and nothing is answered.
func TestBackupClose(t *testing.T) {
	data, _ := backupBytes(t, folderAt("/", "buckets"), folderAt("/buckets", "b"))
	temp := t.TempDir()
	b, err := OpenBackup(t.Context(), backupFile(t, data), BackupOptions{TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, temp)
	if got, err := b.Buckets(t.Context()); err == nil {
		t.Errorf("a closed backup lists %v", got)
	}
}

// Whatever the order in the file, however little memory: a backup lists what
// is in it.
func TestBackupInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree := drawTree(rt)
		var order []*filer_pb.FullEntry
		for _, at := range slices.Sorted(maps.Keys(tree)) {
			order = append(order, tree[at])
		}
		order = rapid.Permutation(order).Draw(rt, "order")
		sizes := backupSizes{
			sort:  rapid.IntRange(1, 1500).Draw(rt, "sort"),
			fanIn: rapid.IntRange(2, 4).Draw(rt, "fanIn"),
			block: rapid.IntRange(1, 300).Draw(rt, "block"),
			cache: rapid.IntRange(0, 1000).Draw(rt, "cache"),
		}
		data, _ := backupBytes(t, order...)
		if rapid.Bool().Draw(rt, "packed") {
			data = packed(t, data)
		}
		b, err := OpenBackup(t.Context(), backupFile(t, data), BackupOptions{TempDir: t.TempDir(), sizes: sizes})
		if err != nil {
			rt.Fatal(err)
		}
		defer b.Close()
		checkAnswers(rt, b, tree)
	})
}

// drawTree is a tree below /buckets and a little beside it, by path.
func drawTree(rt *rapid.T) map[string]*filer_pb.FullEntry {
	tree := map[string]*filer_pb.FullEntry{}
	names := rapid.SampledFrom([]string{"a", "aa", "ab", "a.versions", "b", "é", "\x00", "a\x00", "z z", "-", "0", ".uploads", "日"})
	folders := []string{"/buckets"}
	for range rapid.IntRange(0, 60).Draw(rt, "entries") {
		dir := rapid.SampledFrom(folders).Draw(rt, "folder")
		name := names.Draw(rt, "name")
		at := dir + "/" + name
		if tree[at] != nil {
			continue
		}
		e := drawEntry(rt, name)
		if e.IsDirectory = dir == "/buckets" || e.IsDirectory; e.IsDirectory {
			folders = append(folders, at)
		}
		tree[at] = &filer_pb.FullEntry{Dir: dir, Entry: e}
	}
	tree["/buckets"] = folderAt("/", "buckets")
	tree["/etc"] = folderAt("/", "etc")
	tree["/etc/a"] = fileAt("/etc", "a")
	return tree
}

func drawEntry(rt *rapid.T, name string) *filer_pb.Entry {
	number := rapid.Int64Range(0, 2e9)
	text := rapid.SampledFrom([]string{"", "x", "text/plain", strings.Repeat("long", 30)})
	e := &filer_pb.Entry{
		Name: name, IsDirectory: rapid.Bool().Draw(rt, "directory"),
		CommitTsNs: number.Draw(rt, "commit"), HardLinkId: []byte(text.Draw(rt, "link")), Quota: number.Draw(rt, "quota"),
		Content: []byte(text.Draw(rt, "content")),
	}
	if rapid.Bool().Draw(rt, "attributes") {
		e.Attributes = &filer_pb.FuseAttributes{
			FileSize: uint64(number.Draw(rt, "size")), Mtime: number.Draw(rt, "mtime"), MtimeNs: int32(number.Draw(rt, "mtimeNs")),
			Crtime: number.Draw(rt, "crtime"), CrtimeNs: int32(number.Draw(rt, "crtimeNs")), TtlSec: int32(number.Draw(rt, "ttl")),
			Mime: text.Draw(rt, "mime"), Inode: 1, Md5: []byte(text.Draw(rt, "md5")), UserName: "user", GroupName: []string{"group"},
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(rt, "chunks") {
		c := &filer_pb.FileChunk{Size: 5, Offset: int64(5 * i), ETag: "etag", CipherKey: []byte("key")}
		if id := &(filer_pb.FileId{VolumeId: 7, FileKey: uint64(i), Cookie: 9}); rapid.Bool().Draw(rt, "fid") {
			c.Fid = id
		} else {
			c.FileId = fmt.Sprintf("7,%02d00000009", i)
		}
		e.Chunks = append(e.Chunks, c)
	}
	keys := rapid.SampledFrom([]string{rulesKey, s3_constants.ExtVersioningKey, s3_constants.ExtObjectLockEnabledKey, s3_constants.SeaweedFSPrefixObject, "other"})
	for range rapid.IntRange(0, 3).Draw(rt, "extended") {
		if e.Extended == nil {
			e.Extended = map[string][]byte{}
		}
		e.Extended[keys.Draw(rt, "key")] = []byte(rapid.SampledFrom([]string{"", "Enabled", "Suspended", "x"}).Draw(rt, "value"))
	}
	if size := rapid.Int64Range(0, 2).Draw(rt, "remote"); size > 0 {
		e.RemoteEntry = &filer_pb.RemoteEntry{RemoteSize: size - 1, RemoteMtime: 3, StorageName: "cloud"}
	}
	return e
}

// checkAnswers asks for everything in a tree and compares.
func checkAnswers(rt *rapid.T, b *Backup, tree map[string]*filer_pb.FullEntry) {
	children := map[string][]*filer_pb.Entry{"/buckets": nil}
	for at, e := range tree {
		children[e.Dir] = append(children[e.Dir], e.Entry)
		if e.Entry.IsDirectory && children[at] == nil {
			children[at] = nil
		}
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b *filer_pb.Entry) int { return strings.Compare(a.Name, b.Name) })
	}

	var buckets []engine.Bucket
	for _, e := range children["/buckets"] {
		buckets = append(buckets, bucketOf(e))
		got, err := b.Bucket(context.Background(), e.Name)
		if want := bucketOf(e); err != nil || !equal(got, want) {
			rt.Errorf("bucket %+v, %v, want %+v", got, err, want)
		}
	}
	if got, err := b.Buckets(context.Background()); err != nil || !equal(got, buckets) {
		rt.Errorf("buckets %+v, %v, want %+v", got, err, buckets)
	}

	for at, list := range children {
		inBuckets, ok := strings.CutPrefix(at, "/buckets/")
		if !ok {
			continue
		}
		bucket, folder, _ := strings.Cut(inBuckets, "/")
		for _, page := range []engine.Page{
			{Limit: 1000},
			{Limit: rapid.IntRange(1, 4).Draw(rt, "limit"), Prefix: rapid.SampledFrom([]string{"", "a", "aa", "b", "\x00", "x"}).Draw(rt, "prefix"),
				After: rapid.SampledFrom([]string{"", "a", "a\x00", "ab", "b", "日"}).Draw(rt, "after")},
		} {
			page.Bucket, page.Folder = bucket, folder
			var want []engine.Entry
			for _, e := range list {
				if e.Name > page.After && strings.HasPrefix(e.Name, page.Prefix) && len(want) < page.Limit {
					want = append(want, entryOf(e))
				}
			}
			got, err := b.List(context.Background(), page)
			if err != nil || !equal(got, want) {
				rt.Errorf("%+v lists %+v, %v, want %+v", page, got, err, want)
			}
		}
		for _, e := range list {
			path := strings.TrimPrefix(folder+"/"+e.Name, "/")
			got, err := b.Lookup(context.Background(), bucket, path)
			if want := entryOf(e); err != nil || !equal(got, want) {
				rt.Errorf("%q is %+v, %v, want %+v", path, got, err, want)
			}
		}
		for _, missing := range []string{folder + "/no", folder + "/a/no/k", folder + "/.."} {
			if got, err := b.Lookup(context.Background(), bucket, strings.TrimPrefix(missing, "/")); !errors.Is(err, engine.ErrNotFound) {
				rt.Errorf("%q is %+v, %v", missing, got, err)
			}
		}
	}
}

// equal compares but takes what is empty for what is nil.
func equal[T any](a, b T) bool {
	return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) || reflect.DeepEqual(a, b)
}

func TestBackupServesManyAtOnce(t *testing.T) {
	entries := []*filer_pb.FullEntry{folderAt("/", "buckets"), folderAt("/buckets", "b")}
	for i := range 300 {
		entries = append(entries, folderAt("/buckets/b", fmt.Sprintf("%03d", i)), fileAt(fmt.Sprintf("/buckets/b/%03d", i), "k"))
	}
	data, _ := backupBytes(t, entries...)
	b := open(t, data, BackupOptions{sizes: tiny})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 300 {
				got, err := b.List(t.Context(), engine.Page{Bucket: "b", Folder: fmt.Sprintf("%03d", i), Limit: 9})
				if err != nil || len(got) != 1 || got[0].Name != "k" {
					t.Errorf("folder %d lists %+v, %v", i, got, err)
				}
			}
		})
	}
	all.Wait()
}
