package memcluster_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

func TestOracleDue(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	setRules(t, c, expireAfter("a/", 1)+expireAfter("b", 2))
	put(t, c, "a/1", memcluster.Object{})
	put(t, c, "b1", memcluster.Object{})
	put(t, c, "c", memcluster.Object{})
	o := memcluster.Oracle{Cluster: c}
	a := time.Unix(0, lookup(t, c, "a/1").MtimeNs).UTC()
	for _, tc := range []struct {
		now   time.Time
		clock engine.DayClock
		want  []string
	}{
		{a.Add(day - 1), engine.ExactClock, nil},
		{a.Add(day), engine.ExactClock, []string{"a/1"}},
		{a.Add(2*day + time.Second), engine.ExactClock, []string{"a/1", "b1"}},
		{a.Add(day), engine.MidnightClock, nil},
		{a.Truncate(day).Add(2 * day), engine.MidnightClock, []string{"a/1"}},
	} {
		o.Clock = tc.clock
		var got []string
		for _, owed := range o.Due(tc.now) {
			got = append(got, owed.Path)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("at %v, clock %v: %q, want %q", tc.now.Sub(a), tc.clock, got, tc.want)
		}
	}
}

func TestOracleJustifies(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	setRules(t, c, expireAfter("", 1))
	put(t, c, "k", memcluster.Object{})
	o := memcluster.Oracle{Cluster: c}
	req := request(t, c, "k", "", engine.ExpirationDays)
	due := c.Time().Add(day)
	want := func(why string, now time.Time, contains string) {
		t.Helper()
		got := o.Justifies(&req, now)
		if contains == "" && got != "" || !strings.Contains(got, contains) {
			t.Errorf("%s: got %q, want %q", why, got, contains)
		}
	}
	want("no such rule", due, "no rule in force")
	req.RuleHash = o.Rules().Actions()[0].Hash
	want("due", due, "")
	want("too early", due.Add(-time.Second-1), "does not fire")
	req.Kind = engine.ExpirationDate
	want("other kind", due, "no rule in force")
	req.Kind = engine.ExpirationDays
	put(t, c, "k", memcluster.Object{})
	want("stale, so harmless", due.Add(-hour), "")
	must(t, c.SetRules("b", ""))
	req.Identity = request(t, c, "k", "", engine.ExpirationDays).Identity
	want("rule gone", due.Add(day), "no rule in force")
}

func TestLiveListsEachThingOnce(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "bare", memcluster.Object{})
	put(t, c, "old", memcluster.Object{})
	must(t, c.SetVersioning("b", engine.Enabled))
	v1 := put(t, c, "old", memcluster.Object{})
	put(t, c, "d/", memcluster.Object{})
	put(t, c, "d/k", memcluster.Object{})
	put(t, c, "x.versions/looks-like-one", memcluster.Object{})
	_, err := c.DeleteObject("b", "gone")
	must(t, err)
	_, err = c.CreateUpload("b", "up", memcluster.Object{})
	must(t, err)
	var got []string
	for _, l := range (memcluster.Oracle{Cluster: c}).Live("b") {
		at := l.Key
		switch {
		case l.UploadID != "":
			at += " upload"
		case l.DeleteMarker:
			at += " marker"
		case l.VersionID == "null":
			at += " null"
		case l.VersionID == v1:
			at += " v1"
		}
		got = append(got, fmt.Sprintf("%s latest=%v rank=%d of %d", at, l.Latest, l.Rank, l.Versions))
	}
	want := []string{
		"up upload latest=false rank=-1 of 0",
		"bare null latest=true rank=-1 of 1",
		"d/ null latest=true rank=-1 of 1",
		"d/k latest=true rank=-1 of 1",
		"gone marker latest=true rank=-1 of 1",
		"old v1 latest=true rank=-1 of 2",
		"old null latest=false rank=0 of 2",
		"x.versions/looks-like-one latest=true rank=-1 of 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// The gateway's view of a key and engine.NewGroup's are found in different
// ways; on whatever the gateway itself writes they agree.
func TestGroupsAgreeWithTheGateway(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t, engine.Unversioned, false)
		keys := []string{"k", "d/k", "d/", "k/below"}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			step(rt, c, rapid.SampledFrom(keys).Draw(rt, "key"))
		}
		live := map[string][]memcluster.Live{}
		for _, l := range (memcluster.Oracle{Cluster: c}).Live("b") {
			live[l.Key] = append(live[l.Key], l)
		}
		tree := c.Tree("b")
		buckets := c.Stored()
		if buckets[0].Versioned() {
			for _, key := range keys {
				compareGroup(rt, group(key, tree), live[key])
			}
		}
	})
}

// step does one thing that a client of the gateway can do.
func step(rt *rapid.T, c *memcluster.Cluster, key string) {
	c.Advance(time.Duration(rapid.IntRange(0, 5000).Draw(rt, "ms")) * time.Millisecond)
	check := func(err error) {
		if err != nil {
			rt.Fatal(err)
		}
	}
	id := ""
	for _, l := range (memcluster.Oracle{Cluster: c}).Live("b") {
		if l.Key == key && (id == "" || rapid.Bool().Draw(rt, "this version")) {
			id = l.VersionID
		}
	}
	switch rapid.IntRange(0, 7).Draw(rt, "op") {
	case 0, 1, 2:
		_, err := c.PutObject("b", key, memcluster.Object{Size: 1})
		check(err)
	case 3:
		_, err := c.DeleteObject("b", key)
		check(err)
	case 4:
		if id != "" {
			check(c.DeleteVersion("b", key, id))
		}
	case 5:
		check(c.SetVersioning("b", rapid.SampledFrom([]engine.Versioning{engine.Enabled, engine.Suspended}).Draw(rt, "state")))
	case 6:
		c.SetSkews(0, time.Duration(rapid.IntRange(-3, 3).Draw(rt, "gateway"))*time.Second, 0)
	case 7:
		if id != "" && !strings.HasSuffix(key, "/") {
			expire(rt, c, key, id)
		}
	}
}

func expire(rt *rapid.T, c *memcluster.Cluster, key, id string) {
	for _, l := range (memcluster.Oracle{Cluster: c}).Live("b") {
		if l.Key != key || l.VersionID != id {
			continue
		}
		kind := rapid.SampledFrom([]engine.Kind{engine.ExpirationDays, engine.NoncurrentDays, engine.ExpiredDeleteMarker}).Draw(rt, "kind")
		if kind != engine.ExpirationDays && l.Latest != (kind == engine.ExpiredDeleteMarker) {
			return // the gateway would not notice, no pass sends it
		}
		if _, err := c.Delete(rt.Context(), engine.DeleteRequest{Bucket: "b", Path: key, VersionID: id, Kind: kind, Identity: *l.Identity()}); err != nil {
			rt.Fatal(err)
		}
	}
}

func group(key string, tree map[string]engine.Entry) engine.Group {
	entry := func(at string) *engine.Entry {
		if e, ok := tree[strings.TrimSuffix(at, "/")]; ok {
			return &e
		}
		return nil
	}
	var files []engine.Entry
	for at, e := range tree {
		if path.Dir(at) == key+".versions" {
			files = append(files, e)
		}
	}
	slices.SortFunc(files, func(a, b engine.Entry) int { return strings.Compare(a.Name, b.Name) })
	return engine.NewGroup("b", key, entry(key+".versions"), files, entry(key))
}

func compareGroup(rt *rapid.T, g engine.Group, live []memcluster.Live) {
	if g.Unresolved != "" {
		rt.Fatalf("key %q: %s", g.Key, g.Unresolved)
	}
	if len(g.Objects) != len(live) {
		rt.Fatalf("key %q: %d versions, the gateway has %d", g.Key, len(g.Objects), len(live))
	}
	for i, o := range g.Objects {
		l := live[i].Object
		if o.VersionID != l.VersionID || o.Latest != l.Latest || o.Rank != l.Rank || o.Versions != l.Versions ||
			!o.SuccessorAt.Equal(l.SuccessorAt) || !o.DemotedAt.Equal(l.DemotedAt) || o.DeleteMarker != l.DeleteMarker || o.Path != l.Path {
			rt.Fatalf("key %q, version %d:\n%+v\nthe gateway has\n%+v", g.Key, i, o, l)
		}
	}
}
