package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
)

const (
	inTmp     = "<Filter><Prefix>tmp/</Prefix></Filter>"
	enabled   = "<Status>Enabled</Status>"
	afterWeek = "<Expiration><Days>7</Days></Expiration>"
)

// document wraps the insides of rules.
func document(rules ...string) string {
	return "<LifecycleConfiguration><Rule>" + strings.Join(rules, "</Rule><Rule>") + "</Rule></LifecycleConfiguration>"
}

func parse(doc string) ([]*engine.Rule, []engine.Finding) {
	return engine.ParseXML("photos", []byte(doc), engine.ParseOptions{})
}

// refused parses one rule and returns the paths and messages of its defects.
func refused(t *testing.T, rule string) []string {
	t.Helper()
	rules, findings := parse(document(rule))
	var got []string
	for _, f := range defects(findings) {
		if f.RefusesBucket() {
			t.Errorf("%s: refuses the bucket, want the rule alone", f)
		}
		got = append(got, f.Path+": "+f.Message)
	}
	if len(got) > 0 && len(rules) > 0 {
		t.Errorf("rule with defects %q is accepted", got)
	}
	return got
}

// accepted parses one rule without defects and returns it with its warnings.
func accepted(t *testing.T, rule string) (*engine.Rule, []string) {
	t.Helper()
	rules, findings := parse(document(rule))
	if len(rules) != 1 {
		t.Fatalf("refused: %v", findings)
	}
	var warnings []string
	for _, f := range findings {
		if !f.Warning {
			t.Fatalf("defect in an accepted rule: %s", f)
		}
		warnings = append(warnings, f.Path+": "+f.Message)
	}
	return rules[0], warnings
}

func checkRefusals(t *testing.T, cases map[string]string) {
	t.Helper()
	for rule, want := range cases {
		if got := refused(t, rule); !slices.Equal(got, []string{want}) {
			t.Errorf("%s\n got %q\nwant %q", rule, got, want)
		}
	}
}

func expiration(inside string) string {
	return inTmp + enabled + "<Expiration>" + inside + "</Expiration>"
}

func filtered(filter string) string { return filter + enabled + afterWeek }

func TestScenario01_FieldsThatExcludeEachOther(t *testing.T) {
	const (
		tag    = "<Filter><Tag><Key>a</Key><Value>1</Value></Tag></Filter>" + enabled
		larger = "<Filter><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan></Filter>" + enabled
		both   = "<Filter><And><Prefix>x</Prefix><Tag><Key>a</Key></Tag></And></Filter>" + enabled
		marker = "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"
		abort  = "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>"
	)
	checkRefusals(t, map[string]string{
		expiration("<Days>3</Days><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"): "Rule[1]/Expiration/Days: Days and ExpiredObjectDeleteMarker exclude each other",
		expiration("<Days>3</Days><Date>2031-01-01T00:00:00Z</Date>"):                           "Rule[1]/Expiration/Days: Days and Date exclude each other",
		tag + marker:            "Rule[1]/Expiration/ExpiredObjectDeleteMarker: ExpiredObjectDeleteMarker and Tag exclude each other",
		both + marker:           "Rule[1]/Expiration/ExpiredObjectDeleteMarker: ExpiredObjectDeleteMarker and Tag exclude each other",
		tag + abort:             "Rule[1]/AbortIncompleteMultipartUpload: AbortIncompleteMultipartUpload and Tag exclude each other",
		larger + abort:          "Rule[1]/AbortIncompleteMultipartUpload: AbortIncompleteMultipartUpload and ObjectSizeGreaterThan exclude each other",
		tag + afterWeek + abort: "Rule[1]/AbortIncompleteMultipartUpload: AbortIncompleteMultipartUpload and Tag exclude each other",
	})

	r, warnings := accepted(t, expiration("<ExpiredObjectDeleteMarker>false</ExpiredObjectDeleteMarker>"))
	if len(r.Kinds()) != 0 || !slices.Equal(warnings, []string{"Rule[1]/Expiration/ExpiredObjectDeleteMarker: no effect"}) {
		t.Errorf("marker false alone: kinds %v, warnings %q", r.Kinds(), warnings)
	}
}

func TestScenario03_NumbersAndDatesThatAreNone(t *testing.T) {
	for _, days := range []string{"0", "-1", "1.5", " ", "", "99999999999", "2147483648", "1e3", "٣", "7 ", "--7", "0x10", "1_000"} {
		for _, rule := range []string{
			expiration("<Days>" + days + "</Days>"),
			inTmp + enabled + "<NoncurrentVersionExpiration><NoncurrentDays>" + days + "</NoncurrentDays></NoncurrentVersionExpiration>",
			inTmp + enabled + "<AbortIncompleteMultipartUpload><DaysAfterInitiation>" + days + "</DaysAfterInitiation></AbortIncompleteMultipartUpload>",
		} {
			if got := refused(t, rule); len(got) != 1 {
				t.Errorf("days %q: defects %q, want one", days, got)
			}
		}
	}
	for text, want := range map[string]int{"1": 1, "007": 7, "2147483647": 2147483647} {
		if r, _ := accepted(t, expiration("<Days>"+text+"</Days>")); r.ExpirationDays != want {
			t.Errorf("days %q = %d, want %d", text, r.ExpirationDays, want)
		}
	}
	const empty = "Rule[1]/Expiration/Date: looks like an exported empty value"
	checkRefusals(t, map[string]string{
		expiration("<Date>0001-01-01T00:00:00Z</Date>"):     empty,
		expiration("<Date>1970-01-01T00:00:00Z</Date>"):     empty,
		expiration("<Date>2031-01-01T00:00:00.001Z</Date>"): "Rule[1]/Expiration/Date: not at midnight UTC",
		expiration("<Date>2030-12-31T23:59:59Z</Date>"):     "Rule[1]/Expiration/Date: not at midnight UTC",
		expiration("<Date>2031-01-01T24:00:00Z</Date>"):     "Rule[1]/Expiration/Date: not a date",
		expiration("<Date>1893456000</Date>"):               "Rule[1]/Expiration/Date: not a date",
	})
	want := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"2031-01-01T00:00:00Z", "2031-01-01T00:00:00.000Z", "2030-12-31T22:00:00-02:00"} {
		if r, _ := accepted(t, expiration("<Date>"+text+"</Date>")); r.ExpirationDate != want {
			t.Errorf("date %q = %v, want %v", text, r.ExpirationDate, want)
		}
	}
}

func TestScenario04_FilterHoldsOneConditionOrAnd(t *testing.T) {
	checkRefusals(t, map[string]string{
		filtered("<Filter><Prefix>tmp/</Prefix><Tag><Key>k</Key><Value>v</Value></Tag></Filter>"): "Rule[1]/Filter: 2 conditions side by side: Prefix, Tag",
		filtered("<Filter><prefix>tmp/</prefix></Filter>"):                                        "Rule[1]/Filter/prefix: unknown element, spelt Prefix",
		filtered("<Filters><Prefix>tmp/</Prefix></Filters>"):                                      "Rule[1]/Filters: unknown element",
		filtered("<Filter><Suffix>.log</Suffix></Filter>"):                                        "Rule[1]/Filter/Suffix: unknown element",
		filtered("<Filter><And><Prefix>tmp/</Prefix></And></Filter>"):                             "Rule[1]/Filter/And: And with fewer than two conditions",
	})
}

func TestScenario05_SpellingsOfTheWholeBucket(t *testing.T) {
	for _, filter := range []string{"<Filter/>", "<Filter></Filter>", "<Filter> \n</Filter>", "<Filter><Prefix/></Filter>", "<Filter><Prefix></Prefix></Filter>", "<Prefix/>"} {
		r, warnings := accepted(t, filtered(filter))
		if r.Prefix != "" || r.Tags != nil || r.SizeGreaterThan != nil || r.SizeLessThan != nil || warnings != nil {
			t.Errorf("%s selects %+v with warnings %q", filter, r, warnings)
		}
	}
	if r, _ := accepted(t, filtered("<Prefix>a/</Prefix>")); r.Prefix != "a/" {
		t.Errorf("rule-level prefix = %q", r.Prefix)
	}
	checkRefusals(t, map[string]string{
		filtered("<Prefix>a/</Prefix><Filter/>"): "Rule[1]: Filter and Prefix exclude each other",
		filtered("<Prefix/><Filter/>"):           "Rule[1]: Filter and Prefix exclude each other",
		filtered(""):                             "Rule[1]: neither Filter nor Prefix",
	})
	rules, findings := engine.ParseXML("photos", []byte(document(filtered(""))), engine.ParseOptions{AllowUnfiltered: true})
	if len(rules) != 1 || rules[0].Prefix != "" || len(defects(findings)) != 0 || len(findings) != 1 {
		t.Errorf("allowed unfiltered rule: rules %v, findings %v", rules, findings)
	}
}

func TestScenario07_IDsAndTheNumberOfRules(t *testing.T) {
	if r, _ := accepted(t, "<ID>"+strings.Repeat("é", 255)+"</ID>"+filtered(inTmp)); len([]rune(r.ID)) != 255 {
		t.Errorf("ID of 255 characters read as %q", r.ID)
	}
	checkRefusals(t, map[string]string{
		"<ID>" + strings.Repeat("é", 256) + "</ID>" + filtered(inTmp): "Rule[1]/ID: ID of 256 characters is too long",
	})

	many := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("<ID>r%d</ID>", i) + filtered(inTmp)
		}
		return document(all...)
	}
	if rules, findings := parse(many(1000)); len(rules) != 1000 || findings != nil {
		t.Errorf("1000 rules: %d accepted, findings %v", len(rules), findings)
	}
	rules, findings := parse(many(1001))
	if rules != nil || len(findings) != 1 || !findings[0].RefusesBucket() || findings[0].Message != "1001 rules are too many" {
		t.Errorf("1001 rules: %d accepted, findings %v", len(rules), findings)
	}

	unnamed := document(filtered(inTmp))
	first, _ := parse(unnamed)
	second, _ := parse(unnamed)
	if first[0].Label() != second[0].Label() || first[0].Label() == "" {
		t.Errorf("labels %q and %q of one rule without ID", first[0].Label(), second[0].Label())
	}
}

func TestScenario07_SharedIDsRefuseEveryRuleThatHasThem(t *testing.T) {
	x := "<ID>x</ID>" + filtered(inTmp)
	rules, findings := parse(document(x, "<ID>y</ID>"+filtered(inTmp), x, "<ID></ID>"+filtered(inTmp), "<ID/>"+filtered(inTmp), "<ID>X</ID>"+filtered(inTmp), x))
	var numbers []int
	for _, r := range rules {
		numbers = append(numbers, r.Number)
	}
	if want := []int{2, 4, 5, 6}; !slices.Equal(numbers, want) {
		t.Errorf("accepted %v, want %v", numbers, want)
	}
	for i, rule := range []int{3, 7} {
		want := engine.Finding{
			Bucket: "photos", Rule: rule, RuleID: "x", Other: 1, Path: fmt.Sprintf("Rule[%d]/ID", rule), Line: 1,
			Value: "x", Message: "same ID as rule 1", Allowed: "an ID of its own for each rule",
		}
		if i >= len(findings) || findings[i] != want {
			t.Fatalf("findings %v, want %v", findings, want)
		}
	}
	if len(findings) != 2 {
		t.Errorf("findings %v, want 2", findings)
	}
}

func TestScenario08_RulesWithoutAnActionOfSeaweedFS(t *testing.T) {
	const transition = "<Transition><Days>30</Days><StorageClass>GLACIER</StorageClass></Transition>"
	rules, findings := parse(document(
		"<ID>R1</ID><Filter><Prefix>a/</Prefix></Filter>"+enabled+transition,
		"<ID>R2</ID><Filter><Prefix>b/</Prefix></Filter>"+enabled+transition+"<Expiration><Days>60</Days></Expiration>",
		"<ID>R3</ID><Filter><Prefix>c/</Prefix></Filter>"+enabled,
	))
	if len(rules) != 2 {
		t.Fatalf("%d rules accepted, want R1 and R2: %v", len(rules), findings)
	}
	for i, want := range [][]engine.Kind{nil, {engine.ExpirationDays}} {
		if got := rules[i].Kinds(); !slices.Equal(got, want) {
			t.Errorf("%s: kinds %v, want %v", rules[i].ID, got, want)
		}
		if !slices.Equal(rules[i].Unsupported, []string{"Transition"}) {
			t.Errorf("%s: unsupported %q", rules[i].ID, rules[i].Unsupported)
		}
	}
	if d := defects(findings); len(d) != 1 || d[0].RuleID != "R3" || d[0].Message != "no action" {
		t.Errorf("defects %v, want R3 alone", d)
	}
	if len(findings) != 3 {
		t.Errorf("findings %v, want a warning each for R1 and R2", findings)
	}
}

func TestScenario09_Dialects(t *testing.T) {
	body := "<Rule>" + filtered(inTmp) + "</Rule></LifecycleConfiguration>"
	want, _ := parse("<LifecycleConfiguration>" + body)
	for name, doc := range map[string]string{
		"namespace":           `<LifecycleConfiguration xmlns="` + engine.Namespace + `">` + body,
		"declaration":         `<?xml version="1.0" encoding="utf-8" standalone="yes"?><LifecycleConfiguration>` + body,
		"byte order mark":     "\uFEFF<LifecycleConfiguration>" + body,
		"both":                "\uFEFF<?xml version=\"1.0\"?>\r\n<LifecycleConfiguration>" + body + "\r\n",
		"comments":            "<!-- a --><LifecycleConfiguration><!-- b -->" + body + "<!-- c -->",
		"unused prefix":       `<LifecycleConfiguration xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` + body,
		"namespace of a rule": `<LifecycleConfiguration><Rule xmlns="` + engine.Namespace + `">` + strings.TrimPrefix(body, "<Rule>"),
	} {
		got, findings := parse(doc)
		if findings != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: rules %v, findings %v", name, got, findings)
		}
	}
}

func TestScenario09_DocumentsThatAreRefused(t *testing.T) {
	good := document(filtered(inTmp))
	for doc, want := range map[string]string{
		"":              "document is empty",
		" \n\uFEFF":     "text outside of a rule",
		"<!-- none -->": "no root element",
		good[:80]:       "malformed XML: unexpected EOF",
		good + good:     "second root element",
		good + "<a/>":   "second root element",
		good + "&amp;":  "text outside of a rule",
		good + "\x00":   "malformed XML: illegal character code U+0000",
		"<Rule></Rule>": "not a lifecycle document",
		`{"Rules": []}`: "text outside of a rule",
		`<!DOCTYPE LifecycleConfiguration [<!ENTITY days "1">]>` + good:                                  "document type declaration",
		strings.Replace(good, "7", "&days;", 1):                                                          "malformed XML: invalid character entity &days;",
		strings.Replace(good, "tmp/", "&lt;&#x1;", 1):                                                    "malformed XML: illegal character code U+0001",
		strings.Replace(good, "7", "&\xa3;", 1):                                                          "malformed XML: invalid character entity &\uFFFD;",
		`<?xml version="1.1"?>` + good:                                                                   `malformed XML: unsupported version "1.1"; only version 1.0 is supported`,
		good + `<?xml version="1.0"?>`:                                                                   "processing instruction",
		strings.Replace(good, "<Rule>", "<!ELEMENT Rule ANY><Rule>", 1):                                  "document type declaration",
		strings.Replace(good, "<LifecycleConfiguration", `<LifecycleConfiguration a="1"`, 1):             "unexpected attribute",
		strings.Replace(good, "<LifecycleConfiguration", `<LifecycleConfiguration xmlns="" xmlns=""`, 1): "second attribute of this name",
		strings.ReplaceAll(good, "LifecycleConfiguration", "x:LifecycleConfiguration"):                   "foreign namespace",
	} {
		rules, findings := parse(doc)
		if rules != nil {
			t.Errorf("%q: rules %v", doc, rules)
		}
		if len(findings) == 0 || !findings[0].RefusesBucket() || findings[0].Message != want || findings[0].Bucket != "photos" {
			t.Errorf("%q: findings %v, want %q", doc, findings, want)
		}
	}
}

func TestScenario09_SizeOfDocuments(t *testing.T) {
	good := document(filtered(inTmp))
	pad := func(size int) string { return good + strings.Repeat(" ", size-len(good)) }
	if rules, findings := parse(pad(1 << 20)); len(rules) != 1 || findings != nil {
		t.Errorf("1 MiB: rules %v, findings %v", rules, findings)
	}
	rules, findings := parse(pad(1<<20 + 1))
	if rules != nil || len(findings) != 1 || !findings[0].RefusesBucket() {
		t.Errorf("1 MiB and a byte: rules %v, findings %v", rules, findings)
	}
}

func TestScenario10_NoncurrentVersionExpiration(t *testing.T) {
	noncurrent := func(inside string) string {
		return inTmp + enabled + "<NoncurrentVersionExpiration>" + inside + "</NoncurrentVersionExpiration>"
	}
	newer := func(n string) string { return "<NewerNoncurrentVersions>" + n + "</NewerNoncurrentVersions>" }
	const days = "<NoncurrentDays>3</NoncurrentDays>"
	checkRefusals(t, map[string]string{
		noncurrent(newer("101")):      "Rule[1]/NoncurrentVersionExpiration/NewerNoncurrentVersions: more than 100",
		noncurrent(newer("0")):        "Rule[1]/NoncurrentVersionExpiration/NewerNoncurrentVersions: less than 1",
		noncurrent(days + newer("0")): "Rule[1]/NoncurrentVersionExpiration/NewerNoncurrentVersions: less than 1",
		noncurrent(""):                "Rule[1]/NoncurrentVersionExpiration: empty NoncurrentVersionExpiration",
	})
	for _, n := range []int{1, 100} {
		r, warnings := accepted(t, noncurrent(newer(fmt.Sprint(n))))
		if r.NewerNoncurrent != n || !slices.Equal(r.Kinds(), []engine.Kind{engine.NewerNoncurrent}) || len(warnings) != 1 {
			t.Errorf("count %d alone: %+v, warnings %q", n, r, warnings)
		}
	}
	r, warnings := accepted(t, noncurrent(days+newer("2")))
	if r.NoncurrentDays != 3 || r.NewerNoncurrent != 2 || warnings != nil {
		t.Errorf("count and days: %+v, warnings %q", r, warnings)
	}
}

func TestScenario10_NoEffectWithoutVersions(t *testing.T) {
	doc := []byte(document(
		inTmp+enabled+"<NoncurrentVersionExpiration><NoncurrentDays>3</NoncurrentDays></NoncurrentVersionExpiration>",
		expiration("<ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker>"),
		filtered(inTmp),
	))
	for _, tc := range []struct {
		opt  engine.ParseOptions
		want int
	}{
		{engine.ParseOptions{}, 0},
		{engine.ParseOptions{KnownVersioning: true, Versioning: engine.Unversioned}, 2},
		{engine.ParseOptions{KnownVersioning: true, Versioning: engine.Suspended}, 0},
		{engine.ParseOptions{KnownVersioning: true, Versioning: engine.Enabled}, 0},
	} {
		rules, findings := engine.ParseXML("photos", doc, tc.opt)
		if len(rules) != 3 || len(findings) != tc.want || len(defects(findings)) != 0 {
			t.Errorf("%+v: %d rules, findings %v, want %d warnings", tc.opt, len(rules), findings, tc.want)
		}
	}
}

func TestScenario14_TagFilters(t *testing.T) {
	checkRefusals(t, map[string]string{
		filtered("<Filter><And><Tag><Key>a</Key><Value>1</Value></Tag><Tag><Key>a</Key><Value>1</Value></Tag></And></Filter>"): "Rule[1]/Filter/And/Tag[2]/Key: repeated tag key",
	})
	for filter, want := range map[string]map[string]string{
		"<Filter><Tag><Key>k</Key></Tag></Filter>":                                   {"k": ""},
		"<Filter><Tag><Key>k</Key><Value/></Tag></Filter>":                           {"k": ""},
		"<Filter><Tag><Value>v</Value><Key>k</Key></Tag></Filter>":                   {"k": "v"},
		"<Filter><And><Tag><Key>a</Key></Tag><Tag><Key>A</Key></Tag></And></Filter>": {"a": "", "A": ""},
		"<Filter><Tag><Key> k </Key><Value> v&#xA;</Value></Tag></Filter>":           {" k ": " v\n"},
	} {
		if r, _ := accepted(t, filtered(filter)); !reflect.DeepEqual(r.Tags, want) {
			t.Errorf("%s: tags %q, want %q", filter, r.Tags, want)
		}
	}
}

func TestScenario15_PrefixIsLiteral(t *testing.T) {
	for text, want := range map[string]struct {
		prefix   string
		warnings int
	}{
		"logs":                        {"logs", 0},
		"logs/":                       {"logs/", 0},
		"a&amp;b/":                    {"a&b/", 0},
		"<![CDATA[a<b/]]>":            {"a<b/", 0},
		"\u00e9":                      {"\u00e9", 0},
		"e\u0301":                     {"e\u0301", 0},
		"50%":                         {"50%", 0},
		"50%/x":                       {"50%/x", 0},
		"a b":                         {"a b", 0},
		"/logs/":                      {"/logs/", 1},
		"*.bam":                       {"*.bam", 1},
		"a%20b/":                      {"a%20b/", 1},
		"a%2Fb/":                      {"a%2Fb/", 1},
		"logs/ ":                      {"logs/ ", 1},
		" logs/":                      {" logs/", 1},
		"logs/&#xD;":                  {"logs/\r", 1},
		"\n  logs/\n":                 {"\n  logs/\n", 1},
		"/*":                          {"/*", 2},
		strings.Repeat("p", 1024):     {strings.Repeat("p", 1024), 0},
		strings.Repeat("\u00e9", 512): {strings.Repeat("\u00e9", 512), 0},
	} {
		r, warnings := accepted(t, filtered("<Filter><Prefix>"+text+"</Prefix></Filter>"))
		if r.Prefix != want.prefix || len(warnings) != want.warnings {
			t.Errorf("%q: prefix %q, warnings %q", text, r.Prefix, warnings)
		}
	}
	checkRefusals(t, map[string]string{
		filtered("<Prefix>" + strings.Repeat("p", 1025) + "</Prefix>"):      "Rule[1]/Prefix: prefix of 1025 bytes is too long",
		filtered("<Prefix>" + strings.Repeat("\u00e9", 512) + "p</Prefix>"): "Rule[1]/Prefix: prefix of 1025 bytes is too long",
	})
}

func TestScenario17_SizeBounds(t *testing.T) {
	const none = -1
	for _, tc := range []struct {
		greater, less string
		low, high     int64
		warnings      int
		defect        string
	}{
		{low: none, high: none},
		{greater: "1000", less: "2000", low: 1000, high: 2000},
		{greater: "0", low: 0, high: none},
		{less: "1", low: none, high: 1},
		{greater: "9223372036854775807", low: 9223372036854775807, high: none},
		{greater: "9", less: "11", low: 9, high: 11},
		{greater: "9", less: "10", low: 9, high: 10, warnings: 1},
		{greater: "0", less: "1", low: 0, high: 1, warnings: 1},
		{greater: "9", less: "9", defect: "empty size range"},
		{greater: "10", less: "9", defect: "empty size range"},
		{less: "0", defect: "less than 1"},
		{greater: "-1", defect: "less than 0"},
		{greater: "9223372036854775808", defect: "more than 9223372036854775807"},
	} {
		filter := ""
		if tc.greater != "" {
			filter += "<ObjectSizeGreaterThan>" + tc.greater + "</ObjectSizeGreaterThan>"
		}
		if tc.less != "" {
			filter += "<ObjectSizeLessThan>" + tc.less + "</ObjectSizeLessThan>"
		}
		if tc.greater != "" && tc.less != "" {
			filter = "<And>" + filter + "</And>"
		}
		rule := filtered("<Filter>" + filter + "</Filter>")
		if tc.defect != "" {
			if got := refused(t, rule); len(got) != 1 || !strings.HasSuffix(got[0], ": "+tc.defect) {
				t.Errorf("%s: defects %q, want %q", filter, got, tc.defect)
			}
			continue
		}
		r, warnings := accepted(t, rule)
		if len(warnings) != tc.warnings {
			t.Errorf("%s: warnings %q, want %d", filter, warnings, tc.warnings)
		}
		low, high := int64(none), int64(none)
		if r.SizeGreaterThan != nil {
			low = *r.SizeGreaterThan
		}
		if r.SizeLessThan != nil {
			high = *r.SizeLessThan
		}
		if low != tc.low || high != tc.high {
			t.Errorf("%s: bounds %d and %d, want %d and %d", filter, low, high, tc.low, tc.high)
		}
	}
}

func TestScenario58_AllFindingsAtOnce(t *testing.T) {
	const twoConditions = "<Filter><Tag><Key>k</Key></Tag><Prefix>p</Prefix></Filter>"
	_, findings := parse(document(
		"<ID>a</ID>"+expiration("<Days>0</Days>"),
		"<ID>b</ID>"+filtered(inTmp),
		"<ID>b</ID>"+filtered(inTmp),
		filtered(twoConditions),
	))
	var got []string
	for _, f := range findings {
		got = append(got, f.String())
	}
	want := []string{
		`bucket "photos": rule 1 "a": Rule[1]/Expiration/Days "0": less than 1; allowed: a whole number from 1 to 2147483647`,
		`bucket "photos": rule 3 "b": Rule[3]/ID "b": same ID as rule 2; allowed: an ID of its own for each rule`,
		`bucket "photos": rule 4: Rule[4]/Filter: 2 conditions side by side: Tag, Prefix; allowed: one condition, or several inside And`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
