package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseXML_OneRuleWithManyDefects(t *testing.T) {
	got := refused(t, "<ID>x</ID><Status>on</Status><Filter><And><Tag><Key/></Tag></And></Filter>"+
		"<Expiration><Days>0</Days><Date>soon</Date></Expiration><NoncurrentVersionExpiration/><Colour/>")
	want := []string{
		"Rule[1]/Colour: unknown element",
		"Rule[1]/Status: unknown status",
		"Rule[1]/Filter/And: And with fewer than two conditions",
		"Rule[1]/Filter/And/Tag/Key: empty tag key",
		"Rule[1]/Expiration/Days: Days and Date exclude each other",
		"Rule[1]/Expiration/Days: less than 1",
		"Rule[1]/Expiration/Date: not a date",
		"Rule[1]/NoncurrentVersionExpiration: empty NoncurrentVersionExpiration",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestParseXML_FindingsAreBounded: a document of nothing but surprises keeps
// its refusal, and its findings stay few.
func TestParseXML_FindingsAreBounded(t *testing.T) {
	var rule strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&rule, "<x%d/>", i)
	}
	rules, findings := parse(document(rule.String(), filtered(inTmp)))
	if len(rules) != 1 || rules[0].Number != 2 {
		t.Errorf("rules %v, want the second alone", rules)
	}
	if last := findings[len(findings)-1]; len(findings) != 10_001 || last.RefusesBucket() || last.Message != "30000 more findings not listed" {
		t.Errorf("%d findings, the last is %v", len(findings), last)
	}
}

func TestParseXML_DeepDocument(t *testing.T) {
	deep := strings.Repeat("<a>", 100_000) + strings.Repeat("</a>", 100_000)
	for _, doc := range []string{document(deep), "<LifecycleConfiguration>" + deep + "</LifecycleConfiguration>", deep} {
		if rules, findings := parse(doc); len(rules) > 0 || len(findings) == 0 {
			t.Errorf("rules %v, findings %v", rules, findings)
		}
	}
}
