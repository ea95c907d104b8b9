package weedtest

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const bucketsFolder = "/buckets"

// Lookup returns the entry at a path, nil when there is none.
func (cl *Client) Lookup(p string) *filer_pb.Entry {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	folder, name := split(p)
	resp, err := cl.Filer.LookupDirectoryEntry(ctx, &filer_pb.LookupDirectoryEntryRequest{Directory: folder, Name: name})
	if isNotFound(err) {
		return nil
	}
	cl.check(err, "cannot look up %q", p)
	return resp.GetEntry()
}

// List returns all entries of a folder, by name; none when it is missing.
func (cl *Client) List(folder string) []*filer_pb.Entry {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	var list []*filer_pb.Entry
	for last := ""; ; {
		stream, err := cl.Filer.ListEntries(ctx, &filer_pb.ListEntriesRequest{
			Directory: folder, StartFromFileName: last, Limit: listLimit,
		})
		cl.check(err, "cannot list %q", folder)
		n := 0
		for ; ; n++ {
			resp, err := stream.Recv()
			if errors.Is(err, io.EOF) || isNotFound(err) {
				break
			}
			cl.check(err, "cannot list %q", folder)
			list = append(list, resp.GetEntry())
			last = resp.GetEntry().GetName()
		}
		if n < listLimit {
			return list
		}
	}
}

const listLimit = 1000

// Walk calls fn for every entry below a folder, a folder before what lies in
// it, with the entry's path.
func (cl *Client) Walk(folder string, fn func(p string, e *filer_pb.Entry)) {
	cl.t.Helper()
	for _, e := range cl.List(folder) {
		p := path.Join(folder, e.GetName())
		fn(p, e)
		if e.GetIsDirectory() {
			cl.Walk(p, fn)
		}
	}
}

// Create writes a new entry past S3, and its folders.
func (cl *Client) Create(folder string, e *filer_pb.Entry) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	resp, err := cl.Filer.CreateEntry(ctx, &filer_pb.CreateEntryRequest{Directory: folder, Entry: e})
	if err == nil && resp.GetError() != "" {
		err = errors.New(resp.GetError())
	}
	cl.check(err, "cannot create %s/%s", folder, e.GetName())
}

// Update changes the entry at a path; a missing one ends the test.
func (cl *Client) Update(p string, change func(*filer_pb.Entry)) {
	cl.t.Helper()
	e := cl.Lookup(p)
	if e == nil {
		cl.t.Fatalf("cannot update %q: not found", p)
	}
	change(e)
	ctx, cancel := cl.context()
	defer cancel()
	folder, _ := split(p)
	_, err := cl.Filer.UpdateEntry(ctx, &filer_pb.UpdateEntryRequest{Directory: folder, Entry: e})
	cl.check(err, "cannot update %q", p)
}

// WriteFile writes a small file whose content is in its entry, as cursor
// files are; ReadFile returns such a file's content, nil when it is missing.
func (cl *Client) WriteFile(p string, content []byte) {
	cl.t.Helper()
	folder, name := split(p)
	now := time.Now().Unix()
	cl.Create(folder, &filer_pb.Entry{
		Name:    name,
		Content: content,
		Attributes: &filer_pb.FuseAttributes{
			FileMode: 0o644, Mtime: now, Crtime: now, FileSize: uint64(len(content)),
		},
	})
}

// ReadFile is the counterpart of WriteFile.
func (cl *Client) ReadFile(p string) []byte {
	cl.t.Helper()
	return cl.Lookup(p).GetContent()
}

func split(p string) (folder, name string) {
	folder, name = path.Split(strings.TrimSuffix(p, "/"))
	if folder != "/" {
		folder = strings.TrimSuffix(folder, "/")
	}
	return folder, name
}

func setExtended(e *filer_pb.Entry, key, value string) {
	if e.Extended == nil {
		e.Extended = map[string][]byte{}
	}
	e.Extended[key] = []byte(value)
}

// isNotFound knows the filer's answers, of which some come as a bare message,
// and S3's.
func isNotFound(err error) bool {
	if err == nil {
		return false
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return slices.Contains([]string{"NoSuchKey", "NoSuchBucket", "NotFound"}, api.ErrorCode())
	}
	return status.Code(err) == codes.NotFound || strings.Contains(err.Error(), filer_pb.ErrNotFound.Error())
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
