package engine_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/s3api/lifecycle_xml"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"
	"pgregory.net/rapid"

	"weedlc/engine"
)

var updateRules = flag.Bool("update", false, "rewrite the expected findings of testdata/rules")

const rulesDir = "../testdata/rules"

// TestRuleFixtures parses every document of testdata/rules. A good one has no
// defect and a bad one exactly one, which refuses its rule and leaves the
// others, or refuses the document. The .want file beside a document lists its
// findings.
func TestRuleFixtures(t *testing.T) {
	good, bad := 0, 0
	for _, path := range fixtures(t) {
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		name := filepath.Base(stem)
		t.Run(name, func(t *testing.T) {
			doc, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			read := engine.ParseXML
			if filepath.Ext(path) == ".json" {
				read = engine.ParseJSON
			}
			rules, findings := read("photos", doc, engine.ParseOptions{})
			checkWant(t, stem+".want", findings)
			switch filepath.Ext(name) {
			case ".good":
				good++
				checkGood(t, doc, rules, findings)
			case ".bad":
				bad++
				checkBad(t, doc, rules, findings)
			default:
				t.Fatalf("a fixture is named .good or .bad and .xml or .json")
			}
		})
	}
	if good == 0 || bad == 0 {
		t.Fatalf("found %d good and %d bad documents", good, bad)
	}
}

func checkGood(t *testing.T, doc []byte, rules []*engine.Rule, findings []engine.Finding) {
	t.Helper()
	if d := defects(findings); len(d) > 0 {
		t.Fatalf("defects in a good document: %v", d)
	}
	if json.Valid(bytes.TrimPrefix(doc, []byte("\uFEFF"))) {
		doc = engine.CanonicalXML(rules)
	}
	builtin, err := lifecycle_xml.ParseCanonical(doc)
	if err != nil {
		t.Fatalf("the built-in does not read it: %v", err)
	}
	if len(builtin) != len(rules) {
		t.Fatalf("%d rules, the built-in has %d", len(rules), len(builtin))
	}
	for i, r := range rules {
		if got, want := r.Hash(), engine.RuleHash(s3lifecycle.RuleHash(builtin[i])); got != want {
			t.Errorf("rule %d: hash %s, the built-in has %s", i+1, got, want)
		}
		if r.Number != i+1 {
			t.Errorf("rule %d: Number = %d", i+1, r.Number)
		}
	}
	checkRoundTrip(t, rules)
}

func checkBad(t *testing.T, doc []byte, rules []*engine.Rule, findings []engine.Finding) {
	t.Helper()
	d := defects(findings)
	if len(d) != 1 {
		t.Fatalf("%d defects, want 1: %v", len(d), d)
	}
	if d[0].RefusesBucket() {
		if rules != nil {
			t.Errorf("a refused document has rules: %v", rules)
		}
		return
	}
	refused := 1
	if d[0].Other > 0 {
		refused = 2
	}
	want := -refused
	for _, begin := range []string{"<Rule>", "<Rule ", `"Status"`} {
		want += bytes.Count(doc, []byte(begin))
	}
	if len(rules) != want {
		t.Errorf("%d rules accepted, want %d", len(rules), want)
	}
	for _, r := range rules {
		if r.Number == d[0].Rule || r.Number == d[0].Other {
			t.Errorf("refused rule %d was accepted", r.Number)
		}
	}
}

// checkRoundTrip writes rules in both forms and reads them back.
func checkRoundTrip(t rapid.TB, rules []*engine.Rule) {
	t.Helper()
	if len(rules) == 0 {
		return
	}
	for _, write := range []func([]*engine.Rule) []byte{engine.CanonicalXML, engine.CanonicalJSON} {
		checkWritten(t, rules, write)
	}
}

func checkWritten(t rapid.TB, rules []*engine.Rule, write func([]*engine.Rule) []byte) {
	t.Helper()
	doc := write(rules)
	again, findings := engine.ParseRules("photos", doc, engine.ParseOptions{})
	if d := defects(findings); len(d) > 0 {
		t.Fatalf("canonical document has defects: %v\n%s", d, doc)
	}
	if len(again) != len(rules) {
		t.Fatalf("%d rules read back of %d\n%s", len(again), len(rules), doc)
	}
	for i, r := range rules {
		want := *r
		want.Number, want.Unsupported = i+1, nil
		if !reflect.DeepEqual(*again[i], want) {
			t.Fatalf("rule %d read back as %+v, want %+v\n%s", i+1, *again[i], want, doc)
		}
		if again[i].Hash() != r.Hash() {
			t.Fatalf("rule %d read back with hash %s, want %s", i+1, again[i].Hash(), r.Hash())
		}
	}
	if second := write(again); !bytes.Equal(second, doc) {
		t.Fatalf("canonical document changes:\n%s\n%s", doc, second)
	}
}

// checkWant compares findings with those listed in a file; no file is none.
func checkWant(t *testing.T, path string, findings []engine.Finding) {
	t.Helper()
	var got strings.Builder
	for _, f := range findings {
		if f.Warning {
			got.WriteString("warning: ")
		}
		got.WriteString(f.String() + "\n")
	}
	if *updateRules {
		err := os.Remove(path)
		if got.Len() > 0 {
			err = os.WriteFile(path, []byte(got.String()), 0o644)
		}
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("findings:\n%swant:\n%s(go test ./engine -run TestRuleFixtures -update)", got.String(), want)
	}
}

func fixtures(t testing.TB) []string {
	t.Helper()
	var paths []string
	for _, form := range []string{"*.xml", "*.json"} {
		some, err := filepath.Glob(filepath.Join(rulesDir, form))
		if err != nil || len(some) == 0 {
			t.Fatalf("no %s in %s: %v", form, rulesDir, err)
		}
		paths = append(paths, some...)
	}
	return paths
}

func defects(findings []engine.Finding) []engine.Finding {
	var d []engine.Finding
	for _, f := range findings {
		if !f.Warning {
			d = append(d, f)
		}
	}
	return d
}

// TestWantFilesHaveDocuments finds expectations that nothing reads.
func TestWantFilesHaveDocuments(t *testing.T) {
	wants, err := filepath.Glob(filepath.Join(rulesDir, "*.want"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wants {
		documents, err := filepath.Glob(strings.TrimSuffix(want, ".want") + ".[xj]*")
		if err != nil || len(documents) != 1 {
			t.Errorf("%s has the documents %q, want one: %v", want, documents, err)
		}
	}
}
