package commands

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"weedlc/explain"
)

var update = flag.Bool("update", false, "write the generated files instead of comparing them")

// TestGenerated holds docs/cli and completions to the command tree.
func TestGenerated(t *testing.T) {
	root := newRoot(newApp(Host{}))
	for dir, want := range map[string]map[string][]byte{
		"../docs/cli":    reference(t, root),
		"../completions": completionFiles(t, root),
	} {
		if *update {
			check(t, os.RemoveAll(dir))
			check(t, os.MkdirAll(dir, 0o755))
			for name, text := range want {
				check(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
			}
			continue
		}
		entries, err := os.ReadDir(dir)
		check(t, err)
		for _, e := range entries {
			if want[e.Name()] == nil {
				t.Errorf("%s/%s is not generated any more; run: make generate", dir, e.Name())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(got, want[name]) {
				t.Errorf("%s/%s does not match the command tree; run: make generate", dir, name)
			}
		}
	}
}

// reference is a markdown page for each command, by file name.
func reference(t *testing.T, root *cobra.Command) map[string][]byte {
	dir := t.TempDir()
	check(t, doc.GenMarkdownTree(root, dir))
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		check(t, err)
		files[e.Name()] = text
	}
	return files
}

// completionFiles is a completion script for each shell, by file name.
func completionFiles(t *testing.T, root *cobra.Command) map[string][]byte {
	files := map[string][]byte{}
	for _, s := range shells() {
		var b bytes.Buffer
		check(t, s.write(root, &b))
		files["weedlc."+s.name] = b.Bytes()
	}
	return files
}

// TestEveryCommand holds the whole tree to what each command must have.
func TestEveryCommand(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	check(t, err)
	root := newRoot(newApp(Host{}))
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
		}
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" {
			return
		}
		page := "docs/cli/" + strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
		if !cmd.HasAvailableSubCommands() && !strings.Contains(string(readme), "("+page+")") {
			t.Errorf("README.md does not list %s with a link to %s", cmd.CommandPath(), page)
		}
		if cmd.Short == "" || cmd.Short[len(cmd.Short)-1] == '.' {
			t.Errorf("%s: the short text %q is missing or ends in a period", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Args == nil {
			t.Errorf("%s accepts any arguments", cmd.CommandPath())
		}
		for line := range bytes.Lines([]byte(cmd.Long)) {
			if len(bytes.TrimRight(line, "\n")) > 130 {
				t.Errorf("%s: a line of the long text is too long: %s", cmd.CommandPath(), line)
			}
		}
		// Parsing the flags finds shorthands that are taken twice.
		cmd.InitDefaultHelpFlag()
		if err := cmd.ParseFlags(nil); err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
	}
	visit(root)
}

// TestJSONIsDocumented finds each field of the JSON forms in the guide.
func TestJSONIsDocumented(t *testing.T) {
	guide, err := os.ReadFile("../docs/json-output.md")
	check(t, err)
	for _, v := range []any{passJSON{}, totalsJSON{}, shardJSON{}, failureJSON{}, problemJSON{}, cursorsJSON{}, cursorJSON{}, groupJSON{}, versionInfo{},
		statusJSON{}, statusBucketsJSON{}, statusShardJSON{}, cutWalkJSON{}, pauseJSON{}, statusQueueJSON{}, doctorJSON{}, checkJSON{},
		dryRunJSON{}, planJSON{}, walkJSON{}, planShardJSON{}, windowJSON{}, changeCount{}, objectID{}, objectFacts{}, objectLine{}, changeLine{}, prospectJSON{},
		explain.Counts{}, explain.TallyRow{}, explain.ForecastReport{}, explain.ForecastDay{},
		explainJSON{}, explainKeyJSON{}, explain.KeyExplanation{}, explain.VersionExplanation{}, explain.RuleVerdict{}, explain.Check{},
		explain.ServerTTL{}, explain.Handling{}, explain.RuleExplanation{}, explain.ActionExplanation{}, explain.Overlap{}, explain.OverlapSide{},
		ruleListJSON{}, bucketRulesJSON{}, lintJSON{}, findingJSON{}, testsJSON{}, testFileJSON{}, testResultJSON{}, testDiffJSON{},
		admissionJSON{}, admittedJSON{}, sweepRunJSON{}, sweepLeftJSON{}, lettersJSON{}, letterShowJSON{}, letterJSON{}, historyJSON{}, eventJSON{},
		sweepStatusJSON{}, bucketShareJSON{}, drainJSON{}, workerJSON{}, sweepJSON{}, sweepFindingJSON{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(guide), "`"+name) && !strings.Contains(string(guide), "."+name) {
				t.Errorf("docs/json-output.md does not mention %q of %s", name, typ)
			}
		}
	}
}
