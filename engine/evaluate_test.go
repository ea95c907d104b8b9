package engine_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// oneOfEach is, for every kind, a rule and an object that it takes with a clock
// of c.
func oneOfEach(c time.Time) map[engine.Kind]struct {
	rule   *engine.Rule
	object *engine.Object
} {
	upload := entry("u", c, nature(engine.Folder), extended(s3_constants.ExtMultipartObjectKey, "x"))
	u, _ := engine.NewUpload("b", &upload)
	lone := versions(version(c, isMarker))
	old := versions(version(c), version(c.Add(-time.Hour)))
	return map[engine.Kind]struct {
		rule   *engine.Rule
		object *engine.Object
	}{
		engine.ExpirationDays:      {rule(expire(2)), plain("x", c)},
		engine.ExpirationDate:      {rule(date(c.Add(2 * engine.Day()))), plain("x", c)},
		engine.NoncurrentDays:      {rule(noncurrent(2)), &old.Objects[1]},
		engine.NewerNoncurrent:     {rule(newer(1)), surplusVersion(c)},
		engine.AbortMPU:            {rule(abort(2)), &u},
		engine.ExpiredDeleteMarker: {rule(marker), &lone.Objects[0]},
	}
}

func surplusVersion(c time.Time) *engine.Object {
	g := versions(version(c.Add(time.Hour)), version(c), version(c.Add(-time.Hour)))
	return &g.Objects[2]
}

func TestDueIsTheFirstInstant(t *testing.T) {
	clock := time.Date(2030, 2, 27, 23, 59, 59, 999_999_999, time.UTC)
	for kind, c := range oneOfEach(clock) {
		t.Run(kind.String(), func(t *testing.T) {
			a := only(t, c.rule)
			if a.Kind != kind {
				t.Fatalf("rule compiles to %v", a.Kind)
			}
			due := clock.Add(a.Delay)
			if kind == engine.ExpirationDate {
				due = c.rule.ExpirationDate
			}
			for _, tc := range []struct {
				at    time.Time
				fires bool
			}{{due.Add(-1), false}, {due, true}, {due.Add(1), true}} {
				v := engine.Judge(a, c.object, tc.at, engine.ExactClock)
				timed := a.IsReplayKind() || kind == engine.ExpirationDate
				if want := tc.fires || !timed; v.Fires != want || !v.Matches {
					t.Errorf("at due%+d: fires %v, matches %v, want %v and true", tc.at.Sub(due), v.Fires, v.Matches, want)
				}
				if timed && !v.Due.Equal(due) {
					t.Errorf("due at %v, want %v", v.Due, due)
				}
				if v.Due.After(tc.at) && v.Fires {
					t.Errorf("fires at %v, before it is due at %v", tc.at, v.Due)
				}
			}
		})
	}
}

func TestMidnightClock(t *testing.T) {
	for _, tc := range []struct {
		modified string
		days     int
		want     string
	}{
		{"2030-06-10T08:00:00Z", 5, "2030-06-16T00:00:00Z"},
		{"2030-06-10T08:00:00Z", 30, "2030-07-11T00:00:00Z"},
		{"2030-06-10T00:00:00Z", 5, "2030-06-15T00:00:00Z"},
		{"2030-06-10T00:00:00.000000001Z", 5, "2030-06-16T00:00:00Z"},
		{"2030-06-09T23:59:59.999999999Z", 5, "2030-06-15T00:00:00Z"},
		{"2030-06-10T02:00:00+02:00", 5, "2030-06-15T00:00:00Z"},
		{"2032-02-28T12:00:00Z", 1, "2032-03-01T00:00:00Z"},
		{"1960-01-01T12:00:00Z", 1, "1960-01-03T00:00:00Z"},
	} {
		modified, err := time.Parse(time.RFC3339Nano, tc.modified)
		if err != nil {
			t.Fatal(err)
		}
		want, err := time.Parse(time.RFC3339Nano, tc.want)
		if err != nil {
			t.Fatal(err)
		}
		a := only(t, rule(expire(tc.days)))
		v := engine.Judge(a, plain("x", modified), want.Add(-1), engine.MidnightClock)
		if !v.Due.Equal(want) || v.Fires || !v.Clock.Equal(modified) {
			t.Errorf("%s + %d days: due %v, fires a nanosecond earlier %v, want %v, false", tc.modified, tc.days, v.Due, v.Fires, want)
		}
		if v := engine.Judge(a, plain("x", modified), want, engine.MidnightClock); !v.Fires {
			t.Errorf("%s + %d days: does not fire at %v", tc.modified, tc.days, want)
		}
	}
}

func TestMidnightClockLeavesKindsWithoutDelay(t *testing.T) {
	for _, kind := range []engine.Kind{engine.NewerNoncurrent, engine.ExpiredDeleteMarker} {
		c := oneOfEach(scenarioNow)[kind]
		if v := engine.Judge(only(t, c.rule), c.object, scenarioNow, engine.MidnightClock); !v.Fires || !v.Due.Equal(scenarioNow) {
			t.Errorf("%v: fires %v, due %v, want true at once", kind, v.Fires, v.Due)
		}
	}
}

func TestRankBoundary(t *testing.T) {
	for _, r := range []*engine.Rule{rule(newer(2)), rule(noncurrent(1), newer(2))} {
		a := only(t, r)
		for rank, want := range map[int]bool{engine.RankUnknown: false, 0: false, 1: false, 2: true, 3: true} {
			o := engine.Object{Bucket: "b", Key: "k", VersionID: "v", ModTime: aged(9), Rank: rank}
			if v := engine.Judge(a, &o, scenarioNow, engine.ExactClock); v.Fires != want || v.Matches != want {
				t.Errorf("%v, rank %d: fires %v, matches %v, want %v", a.Kind, rank, v.Fires, v.Matches, want)
			}
		}
	}
}

func TestUnknownStateIsKept(t *testing.T) {
	everything := rule(expire(1), noncurrent(1), marker)
	for _, tc := range []struct {
		name   string
		object engine.Object
	}{
		{"neither current nor ranked", engine.Object{Rank: engine.RankUnknown, ModTime: aged(9), VersionID: "v"}},
		{"marker among an unknown number", engine.Object{Latest: true, DeleteMarker: true, Rank: engine.RankUnknown, ModTime: aged(9), VersionID: "v"}},
		{"no mtime", engine.Object{Latest: true, Rank: engine.RankUnknown, Versions: 1}},
		{"noncurrent without mtime", engine.Object{Rank: 3, SuccessorAt: aged(9), VersionID: "v"}},
	} {
		if got := firing(&tc.object, everything, rule(newer(1)), rule(date(aged(1)))); got != "" {
			t.Errorf("%s: fires %q", tc.name, got)
		}
	}
}

func TestEvaluateRecordsEveryCheckInOrder(t *testing.T) {
	o := plain("logs/x", aged(1), size(10), tagged("b", "2", "a", "0"))
	r := rule(disabled, prefix("tmp/"), tags("b", "2", "a", "1", "c", ""), above(100), below(5), expire(7))
	src := engine.Source{Bucket: engine.Bucket{Name: "b"}, Rules: []*engine.Rule{r}}
	a := engine.New().Compile([]engine.Source{src}).Actions()[0]
	v := engine.Evaluate(a, o, scenarioNow, engine.ExactClock)
	want := []engine.Check{
		{Name: "status", OK: false, Want: "Enabled", Have: "Disabled"},
		{Name: "prefix", OK: false, Want: "tmp/", Have: "logs/x"},
		{Name: "tag", OK: false, Want: "a=1", Have: "a=0"},
		{Name: "tag", OK: true, Want: "b=2", Have: "b=2"},
		{Name: "tag", OK: false, Want: "c=", Have: "absent"},
		{Name: "size_greater_than", OK: false, Want: "100", Have: "10"},
		{Name: "size_less_than", OK: false, Want: "5", Have: "10"},
		{Name: "current", OK: true, Want: "current", Have: "current"},
		{Name: "delete_marker", OK: true, Want: "object", Have: "object"},
		{Name: "due", OK: false, Want: "2030-06-21T12:00:00Z", Have: "2030-06-15T12:00:00Z"},
		{Name: "lock", OK: true, Want: "unlocked", Have: "unlocked"},
	}
	if !reflect.DeepEqual(v.Checks, want) {
		t.Errorf("checks are\n%v\nwant\n%v", v.Checks, want)
	}
	if v.Fires || v.Matches || !v.Due.IsZero() || !v.Clock.IsZero() {
		t.Errorf("verdict is %+v, want nothing fired, matched or due", v)
	}
}

func TestEvaluateChecksOfEachKind(t *testing.T) {
	names := func(v engine.Verdict) []string {
		var out []string
		for _, c := range v.Checks {
			if c.Name != "status" && c.Name != "prefix" {
				out = append(out, c.Name)
			}
		}
		return out
	}
	for kind, want := range map[engine.Kind][]string{
		engine.ExpirationDays:      {"current", "delete_marker", "due", "lock"},
		engine.ExpirationDate:      {"current", "delete_marker", "due", "lock"},
		engine.NoncurrentDays:      {"noncurrent", "due", "lock"},
		engine.NewerNoncurrent:     {"noncurrent", "rank", "due", "lock"},
		engine.AbortMPU:            {"upload", "due"},
		engine.ExpiredDeleteMarker: {"current", "delete_marker", "sole_survivor", "due", "lock"},
	} {
		c := oneOfEach(aged(9))[kind]
		v := engine.Evaluate(only(t, c.rule), c.object, scenarioNow, engine.ExactClock)
		if got := names(v); !slices.Equal(got, want) || !v.Fires {
			t.Errorf("%v: checks %q, fires %v, want %q, true", kind, got, v.Fires, want)
		}
	}
}

func TestDueUnderAny(t *testing.T) {
	stray := rule(tags("never", "there"), expire(2))
	old := engine.Object{Bucket: "b", Key: "k", VersionID: "v", ModTime: aged(9), Rank: 0}
	withStamp := old
	withStamp.DemotedAt, withStamp.SuccessorAt = aged(5), aged(4)
	deleted := old
	deleted.DeleteMarker = true
	upload := engine.Object{Bucket: "b", Key: "k", UploadID: "u", ModTime: aged(9), Rank: engine.RankUnknown}

	for _, tc := range []struct {
		name   string
		rule   *engine.Rule
		object *engine.Object
		want   time.Time // zero: never
	}{
		{"tags are ignored", stray, plain("k", aged(9)), aged(7)},
		{"a noncurrent version may be promoted", rule(expire(2)), &old, aged(7)},
		{"rank is ignored", rule(noncurrent(2), newer(50)), &old, aged(7)},
		{"a noncurrent version has its own clock", rule(noncurrent(2)), &withStamp, aged(2)},
		{"a marker is no object", rule(expire(2)), &deleted, time.Time{}},
		{"a marker is a version", rule(noncurrent(2)), &deleted, aged(7)},
		{"without versions nothing is noncurrent", rule(noncurrent(2)), plain("k", aged(9)), time.Time{}},
		{"a date", rule(date(aged(-3))), plain("k", aged(9)), aged(-3)},
		{"an upload", rule(abort(2)), &upload, aged(7)},
		{"an upload is no object", rule(expire(2)), &upload, time.Time{}},
		{"an upload is no version", rule(noncurrent(2)), &upload, time.Time{}},
		{"an object is no upload", rule(abort(2)), plain("k", aged(9)), time.Time{}},
		{"count alone has no time", rule(newer(1)), &old, time.Time{}},
		{"a marker rule has no time", rule(marker), &deleted, time.Time{}},
		{"another prefix", rule(prefix("x"), expire(2)), plain("k", aged(9)), time.Time{}},
		{"too small", rule(above(0), expire(2)), plain("k", aged(9)), time.Time{}},
		{"too big", rule(below(7), expire(2)), plain("k", aged(9), size(7)), time.Time{}},
		{"no mtime", rule(expire(2)), &engine.Object{Key: "k", Latest: true}, time.Time{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			due, ok := engine.DueUnderAny(only(t, tc.rule), tc.object, engine.ExactClock)
			if ok == tc.want.IsZero() || !due.Equal(tc.want) {
				t.Errorf("due %v, %v, want %v", due, ok, tc.want)
			}
		})
	}

	r := rule(expire(2))
	a := only(t, r)
	due, _ := engine.DueUnderAny(a, plain("k", aged(9)), engine.MidnightClock)
	if want := time.Date(2030, 6, 9, 0, 0, 0, 0, time.UTC); !due.Equal(want) {
		t.Errorf("midnight clock: due %v, want %v", due, want)
	}
	off := *a
	off.Rule = rule(disabled, expire(2))
	if _, ok := engine.DueUnderAny(&off, plain("k", aged(9)), engine.ExactClock); ok {
		t.Error("a disabled rule has a due time")
	}
}

func TestFirstDueBreaksTies(t *testing.T) {
	o := plain("k", aged(9))
	sameDue := date(aged(7))
	for _, rules := range [][]*engine.Rule{
		{rule(id("days"), expire(2)), rule(id("date"), sameDue)},
		{rule(id("date"), sameDue), rule(id("days"), expire(2))},
	} {
		if got := firing(o, rules...); got != "days" {
			t.Errorf("fires %q, want days: its kind comes first", got)
		}
	}
	twice := []*engine.Rule{rule(id("first"), expire(2)), rule(id("second"), expire(2))}
	if got := firing(o, twice...); got != "first" {
		t.Errorf("fires %q, want the first of two alike", got)
	}
	if got := firing(o, rule(id("late"), expire(3)), rule(id("date"), sameDue)); got != "date" {
		t.Errorf("fires %q, want date: it was due earlier", got)
	}
	if _, _, ok := engine.FirstDue(nil, o, scenarioNow, engine.ExactClock); ok {
		t.Error("fires without actions")
	}
	if !slices.IsSorted(engine.Kinds()) {
		t.Error("Kinds is not in the order of the kinds' values, by which FirstDue breaks ties")
	}
}

func TestNextDueLooksAhead(t *testing.T) {
	o := plain("k", aged(3))
	next := func(rules ...*engine.Rule) (string, engine.Verdict) {
		a, v, ok := engine.NextDue(actions(rules...), o, scenarioNow, engine.ExactClock)
		if !ok {
			return "", v
		}
		return a.Rule.Label(), v
	}
	off := rule(id("off"), expire(1))
	off.Enabled = false
	got, v := next(rule(id("late"), expire(30)), rule(id("soon"), prefix("k"), expire(10)), rule(id("other"), prefix("x"), expire(1)), off)
	if got != "soon" || !v.Due.Equal(scenarioNow.Add(7*engine.Day())) || v.Fires {
		t.Errorf("next is %q, %+v", got, v)
	}
	if got, _ := next(rule(id("date"), date(scenarioNow.Add(7*engine.Day()))), rule(id("days"), expire(10))); got != "days" {
		t.Errorf("of two due together %q is next, want the one by days", got)
	}
	if got, _ := next(rule(id("over"), expire(1)), rule(id("soon"), expire(10))); got != "over" {
		t.Errorf("next is %q, want the one that is due already", got)
	}
	if got, _ := next(rule(prefix("x"), expire(1))); got != "" {
		t.Errorf("%q is next, and does not select the object", got)
	}
}

func TestJudgeDoesNotAllocate(t *testing.T) {
	for kind, c := range oneOfEach(aged(9)) {
		c.rule.Tags = map[string]string{"a": "1", "b": "2"}
		c.object.Tags = map[string]string{"a": "1", "b": "2"}
		a := only(t, c.rule)
		if !engine.Judge(a, c.object, scenarioNow, engine.MidnightClock).Fires {
			t.Fatalf("%v does not fire", kind)
		}
		if n := testing.AllocsPerRun(100, func() {
			engine.Judge(a, c.object, scenarioNow, engine.MidnightClock)
		}); n != 0 {
			t.Errorf("%v: %v allocations, want none", kind, n)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	for _, bm := range []struct {
		name string
		rule *engine.Rule
	}{
		{"fires", rule(prefix("logs/"), expire(7))},
		{"tags and sizes", rule(prefix("logs/"), tags("a", "1", "b", "2"), above(1), below(100), expire(7))},
		{"other prefix", rule(prefix("tmp/"), expire(7))},
	} {
		b.Run(bm.name, func(b *testing.B) {
			a := only(b, bm.rule)
			o := plain("logs/2030/06/15/app.log", aged(9), size(10), tagged("a", "1", "b", "2"))
			b.ReportAllocs()
			for b.Loop() {
				engine.Judge(a, o, scenarioNow, engine.ExactClock)
			}
		})
	}
}
