package engine_test

import (
	"bytes"
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
		name := strings.TrimSuffix(filepath.Base(path), ".xml")
		t.Run(name, func(t *testing.T) {
			doc, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rules, findings := engine.ParseXML("photos", doc, engine.ParseOptions{})
			checkWant(t, strings.TrimSuffix(path, ".xml")+".want", findings)
			switch filepath.Ext(name) {
			case ".good":
				good++
				checkGood(t, doc, rules, findings)
			case ".bad":
				bad++
				checkBad(t, doc, rules, findings)
			default:
				t.Fatalf("a fixture is named .good.xml or .bad.xml")
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
	if want := bytes.Count(doc, []byte("<Rule>")) + bytes.Count(doc, []byte("<Rule ")) - refused; len(rules) != want {
		t.Errorf("%d rules accepted, want %d", len(rules), want)
	}
	for _, r := range rules {
		if r.Number == d[0].Rule || r.Number == d[0].Other {
			t.Errorf("refused rule %d was accepted", r.Number)
		}
	}
}

// checkRoundTrip writes rules and reads them back.
func checkRoundTrip(t rapid.TB, rules []*engine.Rule) {
	t.Helper()
	if len(rules) == 0 {
		return
	}
	doc := engine.CanonicalXML(rules)
	again, findings := engine.ParseXML("photos", doc, engine.ParseOptions{})
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
	if second := engine.CanonicalXML(again); !bytes.Equal(second, doc) {
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
	paths, err := filepath.Glob(filepath.Join(rulesDir, "*.xml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no documents in %s: %v", rulesDir, err)
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
		if _, err := os.Stat(strings.TrimSuffix(want, ".want") + ".xml"); err != nil {
			t.Errorf("%s has no document: %v", want, err)
		}
	}
}
