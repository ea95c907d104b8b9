package e2e_test

import (
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// oddKeys are keys that something on the way to a delete could take apart,
// fold or decode.
var oddKeys = []string{
	"a b", " leading", "trailing ", "a%20b", "100%", "%", "a+b", "q?a=b&c", "h#h", "semi;colon",
	`quo"te's`, "<xml>&amp;", "{json}", "*", "[x]", "~tilde", "naïve", "nai\u0308ve", "ключ/файл", "日本/語",
	"😀", "a.versions.b", "x/.uploads", "v_1", "null", ".hidden", "deep/" + strings.Repeat("d/", 20) + "leaf", strings.Repeat("long", 60),
}

// Keys are bytes: each goes by the delete that names it, in a walk and in
// replay, and its neighbour stays.
func TestScenario15_OddKeys(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			var due []sent
			var kept []string
			for _, key := range oddKeys {
				kept = append(kept, key+"~kept")
			}
			buckets := map[string]weedtest.BucketKind{way.name + "-odd-plain": weedtest.Plain, way.name + "-odd-versioned": weedtest.Versioned}
			for bucket, kind := range buckets {
				r.CreateBucket(bucket, kind, document(rule("all", prefix(""), expire(1))))
			}
			way.ready(r)
			for bucket := range buckets {
				for i, key := range oddKeys {
					id := r.Put(bucket, key, weedtest.Object{Age: 3 * day})
					due = append(due, sent{bucket, key, id, engine.ExpirationDays})
					r.Put(bucket, kept[i], weedtest.Object{})
				}
			}
			way.taken(t, r.pass(pass.OK, due...))
			r.pass(pass.OK)
			for bucket := range buckets {
				r.wantKeys(bucket, kept...)
			}
		})
	}
}

// A prefix is literal: what a filter selects is cut neither at a slash nor
// decoded, also where the filer filters the log by it.
func TestScenario15_PrefixIsLiteral(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			bucket := way.name + "-literal"
			r.CreateBucket(bucket, weedtest.Plain, document(
				rule("name", prefix("logs"), expire(1)), rule("folder", prefix("data/"), expire(1)),
				rule("escaped", prefix("a%20b/"), expire(1)), rule("entity", prefix("c&amp;d/"), expire(1)),
				rule("composed", prefix("é/"), expire(1)), rule("deep", prefix("x/y/z"), expire(1)),
			))
			way.ready(r)
			in := []string{"logs/x", "logs-old/x", "logs2", "data/x", "a%20b/x", "c&d/ e.txt", "é/x", "x/y/z", "x/y/zz", "x/y/z/1"}
			out := []string{"log", "data", "a b/x", "c&amp;d/x", "e\u0301/x", "x/y/", "x/yz", "Logs"}
			var due []sent
			for _, key := range in {
				r.Put(bucket, key, weedtest.Object{Age: 3 * day})
				due = append(due, sent{bucket, key, "", engine.ExpirationDays})
			}
			for _, key := range out {
				r.Put(bucket, key, weedtest.Object{Age: 3 * day})
			}
			way.taken(t, r.pass(pass.OK, due...))
			r.wantKeys(bucket, out...)
		})
	}
}

// Tags and sizes are those of the live object, and of each version by itself.
func TestScenario14And17_Filters(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			bucket, versioned := way.name+"-filters", way.name+"-filters-versioned"
			r.CreateBucket(bucket, weedtest.Plain, document(
				rule("tags", both(prefix("t/"), tag("a", "1"), tag("b", "2")), expire(1)),
				rule("empty", both(prefix("e/"), tag("k", "")), expire(1)),
				rule("size", both(prefix("s/"), "<ObjectSizeGreaterThan>1000</ObjectSizeGreaterThan>", "<ObjectSizeLessThan>2000</ObjectSizeLessThan>"), expire(1)),
				rule("zero", both(prefix("z/"), "<ObjectSizeLessThan>1</ObjectSizeLessThan>"), expire(1)),
			))
			r.CreateBucket(versioned, weedtest.Versioned, document(
				rule("tags", tag("tmp", "1"), noncurrent(1, 0)),
				rule("small", "<ObjectSizeLessThan>1</ObjectSizeLessThan>", noncurrent(1, 0)),
			))
			way.ready(r)
			tags := func(pairs ...string) weedtest.Object {
				o := weedtest.Object{Tags: map[string]string{}, Age: 3 * day}
				for i := 0; i < len(pairs); i += 2 {
					o.Tags[pairs[i]] = pairs[i+1]
				}
				return o
			}
			size := func(n int) weedtest.Object { return weedtest.Object{Body: strings.Repeat("x", n), Age: 3 * day} }
			var due []sent
			var kept []string
			for key, o := range map[string]weedtest.Object{
				"t/both": tags("a", "1", "b", "2"), "t/more": tags("a", "1", "b", "2", "c", "9"), "e/empty": tags("k", ""),
				"s/1001": size(1001), "s/1999": size(1999), "z/0": size(0),
			} {
				r.Put(bucket, key, o)
				due = append(due, sent{bucket, key, "", engine.ExpirationDays})
			}
			for key, o := range map[string]weedtest.Object{
				"t/one": tags("a", "1"), "t/case": tags("A", "1", "b", "2"), "t/none": tags(), "t/value": tags("a", "1", "b", "3"),
				"e/value": tags("k", "v"), "e/none": tags(), "s/1000": size(1000), "s/2000": size(2000), "z/1": size(1),
			} {
				r.Put(bucket, key, o)
				kept = append(kept, key)
			}
			// Tagged and untagged after they became old.
			r.Put(bucket, "t/tagged", tags())
			r.SetTags(bucket, "t/tagged", "", map[string]string{"a": "1", "b": "2"})
			due = append(due, sent{bucket, "t/tagged", "", engine.ExpirationDays})
			r.Put(bucket, "t/untagged", tags("a", "1", "b", "2"))
			r.SetTags(bucket, "t/untagged", "", map[string]string{"a": "1"})
			kept = append(kept, "t/untagged")

			v1 := r.Put(versioned, "t", weedtest.Object{Body: "1", Tags: map[string]string{"tmp": "1"}})
			v2 := r.Put(versioned, "t", weedtest.Object{Body: "2"})
			v3 := r.Put(versioned, "t", weedtest.Object{Body: "3", Tags: map[string]string{"tmp": "1"}})
			s1 := r.Put(versioned, "s", weedtest.Object{Body: strings.Repeat("x", 800)})
			s2 := r.Put(versioned, "s", weedtest.Object{})
			s3 := r.Put(versioned, "s", weedtest.Object{Body: strings.Repeat("x", 500)})
			r.AgeTree(versioned, "", 5*day)
			due = append(due, sent{versioned, "t", v1, engine.NoncurrentDays}, sent{versioned, "s", s2, engine.NoncurrentDays})

			way.taken(t, r.pass(pass.OK, due...))
			r.pass(pass.OK)
			r.wantKeys(bucket, kept...)
			r.wantVersions(versioned, version{"t", v3, true, false}, version{"t", v2, false, false},
				version{"s", s3, true, false}, version{"s", s1, false, false})
		})
	}
}

// A key that ends in a slash is an object of its own, and so is a key that
// other keys lie below. Neither takes along what is below it, and a plain
// folder is nothing.
func TestScenario40_KeysThatAreFolders(t *testing.T) {
	for of, kind := range map[string]weedtest.BucketKind{"plain": weedtest.Plain, "versioned": weedtest.Versioned} {
		for _, way := range ways {
			t.Run(of+" "+way.name, func(t *testing.T) {
				r := newRig(t)
				bucket := way.name + "-folders-" + of
				r.CreateBucket(bucket, kind, document(rule("all", prefix(""), expire(1))))
				way.ready(r)
				var due []sent
				put := func(key string, o weedtest.Object) {
					id := versionOf(kind, r.Put(bucket, key, o))
					if o.Age > 0 {
						due = append(due, sent{bucket, key, id, engine.ExpirationDays})
					}
				}
				old := weedtest.Object{Age: 9 * day}
				put("p/", old) // with a young child
				put("p/f", weedtest.Object{Body: "young"})
				put("young/", weedtest.Object{}) // with an old child
				put("young/f", old)
				put("empty/", old)
				put("o/child", weedtest.Object{Body: "below"})
				put("o", weedtest.Object{Body: "object", Age: 9 * day})
				put("q/w/e", weedtest.Object{Body: "deep"})
				r.SetMtime(bucket, "q", time.Now().Add(-90*day)) // a plain folder
				r.SetMtime(bucket, "q/w", time.Now().Add(-90*day))

				way.taken(t, r.pass(pass.OK, due...))
				r.pass(pass.OK)
				if kind == weedtest.Plain {
					r.wantKeys(bucket, "p/f", "young/", "o/child", "q/w/e")
				} else {
					// The gateway lists a folder's key, as current too, whatever lies on it.
					var marked []string
					for _, v := range r.versions(bucket) {
						if v.marker && v.latest {
							marked = append(marked, v.key)
						}
					}
					same(t, "keys with a delete marker", marked, []string{"p/", "young/f", "empty/", "o"})
				}
				for key, want := range map[string]string{"p/f": "young", "o/child": "below", "q/w/e": "deep"} {
					if body, ok := r.Get(bucket, key); !ok || body != want {
						t.Errorf("key %q reads %q, %v", key, body, ok)
					}
				}
			})
		}
	}
}
