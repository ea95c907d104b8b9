package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/protobuf/proto"

	"weedlc/internal/weedtest"
)

// A noncurrent version of more than 30 days goes. Of the four of each key the
// oldest two are, the third was replaced yesterday.
const (
	versionBucket = "bench-versions"
	versionDays   = 30
)

func noncurrent() string {
	return document(fmt.Sprintf("<NoncurrentVersionExpiration><NoncurrentDays>%d</NoncurrentDays></NoncurrentVersionExpiration>", versionDays))
}

func versions(ctx context.Context, b *bench, sc scenario) error {
	return b.versioned(ctx, sc, func(ctx context.Context, s *stand) (tree, error) {
		m := newVersionMould(s, 4, func(i int) time.Duration { return []time.Duration{100, 90, 80, 1}[i] * day })
		return m.fill(ctx, s, max(1, sc.entries/4))
	})
}

// oneKey is a key with very many versions; the older half of them is due.
func oneKey(ctx context.Context, b *bench, sc scenario) error {
	return b.versioned(ctx, sc, func(ctx context.Context, s *stand) (tree, error) {
		n := max(2, sc.entries)
		m := newVersionMould(s, n, func(i int) time.Duration {
			if i <= n/2 {
				return 90*day - time.Duration(i)*time.Second
			}
			return 20*day - time.Duration(i)*time.Second
		})
		return m.tree(), nil
	})
}

func (b *bench) versioned(ctx context.Context, sc scenario, prepare func(context.Context, *stand) (tree, error)) error {
	usual, err := b.days(ctx)
	if err != nil {
		return err
	}
	tools := b.chosen([]tool{{name: nameDeletes, part: deleting}, b.weedlcRun(usual, sc), b.builtInRun(usual, "")})
	return onStands(ctx, tools, b.runs+1, func(round int, t tool, s *stand) error {
		counting := round == b.runs
		if counting && t.name != nameBuiltIn {
			return nil
		}
		s.Reset()
		lies, err := prepare(ctx, s)
		if err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
		if counting {
			return b.countNow(ctx, sc, "", usual, s)
		}
		if t.part == deleting {
			if err := b.measureListings(ctx, sc, s, round, lies); err != nil {
				return err
			}
			t = b.bareDeletes(lies)
		}
		return b.measureOn(ctx, sc, s, t, row{Units: lies.due(), Unit: "deletes"}, lies)
	})
}

// versionMould is a key that the gateway made, with its versions aged, and the
// entries that make it up. Copies under other names are keys like it.
type versionMould struct {
	folder *filer_pb.Entry
	files  []*filer_pb.Entry // the oldest first
	items  []item            // of the key itself
}

const mouldKey = "mould"

// newVersionMould puts a key that often; age is how old each version is.
func newVersionMould(s *stand, n int, age func(i int) time.Duration) *versionMould {
	s.CreateBucket(versionBucket, weedtest.Versioned, noncurrent())
	now := time.Now()
	m := &versionMould{}
	folder := "/buckets/" + versionBucket + "/" + mouldKey + ".versions"
	for i := range n {
		id := s.Put(versionBucket, mouldKey, weedtest.Object{Body: seedBody})
		it := item{path: mouldKey + ".versions/v_" + id, key: mouldKey, version: id, mtime: now.Add(-age(i))}
		// A version is replaced when the next one is written.
		it.due = i < n-1 && age(i+1) > versionDays*day
		m.items = append(m.items, it)
	}
	for i, it := range m.items {
		s.Update("/buckets/"+versionBucket+"/"+it.path, func(e *filer_pb.Entry) {
			setClock(e, it.mtime)
			if i < n-1 {
				e.Extended[demotedKey] = []byte(strconv.FormatInt(m.items[i+1].mtime.UnixNano(), 10))
			}
			m.files = append(m.files, e)
		})
	}
	s.Update(folder, func(e *filer_pb.Entry) {
		if _, ok := e.Extended[latestMtimeKey]; ok {
			e.Extended[latestMtimeKey] = []byte(strconv.FormatInt(m.items[n-1].mtime.Unix(), 10))
		}
		m.folder = e
	})
	return m
}

// The attributes of versions that hold clocks.
const (
	demotedKey     = "Seaweed-X-Amz-Noncurrent-Since-Ns"
	latestMtimeKey = "Seaweed-X-Amz-Latest-Version-Mtime"
)

func setClock(e *filer_pb.Entry, t time.Time) {
	e.Attributes.Mtime, e.Attributes.MtimeNs = t.Unix(), int32(t.Nanosecond())
}

// tree is the mould alone.
func (m *versionMould) tree() tree { return tree{bucket: versionBucket, items: m.items} }

// fill makes keys like the mould, which is one of them.
func (m *versionMould) fill(ctx context.Context, s *stand, keys int) (tree, error) {
	t := m.tree()
	n := len(m.files)
	for from := 1; from < keys; from += seedBatch / n {
		to := min(keys, from+seedBatch/n)
		place, err := s.seeder.assign(ctx, (to-from)*n)
		if err != nil {
			return t, err
		}
		err = each(ctx, to-from, seedInFlight, func(ctx context.Context, i int) error {
			folder := fmt.Sprintf("/buckets/%s/folders/%04d/key-%07d.versions", versionBucket, (from+i)/100, from+i)
			if err := s.createEntry(ctx, folder, proto.CloneOf(m.folder)); err != nil {
				return err
			}
			for v, file := range m.files {
				chunk, err := place.put(ctx, s.seeder.volumes, i*n+v)
				if err != nil {
					return err
				}
				e := proto.CloneOf(file)
				e.Chunks[0].Fid, e.Chunks[0].FileId = chunk, fileID(chunk)
				if err := s.createEntry(ctx, folder+"/"+e.Name, e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return t, err
		}
		for k := from; k < to; k++ {
			key := fmt.Sprintf("folders/%04d/key-%07d", k/100, k)
			for _, it := range m.items {
				it.path, it.key = strings.Replace(it.path, mouldKey, key, 1), key
				t.items = append(t.items, it)
			}
		}
	}
	return t, nil
}

// createEntry writes an entry at a path of the filer.
func (s *stand) createEntry(ctx context.Context, p string, e *filer_pb.Entry) error {
	e.Name, e.CommitTsNs = path.Base(p), 0
	resp, err := s.Filer.CreateEntry(ctx, &filer_pb.CreateEntryRequest{Directory: path.Dir(p), Entry: e})
	if err == nil && resp.GetError() != "" {
		err = errors.New(resp.GetError())
	}
	return err
}

// unlink removes a tree's objects past S3.
func (s *stand) unlink(ctx context.Context, t tree) error {
	return each(ctx, len(t.items), seedInFlight, func(ctx context.Context, i int) error {
		p := "/buckets/" + t.bucket + "/" + t.items[i].path
		resp, err := s.Filer.DeleteEntry(ctx, &filer_pb.DeleteEntryRequest{Directory: path.Dir(p), Name: path.Base(p), IsDeleteData: true})
		if err == nil && resp.GetError() != "" {
			err = errors.New(resp.GetError())
		}
		return err
	})
}
