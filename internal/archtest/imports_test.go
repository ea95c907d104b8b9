// Package archtest holds the import direction of the module as a test: cmd →
// commands → {pass, explain, cursorfile, sweep} → engine, never upward, never
// sideways. The linter has the same rules with their reasons.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Prefixes of import paths.
const (
	module = "weedlc/"
	weed   = "github.com/seaweedfs/seaweedfs/weed/"
)

// goPackage is the part of go list's output that matters here. Imports are
// those of the package's files without its tests.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// rules are what may be imported by files that are not tests.
type rules struct {
	// own maps each package of the module to the ones of the module that it may
	// import.
	own map[string][]string
	// owners maps a path, which stands for everything below it too, to the
	// packages that may import it. The longest path that fits counts.
	owners map[string][]string
}

func moduleRules() rules {
	return rules{
		own: map[string][]string{
			"cmd/weedlc": {"commands"},
			"commands":   {"pass", "explain", "cursorfile", "sweep", "engine", "internal/adminworker", "internal/cluster", "internal/metrics", "internal/riverqueue", "internal/ruletest"},
			"pass":       {"engine"},
			"explain":    {"engine"},
			"cursorfile": {"engine"},
			"sweep":      {"engine"},
			"engine":     {},

			"internal/adminworker": {"engine"},
			"internal/cluster":     {"engine"},
			"internal/metrics":     {"pass", "engine"},
			// Verdicts in a test of rules are those that explain gives.
			"internal/ruletest":   {"engine", "explain"},
			"internal/bench":      {"engine", "internal/weedtest"},
			"internal/demo":       {"engine", "internal/cluster", "internal/weedtest"},
			"internal/teeth":      {},
			"internal/riverqueue": {"sweep"},

			// For tests; nothing above but the demo and the bench may import these.
			"cursorfile/filestest": {"cursorfile", "engine"},
			"internal/clustertest": {"engine", "pass"},
			"internal/memcluster":  {"engine"},
			"internal/promtest":    {},
			"internal/weedtest":    {},
			"internal/pgtest":      {},
			"sweep/queuetest":      {"sweep"},
		},
		owners: map[string][]string{
			weed + "pb":                  {"internal/bench", "internal/cluster", "internal/weedtest", "internal/demo"},
			weed + "pb/plugin_pb":        {"internal/adminworker", "internal/cluster"},
			weed:                         {"internal/cluster"},
			weed + "s3api/s3_constants":  {"engine", "internal/cluster", "internal/clustertest", "internal/memcluster", "internal/weedtest"},
			weed + "s3api/lifecycle_xml": {"engine"},
			weed + "s3api/s3lifecycle":   {"engine", "internal/clustertest", "internal/memcluster"},
			// The oracle, in tests only.
			weed + "s3api/s3lifecycle/bootstrap":     {},
			weed + "s3api/s3lifecycle/dailyrun":      {},
			weed + "s3api/s3lifecycle/dispatcher":    {},
			weed + "s3api/s3lifecycle/engine":        {},
			weed + "s3api/s3lifecycle/lifecycletest": {},
			weed + "s3api/s3lifecycle/reader":        {},
			weed + "s3api/s3lifecycle/router":        {},
			weed + "s3api/s3lifecycle/scheduler":     {},

			"github.com/riverqueue/river":       {"internal/riverqueue"},
			"github.com/jackc/pgx":              {"internal/riverqueue", "internal/pgtest"},
			"modernc.org/sqlite":                {"internal/riverqueue"},
			"google.golang.org":                 {"internal/bench", "internal/cluster", "internal/weedtest", "internal/demo"},
			"google.golang.org/protobuf":        {"internal/adminworker", "internal/bench", "internal/cluster", "internal/weedtest", "internal/demo"},
			"github.com/spf13":                  {"commands"},
			"github.com/olekukonko/tablewriter": {"commands"},
			"github.com/prometheus":             {"internal/metrics"},
			"go.yaml.in/yaml":                   {"internal/ruletest"},
			// SeaweedFS's loader of security.toml takes a viper.
			"github.com/spf13/viper": {"commands", "internal/cluster"},
		},
	}
}

func TestImportDirection(t *testing.T) {
	r := moduleRules()
	for _, p := range listPackages(t) {
		for _, finding := range r.check(p) {
			t.Error(finding)
		}
	}
}

// The engine is pure: of the standard library it takes nothing that touches
// files, processes, logs or the network, and of SeaweedFS only contracts.
func TestEngineIsPure(t *testing.T) {
	allowed := []string{
		weed + "s3api/lifecycle_xml", weed + "s3api/s3_constants", weed + "s3api/s3lifecycle", weed + "util",
	}
	refused := []string{"log", "log/slog", "net", "net/http", "os", "os/exec", "syscall"}
	for _, p := range listPackages(t) {
		if p.ImportPath != module+"engine" {
			continue
		}
		for _, path := range p.Imports {
			outside := strings.Contains(path, ".")
			if outside && !slices.Contains(allowed, path) || slices.Contains(refused, path) {
				t.Errorf("engine imports %q; it is pure", path)
			}
		}
	}
}

func TestRulesFindWhatTheyForbid(t *testing.T) {
	for _, c := range []struct{ from, imports, want string }{
		{"engine", module + "pass", "engine imports pass"},
		{"pass", module + "explain", "pass imports explain"},
		{"pass", module + "engine", ""},
		{"cmd/weedlc", module + "engine", "cmd/weedlc imports engine"},
		{"commands", module + "internal/weedtest", "commands imports internal/weedtest"},
		{"internal/weedtest", module + "engine", "internal/weedtest imports engine"},
		{"stray", "fmt", "stray is not in the rules"},
		{"commands", weed + "pb/filer_pb", weed + "pb is for"},
		{"internal/cluster", weed + "pb/filer_pb", ""},
		{"engine", weed + "s3api/s3lifecycle", ""},
		{"engine", weed + "s3api/s3lifecycle/engine", weed + "s3api/s3lifecycle/engine is for"},
		{"internal/cluster", weed + "security", ""},
		{"pass", weed + "util", weed + " is for"},
		{"pass", "github.com/spf13/cobra", "github.com/spf13 is for"},
		{"internal/cluster", "github.com/spf13/cobra", "github.com/spf13 is for"},
		{"internal/cluster", "github.com/spf13/viper", ""},
		{"pass", "golang.org/x/time/rate", ""},
	} {
		found := moduleRules().check(goPackage{ImportPath: module + c.from, Imports: []string{c.imports}})
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s → %s: %q", c.from, c.imports, found)
		case c.want != "" && (len(found) != 1 || !strings.Contains(found[0], c.want)):
			t.Errorf("%s → %s: found %q, want %q", c.from, c.imports, found, c.want)
		}
	}
}

// check returns what a package imports and must not.
func (r rules) check(p goPackage) []string {
	name := strings.TrimPrefix(p.ImportPath, module)
	own, known := r.own[name]
	if !known {
		return []string{name + " is not in the rules: say there what it may import"}
	}
	var found []string
	for _, path := range p.Imports {
		if inner, ok := strings.CutPrefix(path, module); ok {
			if !slices.Contains(own, inner) {
				found = append(found, fmt.Sprintf("%s imports %s; it may import %q", name, inner, own))
			}
			continue
		}
		owned, owners := r.owner(path)
		if owned != "" && !slices.Contains(owners, name) {
			found = append(found, fmt.Sprintf("%s imports %s; %s is for %q", name, path, owned, owners))
		}
	}
	return found
}

func (r rules) owner(path string) (owned string, owners []string) {
	for prefix, who := range r.owners {
		below := strings.TrimSuffix(prefix, "/") + "/"
		if (path == prefix || strings.HasPrefix(path, below)) && len(prefix) > len(owned) {
			owned, owners = prefix, who
		}
	}
	return owned, owners
}

// listPackages lists the module's packages that have files beside tests.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var list []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.Imports) > 0 {
			list = append(list, p)
		}
	}
	if len(list) < 5 {
		t.Fatalf("go list found %d packages", len(list))
	}
	return list
}
