package memcluster_test

import (
	"slices"
	"testing"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

func builtin(c *memcluster.Cluster) (memcluster.Builtin, *memcluster.Store) {
	store := memcluster.NewStore(c)
	var shards []int
	for sh := range engine.ShardCount {
		shards = append(shards, sh)
	}
	return memcluster.Builtin{Cluster: c, Store: store, Shards: shards}, store
}

func names(c *memcluster.Cluster) []string {
	var out []string
	for p, e := range c.Tree("b") {
		if e.Nature != engine.Folder {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

func TestBuiltinFreezesInFrontOfWhatIsNotDue(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	setRules(t, c, expireAfter("a", 1)+expireAfter("z", 3))
	w, store := builtin(c)
	w.Pass() // cold start
	c.Advance(hour)
	put(t, c, "z", memcluster.Object{})
	sh := engine.ShardOf("b", "z")
	frozen := c.FilerTime().UnixNano()
	c.Advance(hour)
	put(t, c, "a", memcluster.Object{})
	c.Advance(day)
	w.Pass()
	if got := names(c); !slices.Equal(got, []string{"z"}) {
		t.Errorf("left %q", got)
	}
	if cursor, _ := store.Cursor(sh); cursor.TsNs >= frozen {
		t.Errorf("shard %d passed the event at %d: %d", sh, frozen, cursor.TsNs)
	}
	c.Advance(2 * day)
	w.Pass()
	if got := names(c); len(got) != 0 {
		t.Errorf("left %q", got)
	}
	if cursor, _ := store.Cursor(sh); cursor.TsNs < frozen || cursor.LastWalkedNs != c.HostTime().UnixNano() {
		t.Errorf("shard %d did not pass the event at %d: %+v", sh, frozen, cursor)
	}
	if _, ok := store.Side(sh); ok {
		t.Error("wrote a side file")
	}
}

func TestBuiltinRecovers(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "old", memcluster.Object{})
	setRules(t, c, expireAfter("x", 2))
	w, store := builtin(c)
	w.Pass()
	c.Advance(5 * day)
	setRules(t, c, expireAfter("o", 2))
	w.Pass()
	if got := names(c); len(got) != 0 {
		t.Errorf("left %q", got)
	}
	rules := memcluster.Oracle{Cluster: c}.Rules()
	want := engine.Cursor{
		TsNs: c.HostTime().Add(-2 * day).UnixNano(), RuleSetHash: engine.ReplayContentHash(rules),
		PromotedHash: engine.PromotedHash(rules, 2*day), LastWalkedNs: c.HostTime().UnixNano(),
	}
	if got, _ := store.Cursor(3); got != want {
		t.Errorf("cursor %+v, want %+v", got, want)
	}
	must(t, c.SetRules("b", ""))
	w.Pass()
	if got, _ := store.Cursor(3); got.TsNs != 0 || !got.RuleSetHash.IsZero() {
		t.Errorf("without rules: %+v", got)
	}
}

// The built-in worker sends the identity that the event carries: once the entry
// is tagged it is stale, and the position moves on to the tag's own event.
func TestBuiltinPassesOverAStaleIdentity(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	setRules(t, c, expireAfter("", 5))
	w, store := builtin(c)
	w.Pass()
	put(t, c, "k", memcluster.Object{})
	c.Advance(4 * day)
	must(t, c.SetTags("b", "k", "", map[string]string{"a": "1"}))
	tagged := c.Events()[len(c.Events())-1].TsNs
	must(t, c.Touch("b", "k", c.Time()))
	c.Advance(2 * day)
	w.Pass()
	if got := names(c); !slices.Equal(got, []string{"k"}) {
		t.Errorf("left %q", got)
	}
	if cursor, _ := store.Cursor(engine.ShardOf("b", "k")); cursor.TsNs != tagged {
		t.Errorf("position %d, want that of the tags, %d", cursor.TsNs, tagged)
	}
}

func TestBuiltinExpiresVersions(t *testing.T) {
	c := newCluster(t, engine.Enabled, false)
	setRules(t, c, noncurrentAfter(2, 1))
	w, _ := builtin(c)
	w.Pass()
	put(t, c, "k", memcluster.Object{})
	want := []string{"k.versions/v_" + put(t, c, "k", memcluster.Object{}), "k.versions/v_" + put(t, c, "k", memcluster.Object{})}
	c.Advance(day)
	w.Pass()
	if got := names(c); len(got) != 3 {
		t.Errorf("left %q after a day", got)
	}
	c.Advance(day)
	w.Pass()
	slices.Sort(want)
	if got := names(c); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
}
