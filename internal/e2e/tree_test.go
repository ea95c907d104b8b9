package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"weedlc/internal/weedtest"
)

// grower fills buckets at random with what S3 clients make: every version is
// younger than the one below it, and stamped with when it was followed.
type grower struct {
	*rig
	*rand.Rand
	now time.Time
	// grown counts the buckets.
	grown int
}

// pick is one of several.
func pick[T any](g *grower, of ...T) T { return of[g.IntN(len(of))] }

// chance is true once in n.
func (g *grower) chance(n int) bool { return g.IntN(n) == 0 }

// age is how old something is, at or around whole days.
func (g *grower) age() time.Duration {
	return time.Duration(g.IntN(6))*day + pick(g, 0, step, -step, time.Hour, 5*time.Hour)
}

func (g *grower) tags() map[string]string {
	tags := map[string]string{}
	for _, name := range []string{"a", "b"} {
		if g.chance(2) {
			tags[name] = pick(g, "", "1", "2")
		}
	}
	return tags
}

// rules are some rules that S3 takes. The first is for all keys, and is another
// one each time.
func (g *grower) rules() string {
	wide := []string{expire(2), noncurrent(2, 0), noncurrent(1, 1), noncurrent(0, 1), expireMarker, abort(2)}
	rules := []string{rule("wide", prefix(""), wide[g.grown%len(wide)])}
	g.grown++
	for i := range 1 + g.IntN(3) {
		conditions := []string{}
		if g.chance(2) {
			conditions = append(conditions, prefix(pick(g, "a", "a/", "b/", "b/c", "é", "a b")))
		}
		tagged, sized := g.chance(4), g.chance(4)
		if tagged {
			conditions = append(conditions, tag(pick(g, "a", "b"), pick(g, "", "1")))
		}
		if sized {
			conditions = append(conditions, fmt.Sprintf(pick(g, "<ObjectSizeGreaterThan>%d</ObjectSizeGreaterThan>", "<ObjectSizeLessThan>%d</ObjectSizeLessThan>"), 1+g.IntN(4)))
		}
		filter := strings.Join(conditions, "")
		if len(conditions) > 1 {
			filter = both(conditions...)
		}
		days := 1 + g.IntN(5)
		action := pick(g, expire(days), expire(days), noncurrent(days, 0), noncurrent(days, 0), noncurrent(days, 1+g.IntN(2)), noncurrent(0, 1+g.IntN(2)),
			expire(days)+noncurrent(1+g.IntN(5), g.IntN(3)), expireOn(g.now.Truncate(day).Add(time.Duration(g.IntN(3)-1)*day)))
		if !tagged && !sized {
			action = pick(g, action, action, action, abort(days), expireMarker)
		}
		rules = append(rules, rule(fmt.Sprintf("r%d", i), filter, action))
	}
	return document(rules...)
}

// keys are distinct, and none lies below another.
func (g *grower) keys(n int) []string {
	seen := map[string]bool{}
	var keys []string
	for len(keys) < n {
		folder := pick(g, "", "a/", "a/", "b/", "b/c/", "a b/", "é/", "deep/er/than/most/")
		key := folder + pick(g, "a", "b", "a b", "ä", "100%", "x.versions.y", "k") + fmt.Sprintf("~%d", g.IntN(2*n))
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func (g *grower) object() weedtest.Object {
	return weedtest.Object{Body: strings.Repeat("x", g.IntN(6)), Tags: g.tags()}
}

// plain fills a bucket without versions.
func (g *grower) plain(bucket string, n int) {
	g.CreateBucket(bucket, weedtest.Plain, g.rules())
	for _, key := range g.keys(n) {
		g.Put(bucket, key, g.object())
		g.SetMtime(bucket, key, g.now.Add(-g.age()))
	}
	g.uploads(bucket)
}

func (g *grower) uploads(bucket string) {
	for _, key := range g.keys(6) {
		id := g.StartUpload(bucket, key)
		g.SetMtime(bucket, ".uploads/"+id, g.now.Add(-g.age()))
	}
}

// write is a version of a key, by its id.
type write struct {
	id string
	at time.Time
}

// versions fills a bucket that was in some states one after the other: a key
// gets up to two writes in each, and four in all.
func (g *grower) versions(bucket string, n int, states ...weedtest.BucketKind) {
	g.CreateBucket(bucket, states[0], g.rules())
	keys := g.keys(n)
	writes := map[string][]write{}
	for i, state := range states {
		if i > 0 {
			g.SetVersioning(bucket, state == weedtest.Versioned)
		}
		for _, key := range keys {
			for range g.IntN(3) {
				if len(writes[key]) < 4 {
					g.write(bucket, key, state, writes)
				}
			}
		}
	}
	for _, key := range keys {
		g.clocks(bucket, key, writes[key])
	}
	g.uploads(bucket)
}

// write puts a version on top of a key, or a delete marker. What has no id of
// its own replaces the null version.
func (g *grower) write(bucket, key string, state weedtest.BucketKind, writes map[string][]write) {
	o := g.object()
	if state == weedtest.Locked && g.chance(4) {
		o.LegalHold = true
	}
	id := ""
	// A null marker is left out: see TestDifferencesFromTheBuiltInWalker.
	if state != weedtest.Plain && state != weedtest.Suspended && g.chance(4) {
		id = g.Delete(bucket, key)
	} else if id = g.Put(bucket, key, o); id == "" {
		id = "null"
	}
	kept := writes[key][:0]
	for _, w := range writes[key] {
		if w.id != id {
			kept = append(kept, w)
		}
	}
	writes[key] = append(kept, write{id: id})
}

// clocks gives the versions of a key their ages, the oldest first, and their
// stamps, of which old servers wrote none.
func (g *grower) clocks(bucket, key string, list []write) {
	ages := make([]time.Duration, len(list))
	for i := range list {
		ages[i] = g.age()
	}
	slices.Sort(ages)
	slices.Reverse(ages)
	for i := len(ages) - 2; i >= 0; i-- {
		ages[i] = max(ages[i], ages[i+1]+2*time.Second) // no two within a second
	}
	for i := range list {
		list[i].at = g.now.Add(-ages[i])
		g.SetVersionMtime(bucket, key, list[i].id, list[i].at)
	}
	for i := range list[:max(0, len(list)-1)] {
		at := list[i+1].at
		if g.chance(4) {
			at = time.Time{}
		}
		g.SetDemoted(bucket, key, list[i].id, at)
	}
}
