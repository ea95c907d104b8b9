package explain_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

func TestRuleLines(t *testing.T) {
	locked := bucket(engine.Enabled)
	locked.ObjectLock = true
	rules := numbered(
		rule(id("logs"), prefix("logs/"), expire(7), above(1000), tagged("t", "1")),
		rule(expire(400), noncurrent(30), newer(2)),
		rule(id("markers"), marker),
		rule(id("new year"), date(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)), disabled),
		rule(id("glob"), newer(5), prefix("logs/app/*.gz ")),
		rule(id("uploads"), abort(7), unsupported("Transition")),
	)
	var lines []string
	for _, r := range rules {
		e := explain.Rule(r, locked, explain.RuleContext{
			Rules: rules, Retention: 60 * engine.Day(), WalkerInterval: 6 * time.Hour, Now: scenarioNow,
		})
		lines = append(append(lines, e.Lines()...), "")
	}
	golden(t, "rules.txt", lines)
}

func TestRuleJSON(t *testing.T) {
	rules := numbered(rule(id("a"), prefix("a/"), expire(7), noncurrent(1)), rule(id("b"), expire(9)))
	e := explain.Rule(rules[0], bucket(engine.Enabled), explain.RuleContext{Rules: rules, Retention: 60 * engine.Day()})
	doc, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rule.json", []string{string(doc)})
}

// Lists are never null in JSON.
func TestRuleWithoutAnything(t *testing.T) {
	doc, err := json.Marshal(explain.Rule(rule(), bucket(engine.Unversioned), explain.RuleContext{}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(doc), "null") {
		t.Errorf("null in %s", doc)
	}
}

func TestRuleTitle(t *testing.T) {
	named, nameless := rule(id(`a"b`)), rule(expire(1), disabled)
	nameless.Number = 12
	for r, want := range map[*engine.Rule]string{
		named:    `rule 1 "a\"b": enabled`,
		nameless: "rule 12, without an ID (" + nameless.Label() + "): disabled",
	} {
		if got := explain.Rule(r, bucket(engine.Unversioned), explain.RuleContext{}).Title; got != want {
			t.Errorf("title is %q, want %q", got, want)
		}
	}
}

func TestRuleXMLParsesBack(t *testing.T) {
	r := rule(id("x<y"), prefix("a&b/"), tagged("k", "v"), above(0), expire(7), noncurrent(3), newer(2))
	e := explain.Rule(r, bucket(engine.Enabled), explain.RuleContext{})
	back, findings := engine.ParseXML("b", []byte(e.XML), engine.ParseOptions{})
	if len(back) != 1 || back[0].Hash() != r.Hash() || back[0].ID != r.ID {
		t.Errorf("parsed back to %+v, %v", back, findings)
	}
}

func TestServedBy(t *testing.T) {
	const week = 7
	retention := week * engine.Day()
	newYear := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name      string
		r         *engine.Rule
		retention time.Duration
		interval  time.Duration
		by, why   string
	}{
		{"within", rule(expire(week)), retention, 0, explain.Replay, "its delay is within the 7d that the meta-log reaches back"},
		{"one day beyond", rule(expire(week + 1)), retention, 0, explain.Walk,
			"its delay is longer than the 7d that the meta-log reaches back (walked in every pass)"},
		{"without end", rule(expire(9999)), 0, time.Hour, explain.Replay, "the meta-log is taken to reach back without end"},
		{"disabled", rule(abort(week), disabled), retention, 0, explain.Replay, "its delay is within the 7d that the meta-log reaches back"},
		{"date", rule(date(newYear)), retention, time.Hour, explain.Walk, "a date comes without an event in the meta-log (walked at most once in 1h)"},
		{"count", rule(newer(1)), retention, 0, explain.Walk, "it depends on what else lies at a key, not on time (walked in every pass)"},
		{"marker", rule(marker), 0, 0, explain.Walk, "it depends on what else lies at a key, not on time (walked in every pass)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := explain.Rule(c.r, bucket(engine.Enabled), explain.RuleContext{Retention: c.retention, WalkerInterval: c.interval})
			if len(e.Actions) != 1 {
				t.Fatalf("%d actions, want 1", len(e.Actions))
			}
			a := e.Actions[0]
			if a.ServedBy != c.by || a.Why != c.why {
				t.Errorf("by %s, as %s; want by %s, as %s", a.ServedBy, a.Why, c.by, c.why)
			}
			if a.RuleHash != c.r.Hash().String() || a.Action != c.r.Kinds()[0].String() {
				t.Errorf("action %s with hash %s", a.Action, a.RuleHash)
			}
		})
	}
}

func TestNever(t *testing.T) {
	far := int(math.MaxInt64/int64(engine.Day())) + 1
	for _, c := range []struct {
		name string
		v    engine.Versioning
		r    *engine.Rule
		want []string
	}{
		{"nothing to say", engine.Unversioned, rule(prefix("logs/"), expire(7)), nil},
		{"marker rule, unversioned", engine.Unversioned, rule(marker), []string{
			"Expiration/ExpiredObjectDeleteMarker: no effect: the bucket has no versions",
		}},
		{"marker rule, versioned", engine.Enabled, rule(marker), []string{
			"Expiration/ExpiredObjectDeleteMarker: a null delete marker stays, the gateway has no call that removes it",
		}},
		{"noncurrent, unversioned", engine.Unversioned, rule(noncurrent(3)), []string{
			"NoncurrentVersionExpiration: no effect: the bucket has no versions",
		}},
		{"noncurrent, suspended", engine.Suspended, rule(noncurrent(3)), nil},
		{"count, unversioned", engine.Unversioned, rule(newer(3)), []string{
			"NoncurrentVersionExpiration: no effect: the bucket has no versions",
		}},
		{"leading slash", engine.Unversioned, rule(prefix("/logs/"), expire(7)), []string{
			`Filter/Prefix "/logs/": keys do not start with a slash, so this matches nothing`,
		}},
		{"glob", engine.Unversioned, rule(prefix("*.bam"), expire(7)), []string{
			`Filter/Prefix "*.bam": a prefix is taken literally, it has no wildcards`,
		}},
		{"percent code", engine.Unversioned, rule(prefix("a%20b/"), expire(7)), []string{
			`Filter/Prefix "a%20b/": a prefix is taken literally, percent codes are not decoded`,
		}},
		{"trailing blank", engine.Unversioned, rule(prefix("a/ "), expire(7)), []string{
			`Filter/Prefix "a/ ": a prefix is taken literally, blanks at its ends too`,
		}},
		{"days as far as clocks reach", engine.Unversioned, rule(expire(far - 1)), nil},
		{"days beyond reach", engine.Unversioned, rule(expire(far)), []string{
			`Expiration/Days "106752": no effect: further away than clocks reach`,
		}},
		{"one size between the bounds", engine.Unversioned, rule(above(5), below(7), expire(7)), nil},
		{"no size between the bounds", engine.Unversioned, rule(above(5), below(6), expire(7)), []string{
			`Filter/And/ObjectSizeGreaterThan "5": no effect: no size lies between the bounds`,
		}},
		{"uploads folder, objects", engine.Unversioned, rule(prefix(".uploads/"), expire(7)), []string{
			`Filter/Prefix ".uploads/": ".uploads/" holds unfinished uploads, its entries are no objects`,
		}},
		{"uploads folder, uploads", engine.Unversioned, rule(prefix(".uploads/"), abort(7)), nil},
		{"transition", engine.Unversioned, rule(expire(7), unsupported("Transition")), []string{
			"Transition: no effect: SeaweedFS does not carry it out",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			equal(t, "never", explain.Rule(c.r, bucket(c.v), explain.RuleContext{}).Never, c.want)
		})
	}
}

// A count alone deletes; that S3 refuses it is a note.
func TestCountAloneIsANote(t *testing.T) {
	e := explain.Rule(rule(newer(3)), bucket(engine.Enabled), explain.RuleContext{})
	equal(t, "never", e.Never, nil)
	equal(t, "notes", e.Notes, []string{
		"Delete markers among the noncurrent versions count as versions.",
		`NoncurrentVersionExpiration/NewerNoncurrentVersions "3": a count without NoncurrentDays is not S3's: what is beyond it goes at once`,
	})
}

// storageOf is what is said of the storage behind a rule's first action.
func storageOf(v engine.Versioning, rules ...*engine.Rule) (bool, []string) {
	a := explain.Rule(rules[0], bucket(v), explain.RuleContext{Rules: numbered(rules...)}).Actions[0]
	return a.Frees, a.Storage
}

func TestScenario19_WhatFreesTheStorage(t *testing.T) {
	const (
		comesBack = "Its storage comes back: the data of what it deletes is removed, and vacuuming the volumes returns the space."
		nothing   = "Frees nothing by itself: the data stays, as a noncurrent version."
		none      = "No rule of the bucket deletes that version: its data stays until one does."
	)
	days := func() *engine.Rule { return rule(id("days"), prefix("logs/"), expire(7)) }
	for _, c := range []struct {
		name  string
		v     engine.Versioning
		rules []*engine.Rule
		frees bool
		want  []string
	}{
		{"unversioned", engine.Unversioned, []*engine.Rule{days()}, true, []string{comesBack}},
		{"versioned, no noncurrent rule", engine.Enabled, []*engine.Rule{days()}, false, []string{nothing, none}},
		{"its own element", engine.Enabled, []*engine.Rule{rule(id("days"), expire(7), noncurrent(1))}, false, []string{
			nothing, `Rule 1 "days" deletes that version 1 day after it became noncurrent.`,
		}},
		{"a wider rule, the one that keeps least", engine.Enabled,
			[]*engine.Rule{days(), rule(id("keeps"), noncurrent(3), newer(2)), rule(id("late"), noncurrent(40)), rule(id("all"), noncurrent(30))}, false,
			[]string{nothing, `Rule 4 "all" deletes that version 30 days after it became noncurrent.`}},
		{"a count", engine.Enabled, []*engine.Rule{days(), rule(newer(3))}, false, []string{
			nothing, "Rule 2 deletes that version, except the newest 3 noncurrent ones of each key.",
		}},
		{"a count of one, and days", engine.Enabled, []*engine.Rule{days(), rule(noncurrent(5), newer(1))}, false, []string{
			nothing, "Rule 2 deletes that version 5 days after it became noncurrent, except the newest noncurrent one of each key.",
		}},
		{"a narrower rule", engine.Enabled, []*engine.Rule{days(), rule(id("app"), prefix("logs/app/"), noncurrent(30))}, false, []string{
			nothing, `Rule 2 "app" deletes some of these versions, those that its filter selects, 30 days after they became noncurrent.`,
		}},
		{"another prefix", engine.Enabled, []*engine.Rule{days(), rule(prefix("img/"), noncurrent(30))}, false, []string{nothing, none}},
		{"a disabled rule", engine.Enabled, []*engine.Rule{days(), rule(id("off"), noncurrent(30), disabled)}, false, []string{
			nothing, none, `Rule 2 "off" would, but it is disabled.`,
		}},
		{"suspended", engine.Suspended, []*engine.Rule{days()}, false, []string{
			"A null version is replaced by a delete marker: its data is removed, and vacuuming the volumes returns the space.",
			"A version with an ID of its own stays, as a noncurrent version: that frees nothing by itself.", none,
		}},
		{"noncurrent", engine.Enabled, []*engine.Rule{rule(noncurrent(1))}, true, []string{comesBack}},
		{"noncurrent, unversioned", engine.Unversioned, []*engine.Rule{rule(noncurrent(1))}, false, []string{"Frees nothing: the bucket has no versions."}},
		{"marker", engine.Enabled, []*engine.Rule{rule(marker)}, false, []string{"Frees nothing: a delete marker holds no data."}},
		{"abort", engine.Enabled, []*engine.Rule{rule(abort(1))}, true, []string{
			"Its storage comes back: the parts uploaded so far are removed, and vacuuming the volumes returns the space.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			frees, lines := storageOf(c.v, c.rules...)
			if frees != c.frees {
				t.Errorf("frees is %v, want %v", frees, c.frees)
			}
			equal(t, "storage", lines, c.want)
		})
	}
}

// A bucket's rules are not known where a rule is looked at alone.
func TestStorageOfARuleAlone(t *testing.T) {
	e := explain.Rule(rule(expire(7)), bucket(engine.Enabled), explain.RuleContext{})
	equal(t, "storage", e.Actions[0].Storage, []string{"Frees nothing by itself: the data stays, as a noncurrent version."})
}

func TestScenario23_LoneMarkersUnderDays(t *testing.T) {
	const text = "AWS also removes lone delete markers under Days; SeaweedFS and weedlc do not. A rule with ExpiredObjectDeleteMarker does"
	days := rule(expire(7))
	for _, c := range []struct {
		name   string
		v      engine.Versioning
		others []*engine.Rule
		want   string
	}{
		{"none", engine.Enabled, []*engine.Rule{rule(id("off"), marker, disabled)}, text + "; this bucket has none."},
		{"two", engine.Suspended, []*engine.Rule{rule(id("m"), marker), rule(marker)}, text + `, here rule 2 "m" and rule 3.`},
		{"many", engine.Enabled, []*engine.Rule{rule(marker), rule(marker), rule(marker), rule(marker)}, text + ", here rule 2, rule 3, rule 4 and 1 more."},
		{"unversioned", engine.Unversioned, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := numbered(append([]*engine.Rule{days}, c.others...)...)
			notes := explain.Rule(days, bucket(c.v), explain.RuleContext{Rules: rules}).Notes
			if got := slices.Contains(notes, c.want); got != (c.want != "") {
				t.Errorf("notes are %q, want %q", notes, c.want)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	const (
		exact    = "A day is 24 hours exactly. AWS rounds due times up to the next 00:00 UTC, and so does --day-clock midnight."
		midnight = "Due times are rounded up to the next 00:00 UTC, as AWS does; SeaweedFS's own worker does not."
		come     = "The date has come: what the rule selects is due at once, objects that are still to be written too."
		locks    = "What is under retention or legal hold is skipped, and looked at again when the retention ends. No lock is bypassed; a locked current version gets no delete marker either."
	)
	today := scenarioNow.Truncate(engine.Day())
	locked := bucket(engine.Unversioned)
	locked.ObjectLock = true
	stamps := []explain.Stamp{{Prefix: "img/", TTL: 3 * engine.Day()}, {Prefix: "doc/", TTL: engine.Day()}}
	for _, c := range []struct {
		name string
		b    engine.Bucket
		r    *engine.Rule
		ctx  explain.RuleContext
		want []string
	}{
		{"exact clock", bucket(0), rule(abort(7)), explain.RuleContext{}, []string{exact}},
		{"midnight clock", bucket(0), rule(expire(7)), explain.RuleContext{DayClock: engine.MidnightClock}, []string{midnight}},
		{"date, not known whether past", bucket(0), rule(date(today)), explain.RuleContext{}, nil},
		{"suspended", bucket(engine.Suspended), rule(date(today)), explain.RuleContext{}, []string{
			"A key that is written and expires again gathers one delete marker each time, until a rule for noncurrent versions takes them: the bucket's versioning is suspended.",
		}},
		{"date past", bucket(0), rule(date(today)), explain.RuleContext{Now: scenarioNow}, []string{come}},
		{"date now", bucket(0), rule(date(today)), explain.RuleContext{Now: today}, []string{come}},
		{"date to come", bucket(0), rule(date(today)), explain.RuleContext{Now: today.Add(-1)}, nil},
		{"locks", locked, rule(date(today)), explain.RuleContext{}, []string{locks}},
		{"locks and uploads", locked, rule(abort(7)), explain.RuleContext{}, []string{exact}},
		{"stamps", bucket(0), rule(prefix("im"), expire(4)), explain.RuleContext{Stamps: stamps}, []string{exact,
			`Objects whose key begins with "img/" are stamped with a TTL of 3d when they are written. The server drops them then, before this rule's 4 days, and whatever it says.`,
		}},
		{"stamp of the whole bucket", bucket(0), rule(prefix("im"), expire(2)),
			explain.RuleContext{Stamps: []explain.Stamp{{TTL: engine.Day()}}}, []string{exact,
				`All objects are stamped with a TTL of 1d when they are written. The server drops them then, before this rule's 2 days, and whatever it says.`,
			}},
		{"stamps as long as the rule", bucket(0), rule(prefix("im"), expire(3)), explain.RuleContext{Stamps: stamps}, []string{exact}},
	} {
		t.Run(c.name, func(t *testing.T) { equal(t, "notes", explain.Rule(c.r, c.b, c.ctx).Notes, c.want) })
	}
}
