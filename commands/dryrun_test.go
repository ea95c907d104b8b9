package commands

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// mixed fills the cluster with one of everything, thirty days before noon and
// later, and ends at noon.
func (h *testHost) mixed() {
	h.t.Helper()
	c := h.cluster
	put := func(bucket, key string, o memcluster.Object) string {
		h.t.Helper()
		id, err := c.PutObject(bucket, key, o)
		check(h.t, err)
		return id
	}
	h.put("logs", engine.Unversioned, false, `
<Rule><ID>old logs</ID><Status>Enabled</Status><Filter><Prefix>app/</Prefix></Filter><Expiration><Days>7</Days></Expiration></Rule>
<Rule><ID>tmp</ID><Status>Enabled</Status><Filter><Prefix>tmp/</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>
<Rule><ID>uploads</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>3</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>`)
	h.put("docs", engine.Enabled, true, `
<Rule><ID>keep two</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><NoncurrentVersionExpiration><NoncurrentDays>5</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule>
<Rule><ID>drafts</ID><Status>Enabled</Status><Filter><Prefix>draft/</Prefix></Filter><Expiration><Days>10</Days></Expiration></Rule>
<Rule><ID>markers</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration></Rule>`)
	put("logs", "app/2026/10/31.log", memcluster.Object{Size: 5_300_000_000})
	put("logs", "app/2026/11/01.log", memcluster.Object{Size: 4_096})
	_, err := c.CreateUpload("logs", "video/holiday.mp4", memcluster.Object{})
	check(h.t, err)
	for i := range 4 {
		put("docs", "report.pdf", memcluster.Object{Size: int64(1000 * (i + 1))})
		c.Advance(time.Hour)
	}
	put("docs", "draft/a", memcluster.Object{Size: 200})
	put("docs", "draft/locked", memcluster.Object{Size: 300, Mode: "COMPLIANCE", RetainUntil: noon.AddDate(0, 2, 0)})
	put("docs", "contract", memcluster.Object{Size: 77})
	id := put("docs", "gone", memcluster.Object{Size: 9})
	_, err = c.DeleteObject("docs", "gone")
	check(h.t, err)
	check(h.t, c.DeleteVersion("docs", "gone", id))
	c.AdvanceTo(noon.Add(-26 * time.Hour))
	put("logs", "tmp/odd \t\x1b[31m|<b>\u202e`name", memcluster.Object{Size: 1})
	put("logs", "plan/q4.txt", memcluster.Object{Size: 60})
	put("logs", "tmp/with a ttl", memcluster.Object{Size: 2048, TTL: 48 * time.Hour})
	c.AdvanceTo(noon.Add(-5 * time.Hour))
	put("logs", "tmp/fresh", memcluster.Object{Size: 12})
	put("logs", "app/2026/11/30.log", memcluster.Object{Size: 1_500_000})
	c.AdvanceTo(noon)
}

func (h *testHost) put(bucket string, v engine.Versioning, lock bool, rules string) {
	h.t.Helper()
	check(h.t, h.cluster.CreateBucket(bucket, v, lock))
	check(h.t, h.cluster.SetRules(bucket, "<LifecycleConfiguration>"+rules+"</LifecycleConfiguration>"))
}

func newDryRunHost(t *testing.T) *testHost {
	h := newTestHost(t)
	h.cluster = memcluster.New(memcluster.Config{Start: noon.AddDate(0, 0, -30)})
	h.Now = h.cluster.HostTime
	h.mixed()
	return h
}

// candidateXML changes what the rules of mixed say of the bucket logs.
const candidateXML = `<LifecycleConfiguration>
<Rule><ID>old logs</ID><Status>Enabled</Status><Filter><Prefix>app/</Prefix></Filter><Expiration><Days>2</Days></Expiration></Rule>
<Rule><ID>odd</ID><Status>Enabled</Status><Filter><Prefix>tmp/o</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>
<Rule><ID>fresh</ID><Status>Enabled</Status><Filter><Prefix>tmp/f</Prefix></Filter><Expiration><Days>9</Days></Expiration></Rule>
<Rule><ID>plans</ID><Status>Enabled</Status><Filter><Prefix>plan</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>
</LifecycleConfiguration>`

// candidateJSON is the same for the AWS CLI.
const candidateJSON = `{"Rules": [
{"ID": "old logs", "Status": "Enabled", "Filter": {"Prefix": "app/"}, "Expiration": {"Days": 2}},
{"ID": "odd", "Status": "Enabled", "Filter": {"Prefix": "tmp/o"}, "Expiration": {"Days": 1}},
{"ID": "fresh", "Status": "Enabled", "Filter": {"Prefix": "tmp/f"}, "Expiration": {"Days": 9}},
{"ID": "plans", "Status": "Enabled", "Filter": {"Prefix": "plan"}, "Expiration": {"Days": 1}}]}`

func (h *testHost) file(name, text string) {
	h.t.Helper()
	check(h.t, os.WriteFile(name, []byte(text), 0o600))
}

// TestDryRunGolden holds every form of every kind of result.
func TestDryRunGolden(t *testing.T) {
	for _, tc := range []struct {
		file  string
		width int // of a terminal; 0 is none
		args  string
	}{
		{"table.txt", 200, ""},
		{"table-120.txt", 120, "--bucket logs --limit 3"},
		{"table-80.txt", 80, "--locked --forecast 14d"},
		{"forecast-90d.txt", 80, "--summary --forecast 90d"},
		{"forecast-years.txt", 80, "--summary --forecast 365d"},
		{"empty.txt", 80, "--bucket logs --prefix no/"},
		{"table.tsv", 0, "--locked"},
		{"summary.tsv", 0, "--summary"},
		{"doc.json", 0, "--output json --locked --forecast 2d"},
		{"summary.json", 0, "--output json --summary"},
		{"lines.jsonl", 0, "--output jsonl --locked"},
		{"report.md", 0, "--output markdown --forecast 3d --limit 4"},
		{"report.html", 0, "--output html --locked --forecast 90d --bucket logs,docs"},
		{"at.tsv", 0, "--at +7d --bucket logs"},
		{"midnight.tsv", 0, "--day-clock midnight --bucket logs"},
		{"prefix.tsv", 0, "--bucket docs --prefix rep"},
		{"shards.tsv", 0, "--shards 0-7"},
		{"candidate.tsv", 0, "--bucket logs --rules new.json"},
		{"compare.txt", 200, "--bucket logs --rules new.xml --compare"},
		{"compare-80.txt", 80, "--bucket logs --rules new.xml --compare"},
		{"compare.tsv", 0, "--bucket logs --rules new.xml --compare"},
		{"compare-summary.tsv", 0, "--bucket logs --rules new.xml --compare --summary"},
		{"compare.json", 0, "--bucket logs --rules new.xml --compare --output json --forecast 1d"},
		{"compare.jsonl", 0, "--bucket logs --rules new.xml --compare --output jsonl"},
		{"compare.md", 0, "--bucket logs --rules new.xml --compare --output markdown"},
		{"compare.html", 0, "--bucket logs --rules new.xml --compare --output html"},
		{"pass.txt", 200, "--pass"},
		{"pass-80.txt", 80, "--pass --limit 2"},
		{"pass.html", 0, "--pass --output html"},
		{"pass.md", 0, "--pass --output markdown"},
		{"pass.json", 0, "--pass --output json --shards 3,4"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			h := newDryRunHost(t)
			h.file("new.xml", candidateXML)
			h.file("new.json", candidateJSON)
			if tc.width > 0 {
				h.OutTTY, h.OutWidth = true, func() int { return tc.width }
			}
			h.must(exitDone, append([]string{"dry-run"}, strings.Fields(tc.args)...)...)
			checkGolden(t, "dry-run-"+tc.file, h.out.String())
			if tc.width == 80 {
				for line := range strings.Lines(h.out.String()) {
					// Sentences are left to the terminal to break.
					if n := displayWidth(strings.TrimRight(line, "\n")); n > 80 && !strings.HasSuffix(line, ".\n") {
						t.Errorf("%d columns in %q", n, line)
					}
				}
			}
		})
	}
}

// TestDryRunFields pins the documented fields of the JSON forms.
func TestDryRunFields(t *testing.T) {
	h := newDryRunHost(t)
	h.file("new.xml", candidateXML)
	_, err := h.cluster.PutObject("docs", "draft/held", memcluster.Object{LegalHold: true, Mtime: noon.AddDate(0, 0, -20)})
	check(t, err)
	lines := func() []map[string]any {
		var all []map[string]any
		for line := range strings.Lines(h.out.String()) {
			all = append(all, object(t, []byte(line)))
		}
		return all
	}
	base := []string{"bucket", "key", "version_id", "action", "rule_id", "rule_hash", "due", "mod_time", "size", "shard", "locked_until"}
	h.must(exitDone, "dry-run", "--output", "jsonl", "--locked")
	if got := h.out.String(); !strings.HasPrefix(got, `{"bucket":"docs","key":"draft/a","version_id":"`) {
		t.Errorf("the fields of the first line are in another order: %.80s", got)
	}
	uploads, holds := 0, 0
	for _, l := range lines() {
		want := slices.Clone(base)
		if l["action"] == "abort_mpu" {
			want, uploads = append(want, "upload_id"), uploads+1
		}
		if l["key"] == "draft/held" {
			want, holds = append(want, "hold"), holds+1
			if l["hold"] != "legal_hold" || l["locked_until"] != nil {
				t.Errorf("a legal hold is %v until %v", l["hold"], l["locked_until"])
			}
		}
		equalFields(t, "a line", l, want...)
	}
	if uploads != 1 || holds != 1 {
		t.Errorf("%d uploads and %d holds, want one of each", uploads, holds)
	}

	h.must(exitDone, "dry-run", "--output", "jsonl", "--bucket", "logs", "--rules", "new.xml", "--compare")
	for _, l := range lines() {
		want := []string{"change", "bucket", "key", "version_id", "mod_time", "size", "shard", "locked_until", "installed", "candidate"}
		if strings.HasPrefix(l["key"].(string), "video/") {
			want = append(want, "upload_id")
		}
		equalFields(t, "a change", l, want...)
		for _, side := range []string{"installed", "candidate"} {
			if l[side] != nil {
				equalFields(t, side, l[side], "action", "rule_id", "rule_hash", "due", "due_now")
			}
		}
	}

	counts := []string{"objects", "hidden_objects", "hidden_bytes", "versions", "markers", "uploads", "removed_bytes", "ttl_bytes", "locked", "locked_bytes"}
	document := []string{"now", "day_clock", "from", "rules_file", "totals", "rules", "changes", "forecast", "pass", "errors", "found", "listed"}
	h.must(exitDone, "dry-run", "--output", "json", "--forecast", "1d", "--bucket", "logs", "--rules", "new.xml", "--compare")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, append(document, "objects")...)
	equalFields(t, "totals", doc["totals"], counts...)
	for _, r := range doc["rules"].([]any) {
		equalFields(t, "rule", r, append([]string{"bucket", "rule_id", "rule_hash", "number"}, counts...)...)
	}
	for _, c := range doc["changes"].([]any) {
		equalFields(t, "change", c, "change", "objects", "due_now", "bytes")
	}
	equalFields(t, "forecast", doc["forecast"], "now", "days", "later", "never")
	h.must(exitDone, "dry-run", "--output", "json", "--pass", "--summary")
	doc = object(t, h.out.Bytes())
	equalFields(t, "document of a summary", doc, document...)
	plan := doc["pass"].(map[string]any)
	equalFields(t, "pass", plan, "walks", "shards")
	for _, w := range plan["walks"].([]any) {
		equalFields(t, "walk", w, "bucket", "why", "shards", "bound_shards")
	}
	for _, s := range plan["shards"].([]any) {
		equalFields(t, "shard", s, "shard", "recovery", "events_scanned", "windows")
		for _, w := range s.(map[string]any)["windows"].([]any) {
			equalFields(t, "window", w, "delay_seconds", "after", "through")
		}
	}
}

// TestScenario41_DeletedIsNotDiskFreed keeps apart what is hidden, what is
// removed, and what of that is left to a volume's TTL.
func TestScenario41_DeletedIsNotDiskFreed(t *testing.T) {
	h := newTestHost(t)
	h.put("plain", engine.Unversioned, false, rulesOf(oneDay))
	h.put("versioned", engine.Enabled, false, rulesOf(oneDay))
	for _, o := range []struct {
		bucket, key string
		object      memcluster.Object
	}{
		{"plain", "a", memcluster.Object{Size: 100}}, {"versioned", "b", memcluster.Object{Size: 200}},
		{"plain", "c", memcluster.Object{Size: 300, TTL: 7 * day}},
	} {
		_, err := h.cluster.PutObject(o.bucket, o.key, o.object)
		check(t, err)
	}
	h.cluster.Advance(2 * day)
	h.must(exitDone, "dry-run", "--summary", "--output", "json")
	totals := object(t, h.out.Bytes())["totals"].(map[string]any)
	for name, want := range map[string]float64{"hidden_bytes": 200, "removed_bytes": 400, "ttl_bytes": 300, "objects": 3, "hidden_objects": 1} {
		if totals[name] != want {
			t.Errorf("%s is %v, want %v", name, totals[name], want)
		}
	}
	for _, form := range []string{"table", "markdown", "html"} {
		h.must(exitDone, "dry-run", "--output", form)
		contains(t, h.out.String(), "Removed: 2 objects, 400 bytes, of which 300 are left to a volume TTL.",
			"Hidden by delete markers: 1 object, 200 bytes, which stay as noncurrent versions.",
			"Vacuuming the volumes returns the space of what is removed.")
		if strings.Contains(strings.ToLower(h.out.String()), "freed") {
			t.Errorf("%s promises space:\n%s", form, &h.out)
		}
	}
}

// rulesOf is what is inside of a lifecycle document.
func rulesOf(document string) string {
	return strings.TrimSuffix(strings.TrimPrefix(document, "<LifecycleConfiguration>"), "</LifecycleConfiguration>")
}

// TestScenario12_EachObjectByItsOwnAge judges neighbours each by its own age,
// and by the rule whatever TTL is stamped on them.
func TestScenario12_EachObjectByItsOwnAge(t *testing.T) {
	h := newTestHost(t)
	rule := func(prefix string, days int) string {
		return fmt.Sprintf("<Rule><ID>%s</ID><Status>Enabled</Status><Filter><Prefix>%s</Prefix></Filter><Expiration><Days>%d</Days></Expiration></Rule>", prefix, prefix, days)
	}
	h.put("b", engine.Unversioned, false, rule("img/", 1)+rule("long/", 30))
	for key, age := range map[string]time.Duration{
		"img/1": 60 * time.Hour, "img/2": 60 * time.Hour, "img/3": 60 * time.Hour, "img/4": 5 * time.Hour, "img/5": 5 * time.Hour, "long/1": 2 * day,
	} {
		o := memcluster.Object{Size: 1, Mtime: noon.Add(-age)}
		if key == "long/1" {
			o.TTL = 3 * day
		}
		_, err := h.cluster.PutObject("b", key, o)
		check(t, err)
	}
	h.must(exitDone, "dry-run", "--output", "tsv", "--quiet")
	equal(t, "what goes", tsvColumn(h.out.String(), 1), "img/1 img/2 img/3")
	equal(t, "stderr", h.err.String(), "")
}

// tsvColumn is one field of each line of tab-separated values.
func tsvColumn(text string, i int) string {
	var values []string
	for line := range strings.Lines(text) {
		values = append(values, strings.Split(strings.TrimSuffix(line, "\n"), "\t")[i])
	}
	return strings.Join(values, " ")
}
