package commands

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"weedlc/internal/cluster"
	"weedlc/pass"
)

func TestExitCodePrecedence(t *testing.T) {
	order := []int{exitInterrupted, exitFailed, exitCorrupt, exitHeld, exitUndone, exitCutShort, exitDone}
	if got, want := fmt.Sprint(precedence()), fmt.Sprint(order[:len(order)-1]); got != want {
		t.Errorf("precedence is %s, want %s", got, want)
	}
	for i, stronger := range order {
		for _, weaker := range order[i:] {
			if got := worst(weaker, stronger); got != stronger {
				t.Errorf("worst(%d, %d) = %d", weaker, stronger, got)
			}
			if got := worst(stronger, weaker); got != stronger {
				t.Errorf("worst(%d, %d) = %d", stronger, weaker, got)
			}
		}
	}
	if got := worst(); got != exitDone {
		t.Errorf("worst() = %d", got)
	}
}

func TestExitCodeOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("anything"), exitFailed},
		{hint(errors.New("anything"), "do that"), exitFailed},
		{ending{exitUndone}, exitUndone},
		{fmt.Errorf("wrapped: %w", ending{exitCorrupt}), exitCorrupt},
		{hint(coded{&cluster.HeldError{Shard: 3}, exitHeld}, "wait"), exitHeld},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("codeOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestExitCodeOfReports(t *testing.T) {
	for _, c := range []struct {
		name   string
		report pass.Report
		want   int
	}{
		{"done", pass.Report{Status: pass.OK}, exitDone},
		{"partial", pass.Report{Status: pass.Partial}, exitUndone},
		{"cut short", pass.Report{Status: pass.CutShort, CutShort: true}, exitCutShort},
		{"failed", pass.Report{Status: pass.Failed, Failed: true}, exitFailed},
		{"corrupt", pass.Report{Status: pass.Failed, Corrupt: true}, exitCorrupt},
		{"interrupted", pass.Report{Status: pass.CutShort, Interrupted: true}, exitInterrupted},
		{"interrupted and failed", pass.Report{Status: pass.Failed, Failed: true, Interrupted: true}, exitInterrupted},
		{"failed and corrupt", pass.Report{Status: pass.Failed, Failed: true, Corrupt: true}, exitFailed},
		{"corrupt and cut short", pass.Report{Status: pass.CutShort, Corrupt: true, CutShort: true}, exitCorrupt},
		{"partial and cut short", pass.Report{Status: pass.Partial, CutShort: true}, exitUndone},
	} {
		if got := worst(codesOf(&c.report)...); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

// exitTable is the table as the documentation has it.
func exitTable() string {
	var b strings.Builder
	b.WriteString("| code | meaning |\n| --- | --- |\n")
	for _, row := range exitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", row.code, row.meaning)
	}
	return b.String()
}

func TestDocumentsHaveTheExitCodes(t *testing.T) {
	for _, name := range []string{"../README.md", "../docs/exit-codes.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), exitTable()) {
			t.Errorf("%s does not have this table, which is that of exit.go:\n%s", name, exitTable())
		}
	}
}
