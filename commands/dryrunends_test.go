package commands

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// TestDryRunRefuses covers command lines and files without sense.
func TestDryRunRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		want       []string
	}{
		{"compare without rules", "--compare", []string{"--compare needs --rules", "hint: weedlc dry-run --bucket BUCKET --rules FILE --compare"}},
		{"rules without a bucket", "--rules new.xml", []string{"--rules needs one --bucket", "hint: weedlc dry-run --rules new.xml --bucket BUCKET"}},
		{"rules for two buckets", "--rules new.xml --bucket logs,docs", []string{"--rules needs one --bucket"}},
		{"rules that are not there", "--rules no.xml --bucket logs", []string{"no.xml"}},
		{"rules with defects", "--rules bad.xml --bucket logs", []string{"bad.xml:", `Days "0"`, "Rule[2]"}},
		{"rules that are no document", "--rules broken.json --bucket logs", []string{"broken.json:", "malformed JSON"}},
		{"a bucket that does not exist", "--bucket nowhere", []string{"bucket \"nowhere\" does not exist\nhint: there is \"docs\", \"logs\"\n"}},
		{"one of two that does not exist", "--bucket logs,nowhere", []string{`bucket "nowhere" does not exist`}},
		{"two that do not exist", "--bucket Logs,doc", []string{
			"bucket \"Logs\" does not exist\nhint: the nearest name is \"logs\"\nweedlc: bucket \"doc\" does not exist\nhint: the nearest name is \"docs\"\n",
		}},
		{"rules for a bucket that does not exist", "--rules new.xml --bucket nope", []string{`bucket "nope" does not exist`}},
		{"a time without a sign", "--at 7d", []string{`--at "7d": needs a sign`}},
		{"a time beyond reach", "--at +106000d", []string{`--at "+106000d": is out of range`}},
		{"pass and at", "--pass --at +1d", []string{"--pass and --at exclude each other"}},
		{"pass and bucket", "--pass --bucket logs", []string{"--pass and --bucket exclude each other"}},
		{"pass and forecast", "--pass --forecast 9d", []string{"--pass and --forecast exclude each other"}},
		{"pass and from", "--pass --from x", []string{"--pass and --from exclude each other"}},
		{"summary of lines", "--summary --output jsonl", []string{"--summary leaves nothing for --output jsonl", "hint: weedlc dry-run --summary --output json"}},
		{"a forecast of hours", "--forecast 23h", []string{`--forecast "23h": must be 1d or more`}},
		{"a forecast of centuries", "--forecast 3651d", []string{`--forecast "3651d": must be 3650d or less`}},
		{"no listing at all", "--list-concurrency 0", []string{`--list-concurrency "0": must be 1 or more`}},
		{"a limit below 0", "--limit -1", []string{`--limit "-1": must be 0 or more`}},
		{"no such form", "--output yaml", []string{`--output "yaml": must be table, tsv, json, jsonl, markdown or html`}},
		{"a backup that is not there", "--from no.meta", []string{"no.meta"}},
		{"a backup that is none", "--from new.xml", []string{`backup "new.xml"`}},
		{"an argument", "logs", []string{`unexpected argument "logs"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newDryRunHost(t)
			h.file("new.xml", candidateXML)
			h.file("broken.json", `{"Rules": [`)
			h.file("bad.xml", "<LifecycleConfiguration>"+strings.Repeat(strings.Replace(rulesOf(oneDay), "<Days>1", "<Days>0", 1), 2)+"</LifecycleConfiguration>")
			h.must(exitFailed, append([]string{"dry-run"}, strings.Fields(tc.args)...)...)
			contains(t, h.err.String(), tc.want...)
			equal(t, "stdout", h.out.String(), "")
		})
	}
}

// TestEmptyValuesAreRefused: a variable that a shell has no value for does not
// turn a backup into the cluster, or new rules into those installed.
func TestEmptyValuesAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"dry-run", "--from", ""},
		{"dry-run", "--bucket", "logs", "--rules", ""},
		{"dry-run", "--bucket", ""},
		{"explain-rule", "--bucket", "logs", "--from", ""},
		{"explain-rule", "--bucket", "logs", "--rules", ""},
		{"explain-rule", "--bucket", "logs", "--key", ""},
		{"explain-rule", "--bucket", "logs", "--key", "k", "--version", ""},
		{"explain-rule", "--rules", "new.xml", "--bucket", ""},
		{"rules", "lint", "--file", ""},
		{"rules", "lint", "--bucket", ""},
		{"rules", "show", "--bucket", ""},
	} {
		h := newDryRunHost(t)
		h.file("new.xml", candidateXML)
		h.must(exitFailed, args...)
		contains(t, h.err.String(), "weedlc: "+args[len(args)-2]+` "": `)
		equal(t, "stdout", h.out.String(), "")
		if len(h.dialed) != 0 {
			t.Errorf("%q dialed", args)
		}
	}
}

// TestDryRunThatBreaksOff writes no document, and does not end well.
func TestDryRunThatBreaksOff(t *testing.T) {
	for _, form := range []string{"table", "tsv", "json", "jsonl", "markdown", "html"} {
		t.Run(form, func(t *testing.T) {
			h := newDryRunHost(t)
			h.cluster.FailLists("logs", "tmp", 1)
			h.must(exitFailed, "dry-run", "--output", form)
			contains(t, h.err.String(), `weedlc: bucket "logs": walk: list "tmp"`, "weedlc: not everything was looked at: the result is not complete\n")
			if stream := form == "tsv" || form == "jsonl"; stream != (h.out.Len() > 0) {
				t.Errorf("stdout has %d bytes:\n%s", h.out.Len(), &h.out)
			}

			h = newDryRunHost(t)
			ctx, cancel := context.WithCancel(t.Context())
			h.cluster.SetHook(func(c memcluster.Call) error {
				if c.Op == memcluster.OpList && c.Bucket == "logs" {
					cancel()
				}
				return nil
			})
			if got := h.runContext(ctx, "dry-run", "--output", form); got != exitInterrupted {
				t.Errorf("an interrupted one ends with %d\n%s", got, &h.err)
			}
			contains(t, h.err.String(), "weedlc: interrupted: not everything was looked at\n")
			if form != "tsv" && form != "jsonl" && h.out.Len() > 0 {
				t.Errorf("an interrupted one wrote:\n%s", &h.out)
			}
		})
	}
}

// TestDryRunOfAnUploadThatCannotBeLookedAt is not complete either: whether the
// upload would go is not known.
func TestDryRunOfAnUploadThatCannotBeLookedAt(t *testing.T) {
	h := newDryRunHost(t)
	h.cluster.FailLookups("logs", "video/holiday.mp4", 1)
	h.must(exitFailed, "dry-run", "--output", "json")
	contains(t, h.err.String(), "video/holiday.mp4", "not everything was looked at")
	equal(t, "stdout", h.out.String(), "")
}

// TestDryRunWithRulesThatCannotBeRead does what it can, and ends as run does.
func TestDryRunWithRulesThatCannotBeRead(t *testing.T) {
	h := newDryRunHost(t)
	check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
	check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
	h.must(exitUndone, "dry-run", "--output", "json")
	doc := object(t, h.out.Bytes())
	if errs := doc["errors"].([]any); len(errs) != 1 || errs[0].(map[string]any)["bucket"] != "torn" || doc["found"] != 9.0 {
		t.Errorf("errors are %v, %v found", errs, doc["found"])
	}
	contains(t, h.err.String(), `bucket "torn"`)
	h.must(exitDone, "dry-run", "--bucket", "logs")
	h.must(exitUndone, "dry-run", "--bucket", "torn")
	h.file("new.xml", candidateXML)
	h.must(exitDone, "dry-run", "--bucket", "torn", "--rules", "new.xml")
	h.must(exitUndone, "dry-run", "--bucket", "torn", "--rules", "new.xml", "--compare")
}

// TestDryRunNamesRulesWithoutEffect passes on what a candidate can not do in its
// bucket.
func TestDryRunNamesRulesWithoutEffect(t *testing.T) {
	h := newDryRunHost(t)
	h.file("new.xml", "<LifecycleConfiguration><Rule><ID>m</ID><Status>Enabled</Status><Filter/><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration></Rule></LifecycleConfiguration>")
	h.must(exitDone, "dry-run", "--bucket", "logs", "--rules", "new.xml", "--quiet")
	contains(t, h.err.String(), "new.xml", "no effect")
	h.must(exitDone, "dry-run", "--bucket", "docs", "--rules", "new.xml", "--quiet")
	equal(t, "stderr where it has one", h.err.String(), "")
}

// TestDryRunReadsRulesFromStandardInput takes "-" for a file.
func TestDryRunReadsRulesFromStandardInput(t *testing.T) {
	h := newDryRunHost(t)
	h.file("new.json", candidateJSON)
	h.must(exitDone, "dry-run", "--bucket", "logs", "--rules", "new.json")
	want := h.out.String()
	h.In = strings.NewReader(candidateXML)
	h.must(exitDone, "dry-run", "--bucket", "logs", "--rules", "-")
	equal(t, "the result", h.out.String(), want)
	if !strings.Contains(want, "plan/q4.txt") {
		t.Errorf("the candidate was not judged by:\n%s", want)
	}
}

// failingWriter takes so many bytes.
type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// TestDryRunIntoAClosedPipe stops looking once nobody reads.
func TestDryRunIntoAClosedPipe(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{{syscall.EPIPE, exitDone, ""}, {syscall.ENOSPC, exitFailed, "weedlc: standard output: no space left on device\n"}} {
		h := newTestHost(t)
		h.bucket("logs")
		for i := range 5000 {
			_, err := h.cluster.PutObject("logs", fmt.Sprintf("%04d/%d", i/10, i), objectOfOneByte)
			check(t, err)
		}
		h.cluster.Advance(2 * day)
		lists := 0
		h.cluster.SetHook(func(c memcluster.Call) error {
			if c.Op == memcluster.OpList {
				lists++
			}
			return nil
		})
		h.Out = &failingWriter{left: 70_000, err: tc.err}
		h.must(tc.code, "dry-run", "--output", "jsonl", "--quiet", "--list-concurrency", "1")
		equal(t, "stderr", h.err.String(), tc.text)
		if lists > 400 {
			t.Errorf("%d folders were listed for nobody", lists)
		}
	}
}

// TestDryRunLimit lists so many and counts all.
func TestDryRunLimit(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs")
	for i := range 2345 {
		_, err := h.cluster.PutObject("logs", fmt.Sprintf("%04d", i), objectOfOneByte)
		check(t, err)
	}
	h.cluster.Advance(2 * day)
	for _, tc := range []struct {
		args []string
		want int
	}{
		{[]string{"--output", "tsv"}, 2345}, {[]string{"--output", "tsv", "--limit", "0"}, 2345}, {[]string{"--output", "tsv", "-n", "7"}, 7},
		{[]string{"--output", "jsonl"}, 2345}, {[]string{"--output", "table"}, 100}, {[]string{"--output", "table", "-n", "0"}, 2345},
		{[]string{"--output", "markdown"}, 100}, {[]string{"--output", "html"}, 100}, {[]string{"--output", "html", "-n", "2000"}, 2000},
		{[]string{"--output", "json"}, 2345},
	} {
		h.must(exitDone, append([]string{"dry-run"}, tc.args...)...)
		if got := strings.Count(strings.ReplaceAll(h.out.String(), `\`, ""), "expiration_days"); got != tc.want {
			t.Errorf("%v lists %d, want %d", tc.args, got, tc.want)
		}
		if tc.want < 2345 && !strings.Contains(h.out.String()+h.err.String(), group(int64(tc.want))+" of 2,345 are listed; --limit 0 lists all.") {
			t.Errorf("%v does not say that it is not all:\n%s%s", tc.args, h.out.String()[:200], &h.err)
		}
	}
}

// TestDryRunOfTheNextPass says what it reads and walks, and why, from the
// cursors as they are.
func TestDryRunOfTheNextPass(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a", "b")
	h.must(exitDone, "run")
	h.cluster.Advance(25 * time.Hour)
	h.must(exitDone, "dry-run", "--pass", "--output", "table")
	contains(t, h.out.String(), "Parts of the meta-log that it reads:\n", "rules of 1d", "in the next run: 2 deletes would be sent.")
	if strings.Contains(h.out.String(), "walks") {
		t.Errorf("it walks:\n%s", &h.out)
	}
	check(t, h.cluster.SetRules("logs", strings.Replace(oneDay, "<Days>1", "<Days>2", 1)))
	h.must(exitDone, "dry-run", "--pass", "--output", "table")
	contains(t, h.out.String(), "Buckets that the next run walks:\n", "logs    rules_changed  0-15    all\n", "in the next run: nothing is due.")
	contains(t, h.err.String(), `rules changed: walking 1 bucket over all rules: "logs"`)
	h.must(exitDone, "dry-run", "--pass", "--output", "json", "--summary")
	for _, s := range object(t, h.out.Bytes())["pass"].(map[string]any)["shards"].([]any) {
		if s.(map[string]any)["recovery"] != "rules_changed" {
			t.Errorf("shard %v", s)
		}
	}
	h.write("shard-03.json", "")
	h.must(exitCorrupt, "dry-run", "--pass", "--output", "json")
	contains(t, h.err.String(), "shard-03.json is empty")
	h.must(exitDone, "dry-run", "--pass", "--shards", "4", "--events", "1")
}
