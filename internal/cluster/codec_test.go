package cluster

import (
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/protobuf/proto"
)

// What the codec decodes is what gRPC's own decodes, with a generated decoder
// and without one.
func TestCodec(t *testing.T) {
	c := newCodec()
	entry := &filer_pb.Entry{
		Name: "k", Attributes: &filer_pb.FuseAttributes{Mtime: 3, MtimeNs: 4, FileSize: 5},
		Chunks:   []*filer_pb.FileChunk{{Fid: &filer_pb.FileId{VolumeId: 1, FileKey: 2, Cookie: 3}, Size: 6}},
		Extended: map[string][]byte{"a": []byte("b"), "empty": {}}, CommitTsNs: 7,
	}
	event := &filer_pb.SubscribeMetadataResponse{
		Directory: "/buckets/b", TsNs: 8, EventNotification: &filer_pb.EventNotification{NewEntry: entry, NewParentPath: "/buckets/b"},
	}
	for _, want := range []proto.Message{
		&filer_pb.ListEntriesResponse{Entry: entry, SnapshotTsNs: 9},
		&filer_pb.SubscribeMetadataResponse{TsNs: 1, Events: []*filer_pb.SubscribeMetadataResponse{event, event}},
		&filer_pb.LookupDirectoryEntryResponse{},
		&s3_lifecycle_pb.LifecycleDeleteResponse{Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED, Reason: "r"},
	} {
		data, err := c.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := want.ProtoReflect().New().Interface()
		if err := c.Unmarshal(data, got); err != nil || !proto.Equal(got, want) {
			t.Errorf("%T: %v, %v, want %v", want, got, err, want)
		}
	}
	if err := c.Unmarshal(nil, "no message"); err == nil {
		t.Error("what is no message was decoded")
	}
}
