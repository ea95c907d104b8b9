package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// Histories does the same random things to two clusters, in turn in buckets
// that never had versions, have them, and have object lock, and compares what
// both logged, hold and answered after each. The n histories are those of the
// seeds from 1 on.
func Histories(t *testing.T, n int, open ...func(t *testing.T) Subject) {
	prefix := fmt.Sprintf("hist-%x", time.Now().UnixNano())
	for seed := range uint64(n) {
		seed++
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), caseTimeout)
			defer cancel()
			var worlds []*world
			for _, o := range open {
				worlds = append(worlds, &world{T: t, Subject: o(t), ctx: ctx, names: newNames()})
			}
			playHistory(t, worlds, fmt.Sprintf("%s-%d", prefix, seed), seed)
		})
	}
}

const historyLength = 20

func playHistory(t *testing.T, worlds []*world, bucket string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	lock := seed%5 == 0
	for _, w := range worlds {
		w.Driver.CreateBucket(bucket, engine.Unversioned, lock)
	}
	var told []string
	for range historyLength {
		// What can be done is found in the first cluster; all do the same.
		todo := draw(r, worlds[0], bucket, seed%2 == 0 || lock)
		told = append(told, todo.what)
		var saw []string
		for _, w := range worlds {
			mark := w.now()
			answer := todo.do(w)
			events := w.events(bucket, mark)
			w.learn(events)
			w.checkEvents(bucket, mark, events)
			lines := []string{"answered " + answer}
			for i := range events {
				lines = append(lines, w.names.in(describeEvent(&events[i])))
			}
			lines = append(append(lines, "holds"), w.tree(bucket)...)
			saw = append(saw, strings.Join(lines, "\n\t"))
		}
		for _, s := range saw[1:] {
			if s != saw[0] {
				t.Fatalf("after\n\t%s\nthe one\n\t%s\nthe other\n\t%s", strings.Join(told, "\n\t"), saw[0], s)
			}
		}
	}
}

// learn numbers the ids that a cluster gave out, in the order in which the log
// shows them.
func (w *world) learn(events []engine.Event) {
	for _, ev := range events {
		if ev.New == nil {
			continue
		}
		if id := string(ev.New.Extended[s3_constants.ExtVersionIdKey]); id != "" && w.names.known[id] == "" {
			w.names.add(id, fmt.Sprintf("v%d", len(w.names.known)+1))
		}
		if folder, id := path.Split(ev.Path); folder == ".uploads/" && w.names.known[id] == "" {
			w.names.add(id, fmt.Sprintf("u%d", len(w.names.known)+1))
		}
	}
}

// deed is one thing to do, and how it is told. Do returns an answer to compare.
type deed struct {
	what string
	do   func(w *world) string
}

// draw chooses what to do next. Ids in it go by their names.
func draw(r *rand.Rand, w *world, bucket string, versions bool) deed {
	key := []string{"a", "d/b", "d/", "a/c"}[r.IntN(4)]
	tags := map[string]string{"t": fmt.Sprint(r.IntN(2))}
	size := r.IntN(4)
	if strings.HasSuffix(key, "/") {
		size = 0
	}
	silent := func(what string, do func(w *world)) deed {
		return deed{what, func(w *world) string { do(w); return "" }}
	}
	put := silent(fmt.Sprintf("put %s %dB", key, size), func(w *world) { w.Driver.Put(bucket, key, size, tags) })
	at, found := pick(r, w, bucket, key)
	version := func(w *world) string { return w.names.idOr(at.version) }
	switch n := r.IntN(12); {
	case n == 3:
		return silent("delete "+key, func(w *world) { w.Driver.Delete(bucket, key) })
	case n == 4 && versions:
		v := []engine.Versioning{engine.Enabled, engine.Suspended}[r.IntN(2)]
		if b, err := w.Filer.Bucket(w.ctx, bucket); err != nil || b.ObjectLock {
			v = engine.Enabled
		}
		return silent("versioning "+v.String(), func(w *world) { w.Driver.SetVersioning(bucket, v) })
	case n == 5 && found && at.version != "":
		return silent(fmt.Sprintf("delete %s version %s", key, at.version), func(w *world) { w.Driver.DeleteVersion(bucket, key, version(w)) })
	case n == 6 && found && !at.marker && !strings.HasSuffix(key, "/"):
		return silent(fmt.Sprintf("tag %s version %s with %v", key, at.version, tags), func(w *world) { w.Driver.SetTags(bucket, key, version(w), tags) })
	case n == 7 && found && !at.marker:
		mtime := time.Unix(1_500_000_000+r.Int64N(1000), 0)
		return silent(fmt.Sprintf("touch %s at %d", at.path, mtime.Unix()), func(w *world) { w.Driver.SetMtime(bucket, w.names.out(at.path), mtime) })
	case n == 8 && !strings.HasSuffix(key, "/"):
		return silent("upload "+key, func(w *world) {
			w.Driver.CompleteUpload(bucket, key, w.Driver.StartUpload(bucket, key, size+1))
		})
	case n >= 9 && found:
		kind := []engine.Kind{engine.ExpirationDays, engine.NoncurrentDays, engine.NewerNoncurrent, engine.ExpiredDeleteMarker}[r.IntN(4)]
		stale := r.IntN(5) == 0
		return deed{fmt.Sprintf("%s of %s version %s, stale %v", kind, key, at.version, stale), func(w *world) string {
			e := w.lookup(bucket, w.names.out(at.path))
			id := identityOf(&e)
			if stale {
				id.Size++
			}
			resp := w.answer(bucket, key, version(w), kind, id)
			return fmt.Sprintf("%s %s", resp.Outcome, resp.Reason)
		}}
	}
	return put
}

// found is an object or version that lies at a key. Ids go by their names.
type foundVersion struct {
	path, version string
	marker        bool
}

// pick chooses one of the versions at a key.
func pick(r *rand.Rand, w *world, bucket, key string) (foundVersion, bool) {
	b, err := w.Filer.Bucket(w.ctx, bucket)
	w.check(err)
	var all []foundVersion
	if bare, err := w.Filer.Lookup(w.ctx, bucket, key); err == nil && bare.Nature != engine.Folder && (bare.Nature == engine.FolderMarker) == strings.HasSuffix(key, "/") {
		v := foundVersion{path: strings.TrimSuffix(key, "/")}
		if b.Versioned() {
			v.version = "null"
		}
		all = append(all, v)
	}
	files, err := w.Filer.List(w.ctx, engine.Page{Bucket: bucket, Folder: key + ".versions", Limit: 1000})
	w.check(err)
	for _, f := range files {
		if id := string(f.Extended[s3_constants.ExtVersionIdKey]); id != "" && id != "null" {
			all = append(all, foundVersion{
				path: w.names.in(key + ".versions/" + f.Name), version: w.names.in(id),
				marker: string(f.Extended[s3_constants.ExtDeleteMarkerKey]) == "true",
			})
		}
	}
	if len(all) == 0 {
		return foundVersion{}, false
	}
	slices.SortFunc(all, func(a, b foundVersion) int { return strings.Compare(a.path, b.path) })
	return all[r.IntN(len(all))], true
}
