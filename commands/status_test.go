package commands

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/sweep"
)

// attentive are the lines of status -o tsv that need a person, with | between
// the columns.
func attentive(h *testHost) string {
	var b strings.Builder
	for line := range strings.Lines(h.out.String()) {
		if strings.Contains(line, "\t"+string(statusAttention)+"\t") {
			b.WriteString(strings.ReplaceAll(line, "\t", "|"))
		}
	}
	return b.String()
}

func TestScenario53_RulesExistNothingRuns(t *testing.T) {
	h := newTestHost(t)
	for _, name := range []string{"a", "b", "c"} {
		h.bucket(name)
	}
	h.must(exitDone, "status", "-o", "table")
	equal(t, "stdout", h.out.String(), `WHAT             STATE      HOW IT STANDS                       MORE
pause            ok         there is none
buckets          note       with rules: 3, never processed: 3   weedlc rules list
shards 0-15      attention  no pass yet                         weedlc run
last pass        note       never run: 3 buckets are waiting    weedlc run
built-in worker  ok         not seen: every cursor is weedlc's

1 line needs attention
`)
	h.must(exitUndone, "status", "--check")
	equal(t, "attention", attentive(h), "shards 0-15|attention|no pass yet|weedlc run\n")

	h.must(exitDone, "run")
	h.must(exitDone, "status", "--check", "-o", "table")
	equal(t, "stdout", h.out.String(), `WHAT             STATE  HOW IT STANDS                                          MORE
pause            ok     there is none
buckets          ok     with rules: 3, never processed: 0                      weedlc rules list
shards 0-15      ok     5m behind, lag 23h, walked just now                    weedlc cursor show
last pass        ok     had read the log through 2026-11-30T11:55:00Z, 5m ago  weedlc cursor show
built-in worker  ok     not seen: every cursor is weedlc's

nothing needs a person
`)
	// A bucket that the next pass takes up needs nobody.
	h.bucket("d")
	h.must(exitDone, "status", "--check")
	contains(t, h.out.String(), "buckets\tnote\twith rules: 4, never processed: 1\tweedlc rules list\n")
	check(t, h.cluster.SetRules("a", strings.ReplaceAll(oneDay, "<Days>1<", "<Days>2<")))
	h.must(exitDone, "status", "--check")
	contains(t, h.out.String(), "with rules: 4, never processed: 1, rules changed since: 1\t")
}

func TestStatusOfAClusterWithoutRules(t *testing.T) {
	h := newTestHost(t)
	h.must(exitDone, "status", "--check")
	equal(t, "stdout", h.out.String(), strings.ReplaceAll(`pause|ok|there is none|
buckets|ok|with rules: 0, never processed: 0|weedlc rules list
shards 0-15|ok|no pass yet|weedlc cursor show
last pass|ok|not known|weedlc cursor show
built-in worker|ok|not seen: every cursor is weedlc's|
`, "|", "\t"))
}

func TestStatusOfBuckets(t *testing.T) {
	h := newTestHost(t)
	for name, rules := range map[string]string{"bad": faulty(), "good": oneDay, "torn": "<LifecycleConfiguration><Rule>"} {
		check(t, h.cluster.CreateBucket(name, engine.Unversioned, false))
		check(t, h.cluster.SetRules(name, rules))
	}
	h.must(exitUndone, "run")
	h.must(exitUndone, "status", "--check")
	equal(t, "attention", attentive(h), "buckets|attention|with rules: 3, never processed: 0, unreadable: 1, with refused rules: 1|weedlc rules list\n")
	unfiltered := strings.ReplaceAll(oneDay, "<Filter><Prefix></Prefix></Filter>", "")
	check(t, h.cluster.SetRules("bad", unfiltered))
	check(t, h.cluster.SetRules("torn", unfiltered))
	h.must(exitUndone, "status", "--check")
	h.must(exitDone, "status", "--check", "--allow-unfiltered-rules")
}

// shard saves a shard whose work is done through an instant.
func (h *testHost) shard(shard int, through time.Time, change func(*engine.ShardState)) {
	h.t.Helper()
	st := h.load(shard)
	st.Cursor = engine.Cursor{TsNs: through.Add(-day).UnixNano()}
	st.Side = engine.Side{
		ArrivalsNs: through.UnixNano(), Groups: map[time.Duration]int64{day: through.Add(-day).UnixNano()},
		Buckets: map[string]engine.BucketMemory{},
	}
	if change != nil {
		change(&st)
	}
	check(h.t, cursorfile.NewStore(h.cursors, nil).Save(h.t.Context(), &st))
}

func TestStatusOfShards(t *testing.T) {
	failure := engine.Failure{Bucket: "logs", Key: "a\tb", Action: "expiration_days", Outcome: "blocked", Reason: "busy", SinceNs: noon.Add(-time.Hour).UnixNano(), Attempts: 3}
	recent := noon.Add(-time.Hour)
	for _, c := range []struct {
		name  string
		args  []string
		shard func(h *testHost)
		want  string
	}{
		{"good", nil, func(h *testHost) { h.shard(3, recent, nil) }, ""},
		{"blocked", nil, func(h *testHost) {
			h.shard(3, recent, func(st *engine.ShardState) { st.Side.Blocked = &failure })
		}, `shard 3|attention|blocked at "logs/a\\tb": expiration_days: blocked: busy, since 2026-11-30T11:00:00Z, 3 attempts, 1h behind, lag 1d1h|weedlc cursor show --shards 3
`},
		{"failed", nil, func(h *testHost) {
			h.shard(3, recent, func(st *engine.ShardState) { st.Side.Failed = []engine.Failure{failure, failure} })
		}, `shard 3|attention|2 deletes of walks failed, 1h behind, lag 1d1h|weedlc cursor show --shards 3
`},
		{"damaged", nil, func(h *testHost) { h.write("shard-03.json", "{") }, `shard 3|attention|shard-03.json is malformed at line 1, column 1: unexpected end of JSON input|weedlc cursor show --shards 3
`},
		{"never run", nil, func(h *testHost) { check(h.t, removeFile(h, "shard-03.json")) }, `shard 3|attention|no pass yet|weedlc run --shards 3
`},
		{"side file damaged", nil, func(h *testHost) { h.write("shard-03.weedlc.json", "{}") }, ""},
		{"a pass was due", nil, func(h *testHost) { h.shard(3, noon.Add(-26*time.Hour), nil) }, ""},
		{"a pass is overdue", nil, func(h *testHost) { h.shard(3, noon.Add(-26*time.Hour-1), nil) }, `shard 3|attention|1d2h behind, lag 2d2h|weedlc cursor show --shards 3
`},
		{"--max-lag", []string{"--max-lag", "59m"}, func(h *testHost) { h.shard(3, recent, nil) }, `shard 3|attention|1h behind, lag 1d1h|weedlc cursor show --shards 3
`},
		{"--max-lag 0", []string{"--max-lag", "0"}, func(h *testHost) { h.shard(3, noon.Add(-900*day), nil) }, ""},
		{"a group alone is overdue", nil, func(h *testHost) {
			h.shard(3, recent, func(st *engine.ShardState) {
				st.Side.Groups[30*day] = noon.Add(-30*day - 27*time.Hour).UnixNano()
				st.Cursor.TsNs = st.Side.Groups[30*day]
			})
		}, `shard 3|attention|1d3h behind, lag 31d3h|weedlc cursor show --shards 3
`},
		{"a group waits", nil, func(h *testHost) {
			h.shard(3, recent, func(st *engine.ShardState) {
				st.Side.Groups[30*day] = noon.Add(-30 * day).UnixNano()
				st.Cursor.TsNs = st.Side.Groups[30*day]
			})
		}, ""},
		{"midnight clock", []string{"--day-clock", "midnight"}, func(h *testHost) {
			h.shard(3, recent, func(st *engine.ShardState) { st.Side.Groups[day] = noon.Add(-day - 27*time.Hour).UnixNano() })
		}, ""},
		// The rules of the cluster wait a day.
		{"built-in worker's", nil, func(h *testHost) {
			check(h.t, removeFile(h, "shard-03.weedlc.json"))
			h.write("shard-03.json", cursorText(h.t, 3, noon.Add(-50*time.Hour)))
		}, ""},
		{"built-in worker's, overdue", nil, func(h *testHost) {
			check(h.t, removeFile(h, "shard-03.weedlc.json"))
			h.write("shard-03.json", cursorText(h.t, 3, noon.Add(-50*time.Hour-1)))
		}, `shard 3|attention|1d2h behind, lag 2d2h|weedlc cursor show --shards 3
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newTestHost(t)
			h.bucket("logs")
			for shard := range engine.ShardCount {
				h.shard(shard, recent, nil)
			}
			c.shard(h)
			code := exitDone
			if c.want != "" {
				code = exitUndone
			}
			h.must(code, append([]string{"status", "--check"}, c.args...)...)
			if strings.HasPrefix(c.name, "--max-lag") && c.want != "" {
				c.want = strings.ReplaceAll(c.want, "shard 3|", "shards 0-15|")
				c.want = strings.ReplaceAll(c.want, " --shards 3", "")
			}
			equal(t, "attention", attentive(h), c.want)
		})
	}
}

// removeFile removes a file beside the cursors.
func removeFile(h *testHost, name string) error {
	_, version, err := h.cursors.Read(h.t.Context(), name)
	if err != nil {
		return err
	}
	return h.cursors.Remove(h.t.Context(), name, version)
}

func TestStatusGroupsShards(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs")
	for shard := range engine.ShardCount {
		h.shard(shard, noon.Add(-time.Hour), nil)
	}
	for _, shard := range []int{2, 7} {
		h.shard(shard, noon.Add(-2*time.Hour), nil)
	}
	h.must(exitDone, "status")
	contains(t, h.out.String(),
		"shards 0,1,3-6,8-15\tok\t1h behind, lag 1d1h\tweedlc cursor show --shards 0,1,3-6,8-15\n",
		"shards 2,7\tok\t2h behind, lag 1d2h\tweedlc cursor show --shards 2,7\n")
}

func TestStatusOfAForeignCursor(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs")
	h.must(exitDone, "run")
	h.write("shard-03.json", cursorText(t, 3, noon.Add(-2*time.Hour)))
	h.write("shard-04.json", cursorText(t, 4, time.Unix(0, 0)))
	h.must(exitDone, "status", "--check")
	contains(t, h.out.String(),
		"built-in worker\tnote\tit, or a person, has written the cursors of shards 3,4 since weedlc did\tweedlc cursor show\n",
		"shard 4\tok\thow far behind is not known\tweedlc cursor show --shards 4\n")
}

// cut saves walks that are to go on: of one bucket for all shards, of another
// for two.
func (h *testHost) cut() {
	for shard := range engine.ShardCount {
		h.shard(shard, noon.Add(-time.Hour), func(st *engine.ShardState) {
			st.Side.Buckets["logs"] = engine.BucketMemory{Walk: &engine.WalkPoint{StartedNs: noon.Add(-time.Hour).UnixNano(), From: "m/\n2", Rules: engine.Hash{1}}}
			if shard == 3 || shard == 5 {
				st.Side.Buckets["big"] = engine.BucketMemory{Walk: &engine.WalkPoint{StartedNs: noon.Add(-day).UnixNano(), From: "x", Bound: true}}
			}
		})
	}
}

func TestScenario39_StatusAndCursorShowTellHowFarWalksAre(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs")
	h.cut()
	h.must(exitDone, "status", "--check")
	contains(t, h.out.String(),
		`walk of "big"	note	goes on at "x", begun 2026-11-29T12:00:00Z, shards 3,5, for the rules that only a walk serves	weedlc run`+"\n",
		`walk of "logs"	note	goes on at "m/\\n2", begun 2026-11-30T11:00:00Z, shards 0-15	weedlc run`+"\n")

	h.must(exitDone, "cursor", "show", "--shards", "3-4")
	equal(t, "tsv", h.out.String(), strings.ReplaceAll(`3|ok|2026-11-29T11:00:00Z|90000||||0|walk of "big" goes on at "x"; walk of "logs" goes on at "m/\\n2"
4|ok|2026-11-29T11:00:00Z|90000||||0|walk of "logs" goes on at "m/\\n2"
`, "|", "\t"))
	h.must(exitDone, "cursor", "show", "--shards", "3-4", "-o", "table")
	equal(t, "table", h.out.String(), `SHARD  STATE  POSITION              LAG   LAST WALK  RECONCILED  BLOCKED  FAILED  NOTE
3      ok     2026-11-29T11:00:00Z  1d1h  none yet   none yet    -        0
4      ok     2026-11-29T11:00:00Z  1d1h  none yet   none yet    -        0

walk of "big" goes on at "x", begun 2026-11-29T12:00:00Z, shards 3, for the rules that only a walk serves
walk of "logs" goes on at "m/\n2", begun 2026-11-30T11:00:00Z, shards 3,4
`)
	h.must(exitDone, "cursor", "show", "--shard", "3", "-o", "json")
	walks := object(t, h.out.Bytes())["shards"].([]any)[0].(map[string]any)["walks"].([]any)
	equalFields(t, "walk", walks[0], "bucket", "shards", "from", "started", "walk_bound")
	if got := fmt.Sprint(walks); got != "[map[bucket:big from:x shards:[3] started:2026-11-29T12:00:00Z walk_bound:true] map[bucket:logs from:m/\n2 shards:[3] started:2026-11-30T11:00:00Z walk_bound:false]]" {
		t.Errorf("walks are %s", got)
	}
}

func TestStatusJSON(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs")
	h.cut()
	h.shard(3, noon.Add(-27*time.Hour), func(st *engine.ShardState) {
		st.Side.Blocked = &engine.Failure{Bucket: "logs", Key: "k", Outcome: "blocked"}
	})
	h.write("shard-04.json", "{")
	h.write("shard-05.json", cursorText(t, 5, noon.Add(-2*time.Hour)))
	h.must(exitUndone, "status", "--check", "-o", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "now", "attention", "pause", "buckets", "last_pass", "shards", "walks", "queue", "foreign")
	equalFields(t, "buckets", doc["buckets"], "with_rules", "never_processed", "changed", "refused", "unreadable")
	shards := doc["shards"].([]any)
	equalFields(t, "shard", shards[0], "shard", "state", "behind_seconds", "lag_seconds", "last_walked", "blocked", "failed", "damage")
	equalFields(t, "walk", doc["walks"].([]any)[0], "bucket", "shards", "from", "started", "walk_bound")
	blocked := shards[3].(map[string]any)
	if got := fmt.Sprintln(blocked["state"], blocked["behind_seconds"], blocked["lag_seconds"], blocked["failed"]); got != "blocked 97200 183600 0\n" {
		t.Errorf("shard 3: %s", got)
	}
	if got := fmt.Sprintln(doc["foreign"], doc["last_pass"], len(doc["attention"].([]any)), shards[4].(map[string]any)["state"]); got != "[5] 2026-11-30T11:00:00Z 2 damaged\n" {
		t.Errorf("foreign, last pass, attention, shard 4: %s", got)
	}
}

func TestStatusNeedsACluster(t *testing.T) {
	h := newTestHost(t)
	h.Dial = func(context.Context, DialOptions) (*Cluster, error) { return nil, errDeclined }
	h.must(exitFailed, "status", "--cursor-dir", "here")
}

func TestScenario55_StatusAndDoctorTellOfAPause(t *testing.T) {
	h := newSurveyedHost(t)
	h.bucket("logs")
	h.must(exitDone, "run")
	h.must(exitDone, "status", "--check")
	_, err := cursorfile.SetPause(t.Context(), h.cursors, cursorfile.Pause{Reason: "incident\t12", By: "ann@cron1", Since: noon})
	check(t, err)
	h.must(exitUndone, "status", "--check")
	equal(t, "attention", attentive(h), `pause|attention|paused since 2026-11-30T12:00:00Z by ann@cron1: incident\t12|weedlc resume
`)
	h.must(exitUndone, "doctor")
	equal(t, "unwell", unwell(h), `pause||failed|look for one beside the cursors|weedlc is paused since 2026-11-30T12:00:00Z by ann@cron1: incident\t12|weedlc resume, once the reason is gone
`)
	h.must(exitDone, "status", "-o", "json")
	pause := object(t, h.out.Bytes())["pause"]
	equalFields(t, "pause", pause, "reason", "by", "since", "damage")
	if got := fmt.Sprintln(pause); got != "map[by:ann@cron1 damage: reason:incident\t12 since:2026-11-30T12:00:00Z]\n" {
		t.Errorf("pause is %s", got)
	}
	h.write(cursorfile.PauseName, "{")
	h.must(exitUndone, "status", "--check")
	contains(t, attentive(h), "pause|attention|paused, but who did it and why cannot be read: ")
	h.must(exitUndone, "doctor")
	h.must(exitDone, "status", "-o", "json")
	if p := object(t, h.out.Bytes())["pause"].(map[string]any); p["since"] != nil || p["damage"] == "" {
		t.Errorf("pause is %v", p)
	}
	_, err = cursorfile.LiftPause(t.Context(), h.cursors)
	check(t, err)
	h.must(exitDone, "status", "--check")
	h.must(exitDone, "doctor")
	equal(t, "unwell", unwell(h), "")
}

func TestStatusAndDoctorOfAQueue(t *testing.T) {
	h := newSurveyedHost(t)
	h.must(exitDone, "status")
	h.must(exitDone, "doctor")
	if out := h.out.String(); strings.Contains(out, "queue") {
		t.Errorf("a queue that nobody asked for: %s", out)
	}
	h.must(exitDone, "status", "--check", "-o", "json")
	if queue := object(t, h.out.Bytes())["queue"]; queue != nil {
		t.Errorf("queue is %v", queue)
	}

	// What is asked for and is not there is named, and not made.
	h.must(exitUndone, "status", "--check", "--queue", "sqlite:missing.db")
	contains(t, attentive(h), "queue|attention|", "missing.db")
	h.must(exitUndone, "doctor", "--queue", "sqlite:missing.db")
	contains(t, unwell(h), "queue||failed|open it and count its jobs|", "missing.db", "weedlc sweep migrate")
	h.must(exitDone, "status", "-o", "json", "--queue", "sqlite:missing.db")
	queue := object(t, h.out.Bytes())["queue"]
	equalFields(t, "queue", queue, "unfinished", "dead_letters", "oldest_unfinished", "oldest_dead", "error")
	if queue.(map[string]any)["error"] == "" {
		t.Error("no error is told")
	}
	if _, err := os.Stat("missing.db"); err == nil {
		t.Error("the queue was made")
	}

	h.must(exitDone, "sweep", "enqueue", "--queue", "sqlite:queue.db", "--sweep", "test:1")
	h.must(exitDone, "status", "--check", "--queue", "sqlite:queue.db")
	contains(t, h.out.String(), "queue\tok\tunfinished jobs: 16, dead letters: 0\tweedlc sweep status\n")
	h.must(exitDone, "doctor", "--queue", "sqlite:queue.db")
	contains(t, h.out.String(), "queue\t\tok\topen it and count its jobs\tunfinished jobs: 16, dead letters: 0\t\n")
	h.must(exitDone, "status", "-o", "json", "--queue", "sqlite:queue.db")
	queue = object(t, h.out.Bytes())["queue"]
	if got := fmt.Sprintln(queue); got != "map[dead_letters:0 error: oldest_dead:<nil> oldest_unfinished:2026-11-30T12:00:00Z unfinished:16]\n" {
		t.Errorf("queue is %s", got)
	}
}

func TestStatusOfDeadLetters(t *testing.T) {
	f := &statusFacts{queue: &sweep.Figures{Jobs: map[sweep.JobState]int{
		sweep.JobReady: 1, sweep.JobRunning: 2, sweep.JobWaiting: 4, sweep.JobRetrying: 8, sweep.JobDone: 16, sweep.JobDead: 32, sweep.JobRedriven: 64,
	}}}
	if got := f.queueLines(); len(got) != 1 || got[0] != (statusLine{"queue", statusAttention, "unfinished jobs: 15, dead letters: 32", "weedlc sweep dead-letters"}) {
		t.Errorf("lines are %+v", got)
	}
}
