package commands

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

// TestJSONFields pins the fields of every JSON form of looking, by name and
// place, and that each is in the contract (docs/json-output.md).
func TestJSONFields(t *testing.T) {
	contract, err := os.ReadFile(fixture(t, "..", "docs", "json-output.md"))
	check(t, err)
	h := newHostBefore(t, scenarioNow)
	h.everything()
	_, err = h.cluster.PutObject("docs", "a/stamped", memcluster.Object{TTL: 3 * day})
	check(t, err)
	h.installed("logs", engine.Unversioned, rule("old", prefix("a/"), expireAfter(7)), rule("date", "", "<Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration>"))
	_, err = h.cluster.PutObject("logs", "a/x", memcluster.Object{Size: 5, Mtime: scenarioNow.Add(-9 * day)})
	check(t, err)
	_, err = h.cluster.PutObject("logs", "b", memcluster.Object{Size: 5})
	check(t, err)
	h.file("new.xml", lifecycle(rule("new", prefix("a/"), expireAfter(30))))
	h.file("faulty.xml", faulty())
	use(t, "ruletests", "logs.xml")
	fails := use(t, "ruletests", "not-as-expected.fail.yaml")

	var pinned strings.Builder
	for _, tc := range []struct {
		form     string
		code     int
		commands []string
	}{
		{"dry-run", exitUndone, []string{"dry-run --output json --locked --forecast 1d", "dry-run --output json --pass"}},
		{"a line of dry-run", exitUndone, []string{"dry-run --output jsonl --locked"}},
		{"a line of dry-run --compare", exitDone, []string{"dry-run --output jsonl --bucket logs --rules new.xml --compare"}},
		{"dry-run --compare", exitDone, []string{"dry-run --output json --summary --bucket logs --rules new.xml --compare"}},
		{"explain-rule", exitUndone, []string{
			"explain-rule --output json --bucket docs", "explain-rule --output json --bucket docs --key a/b/report", "explain-rule --output json --bucket docs --key a/stamped",
		}},
		{"rules list", exitUndone, []string{"rules list --output json"}},
		{"rules lint", exitFailed, []string{"rules lint --file faulty.xml --output json"}},
		{"rules test", exitFailed, []string{"rules test --output json " + fails}},
	} {
		fields := map[string]bool{}
		for _, args := range tc.commands {
			h.must(tc.code, strings.Fields(args)...)
			for dec := json.NewDecoder(&h.out); dec.More(); {
				var doc any
				check(t, dec.Decode(&doc))
				collectFields(fields, "", doc)
			}
		}
		pinned.WriteString(tc.form + "\n")
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			pinned.WriteString("\t" + field + "\n")
			name := field[strings.LastIndexByte(field, '.')+1:]
			if !regexp.MustCompile("`[a-z_.\\[\\]]*\\b" + name + "\\b[a-z_.\\[\\]]*`").Match(contract) {
				t.Errorf("%s of %s is not in docs/json-output.md", field, tc.form)
			}
		}
	}
	checkGolden(t, "json-fields.txt", pinned.String())
}

// collectFields names every field of a document by its place, with [] for the
// items of a list.
func collectFields(fields map[string]bool, at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			place := strings.TrimPrefix(at+"."+name, ".")
			fields[place] = true
			collectFields(fields, place, inner)
		}
	case []any:
		for _, inner := range v {
			collectFields(fields, at+"[]", inner)
		}
	}
}
