package explain_test

import (
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

// outlook is one object and the one shard of its key.
type outlook struct {
	o     engine.Object
	rules []*engine.Rule
	s     explain.Schedule
	// other takes the object's shard away: there is no state of it.
	without bool
}

// steady is an object of age and a shard that has gone on with its log every
// day: its group stands where the object is still ahead of it, or just behind.
func steady(o engine.Object, rules ...*engine.Rule) (*outlook, *engine.ShardState) {
	b := bucket(engine.Unversioned)
	snapshot := engine.New().Compile([]engine.Source{{Bucket: b, Rules: rules}})
	replay, _ := snapshot.RulesForShard(0, engine.MaxEffectiveTTL(snapshot))
	yesterday := aged(1)
	st := &engine.ShardState{
		Shard: explain.ShardOf(&o), Found: true, SideFound: true,
		Cursor: engine.Cursor{TsNs: 1, RuleSetHash: engine.ReplayContentHash(snapshot), LastWalkedNs: yesterday.UnixNano()},
		Side: engine.Side{
			TsNs: 1, RuleSetHash: engine.ReplayContentHash(snapshot), ArrivalsNs: yesterday.UnixNano(),
			Groups:  map[time.Duration]int64{},
			Buckets: map[string]engine.BucketMemory{"b": {Rules: snapshot.BucketHash("b"), ReconciledNs: yesterday.UnixNano()}},
		},
	}
	for _, d := range replay.DelayGroups() {
		st.Side.Groups[d] = yesterday.Add(-d).UnixNano()
	}
	return &outlook{
		o: o, rules: rules,
		s: explain.Schedule{
			RuleSetHash: engine.ReplayContentHash(snapshot), ReconcileInterval: 30 * engine.Day(),
			Shards: map[int]engine.ShardState{}, Damaged: map[int]string{},
		},
	}, st
}

func (k *outlook) handling(t *testing.T, st *engine.ShardState) explain.Handling {
	t.Helper()
	if !k.without {
		k.s.Shards[st.Shard] = *st
	}
	e := explain.Key(explain.KeyInput{
		Bucket: bucket(engine.Unversioned), Group: lone(k.o), Rules: k.rules, Now: scenarioNow, Schedule: &k.s,
	})
	h := e.Versions[0].Handling
	if h == nil {
		t.Fatalf("nobody: %s", e.Versions[0].Why)
	}
	return *h
}

func ns(t time.Time) int64 { return t.UnixNano() }

func TestWhoHandlesItAndWhen(t *testing.T) {
	const week = 7
	days := func() *engine.Rule { return rule(id("r"), expire(week)) }
	noon := date(time.Date(2030, 6, 15, 0, 0, 0, 0, time.UTC))
	type edit = func(*outlook, *engine.ShardState)
	memory := func(change func(*engine.BucketMemory)) edit {
		return func(_ *outlook, st *engine.ShardState) {
			m := st.Side.Buckets["b"]
			change(&m)
			st.Side.Buckets["b"] = m
		}
	}
	group := func(at time.Time) edit {
		return func(_ *outlook, st *engine.ShardState) { st.Side.Groups[week*engine.Day()] = ns(at) }
	}
	block := func(at time.Time, key string) edit {
		return func(_ *outlook, st *engine.ShardState) {
			st.Side.Blocked = &engine.Failure{
				TsNs: ns(at), Bucket: "b", Key: key, Outcome: "retry_later", Reason: "busy", SinceNs: ns(aged(2)), Attempts: 3,
			}
		}
	}
	// The object was written in the hours since the last pass's window ended.
	due, young := plain("k", aged(week+0.5)), plain("k", aged(3))
	for _, c := range []struct {
		name  string
		o     engine.Object
		r     *engine.Rule
		edits []edit
		want  string
		by    string
		next  bool
		after string
	}{
		{"in the window", due, days(), nil,
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"at the window's start", due, days(), []edit{group(due.ModTime.Add(time.Second))},
			"due since 2030-06-15T00:00:00Z, but its event was passed over: the reconciliation in the first pass after 2030-07-10T08:28:19Z finds it, or a walk of the bucket before that",
			explain.Walk, false, "2030-07-10T08:28:19Z"},
		{"behind the window's start", due, days(), []edit{group(due.ModTime.Add(time.Second - 1))},
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"passed over, no reconciliation", due, days(), []edit{group(scenarioNow), func(k *outlook, _ *engine.ShardState) { k.s.ReconcileInterval = 0 }},
			"due since 2030-06-15T00:00:00Z, but its event was passed over: only a walk of the bucket finds it", explain.Walk, false, ""},
		{"passed over, but touched since the last pass", plain("k", due.ModTime, committed(aged(0.5))), days(), []edit{group(scenarioNow)},
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"the clock lies ahead, the last event does not", plain("k", aged(week), committed(aged(40))), days(), nil,
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},

		{"no cursor", due, days(), []edit{func(_ *outlook, st *engine.ShardState) { *st = engine.ShardState{Shard: st.Shard} }},
			"walk, in the next pass, which walks the bucket over all its rules: the shard has no cursor yet", explain.Walk, true, ""},
		{"rules changed", due, days(), []edit{memory(func(m *engine.BucketMemory) { m.Rules = engine.Hash{1} })},
			"walk, in the next pass, which walks the bucket over all its rules: its rules changed", explain.Walk, true, ""},
		{"no position", due, days(), []edit{func(_ *outlook, st *engine.ShardState) { clear(st.Side.Groups) }},
			"walk, in the next pass, which walks the bucket over all its rules: its rules changed", explain.Walk, true, ""},
		{"moved under other rules", due, days(), []edit{func(_ *outlook, st *engine.ShardState) { st.Cursor.RuleSetHash = engine.Hash{1} }},
			"walk, in the next pass, which walks the bucket over all its rules: the shard's cursor was moved under other rules", explain.Walk, true, ""},
		{"moved under another retention", due, days(), []edit{func(_ *outlook, st *engine.ShardState) { st.Cursor.TsNs, st.Cursor.PromotedHash = 2, engine.Hash{1} }},
			"walk, in the next pass, which walks the bucket over all its rules: the shard's cursor was moved while the log served other rules", explain.Walk, true, ""},
		{"moved back by somebody", due, days(), []edit{group(scenarioNow), func(_ *outlook, st *engine.ShardState) { st.Cursor.TsNs = ns(due.ModTime) }},
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"no side file", due, days(), []edit{group(scenarioNow), func(_ *outlook, st *engine.ShardState) {
			st.SideFound, st.Side, st.Cursor.TsNs = false, engine.Side{}, ns(aged(9))
		}}, "replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"down for a walk", due, days(), []edit{memory(func(m *engine.BucketMemory) { m.WalkAtNs = []int64{ns(scenarioNow)} })},
			"walk, in the next pass, which walks the bucket over all its rules: it is down for a walk at 2030-06-15T12:00:00Z", explain.Walk, true, ""},
		{"reconciliation due", due, days(), []edit{memory(func(m *engine.BucketMemory) { m.ReconciledNs = ns(aged(31)) })},
			"walk, in the next pass, which walks the bucket over all its rules: its reconciliation is due", explain.Walk, true, ""},
		{"log trimmed", due, days(), []edit{func(k *outlook, _ *engine.ShardState) { k.s.HorizonNs = ns(aged(2)) }},
			"walk, in the next pass, which walks the bucket over all its rules: the meta-log was trimmed", explain.Walk, true, ""},
		{"log trimmed before the positions", due, days(), []edit{func(k *outlook, _ *engine.ShardState) { k.s.HorizonNs = ns(aged(20)) }},
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"failed in a walk", due, days(), []edit{func(_ *outlook, st *engine.ShardState) {
			st.Side.Failed = []engine.Failure{{Bucket: "b", Key: "other"}, {Bucket: "b", Key: "k", Outcome: "blocked", SinceNs: ns(aged(4))}}
		}}, "walk, first thing in the next pass: it failed since 2030-06-11T12:00:00Z (blocked)", explain.Walk, true, ""},

		{"blocked by another", due, days(), []edit{block(aged(8), "x\ny")},
			`blocked: shard 7 stands in front of "x\ny" in bucket "b" since 2030-06-13T12:00:00Z (retry_later: busy, 3 attempts), and its event comes after that; a walk goes around it`,
			explain.Replay, false, ""},
		{"blocked by itself", due, days(), []edit{block(due.ModTime, "k")},
			"blocked: shard 7 stands in front of it since 2030-06-13T12:00:00Z (retry_later: busy, 3 attempts); the next pass tries again",
			explain.Replay, true, ""},
		{"in front of what blocks", due, days(), []edit{block(due.ModTime.Add(1), "x")},
			"replay, in the next pass: it is due, and its event lies in the window of shard 7", explain.Replay, true, ""},
		{"damaged", due, days(), []edit{func(k *outlook, st *engine.ShardState) { k.without, k.s.Damaged[st.Shard] = true, "empty file" }},
			"nobody: the cursor of shard 7 is damaged (empty file), a pass leaves the shard out", "", false, ""},
		{"no state", due, days(), []edit{func(k *outlook, _ *engine.ShardState) { k.without = true }},
			"nobody: no state of its shards is known", "", false, ""},

		{"not due", young, days(), nil,
			"replay, in the first pass after 2030-06-19T12:00:00Z", explain.Replay, false, "2030-06-19T12:00:00Z"},
		{"not due, no cursor", young, days(), []edit{func(_ *outlook, st *engine.ShardState) { *st = engine.ShardState{Shard: st.Shard} }},
			"replay, in the first pass after 2030-06-19T12:00:00Z", explain.Replay, false, "2030-06-19T12:00:00Z"},
		{"not due, on the list", young, days(), []edit{memory(func(m *engine.BucketMemory) {
			m.WalkAtNs = []int64{ns(scenarioNow.Add(1)), ns(scenarioNow.Add(4*engine.Day() + 1))}
		})},
			"walk, in the first pass after 2030-06-19T12:00:00Z: the bucket is down for a walk then", explain.Walk, false, "2030-06-19T12:00:00Z"},
		{"not due, behind a failure", young, days(), []edit{block(aged(8), "x")},
			`replay, in the first pass after 2030-06-19T12:00:00Z, once the shard is past what blocks it: shard 7 stands in front of "x" in bucket "b" since 2030-06-13T12:00:00Z (retry_later: busy, 3 attempts)`,
			explain.Replay, false, "2030-06-19T12:00:00Z"},
		{"not due, passed over", young, days(), []edit{group(scenarioNow)},
			"due 2030-06-19T12:00:00Z, but its event was passed over: the reconciliation in the first pass after 2030-07-10T08:28:19Z finds it, or a walk of the bucket before that",
			explain.Walk, false, "2030-07-10T08:28:19Z"},
		{"not due, passed over, touched since", plain("k", aged(3), committed(aged(1))), days(), []edit{group(aged(2))},
			"replay, in the first pass after 2030-06-21T11:00:00Z", explain.Replay, false, "2030-06-21T11:00:00Z"},
		{"locked for longer", plain("k", aged(week+0.5), withLock(engine.Lock{RetainUntil: scenarioNow.Add(time.Hour)})), days(), nil,
			"walk, in the first pass after 2030-06-15T13:00:00Z, when its retention ends", explain.Walk, false, "2030-06-15T13:00:00Z"},
		{"held", plain("k", aged(week+0.5), withLock(engine.Lock{LegalHold: true})), days(), nil,
			"nobody while the legal hold is on; the next pass meets the event that lifts it", "", false, ""},

		{"walk-bound, walked in every pass", young, rule(id("d"), noon), nil, "walk, in the next pass", explain.Walk, true, ""},
		{"walk-bound, the interval is over", young, rule(id("d"), noon), []edit{func(k *outlook, _ *engine.ShardState) { k.s.WalkerInterval = engine.Day() }},
			"walk, in the next pass", explain.Walk, true, ""},
		{"walk-bound, a second early", young, rule(id("d"), noon), []edit{func(k *outlook, _ *engine.ShardState) { k.s.WalkerInterval = engine.Day() + time.Second }},
			"walk, in the first pass after 2030-06-15T12:00:01Z: what only a walk finds is walked at most once in 1d", explain.Walk, false, "2030-06-15T12:00:01Z"},
		{"walk-bound, never walked", young, rule(id("d"), noon), []edit{func(k *outlook, st *engine.ShardState) {
			k.s.WalkerInterval, st.Cursor.LastWalkedNs = engine.Day(), 0
		}}, "walk, in the next pass", explain.Walk, true, ""},
		{"walk-bound, later", young, rule(id("d"), date(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))), nil,
			"walk, in the first pass after 2031-01-01T00:00:00Z", explain.Walk, false, "2031-01-01T00:00:00Z"},
		{"walk-bound, later, seldom", young, rule(id("d"), date(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))),
			[]edit{func(k *outlook, _ *engine.ShardState) { k.s.WalkerInterval = 6 * time.Hour }},
			"walk, in the first pass after 2031-01-01T00:00:00Z, or up to 6h later: what only a walk finds is walked at most once in that time",
			explain.Walk, false, "2031-01-01T00:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, st := steady(c.o, c.r)
			for _, e := range c.edits {
				e(k, st)
			}
			h := k.handling(t, st)
			after := ""
			if h.After != nil {
				after = h.After.Format(time.RFC3339)
			}
			if h.Words != c.want {
				t.Errorf("\n got %s\nwant %s", h.Words, c.want)
			}
			if h.By != c.by || h.NextPass != c.next || after != c.after {
				t.Errorf("by %q, next %v, after %q; want %q, %v, %q", h.By, h.NextPass, after, c.by, c.next, c.after)
			}
		})
	}
}

// What the shard of the next newer version will read serves the older one too.
func TestTheNewerVersionsEventServesTheOlder(t *testing.T) {
	newest, older := version(aged(7.5)), version(aged(40))
	g := versions(newest, older)
	rules := []*engine.Rule{rule(id("r"), noncurrent(7))}
	_, st := steady(g.Objects[0], rules...)
	snapshot := engine.New().Compile([]engine.Source{{Bucket: bucket(engine.Enabled), Rules: rules}})
	m := st.Side.Buckets["b"]
	m.Rules = snapshot.BucketHash("b")
	st.Side.Buckets["b"] = m
	e := explain.Key(explain.KeyInput{
		Bucket: bucket(engine.Enabled), Group: g, Rules: rules, Now: scenarioNow,
		Schedule: &explain.Schedule{RuleSetHash: engine.ReplayContentHash(snapshot), Shards: map[int]engine.ShardState{st.Shard: *st}},
	})
	if h := e.Versions[1].Handling; h == nil || !h.NextPass || h.Shard != explain.ShardOf(&g.Objects[0]) {
		t.Errorf("handled by %+v, want the shard of the newer version", h)
	}
}

// Where what is due first has to wait for its walk, replay may have something
// else that is due.
func TestReplayComesBeforeAWalkThatWaits(t *testing.T) {
	o := plain("k", aged(7.5))
	byDate, byDays := rule(id("d"), date(time.Date(2030, 6, 14, 0, 0, 0, 0, time.UTC))), rule(id("n"), expire(7))
	k, st := steady(o, numbered(byDate, byDays)...)
	k.s.WalkerInterval = 30 * engine.Day()
	h := k.handling(t, st)
	const want = "replay, in the next pass: it is due, and its event lies in the window of shard 7, by n (expiration_days)"
	if h.Words != want || h.RuleID != "n" || h.Action != "expiration_days" || h.By != explain.Replay {
		t.Errorf("got %+v\nwant %s", h, want)
	}
	st.Side.Groups[7*engine.Day()] = ns(scenarioNow) // the event of the other is behind
	if h := k.handling(t, st); h.RuleID != "d" || h.NextPass || h.After == nil {
		t.Errorf("neither comes in the next pass: %+v", h)
	}
}

// A walk over the walk-bound rules expires the current version; what follows for
// the older one is a matter of replay.
func TestPartsOfTheRulesWaitForEachOther(t *testing.T) {
	b := bucket(engine.Enabled)
	g := versions(version(aged(7.5)), version(aged(40), demoted(aged(7.5))))
	rules := numbered(
		rule(id("d"), date(time.Date(2030, 6, 14, 0, 0, 0, 0, time.UTC))), rule(id("n"), noncurrent(7), newer(1)),
	)
	snapshot := engine.New().Compile([]engine.Source{{Bucket: b, Rules: rules}})
	in := explain.KeyInput{Bucket: b, Group: g, Rules: rules, Now: scenarioNow, Schedule: &explain.Schedule{
		RuleSetHash: engine.ReplayContentHash(snapshot), Shards: map[int]engine.ShardState{},
	}}
	for i := range g.Objects {
		_, st := steady(g.Objects[i], rules...)
		m := st.Side.Buckets["b"]
		m.Rules = snapshot.BucketHash("b")
		st.Side.Buckets["b"] = m
		in.Schedule.Shards[st.Shard] = *st
	}
	words := func() (out []string) {
		for _, v := range explain.Key(in).Versions {
			out = append(out, v.Verdict.String()+" "+v.Handling.Words)
		}
		return out
	}
	equal(t, "parts", words(), []string{
		"expire→marker walk, in the next pass",
		"delete-version replay, in the pass that deals with the versions beside it or in the one after",
	})
	for shard, st := range in.Schedule.Shards {
		st.Side.Buckets = nil
		in.Schedule.Shards[shard] = st
	}
	equal(t, "a walk over all rules", words(), []string{
		"expire→marker walk, in the next pass, which walks the bucket over all its rules: its rules changed",
		"delete-version walk, in the next pass, which walks the bucket over all its rules: its rules changed",
	})
	for shard, st := range in.Schedule.Shards {
		st.Side.Buckets = map[string]engine.BucketMemory{"b": {Rules: snapshot.BucketHash("b")}}
		st.Side.Failed = []engine.Failure{{Bucket: "b", Key: "k", VersionID: g.Objects[0].VersionID, Outcome: "blocked", SinceNs: ns(aged(1))}}
		in.Schedule.Shards[shard] = st
	}
	equal(t, "the key failed", words(), []string{
		"expire→marker walk, first thing in the next pass: it failed since 2030-06-14T12:00:00Z (blocked)",
		"delete-version walk, first thing in the next pass: its key failed since 2030-06-14T12:00:00Z (blocked)",
	})
}

func TestShardOf(t *testing.T) {
	b := "b"
	for _, c := range []struct {
		o    engine.Object
		path string
	}{
		{engine.Object{Key: "a/k"}, "a/k"},
		{engine.Object{Key: "a/"}, "a"},
		{engine.Object{Key: "k", VersionID: "v1"}, "k.versions/v_v1"},
		{engine.Object{Key: "a/", VersionID: "v1"}, "a/.versions/v_v1"},
		{engine.Object{Key: "a/", VersionID: "null"}, "a"},
		{engine.Object{Key: "k", VersionID: "null", DeleteMarker: true}, "k.versions/v_null"},
		{engine.Object{Key: "k", Path: ".uploads/u", UploadID: "u"}, ".uploads/u"},
	} {
		c.o.Bucket = b
		if got, want := explain.ShardOf(&c.o), engine.ShardOf(b, c.path); got != want {
			t.Errorf("%+v: shard %d, want %d, that of %q", c.o, got, want, c.path)
		}
	}
}
