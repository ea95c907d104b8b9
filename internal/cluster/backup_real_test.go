package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/clustertest"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

var updateFixture = flag.Bool("update", false, "make testdata/backup/small.meta.gz anew, on a real server")

const fixture = "../../testdata/backup/small.meta.gz"

func openBackup(t *testing.T, file string) *cluster.Backup {
	t.Helper()
	b, err := cluster.OpenBackup(t.Context(), file, cluster.BackupOptions{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// saving answers from a backup of the buckets that it makes for each call. The
// time is the cluster's.
type saving struct {
	*cluster.Cluster
	t  *testing.T
	cl *weedtest.Client
}

func (s saving) save() *cluster.Backup {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "buckets.meta")
	if err := weedtest.WriteBackup(file, s.cl.FullEntries("/buckets")); err != nil {
		s.t.Fatal(err)
	}
	return openBackup(s.t, file)
}

func (s saving) Buckets(ctx context.Context) ([]engine.Bucket, error) { return s.save().Buckets(ctx) }

func (s saving) Bucket(ctx context.Context, name string) (engine.Bucket, error) {
	return s.save().Bucket(ctx, name)
}

func (s saving) List(ctx context.Context, page engine.Page) ([]engine.Entry, error) {
	return s.save().List(ctx, page)
}

func (s saving) Lookup(ctx context.Context, bucket, at string) (engine.Entry, error) {
	return s.save().Lookup(ctx, bucket, at)
}

func TestBackupConformance(t *testing.T) {
	shared.Client(t)
	c := dialShared(t)
	clustertest.Reading(t, func(t *testing.T) clustertest.Subject {
		cl := shared.Cluster(t).Client(t)
		return clustertest.Subject{Filer: saving{c, t, cl}, Gateway: c, Driver: driver{t, cl}}
	})
}

// What fs.meta.save of a real weed shell saved answers as the cluster does.
func TestBackupOfARealTree(t *testing.T) {
	cl, live := shared.Client(t), dialShared(t)
	treeOfAllKinds{cl}.make()
	for _, tc := range []struct {
		file, folder string
		buckets      []string // nil is all
	}{
		{"all.meta", "/", nil},
		{"all.meta.gz", "/", nil},
		{"buckets.gzip", "/buckets", nil},
		{"slash.meta.gz", "/buckets/", nil},
		{"one.meta.gz", "/buckets/photos", []string{"photos"}},
		{"one-slash.meta", "/buckets/photos/", []string{"photos"}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tc.file)
			cl.SaveBackup(file, tc.folder)
			c := comparison{t: t, live: live, backup: openBackup(t, file)}
			c.buckets(tc.buckets)
			if tc.buckets == nil && c.entries < 80 {
				t.Errorf("only %d entries were compared", c.entries)
			}
			if got, want := preview(t, c.backup, fixtureNow, tc.buckets), preview(t, live, fixtureNow, tc.buckets); !slices.Equal(got, want) {
				t.Errorf("of the backup there goes\n\t%s\nof the cluster\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

// comparison asks a cluster and a backup of it the same.
type comparison struct {
	t       *testing.T
	live    *cluster.Cluster
	backup  *cluster.Backup
	entries int
}

func (c *comparison) buckets(only []string) {
	all, err := c.live.Buckets(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	if only != nil {
		all = slices.DeleteFunc(all, func(b engine.Bucket) bool { return !slices.Contains(only, b.Name) })
	}
	got, err := c.backup.Buckets(c.t.Context())
	same(c, "buckets", got, all, err)
	for _, b := range all {
		one, err := c.backup.Bucket(c.t.Context(), b.Name)
		same(c, "bucket "+b.Name, one, b, err)
		c.folder(b.Name, "")
	}
}

// folder compares every page of a folder and what lies below it.
func (c *comparison) folder(bucket, folder string) {
	all := c.page(engine.Page{Bucket: bucket, Folder: folder, Limit: 1000})
	for _, limit := range []int{1, 2, 3} {
		for after := ""; ; {
			page := c.page(engine.Page{Bucket: bucket, Folder: folder, After: after, Limit: limit})
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].Name
		}
	}
	for _, e := range all {
		for _, n := range []int{1, len(e.Name) / 2, len(e.Name)} {
			if n > 0 && strings.ToValidUTF8(e.Name[:n], "") == e.Name[:n] {
				c.page(engine.Page{Bucket: bucket, Folder: folder, Prefix: e.Name[:n], Limit: 5})
				c.page(engine.Page{Bucket: bucket, Folder: folder, Prefix: e.Name[:n], After: e.Name, Limit: 5})
			}
		}
		at := path.Join(folder, e.Name)
		want, err := c.live.Lookup(c.t.Context(), bucket, at)
		if err != nil {
			c.t.Fatal(err)
		}
		got, err := c.backup.Lookup(c.t.Context(), bucket, at+"/")
		same(c, at, got, want, err)
		c.entries++
		c.folder(bucket, at)
	}
}

func (c *comparison) page(p engine.Page) []engine.Entry {
	want, err := c.live.List(c.t.Context(), p)
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := c.backup.List(c.t.Context(), p)
	if len(want) == 0 {
		want = nil
	}
	same(c, fmt.Sprintf("%+v", p), got, want, err)
	return want
}

func same[T any](c *comparison, what string, got, want T, err error) {
	c.t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		c.t.Errorf("%s: the backup has %+v, %v, the cluster %+v", what, got, err, want)
	}
}

// preview is what goes at a time: bucket, key, action, due time, size and
// "locked" where it is.
func preview(t *testing.T, f pass.Filer, now time.Time, buckets []string) []string {
	t.Helper()
	o := pass.PreviewOptions{}
	o.Now, o.Concurrency, o.Clock, o.Log, o.Progress = now, 1, time.Now, slog.New(slog.DiscardHandler), quiet{}
	o.Buckets = buckets
	for shard := range 16 {
		o.Shards = append(o.Shards, shard)
	}
	var lines []string
	o.Tell = func(j pass.Judgement) {
		line := fmt.Sprintf("%s %s %s %s %d", j.Object.Bucket, j.Object.Key, j.Action.Kind, j.Due.UTC().Format(time.RFC3339), j.Object.Size)
		if j.Outcome == pass.SkippedObjectLock {
			line += " locked"
		}
		lines = append(lines, line)
	}
	if rep := pass.Preview(t.Context(), o, f); rep.Status != pass.OK {
		t.Fatalf("preview: %+v", rep)
	}
	slices.Sort(lines) // uploads go by their ids
	return lines
}

type quiet struct{}

func (quiet) Notice(string)      {}
func (quiet) Update(pass.Totals) {}

// The committed backup is what its README says. With -update it is made anew
// first.
func TestBackupFixture(t *testing.T) {
	if *updateFixture {
		cl := shared.Client(t)
		treeOfAllKinds{cl}.make()
		file, err := filepath.Abs(fixture)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		cl.SaveBackup(file, "/")
	}
	b := openBackup(t, fixture)
	want := []string{
		"archive null-due.txt expiration_days 2026-04-02T00:00:00Z 16",
		"archive null-young.txt noncurrent_days 2030-06-05T12:00:00Z 15",
		"archive with-id.txt expiration_days 2030-06-05T12:00:00Z 15",
		"ledger 2024.csv expiration_days 2024-05-01T00:00:00Z 100",
		"ledger 2025.csv expiration_days 2025-09-29T00:00:00Z 100 locked",
		"ledger contract.pdf expiration_days 2025-09-29T00:00:00Z 100 locked",
		"ledger edge-locked.csv expiration_days 2030-06-05T12:00:00Z 100 locked",
		"ledger edge-open.csv expiration_days 2030-06-05T12:00:00Z 100",
		"ledger prices.csv noncurrent_days 2025-03-03T00:00:00Z 100",
		"ledger prices.csv noncurrent_days 2030-06-05T12:00:00Z 100 locked",
		"logs app/2024.log expiration_days 2024-03-31T00:00:00Z 50",
		"logs app/a&b <c> é日.log expiration_days 2030-06-05T12:00:00Z 20",
		"logs app/archive/ expiration_days 2030-05-16T12:00:00Z 0",
		"logs app/edge-due.log expiration_days 2030-06-15T12:00:00Z 10",
		"logs app/nest expiration_days 2030-05-26T12:00:00Z 30",
		"logs app/nest/below expiration_days 2030-05-25T12:00:00Z 30",
		"logs app/spring.log expiration_days 2030-05-31T12:00:00Z 100",
		"logs app/tab\there.log expiration_days 2030-06-04T12:00:00Z 20",
		"logs build/old.tar expiration_days 2030-06-13T12:00:00Z 500",
		"logs campaign/spring.html expiration_date 2026-01-01T00:00:00Z 40",
		"logs campaign/summer.html expiration_date 2026-01-01T00:00:00Z 40",
		"logs dump/big.sql expiration_days 2030-06-05T12:00:00Z 1001",
		"logs img/left-to-ttl.png expiration_days 2030-06-05T12:00:00Z 300",
		"photos albums/bare.jpg noncurrent_days 2025-01-31T00:00:00Z 60",
		"photos albums/cat.jpg noncurrent_days 2030-04-26T12:00:00Z 80",
		"photos drafts/2024.png expiration_days 2024-06-08T00:00:00Z 90",
		"photos drafts/sketch.png expiration_days 2030-06-02T12:00:00Z 90",
		"photos thumbs/cat.jpg newer_noncurrent 2026-09-01T00:00:00Z 8",
		"photos thumbs/cat.jpg newer_noncurrent 2026-09-01T00:00:00Z 8",
		"photos trash/2024.jpg expired_delete_marker 2024-08-01T00:00:00Z 0",
		"photos trash/dog.jpg expired_delete_marker 2026-10-01T00:00:00Z 0",
		"videos 2025.mp4 abort_mpu 2025-09-08T00:00:00Z 0",
		"videos holiday.mp4 abort_mpu 2030-06-12T12:00:00Z 0",
		"videos no-part.mp4 abort_mpu 2030-06-14T12:00:00Z 0",
	}
	if got := preview(t, b, fixtureNow, nil); !slices.Equal(got, want) {
		t.Errorf("at %s there goes\n\t%s\nwant\n\t%s", fixtureNow, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	early := strings.Join(preview(t, b, on(2026, 12), nil), "\n")
	for _, kind := range []engine.Kind{
		engine.ExpirationDays, engine.ExpirationDate, engine.NoncurrentDays, engine.NewerNoncurrent, engine.AbortMPU, engine.ExpiredDeleteMarker,
	} {
		if !strings.Contains(early, " "+kind.String()+" ") {
			t.Errorf("nothing goes by %s at the end of 2026:\n%s", kind, early)
		}
	}
}
