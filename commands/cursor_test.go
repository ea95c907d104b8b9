package commands

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
)

const zeroHash = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

func TestScenario47_CursorShow(t *testing.T) {
	h := newTestHost(t)
	cursor := func(version, shard int, hash string) string {
		return fmt.Sprintf(`{"version": %d, "shard_id": %d, "ts_ns": %d, "rule_set_hash": %q, "promoted_hash": %q}`,
			version, shard, noon.Add(-2*time.Hour).UnixNano(), hash, zeroHash)
	}
	h.write("shard-00.json", cursor(1, 0, zeroHash))
	h.write("shard-01.json", "")
	h.write("shard-02.json", cursor(1, 7, zeroHash))
	h.write("shard-03.json", cursor(1, 3, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="))
	h.write("shard-04.json", cursor(99, 4, zeroHash))
	h.must(exitCorrupt, "cursor", "show", "--shards", "0-5")
	equal(t, "stdout", h.out.String(), strings.ReplaceAll(`0|ok|2026-11-30T10:00:00Z|7200||||0|no side file: the groups start from the position
1|damaged||||||0|shard-01.json is empty
2|damaged||||||0|shard-02.json: shard_id "7" is not 2
3|damaged||||||0|shard-03.json: rule_set_hash "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==" is 31 bytes long, not 32
4|damaged||||||0|shard-04.json: version "99" is not 1
5|none||||||0|
`, "|", "\t"))
	equal(t, "stderr", h.err.String(), "")

	h.terminal("")
	h.must(exitCorrupt, "cursor", "show", "--shards", "0,1,5")
	equal(t, "table", h.out.String(), `SHARD  STATE    POSITION              LAG  LAST WALK  RECONCILED  BLOCKED  FAILED  NOTE
0      ok       2026-11-30T10:00:00Z  2h   none yet   none yet    -        0       no side file: the groups start from the position
1      damaged  -                     -    -          -           -        0       shard-01.json is empty
5      none     none yet              -    none yet   none yet    -        0
`)
}

func TestCursorShowNamesWhatIsBlocked(t *testing.T) {
	h := newTestHost(t)
	st := engine.ShardState{Shard: 3, Cursor: engine.Cursor{TsNs: noon.Add(-25 * time.Hour).UnixNano(), LastWalkedNs: noon.Add(-time.Hour).UnixNano()}}
	st.Side = engine.Side{
		ArrivalsNs: noon.Add(-5 * time.Minute).UnixNano(),
		Groups:     map[time.Duration]int64{day: noon.Add(-25 * time.Hour).UnixNano(), 30 * day: noon.Add(-31 * day).UnixNano()},
		Buckets: map[string]engine.BucketMemory{
			"a": {ReconciledNs: noon.Add(-3 * day).UnixNano()},
			"b": {ReconciledNs: noon.Add(-2 * day).UnixNano()},
		},
		Blocked:     &engine.Failure{Bucket: "logs", Key: "a\nb", VersionID: "v1", Action: "expiration_days", Outcome: "blocked", Reason: "busy", SinceNs: noon.Add(-time.Hour).UnixNano(), Attempts: 3},
		BlockedMore: 2,
		Failed:      []engine.Failure{{Bucket: "logs", Key: "c", Outcome: "transport_error", SinceNs: noon.Add(-time.Minute).UnixNano(), Attempts: 1}},
	}
	check(t, cursorfile.NewStore(h.cursors, nil).Save(t.Context(), &st))
	h.terminal("")
	h.must(exitDone, "cursor", "show", "--shard", "3", "--groups")
	equal(t, "stdout", h.out.String(), `SHARD  STATE    POSITION              LAG   LAST WALK             RECONCILED            BLOCKED                 FAILED  NOTE
3      blocked  2026-11-29T11:00:00Z  1d1h  2026-11-30T11:00:00Z  2026-11-27T12:00:00Z  logs/a\nb (version v1)  1

SHARD  GROUP     POSITION              LAG
3      1d        2026-11-29T11:00:00Z  1d1h
3      30d       2026-10-30T12:00:00Z  31d
3      arrivals  2026-11-30T11:55:00Z  5m

shard 3: blocked at "logs/a\nb (version v1)": expiration_days: blocked: busy, since 2026-11-30T11:00:00Z, 3 attempts
shard 3: 2 more behind it
shard 3: failed on "logs/c": look-up: transport_error, since 2026-11-30T11:59:00Z
`)
	h.OutTTY = false
	h.must(exitDone, "cursor", "show", "--shard", "3", "--groups")
	equal(t, "tsv", h.out.String(), strings.ReplaceAll(`3|1d|2026-11-29T11:00:00Z|90000
3|30d|2026-10-30T12:00:00Z|2678400
3|arrivals|2026-11-30T11:55:00Z|300
`, "|", "\t"))
	h.must(exitDone, "cursor", "show", "--shard", "3", "--output", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "now", "shards")
	shard := doc["shards"].([]any)[0].(map[string]any)
	equalFields(t, "shard", shard, "shard", "state", "ts_ns", "position", "lag_seconds", "last_walked", "reconciled", "rule_set_hash", "promoted_hash",
		"foreign", "arrivals", "groups", "blocked", "blocked_more", "failed", "walks", "warnings", "damage")
	equalFields(t, "group", shard["groups"].([]any)[0], "delay_seconds", "position")
	equalFields(t, "failure", shard["failed"].([]any)[0], "bucket", "key", "version_id", "action", "rule_id", "rule_hash", "outcome", "reason", "since", "attempts")
}

// saved is a shard with a cursor, a side file and a group.
func saved(t *testing.T, h *testHost, shard int, at time.Time) {
	t.Helper()
	st := engine.ShardState{Shard: shard, Cursor: engine.Cursor{TsNs: at.UnixNano()}}
	st.Side = engine.Side{ArrivalsNs: at.UnixNano(), Groups: map[time.Duration]int64{day: at.UnixNano()}, Buckets: map[string]engine.BucketMemory{"logs": {Rules: engine.Hash{1}}}}
	check(t, cursorfile.NewStore(h.cursors, nil).Save(t.Context(), &st))
}

func (h *testHost) load(shard int) engine.ShardState {
	h.t.Helper()
	st, err := cursorfile.NewStore(h.cursors, nil).Load(h.t.Context(), shard, h.cluster.HostTime())
	check(h.t, err)
	return st
}

func TestResetCold(t *testing.T) {
	h := newTestHost(t)
	saved(t, h, 3, noon.Add(-time.Hour))
	old := h.read("shard-03.json")
	h.must(exitDone, "cursor", "reset", "--to", "cold", "--shards", "3,4", "--yes")
	equal(t, "stdout", h.out.String(), "shard 3: 2026-11-30T11:00:00Z -> cold\nshard 4: none yet -> cold\n")
	contains(t, h.err.String(), "the next pass will walk every bucket", "kept shard-03.json.bak-20261130T120000Z\n")
	if st := h.load(3); st.Found || st.SideFound {
		t.Errorf("shard 3 is not cold: %+v", st)
	}
	equal(t, "backup", h.read("shard-03.json.bak-20261130T120000Z"), old)
}

func TestResetToATimeMovesEveryPosition(t *testing.T) {
	h := newTestHost(t)
	at := noon.Add(-2 * day).UnixNano()
	saved(t, h, 3, noon.Add(-5*day))
	saved(t, h, 4, noon.Add(-time.Hour))
	h.must(exitDone, "cursor", "reset", "--to", "2d", "--shards", "3-5", "--yes")
	for _, shard := range []int{3, 4} {
		st := h.load(shard)
		if st.Cursor.TsNs != at || st.Side.ArrivalsNs != at || st.Side.Groups[day] != at || len(st.Side.Buckets) != 1 {
			t.Errorf("shard %d: %+v, want every position at %d and its memory kept", shard, st, at)
		}
	}
	if st := h.load(5); st.Cursor.TsNs != at || st.SideFound {
		t.Errorf("shard 5: %+v, want a cursor alone", st)
	}
}

func TestResetToNow(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "old")
	h.must(exitDone, "run")
	h.cluster.Advance(10 * day)
	_, err := h.cluster.PutObject("logs", "new", objectOfOneByte)
	check(t, err)
	now := h.cluster.HostTime()
	h.must(exitDone, "cursor", "reset", "--to", "now", "--shards", "0-15", "--yes")
	contains(t, h.err.String(), "it will not delete objects that are already due")
	st := h.load(0)
	at := now.Add(-day - engine.Slack()).UnixNano()
	if st.Foreign() || st.Side.ArrivalsNs != now.UnixNano() || !reflect.DeepEqual(st.Side.Groups, map[time.Duration]int64{day: at}) || st.Cursor.TsNs != at {
		t.Errorf("state is %+v, want arrivals at now and the group at %d", st, at)
	}
	h.must(exitDone, "run", "--reconcile-interval", "0")
	if got := h.cluster.Deletes(); len(got) != 0 {
		t.Errorf("the pass after a reset to now deleted %+v", got)
	}
	h.cluster.Advance(day + time.Hour)
	h.must(exitDone, "run", "--reconcile-interval", "0")
	if got := h.cluster.Deletes(); len(got) != 1 || got[0].Request.Path != "new" {
		t.Errorf("deletes are %+v, want that of the new object", got)
	}
}

func TestResetToNowOfAShardWithoutCursorWalksNothing(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "old")
	h.cluster.Advance(10 * day)
	h.must(exitDone, "cursor", "reset", "--to", "now", "--shards", "0-15", "--yes")
	h.must(exitDone, "run")
	if got := h.cluster.Deletes(); len(got) != 0 || strings.Contains(h.err.String(), "walking") {
		t.Errorf("deleted %+v, said %s", got, &h.err)
	}
}

func TestResetToNowKeepsAnOutstandingWalk(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "old")
	h.must(exitDone, "run")
	check(t, h.cluster.SetRules("logs", strings.Replace(oneDay, "<Days>1<", "<Days>2<", 1)))
	h.cluster.Advance(10 * day)
	h.must(exitDone, "cursor", "reset", "--to", "now", "--shards", "0-15", "--yes")
	h.must(exitDone, "run")
	contains(t, h.err.String(), "rules changed: walking 1 bucket")
}

func TestResetOfADamagedCursor(t *testing.T) {
	for _, to := range []string{"cold", "now", "2d"} {
		h := newTestHost(t)
		h.write("shard-03.json", "{")
		h.must(exitDone, "cursor", "reset", "--to", to, "--shards", "3", "--yes")
		contains(t, h.out.String(), "shard 3: damaged: shard-03.json is malformed")
		equal(t, "backup", h.read("shard-03.json.bak-20261130T120000Z"), "{")
		h.must(exitDone, "cursor", "show", "--shard", "3")
	}
}

func TestResetAsks(t *testing.T) {
	for _, c := range []struct {
		answer string
		code   int
		reset  bool
	}{{"y\n", exitDone, true}, {"yes\n", exitDone, true}, {"n\n", exitFailed, false}, {"\n", exitFailed, false}, {"", exitFailed, false}} {
		h := newTestHost(t)
		saved(t, h, 3, noon.Add(-time.Hour))
		h.terminal(c.answer)
		h.must(c.code, "cursor", "reset", "--to", "cold", "--shards", "3")
		contains(t, h.err.String(), "reset 1 of 16 shards? [y/N] ")
		if got := !h.load(3).Found; got != c.reset {
			t.Errorf("answer %q: reset is %v", c.answer, got)
		}
	}
}

func TestScenario47_ResetRefusesWithoutATerminal(t *testing.T) {
	h := newTestHost(t)
	saved(t, h, 1, noon.Add(-time.Hour))
	h.must(exitFailed, "cursor", "reset", "--to", "2d", "--shards", "1")
	contains(t, h.err.String(), "weedlc: there is no terminal to ask on, and no --yes\nhint: weedlc cursor reset --to 2d --shards 1 --yes\n")
	st := h.load(1)
	if st.Cursor.TsNs != noon.Add(-time.Hour).UnixNano() {
		t.Error("the cursor moved")
	}
	names, err := h.cursors.List(t.Context())
	check(t, err)
	if len(names) != 2 {
		t.Errorf("files are %v, want no backup", names)
	}
}

func TestCommandsThatWriteTakeTheLock(t *testing.T) {
	for _, args := range [][]string{
		{"cursor", "reset", "--to", "cold", "--shards", "3", "--yes"},
		{"cursor", "edit", "--shard", "3", "--yes"},
		{"cursor", "put", "--shard", "3", "-"},
		{"run"},
		{"walk", "--all-buckets"},
	} {
		h := newTestHost(t)
		saved(t, h, 3, noon.Add(-time.Hour))
		h.In = strings.NewReader(h.read("shard-03.json"))
		before := h.read("shard-03.json")
		h.heldBy = heldByCron
		h.must(exitHeld, args...)
		contains(t, h.err.String(), `shard 3 is held by process 4711 on host "cron1"`, "hint: --wait 10m waits for it")
		equal(t, "cursor", h.read("shard-03.json"), before)
	}
}

// editing lets each visit to the editor change the text.
func (h *testHost) editing(visits ...func(text string) string) {
	h.Edit = func(_ context.Context, editor, file string) error {
		text, err := os.ReadFile(file)
		check(h.t, err)
		if len(visits) == 0 {
			h.t.Fatalf("the editor was opened once too often, with:\n%s", text)
		}
		edited := visits[0](string(text))
		visits = visits[1:]
		return os.WriteFile(file, []byte(edited), 0o600)
	}
}

func replace(old, new string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, new, 1) }
}

func TestCursorEdit(t *testing.T) {
	h := newTestHost(t)
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	saved(t, h, 3, at)
	h.terminal("y\n")
	from, to := fmt.Sprint(at.UnixNano()), fmt.Sprint(at.Add(-day).UnixNano())
	h.editing(
		replace(from, "-5"),
		func(text string) string {
			contains(t, text, "# shard-03.json: ts_ns \"-5\" is negative\n# these lines are taken off")
			return strings.Replace(text, `"ts_ns": -5`, `"ts_ns": `+to, 1)
		},
	)
	h.must(exitDone, "cursor", "edit", "--shard", "3")
	contains(t, h.out.String(), "--- shard-03.json\n+++ shard-03.json (edited)\n", `-  "ts_ns": `+from+",\n", `+  "ts_ns": `+to+",\n")
	contains(t, h.err.String(), "the next pass reads the log again from 2026-11-29T10:00:00Z, less an hour: 1d more", "replace shard-03.json? [y/N] ", "kept shard-03.json.bak-")
	st := h.load(3)
	if st.Cursor.TsNs != at.Add(-day).UnixNano() || !st.Foreign() {
		t.Errorf("state is %+v", st)
	}
}

func TestCursorEditGivesUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		visits []func(string) string
		answer string
		code   int
		err    string
	}{
		{"unchanged", []func(string) string{func(s string) string { return s }}, "", exitDone, "nothing was changed"},
		{"emptied", []func(string) string{func(string) string { return "\n" }}, "", exitDone, "nothing was changed"},
		{"defect left", []func(string) string{replace("{", "["), func(s string) string { return s }}, "", exitFailed, "is malformed"},
		{"answered no", []func(string) string{replace(`"shard_id": 3`, `"shard_id":  3`)}, "n\n", exitFailed, "nothing was changed"},
	} {
		h := newTestHost(t)
		saved(t, h, 3, noon.Add(-time.Hour))
		before := h.read("shard-03.json")
		h.terminal(c.answer)
		h.editing(c.visits...)
		if got := h.run("cursor", "edit", "--shard", "3"); got != c.code {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.code)
		}
		contains(t, h.err.String(), c.err)
		equal(t, c.name+": cursor", h.read("shard-03.json"), before)
	}
}

func TestCursorEditOfAFileThatChangedMeanwhile(t *testing.T) {
	h := newTestHost(t)
	saved(t, h, 3, noon.Add(-time.Hour))
	h.terminal("y\n")
	h.editing(func(text string) string {
		h.write("shard-03.json", cursorText(t, 3, noon.Add(-2*time.Hour)))
		return strings.Replace(text, `"shard_id": 3`, `"shard_id":  3`, 1)
	})
	h.must(exitFailed, "cursor", "edit", "--shard", "3")
	contains(t, h.err.String(), "weedlc: shard-03.json changed since it was read\n")
	equal(t, "cursor", h.read("shard-03.json"), cursorText(t, 3, noon.Add(-2*time.Hour)))
}

func TestCursorEditMendsADamagedCursor(t *testing.T) {
	h := newTestHost(t)
	h.write("shard-03.json", "{}")
	h.terminal("y\n")
	h.editing(func(string) string { return cursorText(t, 3, noon.Add(-time.Hour)) })
	h.must(exitDone, "cursor", "edit", "--shard", "3")
	contains(t, h.err.String(), "the next pass starts every position of the shard at 2026-11-30T11:00:00Z, less an hour")
	equal(t, "cursor", h.read("shard-03.json"), cursorText(t, 3, noon.Add(-time.Hour)))
}

func TestCursorEditUsesTheEditorOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{{nil, "vi"}, {[]string{"EDITOR=ed"}, "ed"}, {[]string{"EDITOR=ed", "VISUAL=code --wait"}, "code --wait"}} {
		h := newTestHost(t)
		saved(t, h, 3, noon)
		h.Env = append(h.Env, c.env...)
		used := ""
		h.Edit = func(_ context.Context, editor, _ string) error { used = editor; return fmt.Errorf("exit status 1") }
		h.must(exitFailed, "cursor", "edit", "--shard", "3")
		equal(t, "editor", used, c.want)
		contains(t, h.err.String(), fmt.Sprintf("weedlc: editor %q: exit status 1\nhint: EDITOR=vi weedlc cursor edit --shard 3\n", c.want))
	}
}

func TestCursorGetAndPut(t *testing.T) {
	h := newTestHost(t)
	h.write("shard-03.json", "damaged\x00")
	h.must(exitDone, "cursor", "get", "--shard", "3")
	equal(t, "stdout", h.out.String(), "damaged\x00")
	good := cursorText(t, 3, noon.Add(-time.Hour))
	h.In = strings.NewReader(good)
	h.must(exitDone, "cursor", "put", "--shard", "3", "-")
	equal(t, "cursor", h.read("shard-03.json"), good)
	equal(t, "backup", h.read("shard-03.json.bak-20261130T120000Z"), "damaged\x00")

	h.In = strings.NewReader(strings.Replace(good, "{", `{"note": 1,`, 1))
	h.must(exitFailed, "cursor", "put", "--shard", "3", "-")
	contains(t, h.err.String(), "weedlc: standard input: note", "\n")
	equal(t, "cursor", h.read("shard-03.json"), good)

	h.must(exitFailed, "cursor", "get", "--shard", "3", "--side")
	equal(t, "stderr", h.err.String(), "weedlc: shard 3 has no side file yet\nhint: weedlc cursor show --shard 3\n")
}

func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"equal", "a\nb\n", "a\nb\n", " a\n b\n"},
		{"changed line", "a\nb\nc\n", "a\nB\nc\n", " a\n-b\n+B\n c\n"},
		{"added and removed", "a\nb\n", "x\na\n", "+x\n a\n-b\n"},
		{"everything", "", "a\n", "+a\n"},
		{"context", "1\n2\n3\n4\n5\nold\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\nnew\n6\n7\n8\n9\n", " 3\n 4\n 5\n-old\n+new\n 6\n 7\n 8\n"},
		{"escaped", "a\x1b\n", "b\x1b\n", "-a\\x1b\n+b\\x1b\n"},
	} {
		equal(t, c.name, diff("old", "new", c.old, c.new), "--- old\n+++ new\n"+c.want)
	}
	big := strings.Repeat("a\n", 3000)
	got := diff("old", "new", "x\n"+big+"y\n", "z\n"+big+"w\n")
	if n := strings.Count(got, "\n"); n != 2+2*3002 {
		t.Errorf("a large diff has %d lines", n)
	}
}
