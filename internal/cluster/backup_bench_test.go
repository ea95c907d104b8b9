package cluster

import (
	"bufio"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
	"weedlc/internal/weedtest"
)

// With -run '^$' -bench Backup -benchtime 1x -backup.entries 1000000 the memory
// and throughput of a large backup are measured.
var benchEntries = flag.Int("backup.entries", 50_000, "how many entries BenchmarkBackup reads")

// benchTree is n entries, about: half of them objects in wide folders, half
// versions of keys; no two entries of a folder one after another.
func benchTree(n int) iter.Seq[*filer_pb.FullEntry] {
	return func(yield func(*filer_pb.FullEntry) bool) {
		put := func(dir string, e *filer_pb.Entry) { yield(&filer_pb.FullEntry{Dir: dir, Entry: e}) }
		folder := func(p string) {
			put(path.Dir(p), &filer_pb.Entry{Name: path.Base(p), IsDirectory: true, Attributes: benchAttributes(0)})
		}
		const folders, versions = 500, 3
		folder("/buckets")
		folder("/buckets/plain")
		folder("/buckets/versioned")
		for i := range folders {
			folder(fmt.Sprintf("/buckets/plain/folder-%04d", i))
			folder(fmt.Sprintf("/buckets/versioned/folder-%04d", i))
		}
		for i := range n / 2 {
			put(fmt.Sprintf("/buckets/plain/folder-%04d", i%folders), benchFile(fmt.Sprintf("object-%08d.dat", i/folders), i))
		}
		keys := n / 2 / (versions + 1)
		key := func(i int) string {
			return fmt.Sprintf("/buckets/versioned/folder-%04d/key-%08d.versions", i%folders, i/folders)
		}
		for i := range keys {
			folder(key(i))
		}
		for v := range versions {
			for i := range keys {
				put(key(i), benchFile(fmt.Sprintf("v_%032x", v), i))
			}
		}
	}
}

func benchAttributes(i int) *filer_pb.FuseAttributes {
	return &filer_pb.FuseAttributes{
		FileSize: uint64(i), Mtime: 1_890_000_000 + int64(i), Crtime: 1_890_000_000, Ctime: 1_890_000_000,
		FileMode: 0o660, Inode: uint64(i) * 0x9e3779b97f4a7c15 >> 1, Md5: fmt.Appendf(nil, "%016x", i),
	}
}

func benchFile(name string, i int) *filer_pb.Entry {
	return &filer_pb.Entry{
		Name: name, Attributes: benchAttributes(i), CommitTsNs: 1_890_000_000_000_000_000,
		Chunks: []*filer_pb.FileChunk{{
			FileId: fmt.Sprintf("2,%010x", i), Size: uint64(i), ModifiedTsNs: 1_890_000_000_000_000_000,
			ETag: "yB5yjZ1ML2NvBn+JzBSGLA==", Fid: &filer_pb.FileId{VolumeId: 2, FileKey: uint64(i), Cookie: 7},
		}},
		Extended: map[string][]byte{
			"Seaweed-X-Amz-Acl":    []byte(`[{"Grantee":{"DisplayName":null,"EmailAddress":null,"ID":"admin","Type":"CanonicalUser","URI":null},"Permission":"FULL_CONTROL"}]`),
			"Seaweed-X-Amz-ETag":   fmt.Appendf(nil, "%032x", i),
			"Seaweed-X-Amz-Owner":  []byte("admin"),
			"x-seaweedfs-write-id": fmt.Appendf(nil, "%032x", i*7),
		},
	}
}

func BenchmarkBackup(b *testing.B) {
	file := filepath.Join(b.TempDir(), "bench.meta.gz")
	if err := weedtest.WriteBackup(file, benchTree(*benchEntries)); err != nil {
		b.Fatal(err)
	}
	b.Run("decode", func(b *testing.B) {
		defer watchMemory(b)()
		n := 0
		for b.Loop() {
			n += decodeAlone(b, file)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	})
	b.Run("open", func(b *testing.B) {
		defer watchMemory(b)()
		for b.Loop() {
			if err := openBench(b, file).Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		backup := openBench(b, file)
		defer backup.Close()
		defer watchMemory(b)()
		n := 0
		for b.Loop() {
			for _, bucket := range []string{"plain", "versioned"} {
				n += listAll(b, backup, bucket, "")
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	})
}

func openBench(b *testing.B, file string) *Backup {
	b.Helper()
	backup, err := OpenBackup(b.Context(), file, BackupOptions{TempDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	return backup
}

// decodeAlone is the least that reading a backup can be.
func decodeAlone(b *testing.B, file string) int {
	b.Helper()
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(bufio.NewReaderSize(f, readBuffer))
	if err != nil {
		b.Fatal(err)
	}
	r := &backupReader{path: file, in: bufio.NewReaderSize(zip, readBuffer)}
	for {
		_, _, err := r.next()
		if err == io.EOF {
			return int(r.entries)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func listAll(b *testing.B, backup *Backup, bucket, folder string) int {
	b.Helper()
	n := 0
	page := engine.Page{Bucket: bucket, Folder: folder, Limit: 1000}
	for {
		entries, err := backup.List(b.Context(), page)
		if err != nil {
			b.Fatal(err)
		}
		n += len(entries)
		for i := range entries {
			if entries[i].Nature.IsFolder() {
				n += listAll(b, backup, bucket, path.Join(folder, entries[i].Name))
			}
		}
		if len(entries) < page.Limit {
			return n
		}
		page.After = entries[len(entries)-1].Name
	}
}

// watchMemory reports the most memory that was resident until the returned
// function is called, where the system tells.
func watchMemory(b *testing.B) func() {
	b.Helper()
	debug.FreeOSMemory()
	var once sync.Once
	reset := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return func() {
		once.Do(func() {
			status, err := os.ReadFile("/proc/self/status")
			if reset != nil || err != nil {
				return
			}
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			if kb, err := strconv.Atoi(strings.Fields(rest)[0]); err == nil {
				b.ReportMetric(float64(kb)/1024, "peak-MB")
			}
		})
	}
}
