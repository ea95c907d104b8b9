package cluster

import (
	"math"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
)

// entryOf converts a live entry, as a look-up or a listing shows it.
func entryOf(e *filer_pb.Entry) engine.Entry {
	out := engine.Entry{
		Name:     e.Name,
		Nature:   natureOf(e),
		CommitNs: e.CommitTsNs,
		Extended: e.Extended,
	}
	if len(e.Chunks) > 0 {
		out.Chunks = make([]string, len(e.Chunks))
		for i, chunk := range e.Chunks {
			out.Chunks[i] = chunk.GetFileIdString()
		}
	}
	a := e.Attributes
	if a == nil {
		return out
	}
	out.Size = int64(a.FileSize)
	out.TTL = time.Duration(a.TtlSec) * time.Second
	out.CreatedNs, _ = nanoseconds(a.Crtime, a.CrtimeNs)
	// An mtime that nanoseconds cannot hold, the zero time that stands for
	// none among them, is no clock to delete by.
	out.MtimeNs, out.HasAttributes = nanoseconds(a.Mtime, a.MtimeNs)
	return out
}

// loggedEntry converts an entry of the meta-log. The log may show a size of 0
// where the store, and so every look-up, counts the chunks; nil stays nil.
func loggedEntry(e *filer_pb.Entry) *engine.Entry {
	if e == nil {
		return nil
	}
	out := entryOf(e)
	if e.Attributes == nil {
		return &out
	}
	for _, chunk := range e.Chunks {
		out.Size = max(out.Size, chunk.Offset+int64(chunk.Size))
	}
	if r := e.RemoteEntry; r != nil && r.RemoteMtime > e.Attributes.Mtime {
		out.Size = max(out.Size, r.RemoteSize)
	}
	return &out
}

// natureOf tells what an entry stands for. A folder with a MIME type or data
// is the object whose key ends in "/", unless it is marked as the object whose
// key does not.
func natureOf(e *filer_pb.Entry) engine.Nature {
	switch {
	case !e.IsDirectory:
		return engine.File
	case e.IsPrefixObject():
		return engine.PrefixObject
	case e.IsDirectoryKeyObject():
		return engine.FolderMarker
	}
	return engine.Folder
}

// nanoseconds joins a time's two parts; false when the sum overflows.
func nanoseconds(seconds int64, ns int32) (int64, bool) {
	const limit = math.MaxInt64/int64(time.Second) - 1
	if seconds > limit || seconds < -limit {
		return 0, false
	}
	return seconds*int64(time.Second) + int64(ns), true
}
