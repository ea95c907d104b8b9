package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// The names of action kinds as fires returns them.
const (
	kept      = ""
	expired   = "expiration_days"
	stale     = "noncurrent_days"
	surplus   = "newer_noncurrent"
	orphaned  = "expired_delete_marker"
	unstarted = "abort_mpu"
)

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: fires %q, want %q", what, got, want)
	}
}

func TestScenario12_EachObjectByItsOwnAge(t *testing.T) {
	r := rule(id("R"), prefix("img/"), expire(1))
	for _, age := range []time.Duration{60 * time.Hour, 25 * time.Hour} {
		if got := firing(plain("img/a", ago(age)), r); got != "R" {
			t.Errorf("age %v: fires %q, want R", age, got)
		}
	}
	if got := firing(plain("img/a", ago(5*time.Hour)), r); got != "" {
		t.Errorf("age 5h: fires %q, want nothing", got)
	}

	stamped := plain("img/a", aged(2), func(e *engine.Entry) { e.TTL = 3 * engine.Day() })
	if got := firing(stamped, rule(prefix("img/"), expire(30))); got != "" {
		t.Errorf("a stamped TTL made %q fire", got)
	}
	if stamped.TTL != 3*engine.Day() {
		t.Errorf("TTL is %v, want 3 days", stamped.TTL)
	}
}

func TestScenario13_ShortestRuleWins(t *testing.T) {
	rules := []*engine.Rule{
		rule(id("R1"), expire(30)),
		rule(id("R2"), prefix("logs/"), expire(15)),
		rule(id("R3"), prefix("logs/app/"), expire(60)),
	}
	objects := map[*engine.Object]string{
		plain("logs/app/a", aged(20)): "R2",
		plain("misc/b", aged(20)):     "",
		plain("misc/c", aged(40)):     "R1",
		plain("logs/app/d", aged(90)): "R2",
	}
	for _, order := range permutations(3) {
		mixed := []*engine.Rule{rules[order[0]], rules[order[1]], rules[order[2]]}
		for o, want := range objects {
			if got := firing(o, mixed...); got != want {
				t.Errorf("order %v, key %q: fires %q, want %q", order, o.Key, got, want)
			}
		}
	}
	nested := []*engine.Rule{
		rule(prefix("s"), expire(10)), rule(prefix("s/c"), expire(5)), rule(prefix("s/c/a"), expire(1)),
	}
	if got := firing(plain("s/q", aged(3)), nested...); got != "" {
		t.Errorf("s/q fires %q, want nothing", got)
	}
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

func TestScenario14_AllTagsExactly(t *testing.T) {
	both := rule(id("R"), tags("a", "1", "b", "2"), expire(1))
	empty := rule(id("R"), tags("k", ""), expire(1))
	for _, tc := range []struct {
		name string
		rule *engine.Rule
		tags []string
		want string
	}{
		{"all and more", both, []string{"a", "1", "b", "2", "c", "9"}, "R"},
		{"one of two", both, []string{"a", "1"}, ""},
		{"other case of the key", both, []string{"A", "1", "b", "2"}, ""},
		{"other case of the value", rule(tags("k", "v"), expire(1)), []string{"k", "V"}, ""},
		{"none", both, nil, ""},
		{"empty value wanted and there", empty, []string{"k", ""}, "R"},
		{"empty value wanted, another there", empty, []string{"k", "v"}, ""},
		{"empty value wanted, key absent", empty, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := firing(plain("x", aged(3), tagged(tc.tags...)), tc.rule); got != tc.want {
				t.Errorf("fires %q, want %q", got, tc.want)
			}
		})
	}

	g := versions(version(aged(3)), version(aged(9), tagged("tmp", "1"), demoted(aged(3))))
	want(t, "tags of the version", fires(g, rule(tags("tmp", "1"), noncurrent(1))), []string{kept, stale})
}

func TestScenario15_NoGlobsNoDecoding(t *testing.T) {
	for _, tc := range []struct {
		prefix, key string
		want        bool
	}{
		{"logs", "logs/x", true},
		{"logs", "logs-old/x", true},
		{"logs", "logs", true},
		{"logs", "log", false},
		{"logs/", "logs", false},
		{"logs/", "logs/", true},
		{"/logs/", "logs/x", false},
		{"*.bam", "a.bam", false},
		{"a&b/", "a&b/ c.txt", true},
		{"a%20b/", "a b/x", false},
		{"\u00e9", "e\u0301", false},
		{"e\u0301", "e\u0301x", true},
		{"a\xff", "a\xffb", true},
	} {
		if got := firing(plain(tc.key, aged(3)), rule(id("R"), prefix(tc.prefix), expire(1))) == "R"; got != tc.want {
			t.Errorf("prefix %q, key %q: fires %v, want %v", tc.prefix, tc.key, got, tc.want)
		}
	}
}

func TestScenario17_SizeBoundsAreStrict(t *testing.T) {
	between := rule(id("R"), above(1000), below(2000), expire(1))
	for n, want := range map[int64]string{999: "", 1000: "", 1001: "R", 1999: "R", 2000: "", 2001: ""} {
		if got := firing(plain("x", aged(3), size(n)), between); got != want {
			t.Errorf("size %d: fires %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "", 1: "R"} {
		if got := firing(plain("x", aged(3), size(n)), rule(id("R"), above(0), expire(1))); got != want {
			t.Errorf("above 0, size %d: fires %q, want %q", n, got, want)
		}
	}
	if got := firing(plain("x", aged(3)), rule(below(0), expire(1))); got != "" {
		t.Errorf("below 0 took an empty object: fires %q", got)
	}

	g := versions(
		version(aged(5), size(500)),
		version(aged(9), size(0), demoted(aged(5))),
		version(aged(20), size(800), demoted(aged(9))),
	)
	want(t, "each version by its own size", fires(g, rule(below(1), noncurrent(1))), []string{kept, stale, kept})
}

func TestScenario19_CurrentVersionInsideTheFolder(t *testing.T) {
	g := versions(version(aged(10)), version(aged(50), demoted(aged(10))))
	want(t, "Days=7", fires(g, rule(expire(7))), []string{expired, kept})
	if got := g.Objects[0].RequestVersion(engine.ExpirationDays); got != g.Objects[0].VersionID {
		t.Errorf("request version is %q, want %q", got, g.Objects[0].VersionID)
	}
	g.Demote(scenarioNow, engine.Enabled)
	want(t, "after the marker", fires(g, rule(expire(7))), []string{kept, kept})
	if len(g.Objects) != 2 || g.Objects[0].Versions != 3 {
		t.Errorf("after the marker: %d objects of %d versions, want 2 of 3", len(g.Objects), g.Objects[0].Versions)
	}
}

func TestScenario20_NoMarkerOnAMarker(t *testing.T) {
	g := versions(version(aged(10), isMarker), version(aged(20), demoted(aged(10))))
	want(t, "Days=7", fires(g, rule(expire(7))), []string{kept, kept})
	want(t, "Date", fires(g, rule(date(aged(1)))), []string{kept, kept})
}

func TestScenario21_NoncurrentClockStartsAtDemotion(t *testing.T) {
	r := rule(noncurrent(30))
	for _, tc := range []struct {
		name  string
		group engine.Group
		want  string
		left  time.Duration // until due, when kept
		from  engine.ClockSource
	}{
		{"overwritten two days ago", versions(version(aged(2)), version(aged(400), demoted(aged(2)))),
			kept, 28 * engine.Day(), engine.FromDemotion},
		{"no stamp", versions(version(aged(2)), version(aged(400))),
			kept, 28 * engine.Day(), engine.FromSuccessor},
		{"under a marker", versions(version(aged(40), isMarker), version(aged(400))),
			stale, 0, engine.FromSuccessor},
		{"stamp of an earlier demotion", versions(version(aged(1)), version(aged(400), demoted(aged(50)))),
			kept, 29 * engine.Day(), engine.FromSuccessor},
		{"stamp later than the successor", versions(version(aged(50)), version(aged(400), demoted(aged(31)))),
			stale, 0, engine.FromDemotion},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want(t, tc.name, fires(tc.group, r), []string{kept, tc.want})
			v := engine.Judge(only(t, r), &tc.group.Objects[1], scenarioNow, engine.ExactClock)
			if v.ClockFrom != tc.from {
				t.Errorf("clock from %q, want %q", v.ClockFrom, tc.from)
			}
			if left := v.Due.Sub(scenarioNow); tc.want == kept && left != tc.left {
				t.Errorf("due in %v, want %v", left, tc.left)
			}
		})
	}

	// The only version, demoted without a trace of what took its place.
	alone := engine.Object{Bucket: "b", Key: "k", VersionID: "x", ModTime: aged(31), Versions: 1, Rank: 0}
	if v := engine.Judge(only(t, r), &alone, scenarioNow, engine.ExactClock); !v.Fires || v.ClockFrom != engine.FromModTime {
		t.Errorf("neither stamp nor successor: fires %v from %q, want true from mtime", v.Fires, v.ClockFrom)
	}
}

func TestScenario22_CountAndDaysTogether(t *testing.T) {
	g := versions(
		version(aged(1)),
		version(aged(12), demoted(aged(1))),
		version(aged(20), demoted(aged(12))),
		version(aged(30), demoted(aged(20))),
		version(aged(40), demoted(aged(30))),
	)
	r := rule(noncurrent(10), newer(2))
	want(t, "days and count", fires(g, r), []string{kept, kept, kept, stale, stale})
	want(t, "count alone", fires(g, rule(newer(1))), []string{kept, kept, surplus, surplus, surplus})

	for i, o := range g.Objects {
		o.Rank = engine.RankUnknown
		if got := firing(&o, r); got != "" {
			t.Errorf("version %d with unknown rank: fires %q", i, got)
		}
	}

	byCount := engine.Judge(only(t, r), &g.Objects[2], scenarioNow, engine.ExactClock)
	if byCount.Matches || byCount.Due.IsZero() {
		t.Errorf("kept by count: matches %v, due %v, want no match with a due time", byCount.Matches, byCount.Due)
	}
}

func TestScenario22_MarkersCountAsVersions(t *testing.T) {
	g := versions(
		version(aged(1)),
		version(aged(12), isMarker),
		version(aged(20)),
	)
	want(t, "newest noncurrent is a marker", fires(g, rule(newer(1))), []string{kept, kept, surplus})
	want(t, "a marker is a noncurrent version", fires(g, rule(noncurrent(1))), []string{kept, stale, stale})
}

func TestScenario23_LoneMarkers(t *testing.T) {
	both := rule(noncurrent(1), marker)
	hour := ago(time.Hour)

	a := versions(version(hour, isMarker))
	want(t, "alone", fires(a, both), []string{orphaned})
	want(t, "alone, no marker rule", fires(a, rule(noncurrent(1))), []string{kept})
	want(t, "alone, plain Days", fires(a, rule(expire(1))), []string{kept})

	b := versions(version(hour, isMarker), version(aged(9), demoted(hour)))
	want(t, "with a young version", fires(b, both), []string{kept, kept})

	m := version(hour, isMarker)
	bare := entry("k", aged(9))
	c := engine.NewGroup("b", "k", pointing(m), []engine.Entry{m}, &bare)
	want(t, "with a bare null version", fires(c, both), []string{kept, kept})

	d := versions(version(aged(5), isMarker), version(aged(9), demoted(aged(5))))
	want(t, "with an old version", fires(d, both), []string{kept, stale})
	d.Remove(1)
	want(t, "once that is gone", fires(d, both), []string{orphaned})
	d.Remove(0)
	want(t, "third pass", fires(d, both), []string{})
}

func TestScenario26_SuspendedVersioning(t *testing.T) {
	r := rule(expire(7))

	null := entry("k", aged(10), extended(s3_constants.ExtVersionIdKey, "null"))
	v1 := version(aged(20), demoted(aged(10)))
	k := engine.NewGroup("b", "k", folder(nullIsLatest), []engine.Entry{v1}, &null)
	want(t, "null version current", fires(k, r), []string{expired, kept})
	if got := k.Objects[0].RequestVersion(engine.ExpirationDays); got != "null" {
		t.Errorf("request version is %q, want null", got)
	}
	k.Demote(scenarioNow, engine.Suspended)
	want(t, "after the null marker", fires(k, r), []string{kept})
	if o := k.Objects[0]; o.VersionID != v1.VersionID() || o.Rank != 0 || o.Versions != 2 || !o.SuccessorAt.Equal(scenarioNow) {
		t.Errorf("after the null marker: %+v, want v1 at rank 0 of 2 versions, behind a marker of now", o)
	}

	v5 := version(aged(10))
	m := engine.NewGroup("b", "k", pointing(v5), []engine.Entry{v5}, nil)
	want(t, "version with an ID current", fires(m, r), []string{expired})
	if got := m.Objects[0].RequestVersion(engine.ExpirationDays); got != v5.VersionID() {
		t.Errorf("request version is %q, want %q", got, v5.VersionID())
	}
	m.Demote(scenarioNow, engine.Suspended)
	want(t, "after the marker", fires(m, r), []string{kept})
	if len(m.Objects) != 1 || m.Objects[0].Rank != 0 {
		t.Errorf("after the marker: %+v, want v5 kept at rank 0", m.Objects)
	}
}

func TestScenario27_BareNullVersion(t *testing.T) {
	bare := entry("k", aged(100))
	v1 := version(aged(50))
	g := engine.NewGroup("b", "k", pointing(v1), []engine.Entry{v1}, &bare)
	if len(g.Objects) != 2 || g.Objects[1].VersionID != "null" {
		t.Fatalf("group is %+v, want v1 and null once each", g.Objects)
	}
	want(t, "NoncurrentDays=30", fires(g, rule(noncurrent(30))), []string{kept, stale})
	v := engine.Judge(only(t, rule(noncurrent(30))), &g.Objects[1], scenarioNow, engine.ExactClock)
	if !v.Clock.Equal(aged(50)) {
		t.Errorf("clock is %v, want that of v1, %v", v.Clock, aged(50))
	}
	want(t, "Days=7", fires(g, rule(expire(7))), []string{expired, kept})
}

func TestScenario31_OnlyAbortAppliesToUploads(t *testing.T) {
	r := rule(expire(1), noncurrent(1), newer(1), abort(7), marker)
	count := rule(newer(1))
	for age, want := range map[float64]string{3: "", 6.999: "", 7: unstarted, 30: unstarted} {
		e := entry("u1", aged(age), nature(engine.Folder), extended(s3_constants.ExtMultipartObjectKey, "video/a"))
		o, ok := engine.NewUpload("b", &e)
		if !ok {
			t.Fatal("no upload")
		}
		got := ""
		if a, _, ok := engine.FirstDue(actions(r, count), &o, scenarioNow, engine.ExactClock); ok {
			got = a.Kind.String()
		}
		if got != want {
			t.Errorf("age %v days: fires %q, want %q", age, got, want)
		}
	}
	if got := firing(plain("x", aged(90)), rule(abort(7))); got != "" {
		t.Error("an abort rule fired on an object")
	}
}

func TestScenario29_UploadsByTargetKey(t *testing.T) {
	r := rule(id("R"), prefix("video/"), abort(7))
	for target, want := range map[string]string{"video/a": "R", "docs/b": ""} {
		e := entry("u", aged(10), nature(engine.Folder), extended(s3_constants.ExtMultipartObjectKey, target))
		o, _ := engine.NewUpload("b", &e)
		if got := firing(&o, r); got != want {
			t.Errorf("target %q: fires %q, want %q", target, got, want)
		}
		if o.Path != ".uploads/u" || o.RequestVersion(engine.AbortMPU) != "" {
			t.Errorf("request goes to %q version %q, want .uploads/u and none", o.Path, o.RequestVersion(engine.AbortMPU))
		}
	}
}

func TestScenario32_LockedCurrentVersion(t *testing.T) {
	g := versions(version(aged(10), retained("COMPLIANCE", scenarioNow.Add(20*engine.Day()))))
	v := engine.Evaluate(only(t, rule(expire(7))), &g.Objects[0], scenarioNow, engine.ExactClock)
	if !v.Fires || !v.Locked {
		t.Errorf("fires %v, locked %v, want both", v.Fires, v.Locked)
	}
	c, ok := check(v, "lock")
	if !ok || c.OK || c.Have != "COMPLIANCE until 2030-07-05T12:00:00Z" {
		t.Errorf("lock check is %+v, want a failed one with mode and end", c)
	}
}

func TestScenario33_LockBoundaries(t *testing.T) {
	r := rule(noncurrent(30))
	for _, tc := range []struct {
		name string
		lock []func(*engine.Entry)
		want bool
	}{
		{"governance until tomorrow", []func(*engine.Entry){retained("GOVERNANCE", scenarioNow.Add(engine.Day()))}, true},
		{"compliance for another second", []func(*engine.Entry){retained("COMPLIANCE", scenarioNow.Add(time.Second))}, true},
		{"compliance until now", []func(*engine.Entry){retained("COMPLIANCE", scenarioNow)}, false},
		{"compliance until a second ago", []func(*engine.Entry){retained("COMPLIANCE", scenarioNow.Add(-time.Second))}, false},
		{"over, but held", []func(*engine.Entry){retained("GOVERNANCE", aged(1)), held}, true},
		{"held", []func(*engine.Entry){held}, true},
		{"hold lifted", []func(*engine.Entry){extended(s3_constants.ExtLegalHoldKey, "OFF")}, false},
		{"no mode", []func(*engine.Entry){retained("", scenarioNow.Add(engine.Day()))}, true},
		{"mode alone", []func(*engine.Entry){extended(s3_constants.ExtObjectLockModeKey, "COMPLIANCE")}, false},
		{"unreadable", []func(*engine.Entry){extended(s3_constants.ExtRetentionUntilDateKey, "tomorrow")}, true},
		{"empty", []func(*engine.Entry){extended(s3_constants.ExtRetentionUntilDateKey, "")}, true},
		{"none", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := versions(version(aged(60)), version(aged(90), append(tc.lock, demoted(aged(60)))...))
			v := engine.Evaluate(only(t, r), &g.Objects[1], scenarioNow, engine.ExactClock)
			if !v.Fires || v.Locked != tc.want {
				t.Errorf("fires %v, locked %v, want true and %v", v.Fires, v.Locked, tc.want)
			}
			if c, _ := check(v, "lock"); c.OK == tc.want || strings.HasPrefix(c.Have, " ") {
				t.Errorf("lock check is %+v", c)
			}
		})
	}
}
