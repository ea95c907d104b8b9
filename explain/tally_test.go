package explain_test

import (
	"encoding/json"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

// add counts an object for the single action of a rule.
func add(t *testing.T, tally *explain.Tally, b engine.Bucket, r *engine.Rule, o engine.Object) {
	t.Helper()
	acts := compiled(b, r)
	if len(acts) != 1 {
		t.Fatalf("rule compiles to %d actions, want 1", len(acts))
	}
	effect := explain.EffectOf(acts[0].Kind, b.Versioning)
	if o.Lock.Locked(scenarioNow) {
		effect = explain.SkipLock
	}
	tally.Add(b, acts[0], &o, effect)
}

func TestScenario41_DeletedIsNotFreed(t *testing.T) {
	tally := explain.NewTally()
	r := rule(id("r"), expire(7))
	add(t, tally, bucket(engine.Unversioned), r, plain("a", aged(9), withSize(100)))
	versioned := engine.Bucket{Name: "v", Versioning: engine.Enabled}
	add(t, tally, versioned, r, plain("b", aged(9), withSize(200)))
	add(t, tally, bucket(engine.Unversioned), r, plain("c", aged(9), withSize(300), withTTL(9*engine.Day())))

	sum := tally.Total()
	if sum.HiddenBytes != 200 || sum.RemovedBytes != 400 || sum.TTLBytes != 300 {
		t.Errorf("hidden %d, removed %d, left to a TTL %d; want 200, 400, 300", sum.HiddenBytes, sum.RemovedBytes, sum.TTLBytes)
	}
	equal(t, "lines", sum.Lines(), []string{
		"Removed: 2 objects, 400 bytes, of which 300 are left to a volume TTL.",
		"Hidden by delete markers: 1 object, 200 bytes, which stay as noncurrent versions.",
		"Vacuuming the volumes returns the space of what is removed.",
	})
}

func TestTallyOfEachEffect(t *testing.T) {
	suspended := bucket(engine.Suspended)
	versioned := bucket(engine.Enabled)
	null := func(o *engine.Object) { o.VersionID = "null" }
	own := func(o *engine.Object) { o.VersionID = "v1" }
	deleteMarker := func(o *engine.Object) { o.DeleteMarker = true }
	for _, c := range []struct {
		name  string
		b     engine.Bucket
		r     *engine.Rule
		o     engine.Object
		want  explain.Counts
		lines []string
	}{
		{"null version of a suspended bucket", suspended, rule(expire(1)), plain("k", aged(2), withSize(7), null),
			explain.Counts{Objects: 1, RemovedBytes: 7}, []string{
				"Removed: 1 object, 7 bytes.", "Vacuuming the volumes returns the space of what is removed.",
			}},
		{"version of a suspended bucket", suspended, rule(expire(1)), plain("k", aged(2), withSize(7), own),
			explain.Counts{Objects: 1, HiddenObjects: 1, HiddenBytes: 7}, []string{
				"Hidden by delete markers: 1 object, 7 bytes, which stay as noncurrent versions.",
			}},
		{"null version of an enabled bucket", versioned, rule(expire(1)), plain("k", aged(2), withSize(7), null),
			explain.Counts{Objects: 1, HiddenObjects: 1, HiddenBytes: 7}, []string{
				"Hidden by delete markers: 1 object, 7 bytes, which stay as noncurrent versions.",
			}},
		{"noncurrent version", versioned, rule(noncurrent(1)), plain("k", aged(2), withSize(1234), own, withTTL(time.Hour)),
			explain.Counts{Versions: 1, RemovedBytes: 1234, TTLBytes: 1234}, []string{
				"Removed: 1 noncurrent version, 1,234 bytes, of which 1,234 are left to a volume TTL.",
			}},
		{"noncurrent delete marker", versioned, rule(newer(1)), plain("k", aged(2), own, deleteMarker),
			explain.Counts{Markers: 1}, []string{"Removed: 1 delete marker, 0 bytes."}},
		{"lone delete marker", versioned, rule(marker), plain("k", aged(2), own, deleteMarker),
			explain.Counts{Markers: 1}, []string{"Removed: 1 delete marker, 0 bytes."}},
		{"upload", versioned, rule(abort(1)), plain("k", aged(2)),
			explain.Counts{Uploads: 1}, []string{"Removed: 1 unfinished upload, 0 bytes."}},
		{"locked", versioned, rule(expire(1)), plain("k", aged(2), withSize(1), withLock(engine.Lock{LegalHold: true})),
			explain.Counts{Locked: 1, LockedBytes: 1}, []string{"Skipped for a lock: 1, 1 byte."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tally := explain.NewTally()
			add(t, tally, c.b, c.r, c.o)
			got := tally.Total()
			if got != c.want {
				t.Errorf("counts are %+v, want %+v", got, c.want)
			}
			equal(t, "lines", got.Lines(), c.lines)
		})
	}
}

func TestTallyRows(t *testing.T) {
	tally := explain.NewTally()
	rules := numbered(rule(id("one"), expire(1)), rule(noncurrent(1)))
	for _, name := range []string{"z", "a"} {
		b := engine.Bucket{Name: name, Versioning: engine.Enabled}
		add(t, tally, b, rules[1], plain("k", aged(2), withSize(3)))
		add(t, tally, b, rules[0], plain("k", aged(2), withSize(3)))
		add(t, tally, b, rules[0], plain("k", aged(2), withSize(4)))
	}
	tally.Add(bucket(0), compiled(bucket(0), rules[0])[0], &engine.Object{Size: 9}, explain.Keep)
	rows := tally.Rows()
	var names []string
	for _, row := range rows {
		names = append(names, row.Bucket+" "+row.RuleID)
	}
	equal(t, "rows", names, []string{"a one", "a " + rules[1].Label(), "z one", "z " + rules[1].Label()})
	doc, err := json.Marshal(rows[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"bucket":"a","rule_id":"one","rule_hash":"` + rules[0].Hash().String() + `","number":1,` +
		`"objects":2,"hidden_objects":2,"hidden_bytes":7,"versions":0,"markers":0,"uploads":0,` +
		`"removed_bytes":0,"ttl_bytes":0,"locked":0,"locked_bytes":0}`
	if string(doc) != want {
		t.Errorf("got  %s\nwant %s", doc, want)
	}
	if sum := tally.Total(); sum.Versions != 2 || sum.HiddenBytes != 14 || sum.RemovedBytes != 6 {
		t.Errorf("total is %+v", sum)
	}
}

func TestForecast(t *testing.T) {
	b := bucket(engine.Unversioned)
	f := explain.NewForecast(scenarioNow, 3) // 15, 16 and 17 June
	act := compiled(b, rule(expire(7)))[0]
	midnight := func(day int) time.Time { return time.Date(2030, 6, day, 0, 0, 0, 0, time.UTC) }
	for i, due := range []time.Time{
		scenarioNow.Add(-time.Hour), scenarioNow, // due
		scenarioNow.Add(1), midnight(16).Add(-1), // the 15th
		midnight(16), midnight(17).Add(-1), // the 16th
		midnight(17),                                  // the 17th
		midnight(18), midnight(18).AddDate(500, 0, 0), // later
	} {
		o := plain("k", aged(1), withSize(1<<i))
		f.Add(b, act, &o, due)
	}
	locked := plain("k", aged(1), withSize(1<<20), withLock(engine.Lock{RetainUntil: midnight(17)}))
	f.Add(b, act, &locked, midnight(16)) // counts for the 17th
	held := plain("k", aged(1), withSize(1<<21), withLock(engine.Lock{LegalHold: true}))
	f.Add(b, act, &held, midnight(16))

	r := f.Report()
	got := map[string]int64{"now": r.Now.RemovedBytes, "later": r.Later.RemovedBytes, "never": r.Never.RemovedBytes}
	for _, d := range r.Days {
		got[d.Date] = d.RemovedBytes
	}
	want := map[string]int64{
		"now": 1 + 2, "2030-06-15": 4 + 8, "2030-06-16": 16 + 32, "2030-06-17": 64 + 1<<20, "later": 128 + 256, "never": 1 << 21,
	}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for day, bytes := range want {
		if got[day] != bytes {
			t.Errorf("%s: %d bytes, want %d", day, got[day], bytes)
		}
	}
	if r.Now.Objects != 2 || r.Days[1].Objects != 2 {
		t.Errorf("objects: %d now, %d on the 16th", r.Now.Objects, r.Days[1].Objects)
	}
	f.Add(b, act, &held, midnight(16))
	if r.Never.Objects != 1 {
		t.Error("a report changes after it was made")
	}
}

func TestForecastWithoutDays(t *testing.T) {
	b := bucket(engine.Enabled)
	act := compiled(b, rule(noncurrent(7)))[0]
	for _, n := range []int{0, -1} {
		f := explain.NewForecast(scenarioNow, n)
		o := plain("k", aged(1))
		f.Add(b, act, &o, scenarioNow.Add(time.Hour))
		if r := f.Report(); len(r.Days) != 0 || r.Later.Versions != 1 {
			t.Errorf("%d days: %+v", n, r)
		}
	}
}
