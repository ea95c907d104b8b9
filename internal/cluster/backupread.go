package cluster

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
)

// BackupError says what is wrong with a metadata backup.
type BackupError struct {
	// Path is the backup's file.
	Path string
	// Reason is what is wrong.
	Reason string
	// Offset is where the entry at fault begins, in bytes from the start of the
	// file or, when it is Packed, of what it unpacks to.
	Offset int64
	Packed bool
	// Err is the cause; nil when there is none beneath.
	Err error
}

func (e *BackupError) Error() string {
	where := "offset"
	if e.Packed {
		where = "unpacked offset"
	}
	return fmt.Sprintf("backup %q: %s (%s %d)", e.Path, e.Reason, where, e.Offset)
}

func (e *BackupError) Unwrap() error { return e.Err }

// maxBackupEntry is more bytes than an entry can have: the filer folds long
// chunk lists into manifests.
const maxBackupEntry = 256 << 20

// backupReader reads the entries of a backup: each a size of four bytes, big
// endian, and a FullEntry; the whole packed by gzip or not, whatever the
// file's name.
type backupReader struct {
	path   string
	file   *os.File
	info   os.FileInfo
	taken  *countingReader
	unpack *unpacker // nil when the file is not packed
	in     *bufio.Reader

	// offset is where the next entry begins, entries how many were read.
	offset  int64
	entries int64
	buf     []byte
}

// readBuffer is how much is read, unpacked and handed on at a time.
const readBuffer = 256 << 10

func openBackupReader(path string) (*backupReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	r := &backupReader{path: path, file: file, taken: &countingReader{r: file}}
	if err := r.begin(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *backupReader) begin() error {
	var err error
	if r.info, err = r.file.Stat(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if r.info.IsDir() {
		return fmt.Errorf("backup %q: a directory, not a file", r.path)
	}
	r.in = bufio.NewReaderSize(r.taken, readBuffer)
	magic, err := r.in.Peek(2)
	switch {
	case err != nil && err != io.EOF:
		return fmt.Errorf("backup %q: %w", r.path, err)
	case len(magic) == 0:
		return fmt.Errorf("backup %q: empty", r.path)
	case string(magic) != "\x1f\x8b":
		return nil
	}
	if r.unpack, err = newUnpacker(r.in); err != nil {
		return r.fault(0, err, "no gzip header")
	}
	r.in = bufio.NewReaderSize(r.unpack, readBuffer)
	return nil
}

func (r *backupReader) close() error {
	if r.unpack != nil {
		r.unpack.close()
	}
	return r.file.Close()
}

// next returns the next entry and where it begins; io.EOF when there is none.
// The entry has a name and lies in a folder, or is the root.
func (r *backupReader) next() (*filer_pb.FullEntry, int64, error) {
	at := r.offset
	if err := r.frame(); err != nil {
		return nil, at, err
	}
	full := &filer_pb.FullEntry{}
	if err := full.UnmarshalVT(r.buf); err != nil {
		return nil, at, r.fault(at, err, "an entry that cannot be decoded")
	}
	if err := checkFullEntry(full); err != nil {
		return nil, at, r.fault(at, nil, err.Error())
	}
	r.offset += int64(len(r.buf)) + 4
	r.entries++
	return full, at, nil
}

// frame reads the bytes of the next entry.
func (r *backupReader) frame() error {
	at := r.offset
	var head [4]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		if err == io.EOF {
			return err
		}
		return r.broken(at, err)
	}
	size := int(binary.BigEndian.Uint32(head[:]))
	if size == 0 || size > maxBackupEntry {
		return r.fault(at, nil, fmt.Sprintf("an entry of %d bytes, which cannot be", size))
	}
	// What the file holds bounds the memory, not the size that it claims.
	r.buf = r.buf[:0]
	for len(r.buf) < size {
		n := min(size-len(r.buf), max(readBuffer, len(r.buf)))
		start := len(r.buf)
		r.buf = append(r.buf, make([]byte, n)...)
		if _, err := io.ReadFull(r.in, r.buf[start:]); err != nil {
			return r.broken(at, err)
		}
	}
	return nil
}

// broken explains a failed read in the middle of the file.
func (r *backupReader) broken(at int64, err error) error {
	switch {
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		return &BackupError{Path: r.path, Reason: r.hint("cut off before its end"), Offset: at, Packed: r.unpack != nil, Err: io.ErrUnexpectedEOF}
	case r.unpack != nil && errors.Is(err, gzip.ErrHeader):
		return r.fault(at, err, "something that is not gzip follows the packed data")
	}
	return r.fault(at, err, "cannot be read")
}

// fault is an error about the entry at an offset.
func (r *backupReader) fault(at int64, cause error, reason string) error {
	if cause != nil {
		reason += ": " + cause.Error()
	}
	return &BackupError{Path: r.path, Reason: r.hint(reason), Offset: at, Packed: r.unpack != nil, Err: cause}
}

// hint adds to a reason what is likely as long as nothing could be read.
func (r *backupReader) hint(reason string) string {
	if r.entries == 0 {
		reason += "; is it a file that fs.meta.save wrote?"
	}
	return reason
}

// unpacker unpacks on a goroutine of its own, one buffer ahead of the reader.
type unpacker struct {
	*io.PipeReader
	done chan struct{}
}

func newUnpacker(packed io.Reader) (*unpacker, error) {
	zip, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	u := &unpacker{PipeReader: out, done: make(chan struct{})}
	go func() {
		defer close(u.done)
		_, err := io.CopyBuffer(in, zip, make([]byte, readBuffer))
		in.CloseWithError(err)
	}()
	return u, nil
}

// close ends the goroutine; the packed data is not read any more afterwards.
func (u *unpacker) close() {
	_ = u.PipeReader.Close() // always nil
	<-u.done
}

// countingReader counts what was read, for another goroutine to see.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
