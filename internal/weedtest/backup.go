package weedtest

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/protobuf/proto"
)

// WriteBackup writes a metadata backup as fs.meta.save does, packed when the
// file's name ends in ".gz" or ".gzip". The entries are written as they come.
func WriteBackup(file string, entries iter.Seq[*filer_pb.FullEntry]) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, 1<<18)
	var w io.Writer = buffered
	if strings.HasSuffix(file, ".gz") || strings.HasSuffix(file, ".gzip") {
		zip := gzip.NewWriter(buffered)
		defer func() { err = errors.Join(err, zip.Close(), buffered.Flush()) }()
		w = zip
	} else {
		defer func() { err = errors.Join(err, buffered.Flush()) }()
	}
	var frame []byte
	for e := range entries {
		frame = append(frame[:0], 0, 0, 0, 0)
		if frame, err = (proto.MarshalOptions{}).MarshalAppend(frame, e); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	return nil
}

// FullEntries are the entries at and below a folder, as a backup has them: each
// folder before what lies in it.
func (cl *Client) FullEntries(folder string) iter.Seq[*filer_pb.FullEntry] {
	cl.t.Helper()
	return func(yield func(*filer_pb.FullEntry) bool) {
		cl.t.Helper()
		if top := cl.Lookup(folder); top != nil {
			dir, _ := split(folder)
			if !yield(&filer_pb.FullEntry{Dir: dir, Entry: top}) {
				return
			}
		}
		stopped := false
		cl.Walk(folder, func(p string, e *filer_pb.Entry) {
			stopped = stopped || !yield(&filer_pb.FullEntry{Dir: path.Dir(p), Entry: e})
		})
	}
}

// SaveBackup has weed shell save the metadata at and below a folder of the
// filer. Neither path has a space in it.
func (cl *Client) SaveBackup(file, folder string) {
	cl.t.Helper()
	out, err := cl.cluster.Shell(cl.t.Context(), "fs.meta.save -o "+file+" "+folder)
	if err == nil && !strings.Contains(out, "is saved to "+file) {
		err = errors.New(out)
	}
	cl.check(err, "cannot save %q to %q", folder, file)
}
