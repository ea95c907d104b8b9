package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/pass"
)

// Subject is one cluster.
type Subject struct {
	Filer   pass.Filer
	Gateway pass.Gateway
	Driver  Driver
}

// Driver writes to the cluster as clients of its S3 gateway do, and where S3
// has no such call, as clients of its filer. What fails ends the test.
type Driver interface {
	CreateBucket(bucket string, v engine.Versioning, objectLock bool)
	// SetVersioning enables or suspends.
	SetVersioning(bucket string, v engine.Versioning)
	// SetRules stores a document that S3 accepts; an empty one removes it.
	SetRules(bucket, document string)

	// Put writes an object of size bytes and returns its version id.
	Put(bucket, key string, size int, tags map[string]string) (versionID string)
	// Delete names no version; it returns the id of the delete marker.
	Delete(bucket, key string) (versionID string)
	DeleteVersion(bucket, key, versionID string)
	SetTags(bucket, key, versionID string, tags map[string]string)
	// SetRetention is not bound to S3's rules of who may shorten one.
	SetRetention(bucket, key, versionID, mode string, until time.Time)
	SetHold(bucket, key, versionID string, on bool)

	StartUpload(bucket, key string, partSizes ...int) (id string)
	CompleteUpload(bucket, key, id string)
	AbortUpload(bucket, key, id string)

	// SetMtime and Rename are done by a client of the filer; paths are inside
	// the bucket.
	SetMtime(bucket, path string, mtime time.Time)
	Rename(bucket, from, to string)
}

// caseTimeout bounds one case. Nothing in the suite waits.
const caseTimeout = time.Minute

// Conformance runs the suite. Open returns the subject of one case, which may
// be the same cluster for all.
func Conformance(t *testing.T, open func(t *testing.T) Subject) {
	run(t, open, append(readingCases(),
		caseGroup{"events", eventCases()},
		caseGroup{"log", logCases()},
		caseGroup{"delete", deleteCases()},
	))
}

// Reading runs the part of the suite that reads buckets and entries, for a
// subject without a meta-log and a gateway.
func Reading(t *testing.T, open func(t *testing.T) Subject) { run(t, open, readingCases()) }

func readingCases() []caseGroup {
	return []caseGroup{{"buckets", bucketCases()}, {"tree", treeCases()}}
}

func run(t *testing.T, open func(t *testing.T) Subject, groups []caseGroup) {
	// A gateway remembers a bucket's settings for a while after it is gone, so
	// no name is used twice, in a second run neither.
	prefix := fmt.Sprintf("conf-%x", time.Now().UnixNano())
	buckets := 0
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
					defer cancel()
					c.run(&world{
						T: t, Subject: open(t), ctx: ctx, names: newNames(),
						newName: func() string {
							buckets++
							return fmt.Sprintf("%s-%d", prefix, buckets)
						},
					})
				})
			}
		})
	}
}

type caseGroup struct {
	name  string
	cases []testCase
}

type testCase struct {
	name string
	run  func(w *world)
}

// world is a subject in the course of one case.
type world struct {
	*testing.T
	Subject
	ctx     context.Context
	names   *names
	newName func() string
}

// bucket makes a bucket of the case's own.
func (w *world) bucket(v engine.Versioning) string {
	w.Helper()
	name := w.newName()
	w.Driver.CreateBucket(name, v, false)
	return name
}

func (w *world) lockedBucket() string {
	w.Helper()
	name := w.newName()
	w.Driver.CreateBucket(name, engine.Enabled, true)
	return name
}

// put writes an object and gives its version a name.
func (w *world) put(bucket, key, name string, size int) string {
	w.Helper()
	id := w.Driver.Put(bucket, key, size, nil)
	w.names.add(id, name)
	return id
}

// delete deletes a key and gives its marker a name.
func (w *world) delete(bucket, key, name string) string {
	w.Helper()
	id := w.Driver.Delete(bucket, key)
	w.names.add(id, name)
	return id
}

func (w *world) now() int64 {
	w.Helper()
	now, err := w.Filer.Now(w.ctx)
	w.check(err)
	return now.UnixNano()
}

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) lookup(bucket, path string) engine.Entry {
	w.Helper()
	e, err := w.Filer.Lookup(w.ctx, bucket, path)
	w.check(err)
	return e
}

// events reads what was logged of a bucket after a position, through now.
func (w *world) events(bucket string, afterNs int64) []engine.Event {
	w.Helper()
	return w.read(engine.LogRange{AfterNs: afterNs, UntilNs: w.now(), Paths: []string{bucket + "/"}})
}

func (w *world) read(r engine.LogRange) []engine.Event {
	w.Helper()
	var out []engine.Event
	w.check(w.Filer.ReadLog(w.ctx, r, func(ev *engine.Event) error {
		out = append(out, *ev)
		return nil
	}))
	return out
}
