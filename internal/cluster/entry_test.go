package cluster

import (
	"math"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

func TestScenario40_NatureOfAnEntry(t *testing.T) {
	chunk := []*filer_pb.FileChunk{{FileId: "1,01"}}
	marked := map[string][]byte{s3_constants.SeaweedFSPrefixObject: []byte("true")}
	mime := &filer_pb.FuseAttributes{Mime: "text/plain"}
	for _, tc := range []struct {
		name  string
		entry *filer_pb.Entry
		want  engine.Nature
	}{
		{"file", &filer_pb.Entry{Attributes: mime}, engine.File},
		{"marked file", &filer_pb.Entry{Extended: marked}, engine.File},
		{"folder", &filer_pb.Entry{IsDirectory: true}, engine.Folder},
		{"folder with attributes", &filer_pb.Entry{IsDirectory: true, Attributes: &filer_pb.FuseAttributes{Mtime: 1}}, engine.Folder},
		{"folder with a MIME type", &filer_pb.Entry{IsDirectory: true, Attributes: mime}, engine.FolderMarker},
		{"folder with data", &filer_pb.Entry{IsDirectory: true, Chunks: chunk}, engine.FolderMarker},
		{"folder with content", &filer_pb.Entry{IsDirectory: true, Content: []byte("x")}, engine.FolderMarker},
		{"prefix object", &filer_pb.Entry{IsDirectory: true, Extended: marked}, engine.PrefixObject},
		{"prefix object with a MIME type", &filer_pb.Entry{IsDirectory: true, Extended: marked, Attributes: mime}, engine.PrefixObject},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := entryOf(tc.entry).Nature; got != tc.want {
				t.Errorf("nature = %v, want %v", got, tc.want)
			}
		})
	}
}

// An mtime that does not fit into nanoseconds would come out as another time,
// possibly one long ago.
func TestEntryWithoutAClock(t *testing.T) {
	most := int64(math.MaxInt64)/int64(time.Second) - 1
	for _, tc := range []struct {
		name       string
		attributes *filer_pb.FuseAttributes
		ok         bool
		mtime      int64
	}{
		{"no attributes", nil, false, 0},
		{"epoch", &filer_pb.FuseAttributes{}, true, 0},
		{"with nanoseconds", &filer_pb.FuseAttributes{Mtime: 2, MtimeNs: 3}, true, 2e9 + 3},
		{"before the epoch", &filer_pb.FuseAttributes{Mtime: -1, MtimeNs: 1}, true, -1e9 + 1},
		{"year 1", &filer_pb.FuseAttributes{Mtime: time.Time{}.Unix()}, false, 0},
		{"latest", &filer_pb.FuseAttributes{Mtime: most, MtimeNs: 999999999}, true, most*1e9 + 999999999},
		{"too late", &filer_pb.FuseAttributes{Mtime: most + 1}, false, 0},
		{"milliseconds taken for seconds", &filer_pb.FuseAttributes{Mtime: 1_900_000_000_000}, false, 0},
		{"earliest", &filer_pb.FuseAttributes{Mtime: -most}, true, -most * 1e9},
		{"too early", &filer_pb.FuseAttributes{Mtime: -most - 1}, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := entryOf(&filer_pb.Entry{Attributes: tc.attributes})
			if e.HasAttributes != tc.ok || e.MtimeNs != tc.mtime {
				t.Errorf("attributes %v, mtime %d, want %v, %d", e.HasAttributes, e.MtimeNs, tc.ok, tc.mtime)
			}
		})
	}
}

func TestEntryFields(t *testing.T) {
	e := entryOf(&filer_pb.Entry{
		Name:       "n",
		CommitTsNs: 7,
		Chunks:     []*filer_pb.FileChunk{{Fid: &filer_pb.FileId{VolumeId: 3, FileKey: 0x1f, Cookie: 0x2a}}, {FileId: "4,05"}},
		Attributes: &filer_pb.FuseAttributes{FileSize: 12, TtlSec: 60, Crtime: 1, CrtimeNs: 2, Mtime: 3},
		Extended:   map[string][]byte{"k": []byte("v")},
	})
	if e.Name != "n" || e.CommitNs != 7 || e.Size != 12 || e.TTL != time.Minute || e.CreatedNs != 1e9+2 || string(e.Extended["k"]) != "v" {
		t.Errorf("entry = %+v", e)
	}
	if len(e.Chunks) != 2 || e.Chunks[0] != "3,1f0000002a" || e.Chunks[1] != "4,05" {
		t.Errorf("chunks = %q", e.Chunks)
	}
}

// The log may carry the size as the writer gave it, a look-up what the store
// counted; an identity made from an event must be that of the look-up.
func TestLoggedEntrySize(t *testing.T) {
	chunks := []*filer_pb.FileChunk{{Offset: 0, Size: 10}, {Offset: 10, Size: 5}}
	for _, tc := range []struct {
		name  string
		entry *filer_pb.Entry
		want  int64
	}{
		{"written size", &filer_pb.Entry{Attributes: &filer_pb.FuseAttributes{FileSize: 20}, Chunks: chunks}, 20},
		{"counted chunks", &filer_pb.Entry{Attributes: &filer_pb.FuseAttributes{}, Chunks: chunks}, 15},
		{"newer remote", &filer_pb.Entry{Attributes: &filer_pb.FuseAttributes{Mtime: 1}, RemoteEntry: &filer_pb.RemoteEntry{RemoteMtime: 2, RemoteSize: 30}}, 30},
		{"older remote", &filer_pb.Entry{Attributes: &filer_pb.FuseAttributes{Mtime: 2}, RemoteEntry: &filer_pb.RemoteEntry{RemoteMtime: 2, RemoteSize: 30}}, 0},
		{"no attributes", &filer_pb.Entry{Chunks: chunks}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := loggedEntry(tc.entry).Size; got != tc.want {
				t.Errorf("size = %d, want %d", got, tc.want)
			}
		})
	}
	if loggedEntry(nil) != nil {
		t.Error("no entry became one")
	}
}
