package commands

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/pass"
)

func TestHeartbeat(t *testing.T) {
	ago := func(d time.Duration) int64 { return noon.Add(-d).UnixNano() }
	for _, c := range []struct {
		name   string
		report pass.Report
		want   string
	}{
		{"no shard", pass.Report{Status: pass.Failed, Now: noon, Duration: 1500 * time.Millisecond, Errors: make([]pass.Problem, 2)},
			"daily_run: status=error shards=0 errors=2 duration=1.5s cursor_lag_max=cold walked_max_age=cold"},
		{"caught up is not cold", pass.Report{Status: pass.OK, Now: noon, Shards: []pass.ShardReport{
			{TsNs: noon.UnixNano(), LastWalkedNs: noon.UnixNano()},
		}}, "daily_run: status=ok shards=1 errors=0 duration=0s cursor_lag_max=0s walked_max_age=0s"},
		{"the largest of several", pass.Report{Status: pass.Partial, Now: noon, Duration: 7 * time.Second, Shards: []pass.ShardReport{
			{TsNs: ago(time.Hour), Lag: time.Hour, LastWalkedNs: ago(3 * time.Minute)},
			{TsNs: ago(2 * time.Hour), Lag: 2 * time.Hour},
			{},
		}}, "daily_run: status=partial shards=3 errors=0 duration=7s cursor_lag_max=2h0m0s walked_max_age=3m0s"},
	} {
		equal(t, c.name, heartbeat(&c.report), c.want)
	}
}

func TestPassJSON(t *testing.T) {
	r := &pass.Report{
		Status: pass.Partial, Now: noon, Duration: 1500 * time.Millisecond,
		Totals: pass.Totals{EventsScanned: 9, EntriesWalked: 8, DeleteCalls: 7, Outcomes: map[pass.Outcome]int64{pass.Done: 6, pass.Blocked: 1}},
		Shards: []pass.ShardReport{
			{Shard: 0, Status: pass.OK},
			{Shard: 3, Status: pass.Partial, TsNs: noon.Add(-time.Hour).UnixNano(), Lag: time.Hour, Recovery: "cold_start", Blocked: &engine.Failure{
				Bucket: "logs", Key: "a\n<b>", VersionID: "null", Action: "expiration_days", RuleID: "old", RuleHash: "0123456789abcdef",
				Outcome: "blocked", Reason: "busy", SinceNs: noon.UnixNano(), Attempts: 2,
			}},
		},
		Errors: []pass.Problem{{Shard: -1, Bucket: "torn", Category: pass.CategoryRules, Message: "no root"}, {Shard: 3, RuleID: "old", Category: pass.CategoryBlocked, Message: "busy"}},
	}
	var b bytes.Buffer
	check(t, writeJSON(&b, newPassJSON(r)))
	equal(t, "document", b.String(), `{
  "status": "partial",
  "now": "2026-11-30T12:00:00Z",
  "duration_seconds": 1.5,
  "totals": {
    "events_scanned": 9,
    "entries_walked": 8,
    "delete_calls": 7,
    "outcomes": {
      "blocked": 1,
      "done": 6
    }
  },
  "shards": [
    {
      "shard": 0,
      "status": "ok",
      "ts_ns": 0,
      "lag_seconds": null,
      "events_scanned": 0,
      "entries_walked": 0,
      "delete_calls": 0,
      "recovery": null,
      "blocked": null
    },
    {
      "shard": 3,
      "status": "partial",
      "ts_ns": `+fmt.Sprint(noon.Add(-time.Hour).UnixNano())+`,
      "lag_seconds": 3600,
      "events_scanned": 0,
      "entries_walked": 0,
      "delete_calls": 0,
      "recovery": "cold_start",
      "blocked": {
        "bucket": "logs",
        "key": "a\n<b>",
        "version_id": "null",
        "action": "expiration_days",
        "rule_id": "old",
        "rule_hash": "0123456789abcdef",
        "outcome": "blocked",
        "reason": "busy",
        "since": "2026-11-30T12:00:00Z",
        "attempts": 2
      }
    }
  ],
  "errors": [
    {
      "shard": null,
      "bucket": "torn",
      "rule_id": "",
      "category": "rules",
      "message": "no root"
    },
    {
      "shard": 3,
      "bucket": "",
      "rule_id": "old",
      "category": "blocked",
      "message": "busy"
    }
  ]
}
`)
}

func TestTSVKeepsARecordOnALine(t *testing.T) {
	r := &pass.Report{Now: noon, Shards: []pass.ShardReport{{
		Shard: 3, Status: pass.Partial, TsNs: noon.Add(-time.Hour).UnixNano(), Lag: time.Hour, EventsScanned: 1, EntriesWalked: 2, DeleteCalls: 3,
		Blocked: &engine.Failure{Bucket: "logs", Key: "tab\there\nline\\back\x1b"},
	}}}
	var b bytes.Buffer
	check(t, passRows(r).write(&b, formTSV))
	equal(t, "record", b.String(), "3\tpartial\t2026-11-30T11:00:00Z\t3600\t1\t2\t3\t\tlogs/tab\\there\\nline\\\\back\x1b\n")
}

func TestUndoneIsBounded(t *testing.T) {
	r := &pass.Report{Status: pass.Partial}
	for range maxUndone + 1 {
		r.Errors = append(r.Errors, pass.Problem{Shard: 0, Category: pass.CategoryBlocked, Message: "busy"})
	}
	var b bytes.Buffer
	check(t, writeUndone(&b, r, "weedlc run"))
	if lines := strings.Count(b.String(), "\n"); lines != maxUndone+2 {
		t.Errorf("%d lines, want %d", lines, maxUndone+2)
	}
	contains(t, b.String(), "and 1 more\nhint: ")
	b.Reset()
	r.Errors = r.Errors[:maxUndone]
	check(t, writeUndone(&b, r, "weedlc run"))
	if strings.Contains(b.String(), "more\n") {
		t.Error("a list that fits is cut")
	}
}

func TestTableKeepsWideNamesAndBlanks(t *testing.T) {
	var b bytes.Buffer
	long := strings.Repeat("x", 200)
	check(t, writeTable(&b, rows{header: []string{"A", "B_c"}, cells: [][]cell{{word(" lead"), word(long)}, {word("日本"), word("n\nl")}}}))
	equal(t, "table", b.String(), "A      B_c\n lead  "+long+"\n日本   n\\nl\n")
}

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		equal(t, "count", group(n), want)
	}
}
