package cluster_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weedlc/engine"
)

// store is the file that two fake filers share.
type store struct {
	mu    sync.Mutex
	entry *filer_pb.Entry
}

func (s *store) lookup(*filer_pb.LookupDirectoryEntryRequest) (*filer_pb.LookupDirectoryEntryResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &filer_pb.LookupDirectoryEntryResponse{Entry: s.entry}, nil
}

// create writes where there is nothing yet, which is the condition of the
// tests.
func (s *store) create(r *filer_pb.CreateEntryRequest) (*filer_pb.CreateEntryResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entry != nil {
		return &filer_pb.CreateEntryResponse{Error: "precondition failed", ErrorCode: filer_pb.FilerError_PRECONDITION_FAILED}, nil
	}
	s.entry = r.Entry
	return &filer_pb.CreateEntryResponse{MetadataEvent: &filer_pb.SubscribeMetadataResponse{
		EventNotification: &filer_pb.EventNotification{NewEntry: r.Entry},
	}}, nil
}

// A write whose answer is lost is tried on the next filer, which refuses it
// because it is there; that is no change by somebody else.
func TestFileWriteWithLostAnswer(t *testing.T) {
	for _, tc := range []struct {
		name string
		// first is what the first filer does before its answer is lost.
		first func(*store, *filer_pb.CreateEntryRequest)
		want  error
	}{
		{"it wrote", func(s *store, r *filer_pb.CreateEntryRequest) { _, _ = s.create(r) }, nil},
		{"it did not write", func(*store, *filer_pb.CreateEntryRequest) {}, nil},
		{"another wrote", func(s *store, _ *filer_pb.CreateEntryRequest) {
			_, _ = s.create(&filer_pb.CreateEntryRequest{Entry: &filer_pb.Entry{Content: []byte("theirs"), Attributes: &filer_pb.FuseAttributes{}}})
		}, engine.ErrChanged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &store{}
			o := options(t)
			o.Filers = []string{
				serveFiler(t, &fakeFiler{lookup: s.lookup, create: func(r *filer_pb.CreateEntryRequest) (*filer_pb.CreateEntryResponse, error) {
					tc.first(s, r)
					return nil, status.Error(codes.Unavailable, "connection lost")
				}}),
				serveFiler(t, &fakeFiler{lookup: s.lookup, create: s.create}),
			}
			files := dial(t, o).Files("/etc/test")
			version, err := files.Write(t.Context(), "f", []byte("ours"), "")
			if !errors.Is(err, tc.want) || (err == nil) != (version != "") {
				t.Fatalf("write: version %q, %v", version, err)
			}
			data, read, err := files.Read(t.Context(), "f")
			if err != nil || tc.want == nil && (string(data) != "ours" || read != version) {
				t.Errorf("read %q, version %q, %v", data, read, err)
			}
		})
	}
}

// The filer tells what went wrong in its answer, not by the call's error.
func TestFileWriteRefusedInTheAnswer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer *filer_pb.CreateEntryResponse
		want   string
	}{
		{"text only", &filer_pb.CreateEntryResponse{Error: "disk on fire"}, "disk on fire"},
		{"code and text", &filer_pb.CreateEntryResponse{Error: "read only path", ErrorCode: filer_pb.FilerError_READ_ONLY}, "read only path"},
		{"code only", &filer_pb.CreateEntryResponse{ErrorCode: filer_pb.FilerError_PARENT_IS_FILE}, "PARENT_IS_FILE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dialFiler(t, &fakeFiler{create: func(*filer_pb.CreateEntryRequest) (*filer_pb.CreateEntryResponse, error) {
				return tc.answer, nil
			}})
			_, err := c.Files("/etc/test").Write(t.Context(), "f", []byte("x"), "")
			if err == nil || errors.Is(err, engine.ErrChanged) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "/etc/test/f") {
				t.Errorf("write: %v", err)
			}
		})
	}
}
