package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// dueBucket makes a bucket with so many objects that are due and so many that
// are not.
func (h *testHost) dueBucket(name string, due, young int) {
	h.t.Helper()
	var keys []string
	for i := range due {
		keys = append(keys, fmt.Sprintf("k%03d", i))
	}
	h.bucket(name, keys...)
	h.cluster.Advance(30 * time.Hour)
	for i := range young {
		_, err := h.cluster.PutObject(name, fmt.Sprintf("young%03d", i), objectOfOneByte)
		check(h.t, err)
	}
}

// deleted are the keys that the gateway has deleted, in order.
func (h *testHost) deleted() []string {
	var keys []string
	for _, d := range h.cluster.Deletes() {
		if d.Response.Outcome == engine.Done {
			keys = append(keys, d.Request.Bucket+"/"+d.Request.Path)
		}
	}
	return keys
}

// files are all files beside the cursors.
func (h *testHost) files() string {
	h.t.Helper()
	names, err := h.cursors.List(h.t.Context())
	check(h.t, err)
	var all strings.Builder
	for _, name := range names {
		if name != cursorfile.PauseName {
			fmt.Fprintf(&all, "%s\n%s\n", name, h.read(name))
		}
	}
	return all.String()
}

func TestScenario54_GuardsAreToldInEveryForm(t *testing.T) {
	for _, tc := range []struct {
		flag, value, guard, message, hint string
		deleted                           int
	}{
		{"--max-deletes", "10", "max_deletes", "10 deletes made, as many as are allowed; the next is key", "weedlc dry-run shows what else is due", 10},
		{"--max-fraction", "50%", "max_fraction", `left alone: 90 of its 100 objects are due, more than the fraction 0.5 that may be: rule "old" 90`, "weedlc dry-run --bucket logs shows what is due there", 0},
	} {
		t.Run(tc.guard, func(t *testing.T) {
			for _, form := range []string{"", formTable, formTSV, formJSON} {
				h := newTestHost(t)
				h.dueBucket("logs", 90, 10)
				args := []string{"run", tc.flag, tc.value}
				if form != "" {
					args = append(args, "--output", form)
				}
				h.must(exitUndone, args...)
				if n := len(h.deleted()); n != tc.deleted {
					t.Errorf("%d objects are deleted, want %d", n, tc.deleted)
				}
				contains(t, h.err.String(), "daily_run: status=partial ")
				switch form {
				case "", formTable:
					contains(t, h.out.String(), `guard: bucket "logs": `+tc.message, `rule "old"`, "hint: "+tc.hint)
				case formJSON:
					problem := object(t, h.out.Bytes())["errors"].([]any)[0].(map[string]any)
					contains(t, problem["message"].(string), tc.message)
					equal(t, "category", problem["category"].(string), "guard")
					equal(t, "rule", problem["rule_id"].(string), "old")
				}
				h.must(exitDone, "run")
				if n := len(h.deleted()); n != 90 {
					t.Errorf("%d objects are deleted in the end", n)
				}
			}
		})
	}
}

func TestScenario55_PauseAndResume(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 3, 0)
	h.must(exitDone, "resume")
	equal(t, "stderr", h.err.String(), "nothing was paused\n")
	since := h.Now().UTC().Format(time.RFC3339)
	h.must(exitDone, "pause", "--reason", "incident 12\x1b[31m")
	equal(t, "stdout", h.out.String(), "")
	paused := "paused since " + since + ` by ann@ops1: incident 12\x1b[31m`
	equal(t, "stderr", h.err.String(), "weedlc is "+paused+
		"\nno run or walk deletes anything until weedlc resume; SeaweedFS's own lifecycle worker does not look at this\n")
	h.cluster.Advance(time.Hour)
	h.must(exitDone, "pause", "--reason", "another")
	equal(t, "stderr of a second pause", h.err.String(), "weedlc was "+paused+"\nnothing was changed\n")

	for _, args := range [][]string{{"run"}, {"walk", "--bucket", "logs"}, {"run", "--no-lock"}} {
		h.must(exitUndone, args...)
		equal(t, "stdout", h.out.String(), "guard: "+paused+"\nhint: weedlc resume lifts the pause; then: weedlc "+strings.Join(args, " ")+"\n")
		contains(t, h.err.String(), "daily_run: status=partial shards=0 errors=1 ")
	}
	if len(h.deleted()) > 0 || h.files() != "" {
		t.Errorf("a paused run has deleted %v and left %q", h.deleted(), h.files())
	}
	// It says so too when another pass holds the shards.
	h.heldBy = heldByCron
	h.must(exitUndone, "run")
	h.heldBy = nil

	for _, args := range [][]string{
		{"dry-run"}, {"dry-run", "--pass"}, {"explain-rule", "--bucket", "logs"}, {"rules", "list"}, {"rules", "show", "--bucket", "logs"},
		{"cursor", "show"},
	} {
		h.run(args...)
		if n := strings.Count(h.err.String(), "WRN weedlc is "+paused); n != 1 {
			t.Errorf("weedlc %s tells %d times of the pause:\n%s", strings.Join(args, " "), n, h.err.String())
		}
	}
	h.must(exitDone, "resume", "--quiet")
	equal(t, "stderr", h.err.String(), "")
	h.must(exitDone, "run")
	if n := len(h.deleted()); n != 3 {
		t.Errorf("%d objects are deleted", n)
	}
	h.must(exitDone, "dry-run")
	if strings.Contains(h.err.String(), "paused") {
		t.Errorf("stderr after resume is\n%s", &h.err)
	}
}

// A local directory of cursors has a pause of its own.
func TestPauseBesideLocalCursors(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 3, 0)
	h.must(exitDone, "pause", "--cursor-dir", "cursors")
	contains(t, h.err.String(), "by ann@ops1: no reason given")
	if len(h.dialed) > 0 {
		t.Error("the cluster was asked")
	}
	h.must(exitUndone, "run", "--cursor-dir", "cursors")
	h.must(exitUndone, "walk", "--all-buckets", "--cursor-dir", "cursors")
	h.run("dry-run", "--cursor-dir", "cursors")
	contains(t, h.err.String(), "WRN weedlc is paused since ")
	if len(h.deleted()) > 0 {
		t.Errorf("%v are deleted", h.deleted())
	}
	h.must(exitDone, "run")
	h.must(exitDone, "resume", "--cursor-dir", "cursors")
	contains(t, h.err.String(), "resumed; weedlc was paused since ")
}

// Whatever is in the file, it pauses.
func TestPauseByHand(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 3, 0)
	h.write(cursorfile.PauseName, "stop!")
	h.must(exitUndone, "run")
	contains(t, h.out.String(), "guard: paused, but who did it and why cannot be read: "+cursorfile.PauseName+" is malformed")
	h.must(exitDone, "resume")
	h.must(exitDone, "run")
}

func TestWorkTimeEndsAPass(t *testing.T) {
	h := newTestHost(t) // at noon, 12:00 UTC
	h.dueBucket("logs", 10, 0)
	if got := h.Now().Format("15:04"); got != "18:00" {
		t.Fatalf("it is %s", got)
	}
	h.must(exitUndone, "run", "--work-time", "18:01-04:00,06:00-18:00")
	equal(t, "stdout", h.out.String(), "guard: outside the work time 18:01-04:00,06:00-18:00: it is 18:00 UTC\n"+
		"hint: a pass within these hours goes on; progress is saved\n")
	if len(h.deleted()) > 0 || h.files() != "" {
		t.Errorf("a run out of hours has deleted %v and left %q", h.deleted(), h.files())
	}
	h.cluster.SetHook(func(c memcluster.Call) error {
		if c.Op == memcluster.OpDelete && c.Done {
			h.cluster.Advance(20 * time.Second)
		}
		return nil
	})
	h.must(exitUndone, "run", "--work-time", "17:30-18:01", "--concurrency", "1")
	contains(t, h.out.String(), "guard: outside the work time 17:30-18:01: it is 18:01 UTC\n")
	if n := len(h.deleted()); n != 3 {
		t.Errorf("%d objects are deleted, want 3", n)
	}
	h.must(exitDone, "run", "--work-time", "17:30-18:30")
	if n := len(h.deleted()); n != 10 {
		t.Errorf("%d objects are deleted in the end", n)
	}
}

// auditLines are the records of an audit log.
func auditLines(t *testing.T, path string) []auditLine {
	t.Helper()
	text, err := os.ReadFile(path)
	check(t, err)
	var lines []auditLine
	for line := range strings.Lines(string(text)) {
		var l auditLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestScenario56_AuditLog(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 3, 1)
	h.cluster.AnswerDeletes("logs", "k000", memcluster.Answer{Outcome: engine.NoopResolved, Reason: "NOT_FOUND: gone"})
	h.cluster.AnswerDeletes("logs", "k001", memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"})
	h.must(exitUndone, "run", "--audit-log", "audit.jsonl")
	lines := auditLines(t, "audit.jsonl")
	var got []string
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%s %s %s %s", l.Key, l.Outcome, l.Reason, l.Action))
	}
	slices.Sort(got)
	want := []string{"k000 noop_resolved NOT_FOUND: gone expiration_days", "k001 blocked busy expiration_days", "k002 done  expiration_days"}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are %q, want %q", got, want)
	}
	var fields map[string]any
	text, err := os.ReadFile("audit.jsonl")
	check(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	check(t, json.Unmarshal([]byte(first), &fields))
	delete(fields, "reason")
	equalFields(t, "line", fields, "time", "run_id", "bucket", "key", "version_id", "action", "rule_id", "rule_hash", "due", "identity", "outcome")
	equalFields(t, "identity", fields["identity"], "mtime_ns", "size", "head_chunk", "extended_hash")

	// Another pass adds to it, under a name of its own.
	h.must(exitDone, "run", "--audit-log", "audit.jsonl")
	more := auditLines(t, "audit.jsonl")
	if len(more) <= len(lines) || more[0].RunID != lines[0].RunID || more[len(more)-1].RunID == lines[0].RunID {
		t.Errorf("the second run has added %d lines", len(more)-len(lines))
	}
	h.must(exitDone, "walk", "--all-buckets", "--audit-log", "audit.jsonl")
}

// A line that was left without its end does not swallow the next one.
func TestAuditLogGoesOnBehindATornLine(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 1, 0)
	check(t, os.WriteFile("audit.jsonl", []byte("{\"time\":\"20"), 0o600))
	h.must(exitDone, "run", "--audit-log", "audit.jsonl")
	text, err := os.ReadFile("audit.jsonl")
	check(t, err)
	torn, rest, _ := strings.Cut(string(text), "\n")
	var l auditLine
	if torn != `{"time":"20` || json.Unmarshal([]byte(rest), &l) != nil || l.Key != "k000" {
		t.Errorf("the file is\n%s", text)
	}
}

func TestAuditLogThatCannotBeWritten(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 20, 0)
	for path, want := range map[string]string{
		filepath.Join("missing", "audit.jsonl"): "weedlc: audit log: open missing/audit.jsonl: no such file or directory\n",
		t.TempDir():                             "is a directory\n",
		"/dev/null":                             "weedlc: audit log: \"/dev/null\" is not a regular file\n",
	} {
		h.must(exitFailed, "run", "--audit-log", path)
		contains(t, h.err.String(), want)
	}
	if len(h.deleted()) > 0 || h.files() != "" {
		t.Errorf("%v are deleted", h.deleted())
	}
	full, err := openAuditLog("audit.jsonl", "run", h.Now)
	check(t, err)
	check(t, full.file.Close()) // every write fails now
	if err := full.Sync(); err == nil || !strings.HasPrefix(err.Error(), "audit log: ") {
		t.Errorf("a sync that fails says %v", err)
	}
}

func TestBucketRates(t *testing.T) {
	h := newTestHost(t)
	h.dueBucket("logs", 12, 0)
	h.bucket("fast")
	check(t, os.WriteFile("weedlc.toml", []byte(`bucket-deletes-per-second = ["100", "logs=0.0001"]`), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.cluster.SetHook(func(c memcluster.Call) error {
		if c.Op == memcluster.OpDelete && c.Done {
			cancel() // the next has to wait
		}
		return nil
	})
	if code := h.runContext(ctx, "run", "--concurrency", "1"); code != exitInterrupted {
		t.Errorf("exit %d\n%s", code, h.err.String())
	}
	if n := len(h.deleted()); n != 1 {
		t.Errorf("%d objects are deleted, want 1", n)
	}
	h.cluster.SetHook(nil)
	h.must(exitDone, "run", "--bucket-deletes-per-second", "logs=0,other=1")
	if n := len(h.deleted()); n != 12 {
		t.Errorf("%d objects are deleted in the end", n)
	}
}

func TestScenario55_WalkExcludes(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "keep, this/x", "keep")
	h.bucket("archive", "a")
	h.cluster.Advance(30 * time.Hour)
	h.must(exitFailed, "walk", "--all-buckets", "--exclude-bucket", "archiv")
	contains(t, h.out.String(), `bucket "archiv" does not exist`)
	h.must(exitDone, "walk", "--all-buckets", "--exclude-bucket", "archive", "--exclude-prefix", "keep, this/", "--exclude-prefix", "none")
	got := h.deleted()
	slices.Sort(got)
	if !slices.Equal(got, []string{"logs/a", "logs/keep"}) {
		t.Errorf("deleted were %v", got)
	}
	equal(t, "files beside the cursors", h.files(), "")
}

func TestScenario52_ExitCodesOfGuards(t *testing.T) {
	for name, tc := range map[string]struct {
		args    []string
		prepare func(*testHost)
		code    int
		status  string
	}{
		"paused":          {nil, func(h *testHost) { h.must(exitDone, "pause") }, exitUndone, "partial"},
		"out of hours":    {[]string{"--work-time", "01:00-02:00"}, nil, exitUndone, "partial"},
		"max deletes":     {[]string{"--max-deletes", "2"}, nil, exitUndone, "partial"},
		"exactly enough":  {[]string{"--max-deletes", "3"}, nil, exitDone, "ok"},
		"max fraction":    {[]string{"--max-fraction", "0.1"}, nil, exitUndone, "partial"},
		"all of a bucket": {[]string{"--max-fraction", "1"}, nil, exitDone, "ok"},
		"no audit log":    {[]string{"--audit-log", "missing/audit.jsonl"}, nil, exitFailed, ""},
		"no limit":        {[]string{"--max-deletes", "0", "--max-fraction", "0", "--bucket-deletes-per-second", "0"}, nil, exitDone, "ok"},
		"paused, and a cursor is corrupt": {nil, func(h *testHost) {
			h.must(exitDone, "pause")
			h.write("shard-03.json", "{")
		}, exitUndone, "partial"},
		"max deletes, and a cursor is corrupt": {[]string{"--max-deletes", "1"}, func(h *testHost) {
			h.write(cursorfile.CursorName((engine.ShardOf("logs", "k000")+1)%engine.ShardCount), "{")
		}, exitCorrupt, "error"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHost(t)
			h.dueBucket("logs", 3, 0)
			if tc.prepare != nil {
				tc.prepare(h)
			}
			h.must(tc.code, append([]string{"run", "--concurrency", "1"}, tc.args...)...)
			if tc.status != "" {
				contains(t, h.err.String(), "daily_run: status="+tc.status+" ")
			}
		})
	}
}
