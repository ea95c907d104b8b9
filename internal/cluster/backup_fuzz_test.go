package cluster

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
)

// Of any bytes a backup is an error that says which file it is about, or it
// answers: in order, and by name as by folder.
func FuzzBackup(f *testing.F) {
	data, at := backupBytes(f,
		folderAt("/", ""), folderAt("/", "buckets"), folderAt("/buckets", "b"), fileAt("/buckets/b", "k"),
		folderAt("/buckets/b", "k.versions"), fileAt("/buckets/b/k.versions", "v_1"), fileAt("/etc", "x"))
	slash, _ := backupBytes(f, folderAt("/buckets", "buckets"), folderAt("/buckets", "b"), fileAt("/buckets/b", "k"))
	rich, _ := backupBytes(f, folderAt("/", "buckets"), &filer_pb.FullEntry{Dir: "/buckets", Entry: benchFile("b", 1)})
	for _, seed := range [][]byte{nil, data, slash, rich, packed(f, data), packed(f, slash), data[:at[4]+2], packed(f, data)[:40]} {
		f.Add(seed)
	}
	file, temp := filepath.Join(f.TempDir(), "fuzzed.meta"), f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := OpenBackup(t.Context(), file, BackupOptions{TempDir: temp, sizes: tiny})
		if err != nil {
			if !strings.Contains(err.Error(), file) || b != nil {
				t.Errorf("%v beside %v", b, err)
			}
			return
		}
		buckets, err := b.Buckets(t.Context())
		if err != nil {
			t.Error(err)
		}
		for _, bucket := range buckets {
			checkFolderOf(t, b, bucket.Name, "")
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		wantEmpty(t, temp)
	})
}

func checkFolderOf(t *testing.T, b *Backup, bucket, folder string) {
	t.Helper()
	entries, err := b.List(context.Background(), engine.Page{Bucket: bucket, Folder: folder, Limit: 100})
	if err != nil {
		t.Error(err)
	}
	last := ""
	for _, e := range entries {
		if e.Name <= last {
			t.Errorf("%q is listed after %q", e.Name, last)
		}
		last = e.Name
		at := path.Join(folder, e.Name)
		if hasDots(bucket + "/" + folder + "/" + e.Name) {
			continue // no look-up follows dots
		}
		got, err := b.Lookup(context.Background(), bucket, at)
		if err != nil || !equal(got, e) {
			t.Errorf("%q is %+v, %v, was listed as %+v", at, got, err, e)
		}
		if e.Nature.IsFolder() {
			checkFolderOf(t, b, bucket, at)
		}
	}
}

func hasDots(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
