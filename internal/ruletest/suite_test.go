package ruletest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weedlc/internal/ruletest"
)

var update = flag.Bool("update", false, "rewrite the expected errors of testdata/ruletests")

const dir = "../../testdata/ruletests"

func loader(t *testing.T) ruletest.Loader {
	return ruletest.Loader{
		ReadFile: func(name string) ([]byte, error) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if os.IsNotExist(err) {
				err = os.ErrNotExist
			}
			return text, err
		},
		// Days and hours are all that the fixtures use.
		Duration: func(s string) (time.Duration, error) {
			days, rest, found := strings.Cut(s, "d")
			if !found {
				return time.ParseDuration(s)
			}
			n, err := time.ParseDuration(days + "h")
			if err != nil || rest == "" {
				return 24 * n, err
			}
			more, err := time.ParseDuration(rest)
			return 24*n + more, err
		},
		Warn: func(text string) { t.Errorf("unexpected warning: %s", text) },
	}
}

// TestFixtures reads every file of testdata/ruletests: what is in a good one
// holds, a bad one cannot be read and its .want file says why, and of a failing
// one no object is as expected.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	kinds := map[string]int{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		kind := filepath.Ext(name)
		kinds[kind]++
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			suite, err := loader(t).Load(text)
			if kind == ".bad" {
				if err == nil {
					t.Fatal("a bad file was read")
				}
				checkWant(t, strings.TrimSuffix(path, ".yaml")+".want", err.Error()+"\n")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			results := suite.Run()
			if len(results) == 0 {
				t.Fatal("no results")
			}
			for _, r := range results {
				if r.OK() != (kind == ".good") {
					t.Errorf("line %d: %s: %q is %s (%s), diffs %v", r.Line, r.Test, r.Key, r.Got.Verdict, r.Got.Why, r.Diffs)
				}
				if r.Line == 0 {
					t.Errorf("%s: %q has no line", r.Test, r.Key)
				}
			}
		})
	}
	if kinds[".good"] == 0 || kinds[".bad"] == 0 || kinds[".fail"] == 0 || len(kinds) != 3 {
		t.Errorf("files by kind: %v, want good, bad and fail ones", kinds)
	}
}

func checkWant(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("error is\n%swant\n%s%v (go test ./internal/ruletest -update)", got, want, err)
	}
}

const head = `rules: |
  {"Rules": [{"ID": "week", "Filter": {"Prefix": "a/"}, "Status": "Enabled", "Expiration": {"Days": 7}},
             {"ID": "month", "Filter": {}, "Status": "Enabled", "Expiration": {"Days": 30}}]}
now: 2030-06-15T12:00:00Z
`

func run(t *testing.T, text string) []ruletest.Result {
	t.Helper()
	suite, err := loader(t).Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return suite.Run()
}

// TestDiffs: only what is written is compared, and each field by itself.
func TestDiffs(t *testing.T) {
	for want, diffs := range map[string]string{
		"want: expire":                                         "[]",
		"want: expire, want_rule: week":                        "[]",
		"want: expire, want_rule: month":                       "[{rule month week}]",
		"want: expire, want_action: expiration_days":           "[]",
		"want: expire, want_action: expiration_date":           "[{action expiration_date expiration_days}]",
		"want: expire, want_due: -1d":                          "[]",
		"want: expire, want_due: 2030-06-14T12:00:00Z":         "[]",
		"want: expire, want_due: 2030-06-14T14:00:00+02:00":    "[]",
		"want: expire, want_due: -23h":                         "[{due 2030-06-14T13:00:00Z 2030-06-14T12:00:00Z}]",
		"want: keep":                                           "[{verdict keep expire}]",
		"want: keep, want_rule: month, want_due: +1d":          "[{verdict keep expire} {rule month week} {due 2030-06-16T12:00:00Z 2030-06-14T12:00:00Z}]",
		"tags: {a: 1}, size: 7, want: expire, want_rule: week": "[]",
	} {
		results := run(t, head+"tests:\n- objects:\n  - {key: a/x, age: 8d, "+want+"}\n")
		if got := fmt.Sprint(results[0].Diffs); len(results) != 1 || got != diffs {
			t.Errorf("%s: diffs %s, want %s", want, got, diffs)
		}
	}
}

// TestClock: the clock is the test's, else the file's, and an age counts back
// from it. One nanosecond decides.
func TestClock(t *testing.T) {
	results := run(t, head+`tests:
- objects: [{key: a/x, age: 167h59m59.999999999s, want: keep}, {key: a/y, age: 7d, want: expire}]
- now: 2030-06-15T12:00:00.000000001Z
  objects: [{key: a/x, mod_time: 2030-06-08T12:00:00.000000001Z, want: expire}, {key: a/y, mod_time: 2030-06-08T12:00:00.000000002Z, want: keep}]
`)
	for _, r := range results {
		if !r.OK() {
			t.Errorf("%s line %d: %v", r.Test, r.Line, r.Diffs)
		}
	}
	if len(results) != 4 || results[0].Line != 6 || results[0].Test != "test 1" || results[3].Test != "test 2" {
		t.Errorf("results %v", results)
	}
}

func TestVersions(t *testing.T) {
	results := run(t, strings.Replace(head, "rules: |", "versioning: suspended\nrules: |", 1)+`tests:
- name: versions
  objects:
  - key: a/x
    versions:
      - &old {age: 8d, want: expire_to_marker}
      - {version_id: null, age: 9d, want: delete_version}
      - {version_id: 7f, age: 10d, want: keep}
  - key: a/y
    versions: [*old]
`)
	var ids []string
	for _, r := range results {
		ids = append(ids, fmt.Sprintf("%d:%s:%t", r.Line, r.VersionID, r.OK()))
	}
	// In a suspended bucket the null delete marker takes the null version's place.
	if got, want := strings.Join(ids, " "), "11:v3:true 12:null:true 13:7f:true 15:v1:true"; got != want {
		t.Errorf("results %s, want %s", got, want)
	}
}

func TestLoadWarns(t *testing.T) {
	var warned []string
	l := loader(t)
	l.Warn = func(text string) { warned = append(warned, text) }
	text := strings.Replace(head, `"Prefix": "a/"`, `"Prefix": "/a*"`, 1) + "tests: [{objects: [{key: x, age: 1d, want: keep}]}]"
	if _, err := l.Load([]byte(text)); err != nil || len(warned) != 2 {
		t.Errorf("warnings %q, error %v", warned, err)
	}
}

// FuzzLoad: whatever a file holds, reading it ends in an error or in a suite
// that runs.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := loader(t)
		l.Warn = func(string) {}
		l.ReadFile = func(string) ([]byte, error) { return []byte(`{"Rules": []}`), nil }
		suite, err := l.Load(text)
		if err != nil {
			return
		}
		for _, r := range suite.Run() {
			if r.Got.Verdict == "" || r.Want == "" {
				t.Errorf("a result without a verdict: %+v", r)
			}
		}
	})
}
