package engine_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weedlc/engine"
)

// TestParseJSON_FindsWhatXMLDoes rewrites each XML fixture as JSON and wants the
// same rules and the same findings. What JSON cannot say (attributes,
// namespaces, comments, a number that is none) is left out, and what is no
// document.
func TestParseJSON_FindsWhatXMLDoes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(rulesDir, "*.xml"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range paths {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rules, findings := engine.ParseXML("photos", doc, engine.ParseOptions{})
		asJSON, ok := rewrite(doc)
		if !ok || slices.ContainsFunc(findings, engine.Finding.RefusesBucket) {
			continue
		}
		compared++
		got, gotFindings := engine.ParseJSON("photos", asJSON, engine.ParseOptions{})
		if want := lines(findings); !slices.Equal(lines(gotFindings), want) {
			t.Errorf("%s as JSON has the findings\n%q\nwant\n%q\n%s", path, lines(gotFindings), want, asJSON)
		}
		if a, b := engine.CanonicalXML(got), engine.CanonicalXML(rules); !bytes.Equal(a, b) {
			t.Errorf("%s as JSON has the rules\n%s\nwant\n%s", path, a, b)
		}
	}
	if compared < 60 {
		t.Errorf("only %d of %d documents were compared", compared, len(paths))
	}
}

// lines is each finding without its line, what is allowed left out: JSON has
// plural names there.
func lines(findings []engine.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprint(f.Rule, f.RuleID, f.Other, f.Path, f.Value, f.Message, f.Warning))
	}
	return out
}

// node is an element for rewrite.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Comment  string     `xml:",comment"`
	Children []node     `xml:",any"`
}

// rewrite is a document of XML in the AWS CLI's JSON; false when it has no such
// form.
func rewrite(doc []byte) ([]byte, bool) {
	var root node
	d := xml.NewDecoder(bytes.NewReader(doc))
	if d.Decode(&root) != nil || root.XMLName.Local != "LifecycleConfiguration" {
		return nil, false
	}
	root.Attrs = nil
	var b strings.Builder
	ok := root.write(&b, "")
	return []byte(b.String()), ok && json.Valid([]byte(b.String()))
}

func (n node) write(b *strings.Builder, parent string) bool {
	name := n.XMLName.Local
	if len(n.Attrs) > 0 || n.Comment != "" || n.XMLName.Space != "" && n.XMLName.Space != engine.Namespace {
		return false
	}
	switch name {
	case "Days", "NoncurrentDays", "NewerNoncurrentVersions", "DaysAfterInitiation", "ObjectSizeGreaterThan", "ObjectSizeLessThan", "ExpiredObjectDeleteMarker":
		b.WriteString(n.Text)
		return strings.TrimSpace(n.Text) == n.Text && len(n.Children) == 0 && (name == "ExpiredObjectDeleteMarker") == (n.Text == "true" || n.Text == "false")
	case "ID", "Status", "Prefix", "Key", "Value", "Date", "StorageClass":
		text, err := json.Marshal(n.Text)
		b.Write(text)
		return err == nil && len(n.Children) == 0
	}
	ok := strings.TrimSpace(n.Text) == ""
	plural := map[string]string{"LifecycleConfiguration/Rule": "Rules", "And/Tag": "Tags", "Rule/Transition": "Transitions", "Rule/NoncurrentVersionTransition": "NoncurrentVersionTransitions"}
	var names []string
	members := map[string][]string{}
	for _, child := range n.Children {
		var value strings.Builder
		ok = child.write(&value, name) && ok
		key := child.XMLName.Local
		if members[key] == nil {
			names = append(names, key)
		}
		members[key] = append(members[key], value.String())
	}
	b.WriteString("{")
	separator := ""
	for _, key := range names {
		if list := plural[name+"/"+key]; list != "" {
			fmt.Fprintf(b, "%s%q:[%s]", separator, list, strings.Join(members[key], ","))
			separator = ","
			continue
		}
		for _, value := range members[key] {
			fmt.Fprintf(b, "%s%q:%s", separator, key, value)
			separator = ","
		}
	}
	b.WriteString("}")
	return ok
}

func TestParseRules_TellsTheFormsApart(t *testing.T) {
	const (
		asXML  = "<LifecycleConfiguration><Rule>" + inTmp + enabled + afterWeek + "</Rule></LifecycleConfiguration>"
		asJSON = `{"Rules":[{"Filter":{"Prefix":"tmp/"},"Status":"Enabled","Expiration":{"Days":7}}]}`
	)
	for _, before := range []string{"", " \r\n\t", "\uFEFF", "\uFEFF\n"} {
		for _, doc := range []string{asXML, asJSON} {
			rules, findings := engine.ParseRules("", []byte(before+doc), engine.ParseOptions{})
			if len(rules) != 1 || len(findings) != 0 || rules[0].Prefix != "tmp/" {
				t.Errorf("%q: rules %v, findings %v", before+doc, rules, findings)
			}
		}
	}
	for doc, want := range map[string]string{
		"":              "document is empty",
		" \uFEFF":       "neither XML nor JSON",
		"\uFEFF \n":     "document is empty",
		"rules: []":     "neither XML nor JSON",
		"\"Rules\"":     "neither XML nor JSON",
		"\xFF\xFE<\x00": "neither XML nor JSON",
		"[]":            "a list where an object belongs",
		"{":             "malformed JSON: unexpected end of JSON input",
		"<":             "malformed XML: unexpected EOF",
		"{}" + asXML:    "malformed JSON: invalid character '<' after top-level value",
	} {
		rules, findings := engine.ParseRules("", []byte(doc), engine.ParseOptions{})
		if rules != nil || len(findings) != 1 || findings[0].Message != want || !findings[0].RefusesBucket() {
			t.Errorf("%q: rules %v, findings %v, want %q", doc, rules, findings, want)
		}
	}
}

func TestParseJSON_KeepsEveryRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := make([]*engine.Rule, rapid.IntRange(1, 20).Draw(t, "rules"))
		for i := range rules {
			rules[i] = validRule(t, i+1)
		}
		fromJSON, _ := engine.ParseJSON("", engine.CanonicalJSON(rules), engine.ParseOptions{})
		fromXML, _ := engine.ParseXML("", engine.CanonicalXML(fromJSON), engine.ParseOptions{})
		if len(fromXML) != len(rules) {
			t.Fatalf("%d rules of %d came back", len(fromXML), len(rules))
		}
		for i, r := range rules {
			if fromXML[i].Hash() != r.Hash() {
				t.Fatalf("rule %d has hash %s by way of JSON and XML, want %s", i+1, fromXML[i].Hash(), r.Hash())
			}
		}
	})
}

func TestParseJSON_Lines(t *testing.T) {
	doc := "{\"Rules\": [\n{\n\"Filter\": {},\n\"Status\":\n\"on\",\n\"Expiration\": {\"Days\": 1}},\n\n7]}"
	_, findings := engine.ParseJSON("", []byte(doc), engine.ParseOptions{})
	var got []string
	for _, f := range findings {
		got = append(got, fmt.Sprint(f.Line, " ", f.Path))
	}
	if want := []string{"4 Rule[1]/Status", "8 Rule[2]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseJSON_HostileDocuments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000)
	for _, doc := range []string{
		strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		`{"Rules":[` + deep + `]}`,
		`{"Rules":` + deep + `}`,
		deep,
		`{"Rules":[` + strings.Repeat("{},", 1000) + `{}]}`,
		strings.Repeat(" ", 1<<20) + "{}",
	} {
		rules, findings := engine.ParseRules("", []byte(doc), engine.ParseOptions{})
		if len(rules) > 0 || len(findings) == 0 {
			t.Errorf("%.20q: rules %v, findings %v", doc, rules, findings)
		}
		for _, f := range findings {
			if len(f.String()) > 1000 {
				t.Errorf("%.20q: a finding of %d bytes", doc, len(f.String()))
			}
		}
	}
}

// TestParseJSON_KeysInPaths: a key is user data and must not break a line of
// findings.
func TestParseJSON_KeysInPaths(t *testing.T) {
	for key, want := range map[string]string{
		`Suffix`:                  `Rule[1]/Filter/Suffix`,
		`a\nb\u001b[31m`:          `Rule[1]/Filter/"a\nb\x1b[31m"`,
		``:                        `Rule[1]/Filter/""`,
		strings.Repeat("x", 5000): `Rule[1]/Filter/"` + strings.Repeat("x", 64) + `"...`,
		`a/b`:                     `Rule[1]/Filter/"a/b"`,
	} {
		doc := `{"Rules":[{"Filter":{"` + key + `":1},"Status":"Enabled","Expiration":{"Days":1}}]}`
		_, findings := engine.ParseJSON("", []byte(doc), engine.ParseOptions{})
		if len(findings) != 1 || findings[0].Path != want {
			t.Errorf("%.20q: findings %v, want one at %s", key, findings, want)
		}
	}
}

func TestParseJSON_HalfSurrogates(t *testing.T) {
	for text, whole := range map[string]bool{
		`\ud83d\ude00`: true, `\\ud83d`: true, `\uFFFD`: true, "\uFFFD": true, `\ue000`: true, `\u00e9`: true,
		`\ud83d`: false, `\ude00`: false, `\ude00\ud83d`: false, `\ud83d\ud83d\ude00`: false,
		`\ud83dx\ude00`: false, `\ud83d\n\ude00`: false, `\\\ud83d`: false,
	} {
		doc := `{"Rules":[{"Filter":{"Prefix":"` + text + `"},"Status":"Enabled","Expiration":{"Days":1}}]}`
		rules, findings := engine.ParseJSON("", []byte(doc), engine.ParseOptions{})
		if (len(rules) == 1) != whole {
			t.Errorf("%s: rules %v, findings %v", text, rules, findings)
		}
	}
}
