package cluster

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A table is a file of sorted records in blocks, with an index of the blocks'
// first records, an index of the index's blocks, and so on up to one root: only
// the root's place is kept in memory. A block is
//
//	level, 1 byte: 0 for records, above for an index
//	size of the rest, 4 bytes
//	records; an index's have a block's offset as their value
//	where each record begins in the block's data, 4 bytes each
//	how many they are, 4 bytes
//
// in little endian. The blocks of level 0 lie in order; those of other levels
// lie between them.

const (
	blockHead = 5
	blockTail = 4
)

// tableWriter writes a table. Records are added in order.
type tableWriter struct {
	out *bufio.Writer
	// blockSize is the least size at which a block is full.
	blockSize int
	at        int64
	levels    []*blockBuilder
}

// blockBuilder is a block in the making.
type blockBuilder struct {
	data   []byte
	starts []uint32
}

func newTableWriter(w io.Writer, blockSize int) *tableWriter {
	return &tableWriter{out: bufio.NewWriterSize(w, runBuffer), blockSize: blockSize}
}

func (w *tableWriter) add(r record) error { return w.addTo(0, r) }

func (w *tableWriter) addTo(level int, r record) error {
	if level == len(w.levels) {
		w.levels = append(w.levels, &blockBuilder{})
	}
	b := w.levels[level]
	// Of one record a block, the index would be as long as what it is of.
	if len(b.data) >= w.blockSize && len(b.starts) > 1 {
		if err := w.flush(level); err != nil {
			return err
		}
	}
	b.starts = append(b.starts, uint32(len(b.data)))
	b.data = appendRecord(b.data, r)
	return nil
}

// flush writes a level's block and puts it into the index.
func (w *tableWriter) flush(level int) error {
	at, err := w.write(level)
	if err != nil {
		return err
	}
	b := w.levels[level]
	first := splitRecord(b.data)
	first.value = binary.LittleEndian.AppendUint64(nil, uint64(at))
	if err := w.addTo(level+1, first); err != nil {
		return err
	}
	b.data, b.starts = b.data[:0], b.starts[:0]
	return nil
}

func (w *tableWriter) write(level int) (at int64, err error) {
	b := w.levels[level]
	size := len(b.data) + 4*len(b.starts) + blockTail
	head := binary.LittleEndian.AppendUint32([]byte{byte(level)}, uint32(size))
	tail := make([]byte, 0, size-len(b.data))
	for _, start := range b.starts {
		tail = binary.LittleEndian.AppendUint32(tail, start)
	}
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(b.starts)))
	for _, part := range [][]byte{head, b.data, tail} {
		if _, err := w.out.Write(part); err != nil {
			return 0, err
		}
	}
	at = w.at
	w.at += int64(blockHead + size)
	return at, nil
}

// finish writes what is left and returns the table, which reads from file. It
// keeps up to cacheSize bytes of blocks in memory.
func (w *tableWriter) finish(file *tempFile, cacheSize int) (*table, error) {
	t := &table{file: file, root: -1, cache: newBlockCache(cacheSize)}
	for level := 0; level < len(w.levels); level++ {
		if level < len(w.levels)-1 {
			if err := w.flush(level); err != nil {
				return nil, err
			}
			continue
		}
		root, err := w.write(level)
		if err != nil {
			return nil, err
		}
		t.root = root
	}
	t.end = w.at
	return t, w.out.Flush()
}

// table is a finished table, safe for concurrent use.
type table struct {
	file *tempFile
	root int64 // -1 when there are no records
	end  int64
	// cache holds the blocks used last.
	cache *blockCache
}

// close removes the file. Nothing is answered afterwards.
func (t *table) close() error {
	t.cache.clear()
	return t.file.close()
}

// seek returns the records from the first that is not before folder and name.
func (t *table) seek(folder, name []byte) (*cursor, error) {
	if t.root < 0 {
		return &cursor{table: t}, nil
	}
	at := t.root
	for {
		b, err := t.block(at)
		if err != nil {
			return nil, err
		}
		i := b.search(folder, name)
		if b.level == 0 {
			return &cursor{table: t, block: b, i: i}, nil
		}
		// The block before the first that begins later, unless that one begins
		// with just this record.
		if i == b.len() || i > 0 && b.record(i).compare(folder, name) > 0 {
			i--
		}
		at = int64(binary.LittleEndian.Uint64(b.record(i).value))
	}
}

// get returns the value of one record; false when there is none.
func (t *table) get(folder, name []byte) ([]byte, bool, error) {
	c, err := t.seek(folder, name)
	if err != nil {
		return nil, false, err
	}
	r, err := c.next()
	if err == io.EOF || err == nil && r.compare(folder, name) != 0 {
		return nil, false, nil
	}
	return r.value, err == nil, err
}

// cursor reads a table's records in order.
type cursor struct {
	table *table
	block *block // nil when there is none
	i     int
}

// next returns the next record, or io.EOF.
func (c *cursor) next() (record, error) {
	for c.block != nil && c.i == c.block.len() {
		if err := c.turn(); err != nil {
			return record{}, err
		}
	}
	if c.block == nil {
		return record{}, io.EOF
	}
	c.i++
	return c.block.record(c.i - 1), nil
}

// turn moves to the next block of level 0.
func (c *cursor) turn() error {
	at := c.block.next
	c.block, c.i = nil, 0
	for at < c.table.end {
		b, err := c.table.block(at)
		if err != nil {
			return err
		}
		if b.level == 0 {
			c.block = b
			return nil
		}
		at = b.next
	}
	return nil
}

// block is a block that was read.
type block struct {
	level  byte
	data   []byte
	starts []byte
	next   int64 // where the block after it begins
}

func (b *block) len() int { return len(b.starts) / 4 }

func (b *block) record(i int) record {
	return splitRecord(b.data[binary.LittleEndian.Uint32(b.starts[4*i:]):])
}

// search returns the index of the first record that is not before folder and
// name.
func (b *block) search(folder, name []byte) int {
	low, high := 0, b.len()
	for low < high {
		mid := int(uint(low+high) / 2)
		if b.record(mid).compare(folder, name) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// block returns the block at an offset, from the cache if it is there.
func (t *table) block(at int64) (*block, error) {
	if b := t.cache.get(at); b != nil {
		return b, nil
	}
	var head [blockHead]byte
	if _, err := t.file.ReadAt(head[:], at); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	data := make([]byte, binary.LittleEndian.Uint32(head[1:]))
	if _, err := t.file.ReadAt(data, at+blockHead); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	b := &block{level: head[0], next: at + int64(blockHead+len(data))}
	if len(data) < blockTail {
		return nil, errors.New("temporary file: damaged")
	}
	tail := len(data) - blockTail
	starts := tail - 4*int(binary.LittleEndian.Uint32(data[tail:]))
	if starts < 0 {
		return nil, errors.New("temporary file: damaged")
	}
	b.data, b.starts = data[:starts], data[starts:tail]
	t.cache.put(at, b)
	return b, nil
}

// blockCache keeps about the blocks used last: those used since it was last
// half full and those used in the time before that.
type blockCache struct {
	// limit is how many bytes are kept.
	limit int

	mu       sync.Mutex
	size     int // of young
	young    map[int64]*block
	previous map[int64]*block
}

func newBlockCache(limit int) *blockCache {
	return &blockCache{limit: limit, young: map[int64]*block{}}
}

func (c *blockCache) get(at int64) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.young[at]; b != nil {
		return b
	}
	b := c.previous[at]
	if b != nil {
		c.keep(at, b)
	}
	return b
}

func (c *blockCache) put(at int64, b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(at, b)
}

func (c *blockCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.previous, c.size = map[int64]*block{}, nil, 0
}

func (c *blockCache) keep(at int64, b *block) {
	size := len(b.data) + len(b.starts)
	if c.young[at] != nil || size > c.limit/2 {
		return
	}
	if c.size+size > c.limit/2 {
		c.previous, c.young, c.size = c.young, map[int64]*block{}, 0
	}
	c.young[at] = b
	c.size += size
}
