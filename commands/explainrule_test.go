package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/internal/memcluster"
)

// scenarioNow is the clock of the samples in the scenarios.
var scenarioNow = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)

// newHostBefore is a host whose cluster begins long before a clock.
func newHostBefore(t *testing.T, now time.Time) *testHost {
	h := newTestHost(t)
	h.cluster = memcluster.New(memcluster.Config{Start: now.Add(-1000 * day)})
	h.Now = h.cluster.HostTime
	return h
}

// object puts an object that has an age at now, and returns its version ID.
// Objects are put oldest first.
func (h *testHost) object(bucket, key string, now time.Time, age time.Duration, o memcluster.Object) string {
	h.t.Helper()
	h.cluster.AdvanceTo(now.Add(-age))
	id, err := h.cluster.PutObject(bucket, key, o)
	check(h.t, err)
	return id
}

// document wraps rules.
func lifecycle(rules ...string) string {
	return "<LifecycleConfiguration><Rule>" + strings.Join(rules, "</Rule><Rule>") + "</Rule></LifecycleConfiguration>"
}

func rule(id, filter, action string) string {
	return "<ID>" + id + "</ID><Status>Enabled</Status><Filter>" + filter + "</Filter>" + action
}

func expireAfter(days int) string {
	return fmt.Sprintf("<Expiration><Days>%d</Days></Expiration>", days)
}

func prefix(p string) string { return "<Prefix>" + p + "</Prefix>" }

// installed makes a bucket with rules.
func (h *testHost) installed(bucket string, v engine.Versioning, rules ...string) {
	h.t.Helper()
	check(h.t, h.cluster.CreateBucket(bucket, v, false))
	check(h.t, h.cluster.SetRules(bucket, lifecycle(rules...)))
}

// explainKey is what explain-rule says of a key, as a program reads it.
func (h *testHost) explainKey(code int, args ...string) explain.KeyExplanation {
	h.t.Helper()
	h.must(code, append([]string{"explain-rule", "-o", "json"}, args...)...)
	var doc struct{ Key explain.KeyExplanation }
	check(h.t, json.Unmarshal(h.out.Bytes(), &doc))
	return doc.Key
}

func TestScenario12_AgeDecidesAndAStampedTTLIsSaid(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("pics", engine.Unversioned, rule("day", prefix("img/"), expireAfter(1)))
	h.installed("stamped", engine.Unversioned, rule("month", prefix("img/"), expireAfter(30)))
	want := map[string]explain.Effect{}
	for i := range 3 {
		key := fmt.Sprintf("img/old-%d", i)
		h.object("pics", key, scenarioNow, 60*time.Hour, objectOfOneByte)
		want[key] = explain.Expire
	}
	h.object("stamped", "img/a", scenarioNow, 2*day, memcluster.Object{Size: 1, TTL: 3 * day})
	for i := range 2 {
		key := fmt.Sprintf("img/new-%d", i)
		h.object("pics", key, scenarioNow, 5*time.Hour, objectOfOneByte)
		want[key] = explain.Keep
	}
	h.cluster.AdvanceTo(scenarioNow)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if e := h.explainKey(exitDone, "--bucket", "pics", "--key", key); e.Versions[0].Verdict != want[key] {
			t.Errorf("%s: %s, want %s", key, e.Versions[0].Verdict, want[key])
		}
	}
	v := h.explainKey(exitDone, "--bucket", "stamped", "--key", "img/a").Versions[0]
	ttl := v.ServerTTL
	if v.Verdict != explain.Keep || ttl == nil || !ttl.BeforeRule || !ttl.Drops.Equal(scenarioNow.Add(day)) {
		t.Errorf("stamped: %s, %+v, want kept by the rule and dropped by the server in a day", v.Verdict, ttl)
	}
	h.must(exitDone, "explain-rule", "--bucket", "stamped", "--key", "img/a")
	contains(t, h.out.String(), "server: a TTL of 3d is stamped on it: the server drops it at", "2030-06-16T12:00:00Z, in 1d")
}

// TestExplainWarnsOfTTLsByPath: where the filers stamp new objects by path, a
// rule is told of stamps that are shorter than it.
func TestExplainWarnsOfTTLsByPath(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("pics", engine.Unversioned, rule("month", prefix("img/"), expireAfter(30)))
	stamps, failure := []explain.Stamp{{Prefix: "img/thumbs/", TTL: 3 * day}}, error(nil)
	h.Dial = func(ctx context.Context, o DialOptions) (*Cluster, error) {
		c, err := h.dial(ctx, o)
		c.PathTTLs = func(_ context.Context, bucket string) ([]explain.Stamp, error) {
			if bucket != "pics" {
				t.Errorf("asked for bucket %q", bucket)
			}
			return stamps, failure
		}
		return c, err
	}
	h.must(exitDone, "explain-rule", "--bucket", "pics")
	contains(t, h.out.String(), `Objects whose key begins with "img/thumbs/" are stamped with a TTL of 3d`)
	stamps, failure = nil, errors.New("filer.conf is malformed")
	h.must(exitDone, "explain-rule", "--bucket", "pics")
	contains(t, h.err.String(), "the TTLs that the filers stamp by path are not known: filer.conf is malformed")
}

func TestScenario18_ExpirationHeader(t *testing.T) {
	modified := time.Date(2030, 6, 10, 8, 0, 0, 0, time.UTC)
	h := newHostBefore(t, scenarioNow)
	h.installed("both", engine.Unversioned, rule("keep 30/x", prefix(""), expireAfter(30)), rule("b", prefix("z/"), expireAfter(5)))
	h.installed("markers", engine.Enabled, rule("m", prefix(""), "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"))
	h.cluster.AdvanceTo(modified)
	for _, at := range [][2]string{{"both", "z/o"}, {"both", "y/o"}, {"markers", "z/o"}} {
		_, err := h.cluster.PutObject(at[0], at[1], objectOfOneByte)
		check(t, err)
	}
	h.cluster.AdvanceTo(scenarioNow)
	for _, c := range []struct{ bucket, key, want string }{
		{"both", "z/o", `expiry-date="Sun, 16 Jun 2030 00:00:00 GMT", rule-id="b"`},
		{"both", "y/o", `expiry-date="Thu, 11 Jul 2030 00:00:00 GMT", rule-id="keep%2030%2Fx"`},
		{"markers", "z/o", ""},
	} {
		for _, clock := range []string{"exact", "midnight"} {
			e := h.explainKey(exitDone, "--bucket", c.bucket, "--key", c.key, "--day-clock", clock)
			if e.ExpirationHeader != c.want {
				t.Errorf("%s/%s with the %s clock: header %q, want %q", c.bucket, c.key, clock, e.ExpirationHeader, c.want)
			}
		}
		h.must(exitDone, "explain-rule", "--bucket", c.bucket, "--key", c.key)
		if shown := strings.Contains(strings.ReplaceAll(h.out.String(), "\n", ""), "x-amz-expiration: "); shown != (c.want != "") {
			t.Errorf("%s/%s: header in the text: %t", c.bucket, c.key, shown)
		}
	}
}

func TestScenario51_WhyAndWhen(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("b", engine.Unversioned,
		rule("r", "<And>"+prefix("logs/")+"<Tag><Key>t</Key><Value>1</Value></Tag></And>", expireAfter(7)))
	h.object("b", "logs/b", scenarioNow, 30*day, objectOfOneByte)
	h.object("b", "logs/a", scenarioNow, 3*day, memcluster.Object{Size: 1, Tags: map[string]string{"t": "1"}})
	h.cluster.AdvanceTo(scenarioNow)

	h.must(exitDone, "explain-rule", "--bucket", "b", "--key", "logs/a")
	contains(t, h.out.String(), "r: matches, due in 4d (5d on the midnight clock at most)\n")
	checkGolden(t, "explain-key-due-later.txt", h.out.String())
	h.must(exitDone, "explain-rule", "--bucket", "b", "--key", "logs/b")
	contains(t, h.out.String(), "r: no, tag t: want 1, object has none\n")
	checkGolden(t, "explain-key-tag-missing.txt", h.out.String())

	// One nanosecond on either side of the due time.
	due := scenarioNow.Add(4 * day)
	for at, want := range map[time.Time]explain.Effect{due.Add(-1): explain.Keep, due: explain.Expire, due.Add(6 * day): explain.Expire} {
		if v := h.explainKey(exitDone, "--bucket", "b", "--key", "logs/a", "--at", at.Format(time.RFC3339Nano)).Versions[0]; v.Verdict != want {
			t.Errorf("at %s: %s, want %s", at.Format(time.RFC3339Nano), v.Verdict, want)
		}
	}
	if v := h.explainKey(exitDone, "--bucket", "b", "--key", "logs/a", "--at", "+10d").Versions[0]; v.Verdict != explain.Expire || v.RuleID != "r" {
		t.Errorf("in ten days: %s by %q", v.Verdict, v.RuleID)
	}
	h.must(exitFailed, "run", "--at", "2030-06-25T12:00:00Z")
	contains(t, h.err.String(), `unknown flag "--at"`)
}

// everything fills a bucket with what explain-rule can meet: versions with
// markers, a lock, uploads, and names that must not reach a terminal.
func (h *testHost) everything() {
	h.t.Helper()
	h.installed("docs", engine.Enabled,
		rule("old versions", prefix("a/"), "<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>"),
		rule("current", prefix("a/"), expireAfter(90)),
		rule("current, sooner", "<And>"+prefix("a/b/")+"<ObjectSizeGreaterThan>100</ObjectSizeGreaterThan></And>", expireAfter(60)),
		rule("uploads", prefix(""), "<AbortIncompleteMultipartUpload><DaysAfterInitiation>3</DaysAfterInitiation></AbortIncompleteMultipartUpload>"),
		"<ID>off</ID><Status>Disabled</Status><Filter>"+prefix("*.log")+"</Filter>"+expireAfter(1),
		"<ID>bad</ID><Status>Enabled</Status><Filter>"+prefix("c/")+"</Filter><Expiration><Days>0</Days></Expiration>",
	)
	h.object("docs", "a/b/report", scenarioNow, 80*day, memcluster.Object{Size: 50})
	h.object("docs", "a/b/report", scenarioNow, 70*day, memcluster.Object{Size: 500})
	h.object("docs", "a/b/report", scenarioNow, 10*day, memcluster.Object{Size: 5000, Mode: "COMPLIANCE", RetainUntil: scenarioNow.Add(60 * day)})
	h.cluster.AdvanceTo(scenarioNow.Add(-5 * day))
	_, err := h.cluster.CreateUpload("docs", "a/b/report", memcluster.Object{})
	check(h.t, err)
	left, err := h.cluster.CreateUpload("docs", "a/b/report", memcluster.Object{})
	check(h.t, err)
	check(h.t, h.cluster.UploadPart("docs", left, 1, 10))
	_, err = h.cluster.CompleteUpload("docs", left, true)
	check(h.t, err)
	_, err = h.cluster.CreateUpload("docs", "a/other", memcluster.Object{})
	check(h.t, err)
	h.object("docs", "a/odd \x1b[31m\nname", scenarioNow, day, objectOfOneByte)
	h.cluster.AdvanceTo(scenarioNow)
}

func TestExplainRules(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.everything()
	h.must(exitUndone, "explain-rule", "--bucket", "docs", "--meta-log-retention", "70d", "--walker-interval", "6h")
	checkNarrow(t, h.out.String())
	checkGolden(t, "explain-rules.txt", h.out.String())
	contains(t, h.out.String(), "refused, so it does nothing:\n  rule 6 \"bad\": Rule[6]/Expiration/Days \"0\": less than 1;")

	h.must(exitUndone, "explain-rule", "--bucket", "docs", "--output", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "bucket", "versioning", "now", "day_clock", "file", "rules", "findings", "key")
	equalFields(t, "rule", doc["rules"].([]any)[0], "rule_id", "number", "enabled", "rule_hash", "title", "selects", "words", "xml",
		"actions", "never", "overlaps", "overlaps_more", "notes")
	equalFields(t, "finding", doc["findings"].([]any)[0], "severity", "rule", "rule_id", "other_rule", "path", "line", "value", "message", "allowed")
	if doc["key"] != nil || doc["file"] != "" {
		t.Errorf("key %v, file %q of installed rules", doc["key"], doc["file"])
	}
}

func TestExplainKey(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.everything()
	h.must(exitUndone, "explain-rule", "--bucket", "docs", "--key", "a/b/report")
	checkNarrow(t, h.out.String())
	checkGolden(t, "explain-key-versions.txt", h.out.String())

	h.must(exitUndone, "explain-rule", "--bucket", "docs", "--key", "a/b/report", "-o", "json")
	doc := object(t, h.out.Bytes())
	key := doc["key"].(map[string]any)
	equalFields(t, "key", key, "bucket", "key", "versioning", "now", "unresolved", "versions", "x_amz_expiration", "leftover_uploads", "cursors_known")
	if n := len(key["leftover_uploads"].([]any)); n != 1 || len(key["versions"].([]any)) != 5 {
		t.Errorf("%d leftover uploads, %d versions and uploads", n, len(key["versions"].([]any)))
	}
	if rules := doc["rules"].([]any); len(rules) != 4 {
		t.Errorf("%d rules whose prefix the key has, want 4", len(rules))
	}

	h.must(exitUndone, "explain-rule", "--bucket", "docs", "--key", "a/odd \x1b[31m\nname")
	if strings.ContainsAny(h.out.String(), "\x1b") || !strings.Contains(h.out.String(), `key "a/odd \x1b[31m\nname"`) {
		t.Errorf("an odd name: %q", h.out.String())
	}
}

func TestExplainOneVersion(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("docs", engine.Enabled, rule("r", "", expireAfter(7)))
	first := h.object("docs", "k", scenarioNow, 2*day, objectOfOneByte)
	second := h.object("docs", "k", scenarioNow, day, objectOfOneByte)
	if e := h.explainKey(exitDone, "--bucket", "docs", "--key", "k", "--version", first); len(e.Versions) != 1 || e.Versions[0].VersionID != first {
		t.Errorf("versions %v", e.Versions)
	}
	h.must(exitFailed, "explain-rule", "--bucket", "docs", "--key", "k", "--version", "null")
	equal(t, "stderr", h.err.String(), fmt.Sprintf("weedlc: key \"k\" has no version \"null\"\nhint: its versions are %s, %s\n", second, first))
	h.must(exitFailed, "explain-rule", "--bucket", "docs", "--key", "gone", "--version", "null")
	equal(t, "stderr", h.err.String(), "weedlc: key \"gone\" has no version \"null\"\n")
}

// TestExplainWhatIsGone: of a key with nothing at it the rules are named that
// its name falls under.
func TestExplainWhatIsGone(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("b", engine.Unversioned, rule("logs", prefix("logs/"), expireAfter(7)), rule("tmp", prefix("tmp/"), expireAfter(1)))
	check(t, h.cluster.CreateBucket("free", engine.Unversioned, false))
	h.cluster.AdvanceTo(scenarioNow)
	h.must(exitDone, "explain-rule", "--bucket", "b", "--key", "logs/gone")
	equal(t, "stdout", h.out.String(), `key "logs/gone" in bucket "b" (unversioned), at 2030-06-15T12:00:00Z
  Nothing lies there.
  Rules whose prefix its name begins with:
  rule 1 "logs": Deletes current objects whose key begins with "logs/", 7 days
    after they were last modified.
`)
	h.must(exitDone, "explain-rule", "--bucket", "b", "--key", "other")
	contains(t, h.out.String(), "No enabled rule has a prefix that its name begins with.")
	h.must(exitDone, "explain-rule", "--bucket", "free", "--key", "x")
	contains(t, h.out.String(), "The bucket has no lifecycle rules.")
	h.must(exitFailed, "explain-rule", "--bucket", "free")
	contains(t, h.err.String(), `bucket "free" has no lifecycle rules`)
	h.must(exitFailed, "explain-rule", "--bucket", "none", "--key", "x")
	contains(t, h.err.String(), `bucket "none" does not exist`)
}

// TestExplainHandling: what is said of who handles an object, and when, is what
// happens.
func TestExplainHandling(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("b", engine.Unversioned, rule("r", "", expireAfter(7)))
	h.object("b", "k", scenarioNow, 3*day, objectOfOneByte)
	shard := engine.ShardOf("b", "k")
	handling := func(args ...string) *explain.Handling {
		t.Helper()
		return h.explainKey(exitDone, append([]string{"--bucket", "b", "--key", "k"}, args...)...).Versions[0].Handling
	}
	contains(t, handling("--at", "+7d").Words, "walk, in the next pass", "the shard has no cursor yet")

	h.cluster.AdvanceTo(scenarioNow)
	h.must(exitDone, "run")
	later := handling()
	if later.By != explain.Replay || later.Shard != shard || later.After == nil || !later.After.Equal(scenarioNow.Add(4*day)) {
		t.Fatalf("after a pass: %+v", later)
	}
	// In the past the cursors of today are none of the future.
	if past := handling("--at", "-2d"); past.By != explain.Replay {
		t.Errorf("two days ago: %+v", past)
	}
	h.cluster.AdvanceTo(*later.After)
	if next := handling(); next.By != explain.Replay || !next.NextPass || next.Shard != shard {
		t.Fatalf("once it is due: %+v", next)
	}
	before := len(h.cluster.Deletes())
	h.must(exitDone, "run")
	if got := len(h.cluster.Deletes()) - before; got != 1 || len(h.cluster.Tree("b")) != 0 {
		t.Errorf("the next pass sent %d deletes and left %v", got, slices.Collect(maps.Keys(h.cluster.Tree("b"))))
	}
}

func TestExplainDamagedCursor(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("b", engine.Unversioned, rule("r", "", expireAfter(7)))
	h.object("b", "k", scenarioNow, 8*day, objectOfOneByte)
	h.cluster.AdvanceTo(scenarioNow)
	shard := engine.ShardOf("b", "k")
	h.write(fmt.Sprintf("shard-%02d.json", shard), "{")
	h.must(exitDone, "explain-rule", "--bucket", "b", "--key", "k")
	contains(t, strings.Join(strings.Fields(h.out.String()), " "),
		fmt.Sprintf("handled by: nobody: the cursor of shard %d is damaged (shard-%02d.json is malformed", shard, shard))
}

// TestExplainChangesNothing: no gateway, no lock, no delete, no write.
func TestExplainChangesNothing(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.everything()
	h.must(exitUndone, "run")
	h.dialed, h.locked = nil, nil
	tree, deletes := h.cluster.Tree("docs"), len(h.cluster.Deletes())
	names, err := h.cursors.List(t.Context())
	check(t, err)
	files := map[string]string{}
	for _, name := range names {
		files[name] = h.read(name)
	}
	for _, args := range [][]string{{}, {"--key", "a/b/report"}, {"--key", "a/b/report", "--at", "+1000d"}} {
		h.must(exitUndone, append([]string{"explain-rule", "--bucket", "docs"}, args...)...)
	}
	after, err := h.cursors.List(t.Context())
	check(t, err)
	if !slices.Equal(names, after) || !reflect.DeepEqual(tree, h.cluster.Tree("docs")) || deletes != len(h.cluster.Deletes()) || h.locked != nil {
		t.Error("something was changed, deleted or locked")
	}
	for name, text := range files {
		if h.read(name) != text {
			t.Errorf("%s was changed", name)
		}
	}
	for _, o := range h.dialed {
		if o.NeedGateway {
			t.Error("a gateway was asked for")
		}
	}
}

// TestExplainCandidate: rules in a file stand for those installed, in the
// schedule too.
func TestExplainCandidate(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.installed("b", engine.Enabled, rule("r", "", expireAfter(7)))
	h.object("b", "k", scenarioNow, 3*day, objectOfOneByte)
	h.cluster.AdvanceTo(scenarioNow)
	h.must(exitDone, "run")
	check(t, os.WriteFile("new.json", []byte(`{"Rules": [{"ID": "new", "Filter": {}, "Status": "Enabled", "Expiration": {"Days": 2}}]}`), 0o600))
	v := h.explainKey(exitDone, "--bucket", "b", "--rules", "new.json", "--key", "k").Versions[0]
	if v.Verdict != explain.ExpireToMarker || v.RuleID != "new" {
		t.Errorf("%s by %q", v.Verdict, v.RuleID)
	}
	contains(t, v.Handling.Words, "walk, in the next pass", "its rules changed")
	h.must(exitDone, "explain-rule", "--bucket", "b", "--rules", "new.json")
	contains(t, h.out.String(), "1 rule of new.json, for bucket \"b\" (enabled)\n", "Puts a delete marker on top of all current objects")

	dials := len(h.dialed)
	h.must(exitDone, "explain-rule", "--rules", "new.json")
	contains(t, h.out.String(), "1 rule of new.json, as in an unversioned bucket (--bucket-versioning tells of\n  others)\n", "Deletes all current objects")
	h.must(exitDone, "explain-rule", "--rules", "new.json", "--bucket-versioning", "suspended")
	contains(t, h.out.String(), "whose versioning is suspended\n", "A null version is replaced by a delete marker")
	if len(h.dialed) != dials {
		t.Error("a file alone needed a cluster")
	}
	check(t, os.WriteFile("bad.json", []byte(`{"Rules": [{"ID": "new", "Filter": {}, "Status": "Enabled", "Expiration": {"Days": 0}}]}`), 0o600))
	h.must(exitFailed, "explain-rule", "--rules", "bad.json")
	equal(t, "stdout", h.out.String(), "")
	contains(t, h.err.String(), `bad.json:1: error: rule 1 "new": Rule[1]/Expiration/Days "0": less than 1`)
}

func TestExplainUsage(t *testing.T) {
	h := newTestHost(t)
	for args, want := range map[string]string{
		"":                                       "no rules given: neither --bucket nor --rules",
		"--rules f --key k":                      "--key needs --bucket",
		"--rules f --from b":                     "--from needs --bucket",
		"--bucket b --version v":                 "--version needs --key",
		"--bucket b --at 7d":                     `--at "7d": needs a sign`,
		"--bucket b --at yesterday":              `--at "yesterday": must be a time`,
		"--bucket b -o table":                    `--output "table": must be text or json`,
		"--bucket b --bucket-versioning enabled": "--bucket-versioning is for --rules without --bucket",
		"--rules missing.xml":                    "missing.xml: no such file",
	} {
		h.must(exitFailed, append([]string{"explain-rule"}, strings.Fields(args)...)...)
		contains(t, h.err.String(), want)
		equal(t, "stdout of "+args, h.out.String(), "")
	}
	if len(h.dialed) != 0 {
		t.Errorf("usage errors dialed %v", h.dialed)
	}
}

func TestWrapped(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"short", "short\n"},
		{"", "\n"},
		{"0123456789 0123456789", "0123456789\n  0123456789\n"},
		{"  0123456789 01 2345", "  0123456789 01\n    2345\n"},
		{"012345678901234567890123 x", "012345678901234567890123\n  x\n"},
		{"a\tb\x1b\n", `a\tb\x1b\n` + "\n"},
		{"ééééé ééééé ééé", "ééééé ééééé ééé\n"},
		{"ééééé ééééé éééé", "ééééé ééééé\n  éééé\n"},
		{"日本語日本語 日本", "日本語日本語\n  日本\n"},
		{"two  blanks stay", "two  blanks\n  stay\n"},
	} {
		equal(t, fmt.Sprintf("%q", c.line), wrapped([]string{c.line}, 15), c.want)
	}
}
