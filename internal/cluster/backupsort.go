package cluster

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// record is one line of a sort or a table, ordered by folder, then by name.
type record struct {
	folder, name, value []byte
}

func (r record) compare(folder, name []byte) int {
	if c := bytes.Compare(r.folder, folder); c != 0 {
		return c
	}
	return bytes.Compare(r.name, name)
}

// appendHead appends the lengths of a record's parts, which the parts follow.
func appendHead(b []byte, folder, name, value int) []byte {
	b = binary.AppendUvarint(b, uint64(folder))
	b = binary.AppendUvarint(b, uint64(name))
	return binary.AppendUvarint(b, uint64(value))
}

func appendRecord(b []byte, r record) []byte {
	b = appendHead(b, len(r.folder), len(r.name), len(r.value))
	b = append(b, r.folder...)
	b = append(b, r.name...)
	return append(b, r.value...)
}

// splitRecord is the record at the start of b. It shares b's memory.
func splitRecord(b []byte) record {
	var lengths [3]int
	for i := range lengths {
		v, n := binary.Uvarint(b)
		lengths[i], b = int(v), b[n:]
	}
	folder, b := b[:lengths[0]:lengths[0]], b[lengths[0]:]
	name, b := b[:lengths[1]:lengths[1]], b[lengths[1]:]
	return record{folder, name, b[:lengths[2]:lengths[2]]}
}

// sorter sorts records of any number in bounded memory: what does not fit is
// kept in runs, files that are sorted each, and fanIn runs of a level are
// merged into one of the next.
type sorter struct {
	tempDir string
	// memory is how many bytes of records are sorted at a time.
	memory int
	fanIn  int

	arena []byte
	items []sortItem
	runs  [][]*run // by level
}

// sortItem is a record in the arena: where it begins and how long its parts
// are, without pointers for the collector to follow.
type sortItem struct {
	at, folder, name, value uint32
}

const sortItemSize = 16

func (s *sorter) record(i sortItem) record {
	b := s.arena[i.at:]
	return record{b[:i.folder], b[i.folder:][:i.name], b[i.folder+i.name:][:i.value]}
}

// add takes a record in and returns its value, of the given size, for the
// caller to fill before the next call.
func (s *sorter) add(folder, name string, size int) ([]byte, error) {
	need := len(folder) + len(name) + size
	if need > math.MaxInt32 {
		return nil, fmt.Errorf("a record of %d bytes is too long to sort", need)
	}
	if len(s.items) > 0 && len(s.arena)+need+(len(s.items)+1)*sortItemSize > s.memory {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	if s.arena == nil {
		// What is not written to takes no memory.
		s.arena = make([]byte, 0, s.memory)
	}
	s.items = append(s.items, sortItem{uint32(len(s.arena)), uint32(len(folder)), uint32(len(name)), uint32(size)})
	s.arena = append(s.arena, folder...)
	s.arena = append(s.arena, name...)
	start := len(s.arena)
	s.arena = slices.Grow(s.arena, size)[:start+size]
	return s.arena[start:], nil
}

// spill turns what is in memory into a run.
func (s *sorter) spill() error {
	r, err := s.write(s.inMemory())
	if err != nil {
		return err
	}
	s.arena, s.items = s.arena[:0], s.items[:0]
	for level := 0; ; level++ {
		if level == len(s.runs) {
			s.runs = append(s.runs, nil)
		}
		s.runs[level] = append(s.runs[level], r)
		if len(s.runs[level]) < s.fanIn {
			return nil
		}
		if r, err = s.write(mergeRuns(s.runs[level])); err != nil {
			return err
		}
		merged := s.runs[level]
		s.runs[level] = nil
		if err := closeRuns(merged); err != nil {
			return errors.Join(err, r.file.close())
		}
	}
}

// inMemory sorts what is in memory.
func (s *sorter) inMemory() source {
	slices.SortFunc(s.items, func(a, b sortItem) int {
		r := s.record(b)
		return s.record(a).compare(r.folder, r.name)
	})
	i := -1
	return func() (record, error) {
		if i++; i >= len(s.items) {
			return record{}, io.EOF
		}
		return s.record(s.items[i]), nil
	}
}

// sorted returns all records in order. No record may be added afterwards.
func (s *sorter) sorted() source {
	return merge(append(sources(slices.Concat(s.runs...)), s.inMemory()))
}

// close removes the runs.
func (s *sorter) close() error {
	return closeRuns(slices.Concat(s.runs...))
}

func (s *sorter) write(next source) (_ *run, err error) {
	file, err := newTempFile(s.tempDir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.close())
		}
	}()
	w := bufio.NewWriterSize(file, runBuffer)
	r := &run{file: file}
	var buf []byte
	for {
		rec, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		buf = appendRecord(buf[:0], rec)
		n, err := w.Write(buf)
		if err != nil {
			return nil, err
		}
		r.size += int64(n)
	}
	return r, w.Flush()
}

// runBuffer is how much of a run is read or written at a time.
const runBuffer = 128 << 10

// run is a file of sorted records.
type run struct {
	file *tempFile
	size int64
}

func closeRuns(runs []*run) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, r.file.close())
	}
	return errors.Join(errs...)
}

// records reads the run from its start.
func (r *run) records() source {
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, 0, r.size), runBuffer)
	var buf []byte
	return func() (record, error) {
		if _, err := in.Peek(1); err != nil {
			return record{}, err // io.EOF at the end of the run
		}
		var lengths [3]int
		for i := range lengths {
			v, err := binary.ReadUvarint(in)
			if err != nil {
				return record{}, noEOF(err)
			}
			lengths[i] = int(v)
		}
		f, n := lengths[0], lengths[0]+lengths[1]
		buf = slices.Grow(buf[:0], n+lengths[2])[:n+lengths[2]]
		if _, err := io.ReadFull(in, buf); err != nil {
			return record{}, noEOF(err)
		}
		return record{buf[:f], buf[f:n], buf[n:]}, nil
	}
}

// noEOF tells an end within a record from the end of the records.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// source returns the next record, valid until the next call, or io.EOF.
type source func() (record, error)

func sources(runs []*run) []source {
	var all []source
	for _, r := range runs {
		all = append(all, r.records())
	}
	return all
}

func mergeRuns(runs []*run) source { return merge(sources(runs)) }

// merge merges sorted sources. Records that are equal come one after another.
func merge(all []source) source {
	m := &merger{}
	started := false
	return func() (record, error) {
		if !started {
			started = true
			if err := m.start(all); err != nil {
				return record{}, err
			}
		} else if err := m.advance(); err != nil {
			return record{}, err
		}
		if len(m.heads) == 0 {
			return record{}, io.EOF
		}
		return m.heads[0].record, nil
	}
}

// merger is a heap of sources by their current record; the least is the first.
type merger struct{ heads []head }

type head struct {
	record
	next source
}

func (m *merger) start(all []source) error {
	for _, next := range all {
		r, err := next()
		if err == io.EOF {
			continue
		}
		if err != nil {
			return err
		}
		m.heads = append(m.heads, head{r, next})
	}
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return nil
}

// advance moves the first source on.
func (m *merger) advance() error {
	if len(m.heads) == 0 {
		return nil
	}
	r, err := m.heads[0].next()
	switch err {
	case nil:
		m.heads[0].record = r
	case io.EOF:
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	default:
		return err
	}
	m.sink(0)
	return nil
}

// sink moves a head down to its place.
func (m *merger) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heads); child++ {
			if m.heads[child].compare(m.heads[least].folder, m.heads[least].name) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heads[i], m.heads[least] = m.heads[least], m.heads[i]
		i = least
	}
}

// tempFile is a file that is gone when it is closed and, where the system lets
// an open file be removed, also when the process is killed.
type tempFile struct {
	*os.File
	removed bool
}

func newTempFile(dir string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "weedlc-backup-*")
	if err != nil {
		return nil, err
	}
	return &tempFile{f, os.Remove(f.Name()) == nil}, nil
}

func (f *tempFile) close() error {
	err := f.Close()
	if !f.removed {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
