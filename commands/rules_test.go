package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weedlc/engine"
)

// fixture is a file of the project's testdata.
func fixture(t *testing.T, parts ...string) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(append([]string{filepath.Dir(here), "..", "testdata"}, parts...)...)
}

// use copies a file of the project's testdata here, under its own name.
func use(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(fixture(t, parts...))
	check(t, err)
	name := parts[len(parts)-1]
	check(t, os.WriteFile(name, text, 0o600))
	return name
}

// faulty has three faults: in rule 1, in rules 2 and 3, and in rule 4.
func faulty() string {
	return lifecycle(
		rule("a", prefix("a/"), expireAfter(0)),
		rule("b", prefix("b/"), expireAfter(1)),
		"\n"+rule("b", prefix("c/"), expireAfter(1)),
		rule("d", prefix("d/")+"<Tag><Key>k</Key><Value>v</Value></Tag>", expireAfter(1)),
		rule("e", prefix("e/*"), expireAfter(1)),
	)
}

func TestScenario58_EveryFaultWithItsPlace(t *testing.T) {
	h := newTestHost(t)
	check(t, os.WriteFile("rules.xml", []byte(faulty()), 0o600))
	h.must(exitFailed, "rules", "lint", "--file", "rules.xml", "-o", "table")
	equal(t, "stdout", h.out.String(), `rules.xml:1: error: rule 1 "a": Rule[1]/Expiration/Days "0": less than 1; allowed: a whole number from 1 to 2147483647
rules.xml:2: error: rule 3 "b": Rule[3]/ID "b": same ID as rule 2; allowed: an ID of its own for each rule
rules.xml:2: error: rule 4 "d": Rule[4]/Filter: 2 conditions side by side: Prefix, Tag; allowed: one condition, or several inside And
rules.xml:2: warning: rule 5 "e": Rule[5]/Filter/Prefix "e/*": a prefix is taken literally, it has no wildcards
rules.xml: 3 errors, 1 warning; 4 of 5 rules refused
`)
	h.must(exitFailed, "rules", "lint", "--file", "rules.xml")
	equal(t, "tsv", h.out.String(), strings.ReplaceAll(`error|1|a|1|Rule[1]/Expiration/Days|0|less than 1|a whole number from 1 to 2147483647
error|3|b|2|Rule[3]/ID|b|same ID as rule 2|an ID of its own for each rule
error|4|d|2|Rule[4]/Filter||2 conditions side by side: Prefix, Tag|one condition, or several inside And
warning|5|e|2|Rule[5]/Filter/Prefix|e/*|a prefix is taken literally, it has no wildcards|
`, "|", "\t"))
	h.must(exitFailed, "rules", "lint", "--file", "rules.xml", "-o", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "file", "bucket", "readable", "rules", "refused", "errors", "warnings", "findings")
	equalFields(t, "finding", doc["findings"].([]any)[1], "severity", "rule", "rule_id", "other_rule", "path", "line", "value", "message", "allowed")
	if got := fmt.Sprint(doc["readable"], doc["rules"], doc["refused"], doc["errors"], doc["warnings"]); got != "true 5 4 3 1" {
		t.Errorf("counts %s", got)
	}
	if len(h.dialed) != 0 {
		t.Error("a file needed a cluster")
	}
}

// TestScenario58_WhatIsShownReadsBack: both forms of every good document, and
// what explain-rule shows of each rule, read back as the same rules.
func TestScenario58_WhatIsShownReadsBack(t *testing.T) {
	paths, err := filepath.Glob(fixture(t, "rules", "*.good.*ml"))
	check(t, err)
	more, err := filepath.Glob(fixture(t, "rules", "*.good.json"))
	check(t, err)
	h := newTestHost(t)
	hashes := func(text []byte) (out []string) {
		rules, findings := engine.ParseRules("", text, engine.ParseOptions{})
		if tallyRules(rules, findings).errors > 0 {
			t.Fatalf("%s\n%v", text, findings)
		}
		for _, r := range rules {
			out = append(out, fmt.Sprintf("%s %v %s", r.Label(), r.Enabled, r.Hash()))
		}
		return out
	}
	for _, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		check(t, err)
		want := fmt.Sprint(hashes(text))
		for _, form := range []string{showXML, showJSON} {
			h.must(exitDone, "rules", "show", "--file", path, "--format", form)
			if got := fmt.Sprint(hashes(h.out.Bytes())); got != want {
				t.Errorf("%s as %s: %s, want %s", path, form, got, want)
			}
		}
		h.must(exitDone, "explain-rule", "--rules", path, "--output", "json")
		var explained []string
		for _, r := range object(t, h.out.Bytes())["rules"].([]any) {
			rule := r.(map[string]any)
			if len(rule["actions"].([]any)) == 0 { // a transition alone is nothing that SeaweedFS does
				explained = append(explained, fmt.Sprintf("%v %v %v", rule["rule_id"], rule["enabled"], rule["rule_hash"]))
				continue
			}
			explained = append(explained, hashes([]byte(rule["xml"].(string)))...)
		}
		if got := fmt.Sprint(explained); got != want {
			t.Errorf("%s as explained: %s, want %s", path, got, want)
		}
	}
}

func TestLintExitCodes(t *testing.T) {
	h := newTestHost(t)
	h.installed("good", engine.Unversioned, rule("a", "", expireAfter(1)))
	check(t, h.cluster.CreateBucket("bad", engine.Unversioned, false))
	check(t, h.cluster.SetRules("bad", faulty()))
	check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
	check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
	check(t, h.cluster.CreateBucket("json", engine.Unversioned, false))
	check(t, h.cluster.SetRules("json", string(engine.CanonicalJSON([]*engine.Rule{{ID: "a", Enabled: true, ExpirationDays: 1}}))))
	check(t, h.cluster.CreateBucket("none", engine.Unversioned, false))
	check(t, os.WriteFile("markers.json", []byte(`{"Rules": [{"ID": "m", "Filter": {}, "Status": "Enabled", "Expiration": {"ExpiredObjectDeleteMarker": true}}]}`), 0o600))
	check(t, os.WriteFile("unfiltered.json", []byte(`{"Rules": [{"ID": "u", "Status": "Enabled", "Expiration": {"Days": 1}}]}`), 0o600))
	for _, c := range []struct {
		code       int
		args, want string
	}{
		{exitDone, "--bucket good", `bucket "good": 1 rule, no findings`},
		{exitFailed, "--bucket bad", `bucket "bad":1: error: rule 1 "a": `},
		{exitFailed, "--bucket torn", `bucket "torn": 1 error, 0 warnings; the document is refused`},
		// SeaweedFS stores XML: JSON in a bucket is nothing that it reads.
		{exitFailed, "--bucket json", `no root element; allowed: LifecycleConfiguration`},
		{exitDone, "--file markers.json", "markers.json: 1 rule, no findings"},
		{exitDone, "--file markers.json --bucket-versioning enabled", "markers.json: 1 rule, no findings"},
		{exitDone, "--file markers.json --bucket-versioning unversioned", "0 errors, 1 warning; 1 rule accepted"},
		{exitFailed, "--file unfiltered.json", "neither Filter nor Prefix; allowed: a Filter, empty for the whole bucket"},
		{exitDone, "--file unfiltered.json --allow-unfiltered-rules", "warning: "},
	} {
		h.must(c.code, append([]string{"rules", "lint", "-o", "table"}, strings.Fields(c.args)...)...)
		contains(t, h.out.String(), c.want)
		equal(t, "stderr of "+c.args, h.err.String(), "")
	}
	for args, want := range map[string]string{
		"lint --bucket none":                          "bucket \"none\" has no lifecycle rules\nhint: weedlc rules list\n",
		"lint --bucket missing":                       "bucket \"missing\" does not exist\nhint: there is \"bad\", \"good\", \"json\", \"none\", \"torn\"\n",
		"lint":                                        "no rules given: neither --file nor --bucket\nhint: weedlc rules lint --bucket BUCKET\n",
		"lint --file a --bucket b":                    "--file and --bucket exclude each other\n",
		"lint markers.json":                           "unexpected argument \"markers.json\"\nhint: weedlc rules lint --file markers.json\n",
		"lint --file missing.xml":                     "open missing.xml: no such file or directory\n",
		"show --bucket none":                          "bucket \"none\" has no lifecycle rules\nhint: weedlc rules list\n",
		"show --bucket b --format yaml":               "--format \"yaml\": must be xml, json or stored\n",
		"lint --bucket b --bucket-versioning enabled": "--bucket-versioning is for a --file, a bucket has its own\n",
		"lint --file f --bucket-versioning on":        "--bucket-versioning \"on\": must be enabled, suspended or unversioned\n",
		"test":                                        "no file given\nhint: weedlc rules test rules.test.yaml\n",
		"test missing.yaml":                           "open missing.yaml: no such file or directory\n",
		"tests":                                       "unknown command \"rules tests\"\nhint: weedlc rules test\n",
	} {
		h.must(exitFailed, append([]string{"rules"}, strings.Fields(args)...)...)
		equal(t, "stdout of "+args, h.out.String(), "")
		equal(t, "stderr of "+args, h.err.String(), "weedlc: "+want)
	}
}

func TestLintReadsStandardInput(t *testing.T) {
	h := newTestHost(t)
	h.In = strings.NewReader(faulty())
	h.must(exitFailed, "rules", "lint", "--file", "-", "-o", "table")
	contains(t, h.out.String(), "standard input:1: error: rule 1", "standard input: 3 errors, 1 warning")
}

func TestShow(t *testing.T) {
	h := newTestHost(t)
	stored := lifecycle(rule("a", prefix("x\u009b/"), expireAfter(3)),
		rule("cold", "", "<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>"+expireAfter(9)))
	check(t, h.cluster.CreateBucket("b", engine.Unversioned, false))
	check(t, h.cluster.SetRules("b", stored))
	h.must(exitDone, "rules", "show", "--bucket", "b", "--format", "stored")
	equal(t, "as stored", h.out.String(), stored)
	equal(t, "stderr", h.err.String(), "")
	h.must(exitDone, "rules", "show", "--bucket", "b")
	checkGolden(t, "rules-show.xml", h.out.String())
	contains(t, h.err.String(), `bucket "b": rule 2 "cold": left out: Transition`)
	h.must(exitDone, "rules", "show", "--bucket", "b", "--format", "json")
	checkGolden(t, "rules-show.json", h.out.String())

	// A terminal gets no control characters.
	h.terminal("")
	for _, form := range []string{showStored, showXML, showJSON} {
		h.must(exitDone, "rules", "show", "--bucket", "b", "--format", form)
		if strings.Contains(h.out.String(), "\u009b") || !strings.Contains(h.out.String(), `x\u009b/`) {
			t.Errorf("%s on a terminal: %q", form, h.out.String())
		}
	}
}

// TestShowSaysWhatIsLeftOut: what is refused is not printed as if it were all.
func TestShowSaysWhatIsLeftOut(t *testing.T) {
	h := newTestHost(t)
	check(t, h.cluster.CreateBucket("bad", engine.Unversioned, false))
	check(t, h.cluster.SetRules("bad", faulty()))
	check(t, os.WriteFile("bad.xml", []byte(faulty()), 0o600))
	h.must(exitUndone, "rules", "show", "--bucket", "bad", "--format", "json")
	contains(t, h.out.String(), `"ID": "e"`)
	contains(t, h.err.String(), `bucket "bad":1: error: rule 1 "a": `)
	h.must(exitFailed, "rules", "show", "--file", "bad.xml")
	contains(t, h.out.String(), "<ID>e</ID>")
	h.must(exitDone, "rules", "show", "--bucket", "bad", "--format", "stored")
	equal(t, "as stored", h.out.String(), faulty())

	check(t, h.cluster.SetRules("bad", "<LifecycleConfiguration>"))
	h.must(exitUndone, "rules", "show", "--bucket", "bad")
	equal(t, "stdout", h.out.String(), "")
	contains(t, h.err.String(), "malformed XML", "hint: --format stored prints the document as it is")
}

func TestRulesList(t *testing.T) {
	h := newTestHost(t)
	h.installed("known", engine.Enabled, rule("a", "", expireAfter(1)), "<ID>off</ID><Status>Disabled</Status><Filter/>"+expireAfter(2))
	h.installed("changed", engine.Unversioned, rule("a", "", expireAfter(1)))
	h.installed("off", engine.Unversioned, "<ID>off</ID><Status>Disabled</Status><Filter/>"+expireAfter(2))
	h.must(exitDone, "rules", "list")
	contains(t, h.out.String(), "known\tenabled\t2\t1\t0\t0\tnever\t0\n", "off\tunversioned\t1\t0\t0\t0\t-\t0\n")

	h.must(exitDone, "run", "--shards", "0-3")
	h.must(exitDone, "rules", "list")
	contains(t, h.out.String(), "known\tenabled\t2\t1\t0\t0\tpartly\t4\n")
	h.must(exitDone, "run")
	h.installed("fresh", engine.Suspended, rule("a", "", expireAfter(1)))
	check(t, h.cluster.SetRules("changed", lifecycle(rule("a", "", expireAfter(3)))))
	check(t, h.cluster.CreateBucket("bad", engine.Unversioned, false))
	check(t, h.cluster.SetRules("bad", faulty()))
	check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
	check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
	check(t, h.cluster.CreateBucket("without", engine.Unversioned, false))
	h.terminal("")
	h.must(exitUndone, "rules", "list")
	checkGolden(t, "rules-list.txt", h.out.String())
	h.OutTTY = false
	h.must(exitUndone, "rules", "list")
	equal(t, "tsv", h.out.String(), strings.ReplaceAll(`bad|unversioned|5|1|4|1|never|0
changed|unversioned|1|1|0|0|changed|0
fresh|suspended|1|1|0|0|never|0
known|enabled|2|1|0|0|yes|16
off|unversioned|1|0|0|0|-|0
torn|unversioned|-|-|-|0|-|0
`, "|", "\t"))
	h.must(exitUndone, "rules", "list", "--output", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "now", "buckets")
	buckets := doc["buckets"].([]any)
	equalFields(t, "bucket", buckets[0], "bucket", "versioning", "object_lock", "readable", "rules", "enabled", "refused", "errors", "warnings",
		"processed", "shards_processed", "findings")
	if last := buckets[5].(map[string]any); last["readable"] != false || len(last["findings"].([]any)) != 1 {
		t.Errorf("a torn document: %v", last)
	}
}

// TestScenario53_NothingEverRan: rules that no pass has taken up are counted.
func TestScenario53_NothingEverRan(t *testing.T) {
	h := newTestHost(t)
	for _, name := range []string{"a", "b", "c"} {
		h.installed(name, engine.Unversioned, rule("a", "", expireAfter(1)))
	}
	h.must(exitDone, "rules", "list", "-o", "table")
	contains(t, h.out.String(), "buckets with rules: 3, never processed: 3\n")
	h.must(exitDone, "run")
	h.must(exitDone, "rules", "list", "-o", "table")
	contains(t, h.out.String(), "buckets with rules: 3, never processed: 0\n")
}

// TestRulesListWithTheBuiltInsCursors: cursors without a side file know the
// rules whose hash they have.
func TestRulesListWithTheBuiltInsCursors(t *testing.T) {
	h := newTestHost(t)
	h.installed("logs", engine.Unversioned, rule("a", "", expireAfter(1)))
	h.must(exitDone, "run")
	names, err := h.cursors.List(t.Context())
	check(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".weedlc.json") {
			_, version, err := h.cursors.Read(t.Context(), name)
			check(t, err)
			check(t, h.cursors.Remove(t.Context(), name, version))
		}
	}
	h.must(exitDone, "rules", "list")
	contains(t, h.out.String(), "\tyes\t16\n")
	h.write("shard-03.json", "{")
	h.must(exitDone, "rules", "list")
	contains(t, h.out.String(), "\tpartly\t15\n")
	contains(t, h.err.String(), "shard-03.json is malformed")
	check(t, h.cluster.SetRules("logs", lifecycle(rule("a", "", expireAfter(2)))))
	h.must(exitDone, "rules", "list")
	contains(t, h.out.String(), "\tnever\t0\n")
}

func TestRulesTest(t *testing.T) {
	h := newTestHost(t)
	use(t, "ruletests", "logs.xml")
	good, fails, bad := use(t, "ruletests", "logs.good.yaml"), use(t, "ruletests", "not-as-expected.fail.yaml"), use(t, "ruletests", "no-want.bad.yaml")
	h.must(exitDone, "rules", "test", good)
	equal(t, "stdout on a pipe", h.out.String(), "")
	equal(t, "stderr", h.err.String(), "")
	h.must(exitFailed, "rules", "test", good, fails, bad, "-o", "table")
	checkNarrow(t, h.out.String())
	checkGolden(t, "rules-test.txt", h.out.String())
	equal(t, "stderr", h.err.String(), "weedlc: no-want.bad.yaml: line 6: no want: say what is expected\n")
	h.must(exitFailed, "rules", "test", fails, "-o", "tsv")
	checkGolden(t, "rules-test.tsv", h.out.String())

	h.must(exitFailed, "rules", "test", good, fails, "-o", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "passed", "failed", "files")
	file := doc["files"].([]any)[1].(map[string]any)
	equalFields(t, "file", file, "file", "results")
	result := file["results"].([]any)[1].(map[string]any)
	equalFields(t, "result", result, "test", "line", "now", "ok", "key", "want", "diffs", "got")
	equalFields(t, "diff", result["diffs"].([]any)[0], "field", "want", "got")
	if fmt.Sprint(doc["passed"], doc["failed"]) != "16 3" {
		t.Errorf("%v passed, %v failed", doc["passed"], doc["failed"])
	}
	if len(h.dialed) != 0 {
		t.Error("tests needed a cluster")
	}

	// The rules lie beside the file of tests, wherever it is run from.
	h.must(exitDone, "rules", "test", fixture(t, "ruletests", "logs.good.yaml"))
	h.In = strings.NewReader("rules_file: logs.xml\nnow: 2030-01-01T00:00:00Z\nversioning: enabled\ntests: [{objects: [{key: a, age: 1d, want: keep}]}]")
	h.must(exitDone, "rules", "test", "-", "-o", "table")
	equal(t, "stdout", h.out.String(), "standard input: ok, 1 object\n")
}

// TestRulesTestGuide runs the example of docs/rules-test.md.
func TestRulesTestGuide(t *testing.T) {
	guide, err := os.ReadFile(fixture(t, "..", "docs", "rules-test.md"))
	check(t, err)
	_, example, _ := strings.Cut(string(guide), "```yaml\n")
	example, _, found := strings.Cut(example, "```")
	if !found {
		t.Fatal("no example in the guide")
	}
	h := newTestHost(t)
	use(t, "ruletests", "logs.xml")
	check(t, os.WriteFile("logs.test.yaml", []byte(example), 0o600))
	h.must(exitDone, "rules", "test", "logs.test.yaml", "-o", "table")
	equal(t, "stdout", h.out.String(), "logs.test.yaml: ok, 3 objects\n")
}

// TestRulesTestNamesAreSafe: what a test names is user data.
func TestRulesTestNamesAreSafe(t *testing.T) {
	h := newTestHost(t)
	h.In = strings.NewReader("rules: '" + lifecycle(rule("x", prefix("a"), expireAfter(1))) + "'\n" +
		"now: 2030-01-01T00:00:00Z\ntests: [{name: \"\\e[31m\\N\", objects: [{key: \"a\\n\\tb\", age: 2d, want: keep}]}]")
	h.must(exitFailed, "rules", "test", "-")
	if got := h.out.String(); strings.ContainsAny(got, "\x1b\t\u009b") || strings.Count(got, "\n") != strings.Count(got, "\n  ")+1 {
		t.Errorf("unsafe: %q", got)
	}
	h.In = strings.NewReader("rules: '" + lifecycle(rule("x", prefix("a"), expireAfter(1))) + "'\n" +
		"now: 2030-01-01T00:00:00Z\ntests: [{name: x, objects: [{key: \"a\\n\\tb\", age: 2d, want: keep}]}]")
	h.must(exitFailed, "rules", "test", "-", "-o", "tsv")
	if got := h.out.String(); strings.Count(got, "\n") != 1 || strings.Count(got, "\t") != 10 {
		t.Errorf("not one record: %q", got)
	}
}
