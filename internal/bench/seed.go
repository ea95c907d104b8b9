package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/protobuf/proto"

	"weedlc/internal/weedtest"
)

// seeder writes objects as the gateway does, only faster: the bytes of each to
// a volume server, then its entry to the filer. The entries are copies of one
// that the gateway made.
type seeder struct {
	stand    *stand
	volumes  *http.Client
	template *filer_pb.Entry
}

const (
	seedInFlight = 64
	seedBatch    = 5000
	seedBody     = "0123456789abcdef"
)

func newSeeder(s *stand) (*seeder, error) {
	const bucket, key = "bench-template", "object"
	s.CreateBucket(bucket, weedtest.Plain, "")
	s.Put(bucket, key, weedtest.Object{Body: seedBody})
	template := s.Lookup("/buckets/" + bucket + "/" + key)
	s.Remove("/buckets/" + bucket)
	if len(template.GetChunks()) != 1 {
		return nil, fmt.Errorf("the gateway's entry has %d chunks, want 1", len(template.GetChunks()))
	}
	return &seeder{
		stand: s, template: template,
		volumes: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: seedInFlight}},
	}, nil
}

// fill writes the trees' objects into their buckets, which are there.
func (s *seeder) fill(ctx context.Context, trees ...tree) error {
	for _, t := range trees {
		for from := 0; from < len(t.items); from += seedBatch {
			batch := t.items[from:min(from+seedBatch, len(t.items))]
			if err := s.write(ctx, t.bucket, batch); err != nil {
				return fmt.Errorf("fill bucket %q: %w", t.bucket, err)
			}
		}
	}
	return nil
}

func (s *seeder) write(ctx context.Context, bucket string, items []item) error {
	place, err := s.assign(ctx, len(items))
	if err != nil {
		return err
	}
	return each(ctx, len(items), seedInFlight, func(ctx context.Context, i int) error {
		chunk, err := place.put(ctx, s.volumes, i)
		if err != nil {
			return err
		}
		return s.create(ctx, bucket, items[i], chunk)
	})
}

func (s *seeder) create(ctx context.Context, bucket string, it item, chunk *filer_pb.FileId) error {
	clock := it.mtime
	if clock.IsZero() {
		clock = time.Now()
	}
	e := proto.CloneOf(s.template)
	e.Name = path.Base(it.path)
	e.CommitTsNs = 0
	a := e.Attributes
	a.Mtime, a.MtimeNs = clock.Unix(), int32(clock.Nanosecond())
	a.Crtime, a.Ctime, a.Atime, a.Inode = a.Mtime, a.Mtime, a.Mtime, 0
	e.Chunks[0].Fid, e.Chunks[0].FileId = chunk, fileID(chunk)
	resp, err := s.stand.Filer.CreateEntry(ctx, &filer_pb.CreateEntryRequest{
		Directory: path.Join("/buckets", bucket, path.Dir(it.path)), Entry: e,
	})
	if err == nil && resp.GetError() != "" {
		err = errors.New(resp.GetError())
	}
	return err
}

// place is room for some chunks on a volume server.
type place struct {
	server string
	first  *filer_pb.FileId
}

func (s *seeder) assign(ctx context.Context, n int) (place, error) {
	resp, err := s.stand.Filer.AssignVolume(ctx, &filer_pb.AssignVolumeRequest{
		// One collection for all: a thousand buckets would take a thousand volumes.
		Count: int32(n), Collection: "bench", Path: "/",
	})
	if err == nil && resp.GetError() != "" {
		err = errors.New(resp.GetError())
	}
	if err != nil {
		return place{}, err
	}
	first, err := parseFileID(resp.FileId)
	return place{server: resp.GetLocation().GetUrl(), first: first}, err
}

// put writes the ith chunk.
func (p place) put(ctx context.Context, client *http.Client, i int) (*filer_pb.FileId, error) {
	chunk := proto.CloneOf(p.first)
	chunk.FileKey += uint64(i)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+p.server+"/"+fileID(chunk), bytes.NewReader([]byte(seedBody)))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("write a chunk: %s: %s", resp.Status, body)
	}
	return chunk, err
}

// A file id is the volume, and in hexadecimal digits the key and the eight of
// the cookie: "3,01637037d6".

func fileID(id *filer_pb.FileId) string {
	key := strconv.FormatUint(id.GetFileKey(), 16)
	if len(key)%2 == 1 {
		key = "0" + key
	}
	return fmt.Sprintf("%d,%s%08x", id.GetVolumeId(), key, id.GetCookie())
}

func parseFileID(text string) (*filer_pb.FileId, error) {
	volume, rest, ok := strings.Cut(text, ",")
	if !ok || len(rest) <= 8 {
		return nil, fmt.Errorf("unknown form of file id %q", text)
	}
	v, err1 := strconv.ParseUint(volume, 10, 32)
	key, err2 := strconv.ParseUint(rest[:len(rest)-8], 16, 64)
	cookie, err3 := strconv.ParseUint(rest[len(rest)-8:], 16, 32)
	return &filer_pb.FileId{VolumeId: uint32(v), FileKey: key, Cookie: uint32(cookie)}, errors.Join(err1, err2, err3)
}
