package memcluster

import (
	"sort"
	"strings"
	"time"

	"weedlc/engine"
)

// flushAfter is how long the filer keeps events in memory before it writes
// them to a file of the log.
const flushAfter = time.Minute

// metaLog is the filer's log of every change, in the order of its positions.
type metaLog struct {
	records []record
	// stamped and logged are the last commit stamp and the last position given
	// out; both only rise.
	stamped, logged int64
}

type record struct {
	event engine.Event
	// visibleNs is when the event can first be read; 0 is at once.
	visibleNs int64
}

// stamp is a new commit stamp.
func (c *Cluster) stamp() int64 {
	c.log.stamped = max(c.filerNow().UnixNano(), c.log.stamped+1)
	return c.log.stamped
}

// record logs one change. Its position is the commit stamp of the new entry,
// or a fresh one for a delete, and behind every position given out before: an
// entry whose folders had to be made first is stamped before them and logged
// behind them.
func (c *Cluster) record(b *bucket, path, oldPath string, before, after *engine.Entry) {
	ts := int64(0)
	if after != nil {
		ts = after.CommitNs
	} else {
		ts = c.stamp()
	}
	ts = max(ts, c.log.logged+1)
	c.log.logged = ts
	ev := engine.Event{TsNs: ts, Bucket: b.info.Name, Path: path, OldPath: oldPath, Old: before, New: after}
	rec := record{event: ev}
	if c.late != nil {
		if late := c.late(&ev); late > 0 {
			rec.visibleNs = ts + int64(late)
		}
	}
	c.log.records = append(c.log.records, rec)
}

// read copies the events of a range that can be read by now.
func (l *metaLog) read(r engine.LogRange, nowNs int64) []engine.Event {
	first := sort.Search(len(l.records), func(i int) bool { return l.records[i].event.TsNs > r.AfterNs })
	var out []engine.Event
	for _, rec := range l.records[first:] {
		if rec.event.TsNs > r.UntilNs {
			break
		}
		if rec.visibleNs <= nowNs && matches(&rec.event, r.Paths) {
			out = append(out, rec.event)
		}
	}
	return out
}

// matches reports whether an event's path or the path it moved from starts
// with one of the prefixes; none is every event.
func matches(ev *engine.Event, prefixes []string) bool {
	if len(prefixes) == 0 {
		return true
	}
	to, from := place(ev.Bucket, ev.Path), place(ev.Bucket, ev.OldPath)
	for _, p := range prefixes {
		if strings.HasPrefix(to, p) || ev.OldPath != "" && strings.HasPrefix(from, p) {
			return true
		}
	}
	return false
}

// place is a path behind its bucket; the bucket itself has no slash.
func place(bucket, path string) string {
	if path == "" {
		return bucket
	}
	return bucket + "/" + path
}

// Trim drops every event before t, as an operator does who deletes files of
// the log.
func (c *Cluster) Trim(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := sort.Search(len(c.log.records), func(i int) bool { return c.log.records[i].event.TsNs >= t.UnixNano() })
	c.log.records = append([]record(nil), c.log.records[i:]...)
}

// Lose drops the events that match, as the crash of a filer does, and returns
// how many they were.
func (c *Cluster) Lose(match func(*engine.Event) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.log.records[:0:0]
	for _, rec := range c.log.records {
		if !match(&rec.event) {
			kept = append(kept, rec)
		}
	}
	n := len(c.log.records) - len(kept)
	c.log.records = kept
	return n
}

// Events copies the log as it stands, whether events can be read yet or not.
func (c *Cluster) Events() []engine.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]engine.Event, len(c.log.records))
	for i, rec := range c.log.records {
		out[i] = rec.event
	}
	return out
}

// horizon is the minute of the oldest event that has reached a file; 0 when
// none has.
func (c *Cluster) horizon() int64 {
	if len(c.log.records) == 0 {
		return 0
	}
	first := c.log.records[0].event.TsNs
	if first > c.filerNow().Add(-flushAfter).UnixNano() {
		return 0
	}
	return first - first%int64(time.Minute)
}
