package cluster

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
)

// clientName is how a subscription shows up in the filer's list of
// subscribers.
const clientName = "weedlc"

// ReadLog hands over the events of buckets in a range of the meta-log and
// returns nil once the range has been read to its end. It stops at the first
// error of fn and returns it as it is. A stream that falls silent for
// Options.Silence is an error.
//
// Events come in the order of the log. Where several filers write it, an event
// of the last minutes may come again, and then with an earlier time, if the
// filer's memory has been overtaken meanwhile: a position must not be taken
// from the last event alone. A move between two buckets is a removal in the one
// and a creation in the other, at the same time.
func (c *Cluster) ReadLog(ctx context.Context, r engine.LogRange, fn func(*engine.Event) error) error {
	if r.UntilNs <= r.AfterNs {
		return nil
	}
	filter := newPrefixes(r.Paths)
	handed := false
	return c.failover(ctx, "read the meta-log", func(ctx context.Context, f *filer) error {
		err := c.subscribe(ctx, f, r, filter, func(e *engine.Event) error {
			handed = true
			return fn(e)
		})
		if err != nil && handed && unreached(err) {
			return brokenOff{err}
		}
		return err
	})
}

// brokenOff is an error on the way after which no other filer is tried.
type brokenOff struct{ err error }

func (e brokenOff) Error() string { return message(e.err) }
func (e brokenOff) Unwrap() error { return e.err }

func (c *Cluster) subscribe(ctx context.Context, f *filer, r engine.LogRange, filter prefixes, fn func(*engine.Event) error) error {
	ctx, dog, cancel := watch(ctx, c.options.Silence)
	defer cancel()
	first, others := filter.request(c.bucketsDir)
	stream, err := f.stream(ctx, filer_pb.SeaweedFiler_SubscribeMetadata_FullMethodName, &filer_pb.SubscribeMetadataRequest{
		ClientName: clientName,
		// Two subscriptions with one number would end each other.
		ClientId:                    rand.Int32N(1<<31-2) + 1,
		ClientEpoch:                 1,
		PathPrefix:                  first,
		PathPrefixes:                others,
		SinceNs:                     r.AfterNs,
		UntilNs:                     r.UntilNs,
		ClientSupportsBatching:      true,
		ClientSupportsIdleHeartbeat: true,
	})
	if err != nil {
		return cause(ctx, err)
	}
	resp := logMessage{wireReader: &wireReader{}}
	for {
		dog.wake()
		err := stream.RecvMsg(&resp)
		dog.sleep()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return cause(ctx, err)
		}
		done, err := c.deliver(&resp, r, filter, fn)
		for i := 0; i < len(resp.more) && !done; i++ {
			done, err = c.deliver(&resp.more[i], r, filter, fn)
		}
		if done {
			return err
		}
	}
}

// deliver hands over one message's event, if it is one of the range and the
// filter, and reports whether the range is at its end. Messages without an
// entry carry the filer's position only: the filer is alive, and past the
// range's end once that position is.
func (c *Cluster) deliver(m *logMessage, r engine.LogRange, filter prefixes, fn func(*engine.Event) error) (done bool, err error) {
	if m.tsNs > r.UntilNs {
		return true, nil
	}
	if m.tsNs <= r.AfterNs {
		return false, nil
	}
	for _, e := range c.eventsOf(m, filter) {
		if err := fn(e); err != nil {
			return true, callerError{err}
		}
	}
	return false, nil
}

// place is where an entry of the tree is: the bucket and the path inside it.
type place struct{ bucket, path string }

// placeOf is the place of a directory's entry; false outside of the buckets.
func (c *Cluster) placeOf(dir, name string) (place, bool) {
	if name == "" {
		return place{}, false
	}
	if dir = strings.TrimSuffix(dir, "/"); dir == c.bucketsDir {
		return place{bucket: name}, true
	}
	inBuckets, ok := strings.CutPrefix(dir, c.bucketsDir+"/")
	if !ok {
		return place{}, false
	}
	bucket, path, deep := strings.Cut(inBuckets, "/")
	if deep {
		path += "/"
	}
	return place{bucket, path + name}, bucket != ""
}

func (p place) match(filter prefixes) bool {
	return filter.match(p.bucket + "/" + p.path)
}

// eventsOf is what a message says of the buckets: nothing, one event, or two
// for a move from one bucket to another.
func (c *Cluster) eventsOf(m *logMessage, filter prefixes) []*engine.Event {
	target := m.newFolder
	if target == "" {
		target = m.folder
	}
	var from, to place
	var left, arrived bool
	if m.old != nil {
		dir := m.folder
		if m.new == nil {
			// A removal is logged where its new parent says, if it says so.
			dir = target
		}
		from, left = c.placeOf(dir, m.old.Name)
	}
	if m.new != nil {
		to, arrived = c.placeOf(target, m.new.Name)
	}

	event := func(p place) *engine.Event {
		return &engine.Event{TsNs: m.tsNs, Bucket: p.bucket, Path: p.path}
	}
	var events []*engine.Event
	if left && arrived && from.bucket == to.bucket {
		if to.match(filter) || from.match(filter) {
			e := event(to)
			e.Old, e.New = m.old, m.new
			if from != to {
				e.OldPath = from.path
			}
			events = append(events, e)
		}
		return events
	}
	if left && from.match(filter) {
		e := event(from)
		e.Old = m.old
		events = append(events, e)
	}
	if arrived && to.match(filter) {
		e := event(to)
		e.New = m.new
		events = append(events, e)
	}
	return events
}

// logDir is where filers keep the meta-log: a folder a day, in it a file for
// the minute in which each piece starts, with the filer's number behind a dot.
const logDir = "/topics/.system/log"

// LogHorizon is the start of the oldest piece of log, in Unix nanoseconds; 0
// when there is none. It is exact to the minute.
func (c *Cluster) LogHorizon(ctx context.Context) (int64, error) {
	for after := ""; ; {
		days, err := c.page(ctx, &filer_pb.ListEntriesRequest{Directory: logDir, StartFromFileName: after, Limit: bucketPage})
		if err != nil {
			return 0, err
		}
		for _, day := range days {
			if _, err := time.Parse(time.DateOnly, day.Name); err != nil {
				continue
			}
			start, err := c.oldestPiece(ctx, day.Name)
			if err != nil || start != 0 {
				return start, err
			}
		}
		if len(days) < bucketPage {
			return 0, nil
		}
		after = days[len(days)-1].Name
	}
}

// oldestPiece is the start of the first piece of a day; 0 when there is none.
func (c *Cluster) oldestPiece(ctx context.Context, day string) (int64, error) {
	for after := ""; ; {
		files, err := c.page(ctx, &filer_pb.ListEntriesRequest{Directory: logDir + "/" + day, StartFromFileName: after, Limit: bucketPage})
		if err != nil {
			return 0, err
		}
		for _, file := range files {
			minute, _, _ := strings.Cut(file.Name, ".")
			if start, err := time.Parse("2006-01-02 15-04", day+" "+minute); err == nil {
				return start.UnixNano(), nil
			}
		}
		if len(files) < bucketPage {
			return 0, nil
		}
		after = files[len(files)-1].Name
	}
}
