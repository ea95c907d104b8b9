package cluster

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb"
	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"google.golang.org/protobuf/proto"

	"weedlc/engine"
)

// maxFile is the largest file in bytes that is read.
const maxFile = 64 << 20

// Files is one directory of small files on the filer. They are written into
// their entries, as the built-in worker writes its cursors, and with a
// condition that the filer checks under the lock of the file's path; that of
// one filer for the whole cluster. It is safe for concurrent use.
type Files struct {
	cluster *Cluster
	dir     string
}

// Files returns the files of a directory, which need not be there.
func (c *Cluster) Files(dir string) *Files {
	return &Files{cluster: c, dir: "/" + strings.Trim(dir, "/")}
}

// Read returns a file and its version. An absent one is engine.ErrNotFound.
func (fs *Files) Read(ctx context.Context, name string) (data []byte, version string, err error) {
	// A file in chunks is read apart from its entry; the entry tells whether it
	// was replaced between the two.
	for range 3 {
		e, err := fs.lookup(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if len(e.Chunks) == 0 || len(e.Content) > 0 {
			return e.Content, versionOf(e), nil
		}
		data, err := fs.fetch(ctx, name)
		if err != nil {
			return nil, "", err
		}
		after, err := fs.lookup(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if versionOf(e) == versionOf(after) {
			return data, versionOf(e), nil
		}
	}
	return nil, "", fmt.Errorf("%q is replaced while it is read", fs.path(name))
}

// Write replaces a file that has the version was, or creates one where was is
// empty, and returns the new version. engine.ErrChanged: the file is not that
// one, and nothing was written.
func (fs *Files) Write(ctx context.Context, name string, data []byte, was string) (string, error) {
	old, condition, err := fs.condition(ctx, name, was)
	if err != nil {
		return "", err
	}
	now := time.Now()
	entry := &filer_pb.Entry{Name: name, Attributes: &filer_pb.FuseAttributes{FileMode: 0o644, Crtime: now.Unix()}}
	if old != nil {
		entry = proto.Clone(old).(*filer_pb.Entry)
	}
	sum := md5.Sum(data) // the entry's ETag, as the filer keeps it
	entry.Content, entry.Chunks = data, nil
	entry.Attributes.Mtime, entry.Attributes.MtimeNs = now.Unix(), int32(now.Nanosecond())
	entry.Attributes.FileSize = uint64(len(data))
	entry.Attributes.Md5 = sum[:]

	var written *filer_pb.Entry
	err = fs.cluster.onFiler(ctx, fmt.Sprintf("write %q", fs.path(name)), func(ctx context.Context, f *filer) error {
		resp, err := f.client.CreateEntry(ctx, &filer_pb.CreateEntryRequest{Directory: fs.dir, Entry: entry, Condition: condition})
		if err != nil {
			return err
		}
		written = resp.GetMetadataEvent().GetEventNotification().GetNewEntry()
		return fs.verdict(name, resp.ErrorCode, resp.Error)
	})
	if errors.Is(err, engine.ErrChanged) || err == nil && written == nil {
		// An attempt whose answer was lost may have written the file before the
		// one that was refused.
		if e, lookErr := fs.lookup(ctx, name); lookErr == nil && sameWrite(e, entry) {
			return versionOf(e), nil
		}
	}
	if err != nil {
		return "", err
	}
	if written == nil {
		return "", fmt.Errorf("%q %w", fs.path(name), engine.ErrChanged)
	}
	return versionOf(written), nil
}

// sameWrite reports whether a stored entry is the one that was sent.
func sameWrite(stored, sent *filer_pb.Entry) bool {
	return bytes.Equal(stored.Content, sent.Content) && stored.Attributes != nil &&
		stored.Attributes.Mtime == sent.Attributes.Mtime && stored.Attributes.MtimeNs == sent.Attributes.MtimeNs
}

// Remove deletes a file that has the version was. engine.ErrChanged: the file
// is not that one, or gone, and nothing was deleted.
func (fs *Files) Remove(ctx context.Context, name, was string) error {
	if was == "" {
		return fmt.Errorf("%q %w", fs.path(name), engine.ErrChanged)
	}
	_, condition, err := fs.condition(ctx, name, was)
	if err != nil {
		return err
	}
	// With the same number, an attempt after one whose answer was lost gets that
	// answer.
	number := rand.Text()
	return fs.cluster.onFiler(ctx, fmt.Sprintf("remove %q", fs.path(name)), func(ctx context.Context, f *filer) error {
		resp, err := f.client.ObjectTransaction(ctx, &filer_pb.ObjectTransactionRequest{
			RequestId: number,
			LockKey:   fs.path(name),
			RouteKey:  s3_constants.ObjectWriteRouteKeyPrefix + fs.path(name),
			Condition: condition,
			Mutations: []*filer_pb.ObjectMutation{{
				Type: filer_pb.ObjectMutation_DELETE, Directory: fs.dir, Name: name, IsDeleteData: true,
			}},
		})
		if err != nil {
			return err
		}
		return fs.verdict(name, resp.ErrorCode, resp.Error)
	})
}

// List returns the names of the files in ascending order.
func (fs *Files) List(ctx context.Context) ([]string, error) {
	var names []string
	for after := ""; ; {
		entries, err := fs.cluster.page(ctx, &filer_pb.ListEntriesRequest{Directory: fs.dir, StartFromFileName: after, Limit: bucketPage})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDirectory {
				names = append(names, e.Name)
			}
		}
		if len(entries) < bucketPage {
			return names, nil
		}
		after = entries[len(entries)-1].Name
	}
}

func (fs *Files) path(name string) string { return fs.dir + "/" + name }

func (fs *Files) lookup(ctx context.Context, name string) (*filer_pb.Entry, error) {
	e, err := fs.cluster.lookup(ctx, fs.dir, name)
	if err == nil && e.IsDirectory {
		return nil, fmt.Errorf("%q is a directory", fs.path(name))
	}
	return e, err
}

// condition is what the filer must find for the file to have the version was,
// and the entry that has it; engine.ErrChanged when it is another already.
func (fs *Files) condition(ctx context.Context, name, was string) (*filer_pb.Entry, *filer_pb.WriteCondition, error) {
	if was == "" {
		return nil, only(&filer_pb.WriteCondition_Clause{Kind: filer_pb.WriteCondition_IF_NOT_EXISTS}), nil
	}
	e, err := fs.lookup(ctx, name)
	if errors.Is(err, engine.ErrNotFound) || err == nil && versionOf(e) != was {
		return nil, nil, fmt.Errorf("%q %w", fs.path(name), engine.ErrChanged)
	}
	if err != nil {
		return nil, nil, err
	}
	return e, only(&filer_pb.WriteCondition_Clause{Kind: filer_pb.WriteCondition_IF_ENTRY_EQUAL, ExpectedEntry: e}), nil
}

func only(c *filer_pb.WriteCondition_Clause) *filer_pb.WriteCondition {
	return &filer_pb.WriteCondition{Clauses: []*filer_pb.WriteCondition_Clause{c}}
}

// verdict is the error of an answer that arrived.
func (fs *Files) verdict(name string, code filer_pb.FilerError, text string) error {
	switch {
	case code == filer_pb.FilerError_PRECONDITION_FAILED:
		return callerError{fmt.Errorf("%q %w", fs.path(name), engine.ErrChanged)}
	case text != "":
		return errors.New(text)
	case code != filer_pb.FilerError_OK:
		return errors.New(code.String())
	}
	return nil
}

// versionOf stands for one write of a file: its content, and when it was
// written as precisely as the filer knows.
func versionOf(e *filer_pb.Entry) string {
	h := sha256.New()
	for _, n := range []int64{e.CommitTsNs, e.GetAttributes().GetMtime(), int64(e.GetAttributes().GetMtimeNs()), int64(len(e.Content))} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	h.Write(e.Content)
	for _, chunk := range e.Chunks {
		h.Write([]byte(" " + chunk.GetFileIdString()))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// fetch reads a file that lies in chunks through the filer's HTTP interface,
// which knows about compressed, encrypted and nested ones.
func (fs *Files) fetch(ctx context.Context, name string) ([]byte, error) {
	var data []byte
	err := fs.cluster.onFiler(ctx, fmt.Sprintf("read %q", fs.path(name)), func(ctx context.Context, f *filer) error {
		resp, err := fs.cluster.get(ctx, f, url.URL{Path: fs.path(name)})
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the filer's HTTP interface answers %q", resp.Status)
		}
		data, err = io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
		if err == nil && len(data) > maxFile {
			return fmt.Errorf("larger than %d bytes", maxFile)
		}
		return err
	})
	return data, err
}

// get asks a filer's HTTP interface. The caller closes the answer's body.
func (c *Cluster) get(ctx context.Context, f *filer, u url.URL) (*http.Response, error) {
	creds := c.dialer.creds
	u.Scheme, u.Host = "http", pb.ServerAddress(f.name).ToHttpAddress()
	if creds.https {
		u.Scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	creds.authorize(req)
	return creds.http.Do(req)
}
