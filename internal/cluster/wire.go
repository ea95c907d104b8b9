package cluster

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/storage/needle"
	"google.golang.org/protobuf/encoding/protowire"

	"weedlc/engine"
)

// Listings and the meta-log are read straight from the wire into the engine's
// form: a pass sees millions of entries of which it needs a few fields, and to
// build SeaweedFS's messages first takes most of its time and memory. The numbers
// of fields are those of SeaweedFS's filer.proto.

// wireReader reads what one stream brings. It serves one goroutine.
type wireReader struct {
	// texts are names of attributes and folders, each kept once.
	texts map[string]string
}

// mostTexts bounds what a reader keeps.
const mostTexts = 4096

// text is bytes as a string that is likely to come again.
func (r *wireReader) text(b []byte) string {
	if s, ok := r.texts[string(b)]; ok {
		return s
	}
	if r.texts == nil || len(r.texts) >= mostTexts {
		r.texts = map[string]string{}
	}
	s := string(b)
	r.texts[s] = s
	return s
}

var errMalformed = errors.New("malformed message")

// scanner goes through the fields of a message.
type scanner struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	// value is a field's number, bytes anything else; they belong to the message.
	value uint64
	bytes []byte
	// malformed is set once something is not as it should be.
	malformed bool
}

// next moves on to the next field. It is false at the end of the message and
// where it is malformed.
func (s *scanner) next() bool {
	if len(s.rest) == 0 || s.malformed {
		return false
	}
	var n int
	if s.number, s.kind, n = protowire.ConsumeTag(s.rest); n < 0 {
		return s.fail()
	}
	s.rest = s.rest[n:]
	switch s.kind {
	case protowire.VarintType:
		s.value, n = protowire.ConsumeVarint(s.rest)
	case protowire.BytesType:
		s.bytes, n = protowire.ConsumeBytes(s.rest)
	default:
		n = protowire.ConsumeFieldValue(s.number, s.kind, s.rest)
	}
	if n < 0 {
		return s.fail()
	}
	s.rest = s.rest[n:]
	return true
}

func (s *scanner) fail() bool {
	s.malformed = true
	return false
}

// uint is the field's number.
func (s *scanner) uint() uint64 {
	s.malformed = s.malformed || s.kind != protowire.VarintType
	return s.value
}

func (s *scanner) int64() int64 { return int64(s.uint()) }
func (s *scanner) int32() int32 { return int32(s.uint()) }

// data are the field's bytes.
func (s *scanner) data() []byte {
	s.malformed = s.malformed || s.kind != protowire.BytesType
	return s.bytes
}

// nested adds an occurrence of a field that is a message: that of two is the
// message of both, one behind the other.
func nested(have, more []byte) []byte {
	if have == nil {
		return more
	}
	return append(slices.Clip(have), more...)
}

// entry reads a filer entry, from the log or a live one, into an empty one. What
// is no plain file is left to SeaweedFS's decoder.
func (r *wireReader) entry(message []byte, logged bool, out *engine.Entry) error {
	if r.file(message, logged, out) {
		return nil
	}
	e := &filer_pb.Entry{}
	if err := e.UnmarshalVT(message); err != nil {
		return err
	}
	if logged {
		*out = *loggedEntry(e)
	} else {
		*out = entryOf(e)
	}
	return nil
}

// file reads the entry of a file. It is false for anything else, and for what
// it does not expect.
func (r *wireReader) file(message []byte, logged bool, out *engine.Entry) bool {
	var at attributes
	end := int64(math.MinInt64) // of the furthest chunk
	s := scanner{rest: message}
	for s.next() {
		switch s.number {
		case 1: // name
			out.Name = string(s.data())
		case 2: // is_directory
			if s.uint() != 0 {
				return false
			}
		case 3: // chunks
			c, ok := readChunk(s.data())
			if !ok {
				return false
			}
			out.Chunks = append(out.Chunks, c.id)
			end = max(end, c.end)
		case 4: // attributes
			if !at.read(s.data()) {
				return false
			}
		case 5: // extended
			if !r.extended(s.data(), out) {
				return false
			}
		case 6: // commit_ts_ns
			out.CommitNs = s.int64()
		case 10: // remote_entry
			return false
		}
	}
	if s.malformed || !at.are {
		return !s.malformed
	}
	out.Size = int64(at.size)
	if logged {
		out.Size = max(out.Size, end)
	}
	out.TTL = time.Duration(at.ttl) * time.Second
	out.CreatedNs, _ = nanoseconds(at.crtime, at.crtimeNs)
	out.MtimeNs, out.HasAttributes = nanoseconds(at.mtime, at.mtimeNs)
	return true
}

// attributes are what counts of an entry's attributes.
type attributes struct {
	are                    bool // set when the entry has any
	size                   uint64
	mtime, crtime          int64
	mtimeNs, crtimeNs, ttl int32
}

func (a *attributes) read(message []byte) bool {
	a.are = true
	s := scanner{rest: message}
	for s.next() {
		switch s.number {
		case 1: // file_size
			a.size = s.uint()
		case 2: // mtime
			a.mtime = s.int64()
		case 6: // crtime
			a.crtime = s.int64()
		case 10: // ttl_sec
			a.ttl = s.int32()
		case 19: // mtime_ns
			a.mtimeNs = s.int32()
		case 21: // crtime_ns
			a.crtimeNs = s.int32()
		}
	}
	return !s.malformed
}

// chunk is what counts of a chunk: its file id, and where it ends.
type chunk struct {
	id  string
	end int64
}

func readChunk(message []byte) (chunk, bool) {
	var id, fid []byte
	var offset, size int64
	s := scanner{rest: message}
	for s.next() {
		switch s.number {
		case 1: // file_id
			id = s.data()
		case 2: // offset
			offset = s.int64()
		case 3: // size
			size = s.int64()
		case 7: // fid
			fid = nested(fid, s.data())
		}
	}
	c := chunk{id: string(id), end: offset + size}
	if s.malformed || c.id != "" || fid == nil {
		return c, !s.malformed
	}
	f := &filer_pb.FileId{}
	if f.UnmarshalVT(fid) != nil {
		return c, false
	}
	c.id = needle.NewFileId(needle.VolumeId(f.VolumeId), f.FileKey, f.Cookie).String()
	return c, true
}

// extended reads one extended attribute.
func (r *wireReader) extended(message []byte, out *engine.Entry) bool {
	var name, value []byte
	s := scanner{rest: message}
	for s.next() {
		switch s.number {
		case 1:
			name = s.data()
		case 2:
			value = s.data()
		}
	}
	if s.malformed {
		return false
	}
	if out.Extended == nil {
		out.Extended = map[string][]byte{}
	}
	out.Extended[r.text(name)] = bytes.Clone(value)
	return true
}

// listedEntry is an answer of a listing.
type listedEntry struct {
	wireReader
	entry engine.Entry
	// none is set when the answer has no entry.
	none bool
}

// UnmarshalVT reads a ListEntriesResponse over what there was before.
func (l *listedEntry) UnmarshalVT(message []byte) error {
	var raw []byte
	s := scanner{rest: message}
	for s.next() {
		if s.number == 1 {
			raw = nested(raw, s.data())
		}
	}
	if s.malformed {
		return errMalformed
	}
	l.entry, l.none = engine.Entry{}, raw == nil
	if l.none {
		return nil
	}
	return l.wireReader.entry(raw, false, &l.entry)
}

// logMessage is a message of a subscription: what happened in a folder, or,
// without entries, how far the filer is.
type logMessage struct {
	*wireReader
	tsNs              int64
	folder, newFolder string
	// old and new are nil as in an event of the log.
	old, new *engine.Entry
	// more are the messages that came with this one.
	more []logMessage
}

// UnmarshalVT reads a SubscribeMetadataResponse over what there was before.
func (m *logMessage) UnmarshalVT(message []byte) error { return m.read(message, true) }

// read reads a message, and those that came with it only when it is the outer one.
func (m *logMessage) read(message []byte, outer bool) error {
	*m = logMessage{wireReader: m.wireReader, more: m.more[:0]}
	var notification []byte
	s := scanner{rest: message}
	for s.next() {
		switch s.number {
		case 1: // directory
			m.folder = m.text(s.data())
		case 2: // event_notification
			notification = nested(notification, s.data())
		case 3: // ts_ns
			m.tsNs = s.int64()
		case 4: // events
			if !outer {
				continue
			}
			m.more = append(m.more, logMessage{wireReader: m.wireReader})
			if err := m.more[len(m.more)-1].read(s.data(), false); err != nil {
				return err
			}
		}
	}
	if s.malformed {
		return errMalformed
	}
	return m.notification(notification)
}

// notification reads an EventNotification.
func (m *logMessage) notification(message []byte) error {
	var before, after []byte
	s := scanner{rest: message}
	for s.next() {
		switch s.number {
		case 1: // old_entry
			before = nested(before, s.data())
		case 2: // new_entry
			after = nested(after, s.data())
		case 4: // new_parent_path
			m.newFolder = m.text(s.data())
		}
	}
	if s.malformed {
		return errMalformed
	}
	if before != nil {
		m.old = &engine.Entry{}
		if err := m.entry(before, true, m.old); err != nil {
			return err
		}
	}
	if after != nil {
		m.new = &engine.Entry{}
		return m.entry(after, true, m.new)
	}
	return nil
}
