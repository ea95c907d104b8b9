package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weedlc/engine"
)

// rulesKey is the attribute of a bucket's entry that holds its lifecycle
// document.
const rulesKey = "s3-bucket-lifecycle-configuration-xml"

// bucketPage is how many buckets one listing call asks for.
const bucketPage = 1024

// Now is the filer's clock.
func (c *Cluster) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := c.onFiler(ctx, "ask the time", func(ctx context.Context, f *filer) error {
		resp, err := f.client.Ping(ctx, &filer_pb.PingRequest{})
		if err == nil {
			now = time.Unix(0, resp.StartTimeNs)
		}
		return err
	})
	return now, err
}

// Buckets lists every bucket, in the order of their names.
func (c *Cluster) Buckets(ctx context.Context) ([]engine.Bucket, error) {
	var buckets []engine.Bucket
	for after := ""; ; {
		entries, err := c.page(ctx, &filer_pb.ListEntriesRequest{
			Directory: c.bucketsDir, StartFromFileName: after, Limit: bucketPage,
		})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDirectory {
				buckets = append(buckets, bucketOf(e))
			}
		}
		if len(entries) < bucketPage {
			return buckets, nil
		}
		after = entries[len(entries)-1].Name
	}
}

// Bucket looks one bucket up.
func (c *Cluster) Bucket(ctx context.Context, name string) (engine.Bucket, error) {
	e, err := c.lookup(ctx, c.bucketsDir, name)
	if err != nil {
		return engine.Bucket{}, err
	}
	if !e.IsDirectory {
		return engine.Bucket{}, fmt.Errorf("bucket %q: %w", name, engine.ErrNotFound)
	}
	return bucketOf(e), nil
}

func bucketOf(e *filer_pb.Entry) engine.Bucket {
	b := engine.Bucket{
		Name:       e.Name,
		Rules:      e.Extended[rulesKey],
		ObjectLock: string(e.Extended[s3_constants.ExtObjectLockEnabledKey]) == s3_constants.ObjectLockEnabled,
	}
	if e.Attributes != nil {
		b.CreatedNs, _ = nanoseconds(e.Attributes.Crtime, e.Attributes.CrtimeNs)
	}
	switch state := strings.TrimSpace(string(e.Extended[s3_constants.ExtVersioningKey])); {
	case b.ObjectLock, strings.EqualFold(state, s3_constants.VersioningEnabled):
		b.Versioning = engine.Enabled
	case strings.EqualFold(state, s3_constants.VersioningSuspended):
		b.Versioning = engine.Suspended
	}
	return b
}

// List returns one page of a folder's entries in the order of their names. A
// missing folder is an empty page.
func (c *Cluster) List(ctx context.Context, p engine.Page) ([]engine.Entry, error) {
	dir, ok := c.resolve(p.Bucket, p.Folder)
	if !ok {
		return nil, nil
	}
	var entries []engine.Entry
	req := &filer_pb.ListEntriesRequest{Directory: dir, Prefix: p.Prefix, StartFromFileName: p.After, Limit: uint32(p.Limit)}
	err := c.failover(ctx, fmt.Sprintf("list %q", dir), func(ctx context.Context, f *filer) error {
		ctx, dog, cancel := watch(ctx, c.options.CallTimeout)
		defer cancel()
		entries = entries[:0]
		stream, err := f.stream(ctx, filer_pb.SeaweedFiler_ListEntries_FullMethodName, req)
		var listed listedEntry
		for err == nil {
			dog.wake()
			if err = stream.RecvMsg(&listed); err == nil && !listed.none {
				entries = append(entries, listed.entry)
			}
		}
		return listingEnd(ctx, err)
	})
	return entries, err
}

// Lookup returns the entry at a path inside the bucket.
func (c *Cluster) Lookup(ctx context.Context, bucket, inBucket string) (engine.Entry, error) {
	full, ok := c.resolve(bucket, inBucket)
	if !ok {
		return engine.Entry{}, fmt.Errorf("bucket %q, path %q: %w", bucket, inBucket, engine.ErrNotFound)
	}
	dir, name := path.Split(full)
	e, err := c.lookup(ctx, strings.TrimSuffix(dir, "/"), name)
	if err != nil {
		return engine.Entry{}, err
	}
	return entryOf(e), nil
}

// resolve is the filer's path of a path inside a bucket. The filer would follow
// dot segments out of the bucket; no entry has such a path.
func (c *Cluster) resolve(bucket, inBucket string) (string, bool) {
	return resolvePath(c.bucketsDir, bucket, inBucket)
}

func resolvePath(bucketsDir, bucket, inBucket string) (string, bool) {
	full := bucket
	if inBucket = strings.TrimSuffix(inBucket, "/"); inBucket != "" {
		full += "/" + inBucket
	}
	for segment := range strings.SplitSeq(full, "/") {
		if segment == "." || segment == ".." {
			return "", false
		}
	}
	return bucketsDir + "/" + full, bucket != ""
}

// page lists one page of a directory.
func (c *Cluster) page(ctx context.Context, req *filer_pb.ListEntriesRequest) ([]*filer_pb.Entry, error) {
	var entries []*filer_pb.Entry
	op := fmt.Sprintf("list %q", req.Directory)
	err := c.failover(ctx, op, func(ctx context.Context, f *filer) error {
		ctx, dog, cancel := watch(ctx, c.options.CallTimeout)
		defer cancel()
		entries = entries[:0]
		stream, err := f.client.ListEntries(ctx, req)
		for err == nil {
			dog.wake()
			var resp *filer_pb.ListEntriesResponse
			if resp, err = stream.Recv(); err == nil && resp.Entry != nil {
				entries = append(entries, resp.Entry)
			}
		}
		return listingEnd(ctx, err)
	})
	return entries, err
}

// listingEnd is the error that a listing ended with: a missing folder is none.
func listingEnd(ctx context.Context, err error) error {
	if err == io.EOF || isMissing(err) {
		return nil
	}
	return cause(ctx, err)
}

// lookup returns the entry of a name in a directory, or engine.ErrNotFound.
func (c *Cluster) lookup(ctx context.Context, dir, name string) (*filer_pb.Entry, error) {
	var entry *filer_pb.Entry
	op := fmt.Sprintf("look up %q", dir+"/"+name)
	err := c.onFiler(ctx, op, func(ctx context.Context, f *filer) error {
		resp, err := f.client.LookupDirectoryEntry(ctx, &filer_pb.LookupDirectoryEntryRequest{Directory: dir, Name: name})
		if isMissing(err) || err == nil && resp.Entry == nil {
			return callerError{fmt.Errorf("%q: %w", dir+"/"+name, engine.ErrNotFound)}
		}
		if err == nil {
			entry = resp.Entry
		}
		return err
	})
	return entry, err
}

// isMissing reports whether the filer says that there is no such entry. The
// filer's own error crosses the wire as its text, under an unknown code.
func isMissing(err error) bool {
	if errors.Is(err, filer_pb.ErrNotFound) {
		return true
	}
	s, ok := status.FromError(err)
	return ok && (s.Code() == codes.NotFound || s.Code() == codes.Unknown && strings.Contains(s.Message(), filer_pb.ErrNotFound.Error()))
}
