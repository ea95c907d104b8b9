package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/explain"
	"weedlc/internal/ruletest"
)

type rulesTestOptions struct{ output outputOptions }

func (o *rulesTestOptions) AddFlags(flags *pflag.FlagSet) {
	o.output.AddFlags(flags, "the failures")
}

func newRulesTest(a *app) *cobra.Command {
	var o rulesTestOptions
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Run unit tests of rules",
		Long: `Run files of tests: each has rules, a clock and objects, and says of every object
what a pass is to do with it. No cluster is needed. A verdict that is not as
expected is shown beside the one that was, with the reason, and the exit code
is 1; so it is for a file that cannot be read. docs/rules-test.md has the format.

Columns with --output tsv, one line for each object: file, line, result (ok or
fail), test, key, version, verdict expected, verdict, rule, due time, reason.`,
		Example: `  weedlc rules test logs.test.yaml
  weedlc rules test --output json rules/*.yaml | jq .failed`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return hint(errors.New("no file given"), "weedlc rules test rules.test.yaml")
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.run(a, args) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// testedFile is one file of tests that could be read.
type testedFile struct {
	name    string
	results []ruletest.Result
}

func (f testedFile) failed() int {
	n := 0
	for _, r := range f.results {
		if !r.OK() {
			n++
		}
	}
	return n
}

func (o *rulesTestOptions) run(a *app, names []string) error {
	var files []testedFile
	var errs []error
	failed := false
	for _, name := range names {
		suite, err := a.loadTests(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f := testedFile{displayName(name), suite.Run()}
		failed = failed || f.failed() > 0
		files = append(files, f)
	}
	if err := o.write(a, files); err != nil {
		return err
	}
	if failed {
		errs = append(errs, ending{exitFailed})
	}
	return joinEndings(errs)
}

// joinEndings joins errors that are still to be told with one that is not.
func joinEndings(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	untold := errs[:0]
	for _, err := range errs {
		if _, told := errors.AsType[ending](err); !told {
			untold = append(untold, err)
		}
	}
	return errors.Join(untold...)
}

// loadTests reads a file of tests. The rules that it names are looked for
// beside it.
func (a *app) loadTests(source string) (*ruletest.Suite, error) {
	text, err := a.readSource(source)
	if err != nil {
		return nil, err
	}
	dir := "."
	if source != "-" {
		dir = filepath.Dir(source)
	}
	name := displayName(source)
	suite, err := ruletest.Loader{
		ReadFile: func(file string) ([]byte, error) {
			if !filepath.IsAbs(file) {
				file = filepath.Join(dir, file)
			}
			text, err := os.ReadFile(file)
			if e, ok := errors.AsType[*os.PathError](err); ok {
				err = e.Err
			}
			return text, err
		},
		Duration: parseDuration,
		Warn:     func(text string) { a.log.Warn(name + ": " + text) },
	}.Load(text)
	if err == nil {
		return suite, nil
	}
	var errs []error
	for _, e := range leaves(err) {
		errs = append(errs, fmt.Errorf("%s: %w", name, e))
	}
	return nil, errors.Join(errs...)
}

// leaves are the errors that a joined error is made of.
func leaves(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}

func (o *rulesTestOptions) write(a *app, files []testedFile) error {
	switch o.output.form {
	case formJSON:
		return writeJSON(a.host.Out, newTestsJSON(files))
	case formTSV:
		return testRows(files).write(a.host.Out, formTSV)
	}
	for _, f := range files {
		for _, r := range f.results {
			if r.OK() {
				continue
			}
			for _, line := range failureLines(f.name, r) {
				if err := writeLine(a.host.Out, line); err != nil {
					return err
				}
			}
		}
		if o.output.form == "" && !a.host.OutTTY {
			continue
		}
		summary := fmt.Sprintf("%s: ok, %s", f.name, plural(len(f.results), "object"))
		if n := f.failed(); n > 0 {
			summary = fmt.Sprintf("%s: %d of %s not as expected", f.name, n, plural(len(f.results), "object"))
		}
		if err := writeLine(a.host.Out, summary); err != nil {
			return err
		}
	}
	return nil
}

// objectName is a key and which of its versions or uploads is meant.
func objectName(key, version, upload string) string {
	switch {
	case upload != "":
		return fmt.Sprintf("upload %q of %q", upload, key)
	case version != "":
		return fmt.Sprintf("%q, version %q", key, version)
	}
	return fmt.Sprintf("%q", key)
}

// failureLines are a diff of one object and the reasons for what came of it.
func failureLines(file string, r ruletest.Result) []string {
	lines := []string{
		fmt.Sprintf("%s:%d: %q: %s", file, r.Line, r.Test, objectName(r.Key, r.VersionID, r.UploadID)),
		fmt.Sprintf("  at %s", r.Now.Format(time.RFC3339)),
	}
	for _, d := range r.Diffs {
		lines = append(lines, fmt.Sprintf("  - %-8s %s", d.Field+":", orNone(d.Want)), fmt.Sprintf("  + %-8s %s", d.Field+":", orNone(d.Got)))
	}
	lines = append(lines, "  because: "+r.Got.Why)
	for _, v := range r.Got.Rules {
		lines = append(lines, "    "+v.Words)
	}
	return lines
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

func testRows(files []testedFile) rows {
	var table rows
	for _, f := range files {
		for _, r := range f.results {
			result := "ok"
			if !r.OK() {
				result = "fail"
			}
			due := ""
			if r.Got.Due != nil {
				due = r.Got.Due.Format(time.RFC3339Nano)
			}
			table.cells = append(table.cells, []cell{
				word(f.name), count(int64(r.Line)), word(result), word(r.Test), word(r.Key), word(r.VersionID + r.UploadID),
				word(string(r.Want)), word(string(r.Got.Verdict)), word(r.Got.RuleID), word(due), word(r.Got.Why),
			})
		}
	}
	return table
}

// testsJSON is the documented form of rules test (docs/json-output.md).
type testsJSON struct {
	Passed int            `json:"passed"`
	Failed int            `json:"failed"`
	Files  []testFileJSON `json:"files"`
}

type testFileJSON struct {
	File    string           `json:"file"`
	Results []testResultJSON `json:"results"`
}

type testResultJSON struct {
	Test  string         `json:"test"`
	Line  int            `json:"line"`
	Now   time.Time      `json:"now"`
	OK    bool           `json:"ok"`
	Key   string         `json:"key"`
	Want  explain.Effect `json:"want"`
	Diffs []testDiffJSON `json:"diffs"`
	// Got is the version as explain-rule has it.
	Got explain.VersionExplanation `json:"got"`
}

type testDiffJSON struct {
	Field string `json:"field"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

func newTestsJSON(files []testedFile) testsJSON {
	doc := testsJSON{Files: []testFileJSON{}}
	for _, f := range files {
		file := testFileJSON{File: f.name, Results: []testResultJSON{}}
		for _, r := range f.results {
			row := testResultJSON{
				Test: r.Test, Line: r.Line, Now: r.Now, OK: r.OK(), Key: r.Key,
				Want: r.Want, Diffs: []testDiffJSON{}, Got: r.Got,
			}
			for _, d := range r.Diffs {
				row.Diffs = append(row.Diffs, testDiffJSON(d))
			}
			file.Results = append(file.Results, row)
		}
		doc.Failed += f.failed()
		doc.Passed += len(f.results) - f.failed()
		doc.Files = append(doc.Files, file)
	}
	return doc
}
