package commands

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weedlc/internal/weedtest"
)

// shared is the cluster of the scripts that need one.
var shared weedtest.Shared

// packageTests runs the tests of the package and then ends their cluster.
type packageTests struct{ m *testing.M }

func (p packageTests) Run() int { return shared.Main(p.m) }

func TestMain(m *testing.M) {
	testscript.Main(packageTests{m}, map[string]func(){
		"weedlc": func() { os.Exit(Main(context.Background(), os.Args[1:], OSHost())) },
	})
}

// TestScript runs the command lines that need no cluster. TESTDATA is the
// module's testdata.
func TestScript(t *testing.T) {
	testdata, err := filepath.Abs("../testdata")
	check(t, err)
	testscript.Run(t, testscript.Params{
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", testdata)
			return nil
		},
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"run": runScript},
	})
}

// runScript is "run CODE ARGS...": weedlc with arguments exits with the code.
func runScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: run CODE [weedlc's arguments]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec("weedlc", args[1:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("weedlc: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
