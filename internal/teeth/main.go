// Command teeth breaks the clauses of the replay design one at a time and
// shows that the tests of package pass notice. The sources stay as they are:
// each mutant is compiled through an overlay.
//
//	go run ./internal/teeth [-checks N] [NAME ...]
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is one clause left out.
type mutant struct {
	name, file string
	old, new   string
}

func mutants() []mutant {
	return []mutant{
		{"an outdated entry of the log taken for the live one", "pass/keys.go",
			"out.missed = true\n\t\t\treturn true",
			"out.missed = true\n\t\t\treturn false"},
		{"a look-up dropped for a change", "pass/backlog.go",
			"a.removed = a.removed || gone != nil && a.commitNs != 0 && gone.CommitNs == a.commitNs",
			"a.removed = true"},
		{"deletes under way forgotten by a save", "pass/place.go",
			"\t\tif walkedBefore(at, from) {",
			"\t\tif false && walkedBefore(at, from) {"},
		{"positions without slack", "pass/plan.go",
			"return int64(delay) + pl.slack",
			"return int64(delay)"},
		{"windows without slack", "pass/plan.go",
			"r.groupEnds[d] = now - int64(d) + pl.slack",
			"r.groupEnds[d] = now - int64(d)"},
		{"arrivals saved at now", "pass/plan.go",
			"arrivals, groups := r.positions(readTo, now-int64(pl.o.Settle))",
			"arrivals, groups := r.positions(readTo, now)"},
		{"odd entries forgotten", "pass/replay.go",
			"\t\tif odd {\n",
			"\t\tif false && odd {\n"},
		{"odd entries forgotten in a walk", "pass/walk.go",
			"if odd && w.isOdd(a, o, g, i) ||",
			"if false && w.isOdd(a, o, g, i) ||"},
		{"groups moved forward by a scoped walk", "pass/plan.go",
			"if r.groups[d] <= 0 || floor < r.groups[d] && !goesOn {",
			"if true {"},
		{"cursor saved before the side file", "internal/memcluster/store.go",
			"if s.cursorFirst {",
			"if true {"},
		{"the third case forgotten", "pass/plan.go",
			"passed := h.clockNs-pl.slack < groups[h.delay]",
			"passed := false"},
		{"the end of a retention forgotten", "pass/walk.go",
			"r.addWalkAt(t.walk.bucket.Name, ns)",
			"_ = ns"},
		{"the host's clock alone", "pass/run.go",
			"if filerNow.Before(w.now) && !w.anyTime {",
			"if false {"},
		{"a trimmed log not noticed", "pass/plan.go",
			"case trimmed:",
			"case false && trimmed:"},
		{"rules that are to be walked for remembered at once", "pass/plan.go",
			"m.Rules = engine.Hash{} // until the walk has come to its end",
			"m.Rules = m.today"},
		{"a foreign cursor taken for ours", "pass/plan.go",
			"foreign := st.Foreign()",
			"foreign := false"},
	}
}

func main() {
	checks := flag.Int("checks", 5000, "histories a mutant is given to be found out")
	flag.Parse()
	if err := run(*checks, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "teeth:", err)
		os.Exit(1)
	}
}

func run(checks int, names []string) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	survived := 0
	for _, m := range mutants() {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		found, err := m.try(root, checks)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if found == "" {
			survived++
			found = fmt.Sprintf("SURVIVED %d histories", checks)
		}
		fmt.Printf("%-55s %s\n", m.name, found)
	}
	if survived > 0 {
		return fmt.Errorf("%d mutants survived", survived)
	}
	return nil
}

// try runs the tests on a mutant and returns what found it out.
func (m mutant) try(root string, checks int) (string, error) {
	dir, err := os.MkdirTemp("", "teeth")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, tests := range []string{"TestHazard|TestReplay|TestTrimmed|TestRecovery|TestScenario|TestSlack|TestWalk|TestYoung|TestMovedBack", "TestSimulation"} {
		cmd := exec.Command("go", "test", "-overlay", overlay, "-run", tests, "./pass",
			"-rapid.checks", fmt.Sprint(checks/10), "-rapid.nofailfile", "-rapid.shrinktime", "1s")
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err == nil {
			continue
		}
		if strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]") {
			return "", fmt.Errorf("the mutant does not compile:\n%s", out)
		}
		found = append(found, summary(string(out)))
	}
	return strings.Join(found, "; "), nil
}

// summary names the failed tests, and for the simulation after how many
// histories.
func summary(out string) string {
	var parts []string
	for _, m := range regexp.MustCompile(`--- FAIL: (\S+)`).FindAllStringSubmatch(out, -1) {
		if !slices.Contains(parts, m[1]) {
			parts = append(parts, m[1])
		}
	}
	if m := regexp.MustCompile(`failed after (\d+) tests`).FindStringSubmatch(out); m != nil {
		parts = append(parts, "in history "+m[1])
	}
	if len(parts) == 0 {
		return "found out: " + strings.TrimSpace(out)
	}
	return strings.Join(parts, ", ")
}

// overlay writes the mutated source and the overlay file that puts it in place.
func (m mutant) overlay(root, dir string) (string, error) {
	path := filepath.Join(root, m.file)
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(src), m.old); n != 1 {
		return "", fmt.Errorf("%q stands %d times in %s, want once", m.old, n, m.file)
	}
	mutated := strings.Replace(string(src), m.old, m.new, 1)
	copyPath := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(copyPath, []byte(mutated), 0o600); err != nil {
		return "", err
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": {path: copyPath}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}
