package explain_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
	"weedlc/explain"
)

var update = flag.Bool("update", false, "write the golden files")

// scenarioNow is the clock of every sample in scenarios.md.
var scenarioNow = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return scenarioNow.Add(-d) }

// aged counts in lifecycle days.
func aged(n float64) time.Time { return ago(time.Duration(n * float64(engine.Day()))) }

type change = func(*engine.Rule)

// rule is an enabled rule with the changes applied.
func rule(changes ...change) *engine.Rule {
	r := &engine.Rule{Enabled: true, Number: 1}
	for _, c := range changes {
		c(r)
	}
	return r
}

func id(s string) change         { return func(r *engine.Rule) { r.ID = s } }
func prefix(p string) change     { return func(r *engine.Rule) { r.Prefix = p } }
func expire(n int) change        { return func(r *engine.Rule) { r.ExpirationDays = n } }
func noncurrent(n int) change    { return func(r *engine.Rule) { r.NoncurrentDays = n } }
func newer(n int) change         { return func(r *engine.Rule) { r.NewerNoncurrent = n } }
func abort(n int) change         { return func(r *engine.Rule) { r.AbortDays = n } }
func marker(r *engine.Rule)      { r.ExpiredMarker = true }
func disabled(r *engine.Rule)    { r.Enabled = false }
func date(t time.Time) change    { return func(r *engine.Rule) { r.ExpirationDate = t } }
func above(n int64) change       { return func(r *engine.Rule) { r.SizeGreaterThan = &n } }
func below(n int64) change       { return func(r *engine.Rule) { r.SizeLessThan = &n } }
func tagged(kv ...string) change { return func(r *engine.Rule) { r.Tags = pairs(kv) } }
func unsupported(names ...string) change {
	return func(r *engine.Rule) { r.Unsupported = names }
}

func pairs(kv []string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

// numbered gives rules the numbers of their places.
func numbered(rules ...*engine.Rule) []*engine.Rule {
	for i, r := range rules {
		r.Number = i + 1
	}
	return rules
}

func bucket(v engine.Versioning) engine.Bucket { return engine.Bucket{Name: "b", Versioning: v} }

func compiled(b engine.Bucket, rules ...*engine.Rule) []*engine.Action {
	return engine.New().Compile([]engine.Source{{Bucket: b, Rules: rules}}).BucketActions(b.Name)
}

// plain is an object of bucket b, which has no versions.
func plain(key string, modified time.Time, changes ...func(*engine.Object)) engine.Object {
	o := engine.Object{
		Bucket: "b", Key: key, Path: key, ModTime: modified, CommitNs: modified.UnixNano(),
		Latest: true, Versions: 1, Rank: engine.RankUnknown, Entry: &engine.Entry{HasAttributes: true},
	}
	for _, c := range changes {
		c(&o)
	}
	return o
}

func withTags(kv ...string) func(*engine.Object) {
	return func(o *engine.Object) { o.Tags = pairs(kv) }
}
func withSize(n int64) func(*engine.Object) { return func(o *engine.Object) { o.Size = n } }
func withTTL(d time.Duration) func(*engine.Object) {
	return func(o *engine.Object) { o.TTL = d }
}
func withLock(l engine.Lock) func(*engine.Object) { return func(o *engine.Object) { o.Lock = l } }
func committed(t time.Time) func(*engine.Object) {
	return func(o *engine.Object) { o.CommitNs = t.UnixNano() }
}

// lone is the group of one object without versions.
func lone(o engine.Object) engine.Group {
	return engine.Group{Bucket: o.Bucket, Key: o.Key, Objects: []engine.Object{o}}
}

// version is a version file of key "k", written and modified at t.
func version(t time.Time, changes ...func(*engine.Entry)) engine.Entry {
	return named(fmt.Sprintf("%016x%016x", math.MaxInt64-t.UnixNano(), 0), t, changes...)
}

// named is a version file with the given ID.
func named(id string, modified time.Time, changes ...func(*engine.Entry)) engine.Entry {
	e := engine.Entry{
		Name: "v_" + id, HasAttributes: true, MtimeNs: modified.UnixNano(), CommitNs: modified.UnixNano(),
		Extended: map[string][]byte{s3_constants.ExtVersionIdKey: []byte(id)},
	}
	for _, c := range changes {
		c(&e)
	}
	return e
}

func isMarker(e *engine.Entry) { e.Extended[s3_constants.ExtDeleteMarkerKey] = []byte("true") }
func demoted(t time.Time) func(*engine.Entry) {
	return func(e *engine.Entry) {
		e.Extended[s3_constants.ExtNoncurrentSinceNsKey] = []byte(strconv.FormatInt(t.UnixNano(), 10))
		e.CommitNs = t.UnixNano()
	}
}
func retained(mode string, until time.Time) func(*engine.Entry) {
	return func(e *engine.Entry) {
		e.Extended[s3_constants.ExtObjectLockModeKey] = []byte(mode)
		e.Extended[s3_constants.ExtRetentionUntilDateKey] = []byte(strconv.FormatInt(until.Unix(), 10))
	}
}
func held(e *engine.Entry) { e.Extended[s3_constants.ExtLegalHoldKey] = []byte("ON") }

// versions is key "k" with the newest file first, which the pointer names.
func versions(files ...engine.Entry) engine.Group {
	folder := pointing(files[0])
	return engine.NewGroup("b", "k", &folder, files, nil)
}

// pointing is the version folder of key "k" whose pointer names a version file.
func pointing(latest engine.Entry) engine.Entry {
	return engine.Entry{Name: "k.versions", Nature: engine.Folder, HasAttributes: true, Extended: map[string][]byte{
		s3_constants.ExtLatestVersionIdKey:       []byte(latest.VersionID()),
		s3_constants.ExtLatestVersionFileNameKey: []byte(latest.Name),
	}}
}

// key explains a group with the clock of the scenarios.
func key(b engine.Bucket, g engine.Group, rules ...*engine.Rule) explain.KeyExplanation {
	return explain.Key(explain.KeyInput{Bucket: b, Group: g, Rules: rules, Now: scenarioNow})
}

// verdicts are those of all versions, with their reasons.
func verdicts(e explain.KeyExplanation) []string {
	var out []string
	for _, v := range e.Versions {
		out = append(out, v.Verdict.String()+": "+v.Why)
	}
	return out
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d\n%v\nwant %d\n%v", what, len(got), got, len(want), want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s, item %d:\n got %v\nwant %v", what, i, got[i], want[i])
		}
	}
}

// golden compares lines with a file of testdata.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./explain -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test ./explain -update writes it\n got:\n%s\nwant:\n%s", path, got, want)
	}
}
