package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seaweedfs/seaweedfs/weed/s3api/lifecycle_xml"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"
	"pgregory.net/rapid"

	"weedlc/engine"
)

// xmlText generates text that XML can carry, rich in what needs escaping.
func xmlText(least, most int) *rapid.Generator[string] {
	runes := rapid.RuneFrom([]rune("ab/%*&<>\"' \t\r\n]\u00e9\u0301\U0001d11e"), unicode.Latin)
	return rapid.StringOfN(runes, least, most, -1)
}

func sizeBound(t *rapid.T, least int64, label string) *int64 {
	n := rapid.OneOf(rapid.Int64Range(least, least+3), rapid.Int64Min(least)).Draw(t, label)
	return &n
}

// validRule generates a rule that S3 or SeaweedFS accepts.
func validRule(t *rapid.T, number int) *engine.Rule {
	r := &engine.Rule{Number: number, Enabled: rapid.Bool().Draw(t, "enabled")}
	if rapid.Bool().Draw(t, "has ID") {
		r.ID = fmt.Sprint(number) + xmlText(0, 20).Draw(t, "ID")
	}
	if rapid.Bool().Draw(t, "has prefix") {
		r.Prefix = xmlText(1, 30).Draw(t, "prefix")
	}
	const (
		tags = 1 << iota
		sizes
	)
	narrowed := rapid.IntRange(0, tags|sizes).Draw(t, "narrowed")
	if narrowed&tags != 0 {
		r.Tags = rapid.MapOfN(xmlText(1, 8), xmlText(0, 8), 1, 4).Draw(t, "tags")
	}
	if narrowed&sizes != 0 {
		r.SizeGreaterThan = sizeBound(t, 0, "greater")
		if rapid.Bool().Draw(t, "range") {
			r.SizeLessThan = sizeBound(t, 1, "less")
			if *r.SizeLessThan <= *r.SizeGreaterThan {
				r.SizeGreaterThan = nil
			}
		}
	}
	days := rapid.OneOf(rapid.IntRange(1, 400), rapid.IntRange(1, 1<<31-1))
	switch rapid.IntRange(0, 3).Draw(t, "expiration") {
	case 1:
		r.ExpirationDays = days.Draw(t, "days")
	case 2:
		day := rapid.IntRange(1, 100_000).Draw(t, "day")
		r.ExpirationDate = time.Unix(0, 0).UTC().AddDate(0, 0, day)
	case 3:
		r.ExpiredMarker = narrowed&tags == 0
	}
	if rapid.Bool().Draw(t, "noncurrent") {
		r.NoncurrentDays = days.Draw(t, "noncurrent days")
	}
	if rapid.Bool().Draw(t, "newer") {
		r.NewerNoncurrent = rapid.IntRange(1, 100).Draw(t, "newer versions")
	}
	if narrowed == 0 && rapid.Bool().Draw(t, "abort") {
		r.AbortDays = days.Draw(t, "abort days")
	}
	return r
}

// TestCanonicalXML_AgreesWithTheBuiltin: the built-in reads what we write as
// the same rules, and we read what it writes as the same rules.
func TestCanonicalXML_AgreesWithTheBuiltin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := make([]*engine.Rule, rapid.IntRange(1, 80).Draw(t, "rules"))
		for i := range rules {
			rules[i] = validRule(t, i+1)
		}
		checkRoundTrip(t, rules)

		doc := engine.CanonicalXML(rules)
		builtin, err := lifecycle_xml.ParseCanonical(doc)
		if err != nil {
			t.Fatalf("the built-in does not read it: %v\n%s", err, doc)
		}
		checkSameRules(t, rules, builtin)

		builtin = actionable(builtin)
		if len(builtin) == 0 {
			return
		}
		doc, err = lifecycle_xml.MarshalCanonical(builtin)
		if err != nil {
			t.Fatal(err)
		}
		ours, findings := engine.ParseXML("", doc, engine.ParseOptions{})
		if d := defects(findings); len(d) > 0 {
			t.Fatalf("the built-in's document has defects: %v\n%s", d, doc)
		}
		checkSameRules(t, ours, builtin)
	})
}

// actionable leaves out rules without an action, which the built-in writes as
// S3 does not accept them.
func actionable(rules []*s3lifecycle.Rule) []*s3lifecycle.Rule {
	var some []*s3lifecycle.Rule
	for _, r := range rules {
		if len(s3lifecycle.RuleActionKinds(r)) > 0 {
			some = append(some, r)
		}
	}
	return some
}

func checkSameRules(t rapid.TB, ours []*engine.Rule, builtin []*s3lifecycle.Rule) {
	t.Helper()
	if len(ours) != len(builtin) {
		t.Fatalf("%d rules, the built-in has %d", len(ours), len(builtin))
	}
	for i, r := range ours {
		b := builtin[i]
		if r.Hash() != engine.RuleHash(s3lifecycle.RuleHash(b)) {
			t.Fatalf("rule %d: hash %s, the built-in has %x", i+1, r.Hash(), s3lifecycle.RuleHash(b))
		}
		if r.ID != b.ID || r.Enabled != (b.Status == s3lifecycle.StatusEnabled) ||
			r.Prefix != b.Prefix || !maps.Equal(r.Tags, b.FilterTags) ||
			valueOf(r.SizeGreaterThan) != b.FilterSizeGreaterThan || valueOf(r.SizeLessThan) != b.FilterSizeLessThan ||
			r.ExpirationDays != b.ExpirationDays || !r.ExpirationDate.Equal(b.ExpirationDate) ||
			r.ExpiredMarker != b.ExpiredObjectDeleteMarker || r.AbortDays != b.AbortMPUDaysAfterInitiation ||
			r.NoncurrentDays != b.NoncurrentVersionExpirationDays || r.NewerNoncurrent != b.NewerNoncurrentVersions {
			t.Fatalf("rule %d: %+v, the built-in has %+v", i+1, r, b)
		}
	}
}

func valueOf(bound *int64) int64 {
	if bound == nil {
		return 0
	}
	return *bound
}

// FuzzParseXML: a refused document has no rules; accepted rules are written and
// read back as they are; a document without a defect means to the built-in what
// it means here.
func FuzzParseXML(f *testing.F) {
	for _, path := range fixtures(f) {
		doc, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc, false)
	}
	f.Add([]byte("<LifecycleConfiguration><Rule><Status>Enabled</Status>"+afterWeek+"</Rule></LifecycleConfiguration>"), true)
	f.Fuzz(func(t *testing.T, doc []byte, allowUnfiltered bool) {
		opt := engine.ParseOptions{AllowUnfiltered: allowUnfiltered}
		rules, findings := engine.ParseXML("photos", doc, opt)
		if !checkParsed(t, rules, findings) {
			return
		}
		builtin, err := lifecycle_xml.ParseCanonical(doc)
		if err != nil {
			t.Fatalf("the built-in does not read it: %v", err)
		}
		checkSameRules(t, rules, builtin)
	})
}

// FuzzParseJSON: as FuzzParseXML, and whatever is accepted is what a reader
// without our strictness finds in the document too.
func FuzzParseJSON(f *testing.F) {
	for _, path := range fixtures(f) {
		doc, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc, false)
		if rules, _ := engine.ParseXML("photos", doc, engine.ParseOptions{}); len(rules) > 0 {
			f.Add(engine.CanonicalJSON(rules), true)
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte, allowUnfiltered bool) {
		rules, findings := engine.ParseJSON("photos", doc, engine.ParseOptions{AllowUnfiltered: allowUnfiltered})
		if !checkParsed(t, rules, findings) {
			return
		}
		var loose struct {
			Rules []struct {
				ID, Status, Prefix string
				Filter             struct{ Prefix string }
				Expiration         struct{ Days int }
			}
		}
		if err := json.Unmarshal(bytes.TrimPrefix(doc, []byte("\uFEFF")), &loose); err != nil {
			t.Fatalf("accepted and no JSON: %v", err)
		}
		if len(loose.Rules) != len(rules) {
			t.Fatalf("%d rules, the document has %d", len(rules), len(loose.Rules))
		}
		for i, r := range rules {
			have := loose.Rules[i]
			simple := len(r.Tags) == 0 && r.SizeGreaterThan == nil && r.SizeLessThan == nil && have.Filter.Prefix != ""
			if r.ID != have.ID || r.Enabled != (have.Status == "Enabled") || r.ExpirationDays != have.Expiration.Days ||
				simple && r.Prefix != have.Filter.Prefix {
				t.Fatalf("rule %d is %+v, the document has %+v", i+1, r, have)
			}
		}
	})
}

// checkParsed holds what the parser returns to what it promises. It is false
// when there is a defect.
func checkParsed(t *testing.T, rules []*engine.Rule, findings []engine.Finding) bool {
	t.Helper()
	refused := map[int]bool{}
	for _, finding := range findings {
		if line := finding.String(); !utf8.ValidString(line) || strings.ContainsAny(line, "\x00\x1b\n\r") {
			t.Errorf("finding is not one line of text: %q", line)
		}
		if finding.Warning {
			continue
		}
		refused[finding.Rule], refused[finding.Other] = true, true
		if finding.RefusesBucket() && rules != nil {
			t.Fatalf("document refused by %s has rules", finding)
		}
	}
	for _, r := range rules {
		if refused[r.Number] {
			t.Fatalf("refused rule %d is accepted", r.Number)
		}
	}
	checkRoundTrip(t, rules)
	if len(refused) == 0 && len(rules) == 0 {
		t.Fatalf("no rules and no defect: %v", findings)
	}
	return len(refused) == 0
}
