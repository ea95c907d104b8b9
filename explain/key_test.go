package explain_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

// ruleWords are the lines of a key's only version.
func ruleWords(e explain.KeyExplanation) []string {
	var out []string
	for _, r := range e.Versions[0].Rules {
		out = append(out, r.Words)
	}
	return out
}

func TestScenario51_WhyAnObjectDoesOrDoesNotExpire(t *testing.T) {
	b := bucket(engine.Unversioned)
	r := rule(id("r"), prefix("logs/"), tagged("t", "1"), expire(7))
	a := lone(plain("logs/a", aged(3), withTags("t", "1")))
	for _, c := range []struct {
		name    string
		g       engine.Group
		r       *engine.Rule
		now     time.Time
		clock   engine.DayClock
		words   string
		verdict string
	}{
		{"matches", a, r, scenarioNow, engine.ExactClock,
			"r: matches, due in 4d (5d on the midnight clock at most)", "keep: 4d left, r"},
		{"matches, midnight clock", a, r, scenarioNow, engine.MidnightClock,
			"r: matches, due in 4d12h (on the midnight clock)", "keep: 4d12h left, r"},
		{"tag absent", lone(plain("logs/b", aged(30))), r, scenarioNow, engine.ExactClock,
			"r: no, tag t: want 1, object has none", "keep: no rule selects it"},
		{"other value", lone(plain("logs/b", aged(30), withTags("t", "a b"))), r, scenarioNow, engine.ExactClock,
			`r: no, tag t: want 1, object has "a b"`, "keep: no rule selects it"},
		{"prefix", lone(plain("log/b", aged(30), withTags("t", "1"))), r, scenarioNow, engine.ExactClock,
			`r: no, prefix: want "logs/", key is "log/b"`, "keep: no rule selects it"},
		{"ten days on", a, r, scenarioNow.Add(10 * engine.Day()), engine.ExactClock,
			"r: matches, due since 2030-06-19T12:00:00Z, 6d ago", "expire: by r, due since 2030-06-19T12:00:00Z"},
		{"a nanosecond before", a, r, scenarioNow.Add(4*engine.Day() - 1), engine.ExactClock,
			"r: matches, due in less than 1s (1d on the midnight clock at most)", "keep: 0s left, r"},
		{"on time", a, r, scenarioNow.Add(4 * engine.Day()), engine.ExactClock,
			"r: matches, due since 2030-06-19T12:00:00Z, just now", "expire: by r, due since 2030-06-19T12:00:00Z"},
		{"due at midnight on either clock", lone(plain("k", aged(3.5))), rule(id("r"), expire(7)), scenarioNow, engine.ExactClock,
			"r: matches, due in 3d12h", "keep: 3d12h left, r"},
		{"disabled", a, rule(id("r"), expire(1), disabled), scenarioNow, engine.ExactClock,
			"r: no, status: want Enabled, rule is Disabled", "keep: no rule selects it"},
		{"too small", lone(plain("k", aged(3), withSize(1000))), rule(id("r"), expire(1), above(1000)), scenarioNow, engine.ExactClock,
			"r: no, size: want more than 1,000 bytes, object has 1,000 bytes", "keep: no rule selects it"},
		{"too large", lone(plain("k", aged(3), withSize(2000))), rule(id("r"), expire(1), below(2000)), scenarioNow, engine.ExactClock,
			"r: no, size: want less than 2,000 bytes, object has 2,000 bytes", "keep: no rule selects it"},
		{"date", a, rule(id("new year"), date(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))), scenarioNow, engine.ExactClock,
			`"new year": matches, due in 199d12h`, `keep: 199d12h left, "new year"`},
		{"an upload rule", a, rule(id("r"), abort(1)), scenarioNow, engine.ExactClock,
			"r: no, kind: want an upload, this is an object", "keep: no rule selects it"},
		{"a noncurrent rule", a, rule(id("r"), noncurrent(1)), scenarioNow, engine.ExactClock,
			"r: no, noncurrent: want a noncurrent version, this one is current", "keep: no rule selects it"},
		{"a marker rule", a, rule(id("r"), marker), scenarioNow, engine.ExactClock,
			"r: no, delete marker: want a delete marker, this is an object", "keep: no rule selects it"},
		{"no attributes", lone(plain("k", time.Time{})), rule(id("r"), expire(1)), scenarioNow, engine.ExactClock,
			"r: no, due: want a modification time, the entry has none", "keep: the entry has no attributes"},
		{"no action", a, rule(id("r"), unsupported("Transition")), scenarioNow, engine.ExactClock,
			"r: no, it has no action that SeaweedFS carries out", "keep: no rule selects it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := explain.Key(explain.KeyInput{Bucket: b, Group: c.g, Rules: []*engine.Rule{c.r}, Now: c.now, DayClock: c.clock})
			equal(t, "rules", ruleWords(e), []string{c.words})
			equal(t, "verdicts", verdicts(e), []string{c.verdict})
		})
	}
}

// The sign that joins a tag may be part of either side.
func TestTagsWithEqualsSigns(t *testing.T) {
	r := rule(id("r"), tagged("a=b", "c", "k", "v=w"), expire(1))
	e := key(bucket(engine.Unversioned), lone(plain("k", aged(3), withTags("a=b", "d", "k", "v=w"))), r)
	var got []string
	for _, c := range e.Versions[0].Rules[0].Checks {
		if c.Name == "tag" {
			got = append(got, c.Words)
		}
	}
	equal(t, "tags", got, []string{"tag a=b: want c, object has d", "tag k: want v=w, object has v=w"})
}

// Each action of a rule has a line of its own, in the order of the document.
func TestKeyNamesEveryRule(t *testing.T) {
	rules := numbered(rule(id("z"), expire(9), noncurrent(1)), rule(id("a"), prefix("x"), expire(1)), rule(id("off"), expire(1), disabled))
	e := key(bucket(engine.Unversioned), lone(plain("k", aged(3))), rules...)
	equal(t, "rules", ruleWords(e), []string{
		"z (expiration_days): matches, due in 6d (7d on the midnight clock at most)",
		"z (noncurrent_days): no, noncurrent: want a noncurrent version, this one is current",
		`a: no, prefix: want "x", key is "k"`,
		"off: no, status: want Enabled, rule is Disabled",
	})
}

func TestScenario12_ServerTTLOverridesTheRule(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		ttl    time.Duration
		r      *engine.Rule
		key    string
		words  string
		before bool
	}{
		{"shorter than the rule", 3 * day, rule(prefix("img/"), expire(30)), "img/a",
			"a TTL of 3d is stamped on it: the server drops it at 2030-06-16T12:00:00Z, in 1d, whatever the rules say: sooner than the rule, which is due 2030-07-13T12:00:00Z", true},
		{"as long as the rule", 30 * day, rule(prefix("img/"), expire(30)), "img/a",
			"a TTL of 30d is stamped on it: the server drops it at 2030-07-13T12:00:00Z, in 28d; the rule is due before that, at 2030-07-13T12:00:00Z, and leaves its data to the TTL", false},
		{"longer than the rule", 30 * day, rule(prefix("img/"), expire(4)), "img/a",
			"a TTL of 30d is stamped on it: the server drops it at 2030-07-13T12:00:00Z, in 28d; the rule is due before that, at 2030-06-17T12:00:00Z, and leaves its data to the TTL", false},
		{"no rule", 3 * day, rule(prefix("doc/"), expire(30)), "img/a",
			"a TTL of 3d is stamped on it: the server drops it at 2030-06-16T12:00:00Z, in 1d, though no rule does", true},
		{"a folder", 3 * day, rule(expire(30)), "img/",
			"a TTL of 3d is stamped on it: its data may go with its volume after 2030-06-16T12:00:00Z, whatever the rules say", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := key(bucket(engine.Unversioned), lone(plain(c.key, aged(2), withTTL(c.ttl))), c.r)
			ttl := e.Versions[0].ServerTTL
			if ttl == nil || ttl.Words != c.words || ttl.BeforeRule != c.before {
				t.Errorf("got  %+v\nwant %s", ttl, c.words)
			}
			if e.Versions[0].Verdict != explain.Keep {
				t.Errorf("verdict is %s", e.Versions[0].Verdict)
			}
		})
	}
	if ttl := key(bucket(0), lone(plain("k", aged(2))), rule(expire(1))).Versions[0].ServerTTL; ttl != nil {
		t.Errorf("an object without a TTL has %+v", ttl)
	}
}

func TestScenario19_CurrentVersionGetsAMarker(t *testing.T) {
	g := versions(version(aged(10)), version(aged(50), demoted(aged(10))))
	e := key(bucket(engine.Enabled), g, rule(id("r"), expire(7)))
	equal(t, "verdicts", verdicts(e), []string{
		"expire→marker: by r, due since 2030-06-12T12:00:00Z", "keep: no rule selects it",
	})
}

func TestScenario20_AMarkerIsNotExpired(t *testing.T) {
	g := versions(version(aged(10), isMarker), version(aged(20), demoted(aged(10))))
	e := key(bucket(engine.Enabled), g, rule(id("r"), expire(7)))
	equal(t, "verdicts", verdicts(e), []string{
		"keep: a delete marker goes last, other versions are left", "keep: no rule selects it",
	})
	equal(t, "rules", ruleWords(e), []string{"r: no, delete marker: want an object, this is a delete marker"})
}

func TestScenario21_WhereTheNoncurrentClockComesFrom(t *testing.T) {
	r := rule(id("r"), noncurrent(30))
	for _, c := range []struct {
		name, verdict, clock string
		g                    engine.Group
	}{
		{"stamped", "keep: 28d left, r", "counts from 2030-06-13T12:00:00Z, when it became noncurrent, as its entry says",
			versions(version(aged(2)), version(aged(400), demoted(aged(2))))},
		{"not stamped, a marker on top", "delete-version: by r, due since 2030-06-05T12:00:00Z",
			"counts from 2030-05-06T12:00:00Z, when the next newer version was written",
			versions(version(aged(40), isMarker), version(aged(400)))},
		{"stale stamp", "keep: 29d left, r",
			"counts from 2030-06-14T12:00:00Z, when the next newer version was written; its entry's stamp of 2030-04-26T12:00:00Z is left over from an earlier demotion",
			versions(version(aged(1)), version(aged(400), demoted(aged(50))))},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := key(bucket(engine.Enabled), c.g, r).Versions[1]
			if got := v.Verdict.String() + ": " + v.Why; got != c.verdict {
				t.Errorf("verdict is %q, want %q", got, c.verdict)
			}
			if got := v.Rules[0].ClockWords; got != c.clock {
				t.Errorf("clock is %q, want %q", got, c.clock)
			}
		})
	}
}

func TestScenario22_RetainedByCount(t *testing.T) {
	g := versions(version(aged(1)), version(aged(12), demoted(aged(1))), version(aged(20), demoted(aged(12))),
		version(aged(30), demoted(aged(20))), version(aged(40), demoted(aged(30))))
	e := key(bucket(engine.Enabled), g, rule(id("r"), noncurrent(10), newer(2)))
	equal(t, "verdicts", verdicts(e), []string{
		"keep: no rule selects it",
		"keep: retained by count: r keeps the newest 2",
		"keep: retained by count: r keeps the newest 2",
		"delete-version: by r, due since 2030-06-05T12:00:00Z",
		"delete-version: by r, due since 2030-05-26T12:00:00Z",
	})
	if got, want := e.Versions[2].Rules[0].Words, "r: no, count: want it beyond the newest 2, it is number 2"; got != want {
		t.Errorf("v4: %q, want %q", got, want)
	}
}

func TestScenario23_LoneMarkers(t *testing.T) {
	b := bucket(engine.Enabled)
	both := rule(id("r"), noncurrent(1), marker)
	hour := ago(time.Hour)
	for _, c := range []struct {
		name string
		g    engine.Group
		r    *engine.Rule
		want []string
	}{
		{"a: alone", versions(version(hour, isMarker)), both, []string{"delete-marker: by r, due since 2030-06-15T11:00:00Z"}},
		{"b: a version is left", versions(version(hour, isMarker), version(aged(9), demoted(hour))), both, []string{
			"keep: a delete marker goes last, other versions are left", "keep: 23h left, r",
		}},
		{"d: the version goes, then the marker", versions(version(aged(5), isMarker), version(aged(9), demoted(aged(5)))), both, []string{
			"delete-marker: by r, once the versions beside it have been dealt with",
			"delete-version: by r, due since 2030-06-11T12:00:00Z",
		}},
		{"no marker rule", versions(version(hour, isMarker)), rule(id("r"), noncurrent(1)), []string{"keep: no marker rule"}},
		{"only Days", versions(version(aged(9), isMarker)), rule(id("r"), expire(1)), []string{"keep: no marker rule"}},
		{"null marker", versions(named("null", aged(5), isMarker)), both, []string{
			"keep: due by r, but the gateway has no call that removes a null delete marker",
		}},
	} {
		t.Run(c.name, func(t *testing.T) { equal(t, "verdicts", verdicts(key(b, c.g, c.r)), c.want) })
	}
}

// What a pass does to the newer versions decides on the older ones.
func TestOneVersionDecidesOnAnother(t *testing.T) {
	b := bucket(engine.Enabled)
	small := rule(id("small"), noncurrent(1), below(5))
	one := rule(id("one"), noncurrent(1), newer(1))
	sized := func(n int64, e engine.Entry) engine.Entry { e.Size = n; return e }

	// The newest noncurrent version goes by another rule: its place is taken.
	g := versions(version(aged(5)), sized(1, version(aged(6), demoted(aged(5)))), sized(9, version(aged(7), demoted(aged(6)))))
	e := key(b, g, numbered(small, one)...)
	equal(t, "a place is taken", verdicts(e), []string{
		"keep: no rule selects it",
		"delete-version: by small, due since 2030-06-11T12:00:00Z",
		"keep: kept by count: once newer versions are gone, it is among the newest one that one keeps",
	})
	if v := e.Versions[2]; v.Handling != nil || v.Goes != nil || !v.Rules[1].Fires {
		t.Errorf("the version that is kept after all: %+v", v)
	}

	// The next newer version goes, and with it the time that the older one counts
	// from.
	all := rule(id("all"), noncurrent(10))
	g = versions(version(aged(1)), sized(1, version(aged(5))), sized(1, version(aged(20), demoted(aged(18)))), sized(9, version(aged(30), demoted(aged(20)))))
	equal(t, "the clock moves", verdicts(key(b, g, numbered(small, all)...)), []string{
		"keep: no rule selects it",
		"delete-version: by small, due since 2030-06-15T12:00:00Z",
		"delete-version: by small, due since 2030-06-11T12:00:00Z",
		"keep: 9d left, all: it counts from the next newer version, which is another once those between are gone",
	})

	// The current version expires: one more noncurrent version takes a place.
	g = versions(version(aged(5)), version(aged(6), demoted(aged(5))))
	equal(t, "a place is lost", verdicts(key(b, g, numbered(rule(id("days"), expire(3)), one)...)), []string{
		"expire→marker: by days, due since 2030-06-13T12:00:00Z",
		"delete-version: by one, once the versions beside it have been dealt with",
	})
}

func TestScenario26_SuspendedVersioning(t *testing.T) {
	b := bucket(engine.Suspended)
	r := rule(id("r"), expire(7))
	own := version(aged(10))
	g := versions(own)
	equal(t, "a version of its own", verdicts(key(b, g, r)), []string{"expire→marker: by r, due since 2030-06-12T12:00:00Z"})

	// A marker takes the place of the null version, current or not.
	null := engine.Entry{Name: "k", HasAttributes: true, MtimeNs: aged(20).UnixNano()}
	folder := pointing(own)
	with := engine.NewGroup("b", "k", &folder, []engine.Entry{own}, &null)
	if with.Unresolved != "" {
		t.Fatal(with.Unresolved)
	}
	equal(t, "a null version below", verdicts(key(b, with, r)), []string{
		"expire→marker: by r, due since 2030-06-12T12:00:00Z", "delete-version: a delete marker takes its place",
	})
}

func TestScenario33_LockedVersions(t *testing.T) {
	r := rule(id("r"), noncurrent(30))
	demotedAt := aged(60)
	for _, c := range []struct {
		name, verdict, lock string
		goes                string // empty: no date
		lockIt              func(*engine.Entry)
	}{
		{"governance for a day", "skip-lock: goes 2030-06-16T12:00:00Z, in 1d", "GOVERNANCE retention until 2030-06-16T12:00:00Z",
			"2030-06-16T12:00:00Z", retained("GOVERNANCE", scenarioNow.Add(24*time.Hour))},
		{"compliance, a second over", "delete-version: by r, due since 2030-05-16T12:00:00Z", "COMPLIANCE retention until 2030-06-15T11:59:59Z, over",
			"2030-06-15T11:59:59Z", retained("COMPLIANCE", scenarioNow.Add(-time.Second))},
		{"compliance until now", "delete-version: by r, due since 2030-05-16T12:00:00Z", "COMPLIANCE retention until 2030-06-15T12:00:00Z, over",
			"2030-06-15T12:00:00Z", retained("COMPLIANCE", scenarioNow)},
		{"hold beats an expired retention", "skip-lock: no date: legal hold", "legal hold", "",
			func(e *engine.Entry) { retained("COMPLIANCE", scenarioNow.Add(-time.Hour))(e); held(e) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := versions(version(demotedAt), version(aged(90), demoted(demotedAt), c.lockIt))
			v := key(bucket(engine.Enabled), g, r).Versions[1]
			if got := v.Verdict.String() + ": " + v.Why; got != c.verdict {
				t.Errorf("verdict is %q, want %q", got, c.verdict)
			}
			if v.Lock != c.lock {
				t.Errorf("lock is %q, want %q", v.Lock, c.lock)
			}
			goes := ""
			if v.Goes != nil {
				goes = v.Goes.Format(time.RFC3339)
			}
			if goes != c.goes {
				t.Errorf("goes at %q, want %q", goes, c.goes)
			}
		})
	}
}

// Before it is due a lock shows in when it goes: the later of the two times.
func TestScenario33_LaterOfDueAndRetention(t *testing.T) {
	due := scenarioNow.Add(4 * engine.Day())
	for _, c := range []struct {
		until time.Time
		why   string
		by    string
	}{
		{due.Add(-1), "4d left, r", "replay, from 2030-06-19T12:00:00Z on"},
		{due, "4d left, r", "replay, from 2030-06-19T12:00:00Z on"},
		{due.Add(time.Hour), "4d1h left, r, due before that but locked", "walk, in the first pass after 2030-06-19T13:00:00Z, when its retention ends"},
	} {
		o := plain("k", aged(3), withLock(engine.Lock{Mode: "GOVERNANCE", RetainUntil: c.until}))
		v := key(bucket(engine.Unversioned), lone(o), rule(id("r"), expire(7))).Versions[0]
		if v.Why != c.why || v.Handling.Words != c.by {
			t.Errorf("until %v: %q, by %q; want %q, by %q", c.until, v.Why, v.Handling.Words, c.why, c.by)
		}
	}
	o := plain("k", aged(3), withLock(engine.Lock{Unreadable: true}))
	v := key(bucket(engine.Unversioned), lone(o), rule(id("r"), expire(7))).Versions[0]
	if v.Why != "no date: a retention that cannot be read" || v.Goes != nil || v.Handling.By != "" {
		t.Errorf("unreadable: %q, %+v", v.Why, v.Handling)
	}
}

func TestKeyWithUploads(t *testing.T) {
	upload := engine.Object{
		Bucket: "b", Key: "video/a", Path: ".uploads/u1", UploadID: "u1", ModTime: aged(10), Rank: engine.RankUnknown, Entry: &engine.Entry{HasAttributes: true},
	}
	in := explain.KeyInput{
		Bucket: bucket(engine.Unversioned), Uploads: []engine.Object{upload}, Now: scenarioNow,
		Rules: numbered(rule(id("r"), prefix("video/"), abort(7)), rule(id("days"), expire(1))),
	}
	e := explain.Key(in)
	equal(t, "verdicts", verdicts(e), []string{"abort-mpu: by r, due since 2030-06-12T12:00:00Z"})
	equal(t, "rules", ruleWords(e), []string{
		"r: matches, due since 2030-06-12T12:00:00Z, 3d ago", "days: no, kind: want an object, this is an upload",
	})
	if e.Key != "video/a" || e.ExpirationHeader != "" || e.Versions[0].UploadID != "u1" ||
		e.Versions[0].Shard != engine.ShardOf("b", ".uploads/u1") {
		t.Errorf("explained %+v", e)
	}
	in.Uploads[0].ModTime = aged(3)
	in.Rules = in.Rules[1:]
	equal(t, "young, no abort rule", verdicts(explain.Key(in)), []string{"keep: no rule aborts it"})
}

func TestOneVersionOfAKey(t *testing.T) {
	g := versions(version(aged(2)), version(aged(12), demoted(aged(2))))
	in := explain.KeyInput{
		Bucket: bucket(engine.Enabled), Group: g, Now: scenarioNow, VersionID: g.Objects[1].VersionID,
		Uploads: []engine.Object{{UploadID: "u"}}, Rules: []*engine.Rule{rule(id("r"), expire(7))},
	}
	e := explain.Key(in)
	if len(e.Versions) != 1 || e.Versions[0].VersionID != g.Objects[1].VersionID || e.ExpirationHeader == "" {
		t.Errorf("explained %+v", e)
	}
	in.VersionID = "other"
	equal(t, "lines", explain.Key(in).Lines()[1:2], []string{"  Nothing lies there."})
}

func TestUnresolvedKey(t *testing.T) {
	g := versions(version(aged(2)), version(aged(12)))
	g.Unresolved = "no pointer"
	for i := range g.Objects {
		g.Objects[i].Latest, g.Objects[i].Rank = false, engine.RankUnknown
	}
	e := key(bucket(engine.Enabled), g, rule(id("r"), expire(1), noncurrent(1)))
	const why = "keep: which version is current cannot be told: no pointer"
	equal(t, "verdicts", verdicts(e), []string{why, why})
	equal(t, "rules", ruleWords(e), []string{
		"r (expiration_days): no, current: want a current version, which one is current cannot be told",
		"r (noncurrent_days): no, noncurrent: want a noncurrent version, which one is current cannot be told",
	})
	text := strings.Join(e.Lines(), "\n")
	if !strings.Contains(text, "nothing is deleted: no pointer.") || strings.Contains(text, "noncurrent version "+g.Objects[0].VersionID) {
		t.Errorf("lines are\n%s", text)
	}
}

// The input of one key serves for the next.
func TestKeyLeavesItsInputAlone(t *testing.T) {
	g := versions(version(aged(10)), version(aged(50), demoted(aged(10))), version(aged(60), demoted(aged(50))))
	before, _ := json.Marshal(g)
	key(bucket(engine.Enabled), g, rule(id("r"), expire(7), noncurrent(1), newer(1)))
	if after, _ := json.Marshal(g); string(after) != string(before) {
		t.Errorf("the group was changed:\n%s\n%s", before, after)
	}
}

// worked is a key with something of everything.
func worked() explain.KeyInput {
	g := versions(
		version(aged(10)),
		version(aged(12), demoted(aged(10))),
		version(aged(20), demoted(aged(12)), retained("GOVERNANCE", scenarioNow.Add(36*time.Hour))),
		version(aged(30), isMarker),
		version(aged(40)),
	)
	g.Objects[0].Size, g.Objects[0].Tags = 1234567, map[string]string{"t": "1"}
	return explain.KeyInput{
		Bucket: bucket(engine.Enabled), Group: g, Now: scenarioNow, Retention: 60 * engine.Day(),
		Uploads: []engine.Object{{
			Bucket: "b", Key: "k", Path: ".uploads/u1", UploadID: "u1", ModTime: aged(1), Rank: engine.RankUnknown,
		}},
		Rules: numbered(
			rule(id("days"), tagged("t", "1"), above(1000), expire(14)), rule(id("old"), noncurrent(11), newer(1)), rule(abort(7)),
		),
	}
}

func TestKeyLines(t *testing.T) { golden(t, "key.txt", explain.Key(worked()).Lines()) }

func TestKeyJSON(t *testing.T) {
	in := worked()
	in.VersionID = in.Group.Objects[2].VersionID
	doc, err := json.MarshalIndent(explain.Key(in), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "key.json", []string{string(doc)})
}
