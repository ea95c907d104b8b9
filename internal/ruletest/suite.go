package ruletest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

// Loader is what reading a file of tests needs from outside.
type Loader struct {
	// ReadFile returns the file of rules that a file of tests names.
	ReadFile func(name string) ([]byte, error)
	// Duration reads a span of time such as 8d or 12h.
	Duration func(string) (time.Duration, error)
	// Warn is told of warnings about the rules.
	Warn func(string)
}

// Suite is one file of tests, ready to run.
type Suite struct {
	bucket engine.Bucket
	rules  []*engine.Rule
	clock  engine.DayClock
	cases  []testCase
}

// testCase is one key at a clock.
type testCase struct {
	test    string
	now     time.Time
	group   engine.Group
	uploads []engine.Object
	wants   []want
}

// want is what is expected of one version; empty fields are not looked at.
type want struct {
	line    int
	verdict explain.Effect
	rule    string
	action  string
	due     time.Time
}

// Load reads a file of tests. Everything that is wrong with it is in the error,
// with lines where they are known.
func (l Loader) Load(text []byte) (*Suite, error) {
	f, lines, err := decode(text)
	if err != nil {
		return nil, err
	}
	s := &Suite{bucket: engine.Bucket{Name: f.Bucket}}
	if s.bucket.Name == "" {
		s.bucket.Name = "bucket"
	}
	if err := l.settings(s, f); err != nil {
		return nil, err
	}
	var errs []error
	if len(f.Tests) == 0 {
		errs = append(errs, errors.New("no tests"))
	}
	for i, t := range f.Tests {
		if t.Name == "" {
			t.Name = fmt.Sprintf("test %d", i+1)
		}
		if t.Now == "" {
			t.Now = f.Now
		}
		at := func(o, v int, err error) error {
			return fmt.Errorf("line %d: %w", lines.version(i, o, v), err)
		}
		now, err := instant(t.Now)
		if err != nil {
			errs = append(errs, at(len(t.Objects), 0, err))
			continue
		}
		if len(t.Objects) == 0 {
			errs = append(errs, at(0, 0, errors.New("no objects")))
		}
		b := builder{bucket: s.bucket, rules: s.rules, clock: clock{now, l.Duration}}
		for j, o := range t.Objects {
			c, objectErrs := b.build(o, func(v int) int { return lines.version(i, j, v) })
			errs = append(errs, objectErrs...)
			c.test, c.now = t.Name, now
			s.cases = append(s.cases, c)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// instant reads the clock of a test.
func instant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, errors.New("no now, neither here nor at the top of the file")
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fieldError("now", text, errors.New("must be a time such as 2030-01-31T00:00:00Z"))
	}
	return t.UTC(), nil
}

// settings reads everything but the tests.
func (l Loader) settings(s *Suite, f *file) error {
	states := map[string]engine.Versioning{"": engine.Unversioned}
	for _, v := range []engine.Versioning{engine.Unversioned, engine.Enabled, engine.Suspended} {
		states[v.String()] = v
	}
	clocks := map[string]engine.DayClock{"": engine.ExactClock, "exact": engine.ExactClock, "midnight": engine.MidnightClock}
	var known bool
	if s.bucket.Versioning, known = states[f.Versioning]; !known {
		return fieldError("versioning", f.Versioning, oneOf(states))
	}
	if s.clock, known = clocks[f.DayClock]; !known {
		return fieldError("day_clock", f.DayClock, oneOf(clocks))
	}
	text := []byte(f.Rules)
	switch {
	case f.Rules != "" && f.RulesFile != "":
		return errors.New("rules and rules_file exclude each other")
	case f.RulesFile != "":
		var err error
		if text, err = l.ReadFile(f.RulesFile); err != nil {
			return fieldError("rules_file", f.RulesFile, err)
		}
	case f.Rules == "":
		return errors.New("no rules: neither rules nor rules_file")
	}
	rules, findings := engine.ParseRules("", text, engine.ParseOptions{
		AllowUnfiltered: f.AllowUnfilteredRules, Versioning: s.bucket.Versioning, KnownVersioning: true,
	})
	var errs []error
	for _, finding := range findings {
		if finding.Warning {
			l.Warn(finding.String())
			continue
		}
		errs = append(errs, fmt.Errorf("rules: %s", finding))
	}
	s.rules = rules
	return errors.Join(errs...)
}

// oneOf lists the words that are allowed.
func oneOf[V any](words map[string]V) error {
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(words)), func(w string) bool { return w == "" })
	return errors.New("must be one of " + strings.Join(list, ", "))
}
