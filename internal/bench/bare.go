package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"
	"google.golang.org/protobuf/proto"

	"weedlc/engine"
)

// The bare calls: the least that a tool must do, without any thought about it.

// requests are the deletes of what is due in the trees, one key's not next to
// each other.
func (s *stand) requests(ctx context.Context, trees ...tree) ([]*s3_lifecycle_pb.LifecycleDeleteRequest, error) {
	var list []*s3_lifecycle_pb.LifecycleDeleteRequest
	for _, t := range trees {
		live := map[string]*filer_pb.Entry{}
		if _, err := s.list(ctx, "/buckets/"+t.bucket, 8, func(p string, e *filer_pb.Entry) { live[p] = e }); err != nil {
			return nil, err
		}
		for _, it := range t.items {
			if !it.due {
				continue
			}
			e := live["/buckets/"+t.bucket+"/"+it.path]
			if e == nil {
				return nil, fmt.Errorf("%q in bucket %q is not there", it.path, t.bucket)
			}
			list = append(list, deleteRequest(t.bucket, it, e))
		}
	}
	if len(list) > 0 && list[0].VersionId != "" {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list, nil
}

func deleteRequest(bucket string, it item, e *filer_pb.Entry) *s3_lifecycle_pb.LifecycleDeleteRequest {
	entry := engine.Entry{Extended: e.Extended, HasAttributes: true}
	id, _ := entry.Identity()
	kind := engine.ExpirationDays
	if it.version != "" {
		kind = engine.NoncurrentDays
	}
	a := e.GetAttributes()
	identity := &s3_lifecycle_pb.EntryIdentity{
		MtimeNs: a.GetMtime()*int64(time.Second) + int64(a.GetMtimeNs()), Size: int64(a.GetFileSize()), ExtendedHash: id.ExtendedHash,
	}
	if len(e.Chunks) > 0 {
		identity.HeadFid = e.Chunks[0].GetFileIdString()
	}
	return &s3_lifecycle_pb.LifecycleDeleteRequest{
		Bucket: bucket, ObjectPath: it.key, VersionId: it.version, RuleHash: make([]byte, 8),
		ActionKind: s3_lifecycle_pb.ActionKind(kind), ExpectedIdentity: identity,
	}
}

// deleteBare sends the deletes and nothing else.
func (s *stand) deleteBare(ctx context.Context, requests []*s3_lifecycle_pb.LifecycleDeleteRequest, inFlight int) (reading, error) {
	var done atomic.Int64
	start := time.Now()
	err := each(ctx, len(requests), inFlight, func(ctx context.Context, i int) error {
		resp, err := s.gateway.LifecycleDelete(ctx, requests[i])
		if err == nil && resp.GetOutcome() == s3_lifecycle_pb.LifecycleDeleteOutcome_DONE {
			done.Add(1)
		}
		return err
	})
	r := reading{Seconds: time.Since(start).Seconds(), Calls: new(int64(len(requests)))}
	if n := len(requests) - int(done.Load()); n > 0 {
		r.note("%d calls deleted nothing", n)
	}
	return r, err
}

// list reads a folder and all below it with that many listings in flight, and
// returns how many entries there are. visit may be nil; one call at a time.
func (s *stand) list(ctx context.Context, root string, inFlight int, visit func(p string, e *filer_pb.Entry)) (int64, error) {
	l := &lister{filer: s.Filer, visit: visit, folders: []string{root}}
	l.changed.L = &l.mu
	var wg sync.WaitGroup
	for range inFlight {
		wg.Go(func() { l.work(ctx) })
	}
	wg.Wait()
	return l.entries, l.err
}

// lister shares the folders that are still to be read among its workers.
type lister struct {
	filer filer_pb.SeaweedFilerClient
	visit func(string, *filer_pb.Entry)

	mu      sync.Mutex
	changed sync.Cond
	folders []string
	busy    int
	entries int64
	err     error
}

func (l *lister) work(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.folders) == 0 && l.busy > 0 && l.err == nil {
			l.changed.Wait()
		}
		if len(l.folders) == 0 || l.err != nil {
			l.changed.Broadcast()
			return
		}
		folder := l.folders[len(l.folders)-1]
		l.folders = l.folders[:len(l.folders)-1]
		l.busy++
		l.mu.Unlock()
		err := l.read(ctx, folder)
		l.mu.Lock()
		l.busy--
		if err != nil && l.err == nil {
			l.err = err
		}
		l.changed.Broadcast()
	}
}

func (l *lister) read(ctx context.Context, folder string) error {
	stream, err := l.filer.ListEntries(ctx, &filer_pb.ListEntriesRequest{Directory: folder, Limit: math.MaxUint32})
	var below []string
	entries := int64(0)
	for err == nil {
		var resp *filer_pb.ListEntriesResponse
		if resp, err = stream.Recv(); err != nil {
			break
		}
		entries++
		p := folder + "/" + resp.Entry.Name
		if resp.Entry.IsDirectory {
			below = append(below, p)
		}
		if l.visit != nil {
			l.mu.Lock()
			l.visit(p, resp.Entry)
			l.mu.Unlock()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries += entries
	l.folders = append(l.folders, below...)
	l.changed.Broadcast()
	if err == io.EOF {
		return nil
	}
	return err
}

// listBare lists the trees' buckets and nothing else.
func (s *stand) listBare(ctx context.Context, trees []tree, inFlight int) (reading, error) {
	start, entries := time.Now(), int64(0)
	for _, t := range trees {
		n, err := s.list(ctx, "/buckets/"+t.bucket, inFlight, nil)
		if err != nil {
			return reading{}, err
		}
		entries += n
	}
	return reading{Seconds: time.Since(start).Seconds(), Entries: &entries}, nil
}

// streamBare reads a bucket's part of the meta-log and nothing else.
func (s *stand) streamBare(ctx context.Context, bucket string, after, until time.Time) (reading, error) {
	start, events := time.Now(), int64(0)
	stream, err := s.Filer.SubscribeMetadata(ctx, &filer_pb.SubscribeMetadataRequest{
		ClientName: "bench", ClientId: rand.Int32N(math.MaxInt32-1) + 1, ClientEpoch: 1, PathPrefix: "/buckets/" + bucket,
		SinceNs: after.UnixNano(), UntilNs: until.UnixNano(), ClientSupportsBatching: true, ClientSupportsIdleHeartbeat: true,
	})
	for err == nil {
		var resp *filer_pb.SubscribeMetadataResponse
		if resp, err = stream.Recv(); err != nil {
			break
		}
		if resp.EventNotification != nil {
			events += 1 + int64(len(resp.Events))
		}
		if resp.TsNs > until.UnixNano() {
			err = io.EOF
		}
	}
	if err != io.EOF {
		return reading{}, err
	}
	return reading{Seconds: time.Since(start).Seconds(), Events: &events}, nil
}

// decodeBare reads a metadata backup and nothing else.
func decodeBare(file string) (_ reading, err error) {
	start, entries := time.Now(), int64(0)
	f, err := os.Open(file)
	if err != nil {
		return reading{}, err
	}
	defer f.Close()
	var in io.Reader = bufio.NewReaderSize(f, 1<<18)
	if ext := path.Ext(file); strings.HasPrefix(ext, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return reading{}, err
		}
	}
	in = bufio.NewReaderSize(in, 1<<18)
	var frame []byte
	for {
		var length [4]byte
		if _, err := io.ReadFull(in, length[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return reading{}, err
		}
		n := int(binary.BigEndian.Uint32(length[:]))
		if n > cap(frame) {
			frame = make([]byte, n)
		}
		if _, err := io.ReadFull(in, frame[:n]); err != nil {
			return reading{}, err
		}
		if err := proto.Unmarshal(frame[:n], &filer_pb.FullEntry{}); err != nil {
			return reading{}, err
		}
		entries++
	}
	return reading{Seconds: time.Since(start).Seconds(), Entries: &entries}, nil
}
