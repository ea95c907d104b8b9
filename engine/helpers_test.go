package engine_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// scenarioNow is the clock of every sample in scenarios.md.
var scenarioNow = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return scenarioNow.Add(-d) }

// aged counts in lifecycle days.
func aged(n float64) time.Time { return ago(time.Duration(n * float64(engine.Day()))) }

// rule is an enabled rule with the changes applied.
func rule(changes ...func(*engine.Rule)) *engine.Rule {
	r := &engine.Rule{Enabled: true, Number: 1}
	for _, change := range changes {
		change(r)
	}
	return r
}

func id(s string) func(*engine.Rule)     { return func(r *engine.Rule) { r.ID = s } }
func prefix(p string) func(*engine.Rule) { return func(r *engine.Rule) { r.Prefix = p } }
func expire(n int) func(*engine.Rule)    { return func(r *engine.Rule) { r.ExpirationDays = n } }
func noncurrent(n int) func(*engine.Rule) {
	return func(r *engine.Rule) { r.NoncurrentDays = n }
}
func newer(n int) func(*engine.Rule) { return func(r *engine.Rule) { r.NewerNoncurrent = n } }
func abort(n int) func(*engine.Rule) { return func(r *engine.Rule) { r.AbortDays = n } }
func marker(r *engine.Rule)          { r.ExpiredMarker = true }
func disabled(r *engine.Rule)        { r.Enabled = false }
func date(t time.Time) func(*engine.Rule) {
	return func(r *engine.Rule) { r.ExpirationDate = t }
}
func above(n int64) func(*engine.Rule) { return func(r *engine.Rule) { r.SizeGreaterThan = &n } }
func below(n int64) func(*engine.Rule) { return func(r *engine.Rule) { r.SizeLessThan = &n } }
func tags(kv ...string) func(*engine.Rule) {
	return func(r *engine.Rule) { r.Tags = pairs(kv) }
}

func pairs(kv []string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

// actions compiles the rules for bucket "b" and returns the active ones.
func actions(rules ...*engine.Rule) []*engine.Action {
	src := engine.Source{Bucket: engine.Bucket{Name: "b"}, Rules: rules}
	return engine.New().Compile([]engine.Source{src}).BucketActions("b")
}

// plain is an object of a bucket without versions.
func plain(key string, modified time.Time, changes ...func(*engine.Entry)) *engine.Object {
	e := entry(key, modified, changes...)
	o := engine.NewObject("b", key, &e)
	return &o
}

func entry(name string, modified time.Time, changes ...func(*engine.Entry)) engine.Entry {
	e := engine.Entry{
		Name: name, Nature: engine.File, HasAttributes: true,
		MtimeNs: modified.UnixNano(), Extended: map[string][]byte{},
	}
	for _, change := range changes {
		change(&e)
	}
	return e
}

func size(n int64) func(*engine.Entry) { return func(e *engine.Entry) { e.Size = n } }
func nature(n engine.Nature) func(*engine.Entry) {
	return func(e *engine.Entry) { e.Nature = n }
}
func extended(key, value string) func(*engine.Entry) {
	return func(e *engine.Entry) { e.Extended[key] = []byte(value) }
}
func tagged(kv ...string) func(*engine.Entry) {
	return func(e *engine.Entry) {
		for k, v := range pairs(kv) {
			e.Extended["X-Amz-Tagging-"+k] = []byte(v)
		}
	}
}
func demoted(t time.Time) func(*engine.Entry) {
	return extended(s3_constants.ExtNoncurrentSinceNsKey, strconv.FormatInt(t.UnixNano(), 10))
}
func isMarker(e *engine.Entry) { e.Extended[s3_constants.ExtDeleteMarkerKey] = []byte("true") }
func retained(mode string, until time.Time) func(*engine.Entry) {
	return func(e *engine.Entry) {
		e.Extended[s3_constants.ExtObjectLockModeKey] = []byte(mode)
		e.Extended[s3_constants.ExtRetentionUntilDateKey] = []byte(strconv.FormatInt(until.Unix(), 10))
	}
}
func held(e *engine.Entry) { e.Extended[s3_constants.ExtLegalHoldKey] = []byte("ON") }

// versionID is an ID as the gateway makes it for a write at t; n tells apart
// those of the same instant.
func versionID(t time.Time, n int) string {
	return fmt.Sprintf("%016x%016x", math.MaxInt64-t.UnixNano(), n)
}

// rawVersionID is an ID of the older form.
func rawVersionID(t time.Time, n int) string { return fmt.Sprintf("%016x%016x", t.UnixNano(), n) }

// version is a version file written and modified at t.
func version(t time.Time, changes ...func(*engine.Entry)) engine.Entry {
	return named(versionID(t, 0), t, changes...)
}

// named is a version file with the given ID.
func named(id string, modified time.Time, changes ...func(*engine.Entry)) engine.Entry {
	e := entry("v_"+id, modified, extended(s3_constants.ExtVersionIdKey, id))
	for _, change := range changes {
		change(&e)
	}
	return e
}

// pointing is the version folder of key "k" whose pointer names a version file.
func pointing(latest engine.Entry, changes ...func(*engine.Entry)) *engine.Entry {
	return folder(append([]func(*engine.Entry){
		extended(s3_constants.ExtLatestVersionIdKey, latest.VersionID()),
		extended(s3_constants.ExtLatestVersionFileNameKey, latest.Name),
	}, changes...)...)
}

// folder is the version folder of key "k".
func folder(changes ...func(*engine.Entry)) *engine.Entry {
	e := entry("k.versions", time.Time{}.Add(1), append([]func(*engine.Entry){nature(engine.Folder)}, changes...)...)
	return &e
}

func nullIsLatest(e *engine.Entry) {
	e.Extended[s3_constants.ExtNullVersionIsLatestKey] = []byte("true")
}

// versions is key "k" with the newest file first, which the pointer names.
func versions(files ...engine.Entry) engine.Group {
	return engine.NewGroup("b", "k", pointing(files[0]), files, nil)
}

// fires lists, for each object of a group, the kind of the action that fires
// first, or "".
func fires(g engine.Group, rules ...*engine.Rule) []string {
	acts := actions(rules...)
	out := make([]string, len(g.Objects))
	for i := range g.Objects {
		if a, _, ok := engine.FirstDue(acts, &g.Objects[i], scenarioNow, engine.ExactClock); ok {
			out[i] = a.Kind.String()
		}
	}
	return out
}

// firing is the label of the rule that fires first on an object, or "".
func firing(o *engine.Object, rules ...*engine.Rule) string {
	a, _, ok := engine.FirstDue(actions(rules...), o, scenarioNow, engine.ExactClock)
	if !ok {
		return ""
	}
	return a.Rule.Label()
}

// only is the single action of a rule.
func only(t testing.TB, r *engine.Rule) *engine.Action {
	t.Helper()
	acts := actions(r)
	if len(acts) != 1 {
		t.Fatalf("rule compiles to %d actions, want 1", len(acts))
	}
	return acts[0]
}

func check(v engine.Verdict, name string) (engine.Check, bool) {
	for _, c := range v.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return engine.Check{}, false
}
