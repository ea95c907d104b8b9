package pass_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// TestReadKey reads what a walk judges: the object, or every version, of a key.
func TestReadKey(t *testing.T) {
	c := memcluster.New(memcluster.Config{Start: time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)})
	put := func(bucket, key string) {
		t.Helper()
		if _, err := c.PutObject(bucket, key, memcluster.Object{}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
	}
	for bucket, v := range map[string]engine.Versioning{"plain": engine.Unversioned, "versioned": engine.Enabled} {
		if err := c.CreateBucket(bucket, v, false); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "a/b", "dir/", "a", "é x"} {
			put(bucket, key)
		}
	}
	for _, tc := range []struct {
		bucket, key string
		want        string
	}{
		{"plain", "a", "a 1"}, {"plain", "a/b", "a/b 1"}, {"plain", "dir/", "dir/ 1"}, {"plain", "é x", "é x 1"},
		{"plain", "missing", " 0"}, {"plain", "dir", " 0"}, {"versioned", "dir", " 0"}, {"versioned", "a/", " 0"}, {"plain", "a/", " 0"}, {"plain", "missing/b", " 0"},
		{"versioned", "a", "a 2"}, {"versioned", "a/b", "a/b 1"}, {"versioned", "dir/", "dir/ 1"}, {"versioned", "missing", " 0"},
	} {
		b, err := c.Bucket(t.Context(), tc.bucket)
		if err != nil {
			t.Fatal(err)
		}
		g, err := pass.ReadKey(t.Context(), c, b, tc.key)
		key := ""
		if len(g.Objects) > 0 {
			key = g.Objects[0].Key
		}
		if got := fmt.Sprintf("%s %d", key, len(g.Objects)); err != nil || got != tc.want || g.Unresolved != "" {
			t.Errorf("%s/%s: %q, %q, %v, want %q", tc.bucket, tc.key, got, g.Unresolved, err, tc.want)
		}
	}
	b, err := c.Bucket(t.Context(), "versioned")
	if err != nil {
		t.Fatal(err)
	}
	c.FailLookups("versioned", "a", 1)
	if _, err := pass.ReadKey(t.Context(), c, b, "a"); err == nil {
		t.Error("a failed look-up reads as nothing there")
	}
}

// TestReadUploads finds the uploads of one key among more than a page of
// others, and tells those that were left behind.
func TestReadUploads(t *testing.T) {
	c := memcluster.New(memcluster.Config{Start: time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(c.CreateBucket("b", engine.Unversioned, false))
	begin := func(key string) string {
		id, err := c.CreateUpload("b", key, memcluster.Object{})
		check(err)
		return id
	}
	var want []string
	for i := range pass.DefaultPageSize + 2 {
		begin(fmt.Sprintf("other-%d", i))
		if i%400 == 0 {
			want = append(want, begin("k"))
		}
	}
	left := begin("k")
	check(c.UploadPart("b", left, 1, 10))
	_, err := c.CompleteUpload("b", left, true)
	check(err)
	b, err := c.Bucket(t.Context(), "b")
	check(err)
	uploads, leftovers, err := pass.ReadUploads(t.Context(), c, b, "k")
	check(err)
	var got []string
	for _, o := range uploads {
		got = append(got, o.UploadID)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) || !slices.Equal(leftovers, []string{left}) {
		t.Errorf("uploads %v, left behind %v, want %v and %v", got, leftovers, want, left)
	}
	if uploads, leftovers, err := pass.ReadUploads(t.Context(), c, b, "none"); err != nil || len(uploads)+len(leftovers) > 0 {
		t.Errorf("of another key: %v, %v, %v", uploads, leftovers, err)
	}
	c.FailLists("b", ".uploads", 1)
	if _, _, err := pass.ReadUploads(t.Context(), c, b, "k"); err == nil {
		t.Error("a failed listing reads as none")
	}
}

func TestLoadRules(t *testing.T) {
	c := memcluster.New(memcluster.Config{Start: time.Date(2030, 6, 1, 0, 0, 0, 0, time.UTC)})
	const good = `<Rule><ID>a</ID><Status>Enabled</Status><Filter/><Expiration><Days>3</Days></Expiration></Rule>`
	const bad = `<Rule><ID>b</ID><Status>Enabled</Status><Filter/><Expiration><Days>0</Days></Expiration></Rule>`
	for name, rules := range map[string]string{"good": good, "half": good + bad, "torn": "<Rule>", "none": ""} {
		if err := c.CreateBucket(name, engine.Unversioned, false); err != nil {
			t.Fatal(err)
		}
		if rules != "" {
			if err := c.SetRules(name, "<LifecycleConfiguration>"+rules+"</LifecycleConfiguration>"); err != nil {
				t.Fatal(err)
			}
		}
	}
	sources, snapshot, findings, err := pass.LoadRules(t.Context(), c, false)
	var names []string
	for _, s := range sources {
		names = append(names, fmt.Sprint(s.Bucket.Name, len(s.Rules)))
	}
	if err != nil || !slices.Equal(names, []string{"good1", "half1"}) || len(findings) != 2 || !slices.Equal(snapshot.Buckets(), []string{"good", "half"}) {
		t.Errorf("sources %v, buckets %v, findings %v, %v", names, snapshot.Buckets(), findings, err)
	}
}
