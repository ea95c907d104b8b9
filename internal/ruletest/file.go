package ruletest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// file is a file of tests as written. Its fields are documented in
// docs/rules-test.md.
type file struct {
	Rules                string `yaml:"rules"`
	RulesFile            string `yaml:"rules_file"`
	Bucket               string `yaml:"bucket"`
	Versioning           string `yaml:"versioning"`
	DayClock             string `yaml:"day_clock"`
	AllowUnfilteredRules bool   `yaml:"allow_unfiltered_rules"`
	Now                  string `yaml:"now"`
	Tests                []test `yaml:"tests"`
}

type test struct {
	Name    string   `yaml:"name"`
	Now     string   `yaml:"now"`
	Objects []object `yaml:"objects"`
}

// object is what lies at a key: one object, an upload, or several versions.
type object struct {
	Key      string    `yaml:"key"`
	Upload   string    `yaml:"upload"`
	Versions []version `yaml:"versions"`
	version  `yaml:",inline"`
}

// version is one object with what is expected of it.
type version struct {
	// VersionID is a node so that an unquoted null is the version of that name.
	VersionID       yaml.Node         `yaml:"version_id"`
	DeleteMarker    bool              `yaml:"delete_marker"`
	Age             string            `yaml:"age"`
	ModTime         string            `yaml:"mod_time"`
	NoncurrentSince string            `yaml:"noncurrent_since"`
	Size            int64             `yaml:"size"`
	Tags            map[string]string `yaml:"tags"`
	TTL             string            `yaml:"ttl"`
	Lock            *lock             `yaml:"lock"`

	Want       string `yaml:"want"`
	WantRule   string `yaml:"want_rule"`
	WantAction string `yaml:"want_action"`
	WantDue    string `yaml:"want_due"`
}

type lock struct {
	Mode        string `yaml:"mode"`
	RetainUntil string `yaml:"retain_until"`
	LegalHold   bool   `yaml:"legal_hold"`
}

// decode reads one document strictly: a field that it does not know, a repeated
// one, or a second document is an error.
func decode(text []byte) (*file, lines, error) {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	switch err := d.Decode(&f); {
	case err == io.EOF:
		return nil, lines{}, errors.New("the file is empty")
	case err != nil:
		return nil, lines{}, plain(err)
	}
	if err := d.Decode(new(yaml.Node)); err != io.EOF {
		return nil, lines{}, errors.New("a second document")
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, lines{}, plain(err)
	}
	return &f, linesOf(&root), nil
}

// goType is how the decoder names where a field is missing from.
var goType = regexp.MustCompile(` in type [a-zA-Z.]+$`)

// mismatch is how the decoder tells of a value that does not fit its place.
var mismatch = regexp.MustCompile("^(line [0-9]+: )cannot unmarshal !!([a-z]+) ?(`.*`)? ?into (.+)$")

// misplaced says of such a value what it is and what belongs there.
func misplaced(text string) string {
	m := mismatch.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	is := map[string]string{"str": "text", "int": "a number", "float": "a number", "bool": "a truth value", "seq": "a list", "map": "a map", "null": "nothing"}[m[2]]
	if is == "" {
		is = m[2]
	}
	wants := "a map of fields"
	switch want := m[4]; {
	case strings.HasPrefix(want, "[]"):
		wants = "a list"
	case want == "string":
		wants = "text"
	case want == "bool":
		wants = "true or false"
	case strings.HasPrefix(want, "int"):
		wants = "a whole number"
	}
	return m[1] + strings.TrimSuffix(is+" "+m[3], " ") + " where " + wants + " belongs"
}

// plain takes the decoder's own words out of an error.
func plain(err error) error {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var errs []error
	for _, text := range several.Errors {
		text = misplaced(goType.ReplaceAllString(text, ""))
		text = strings.Replace(text, "field ", "unknown field ", 1)
		errs = append(errs, errors.New(strings.TrimSuffix(text, " not found")))
	}
	return errors.Join(errs...)
}

// lines are where the objects of each test, and the versions of each object,
// begin. A line is 0 where it is not known.
type lines struct{ tests []testLines }

type testLines struct {
	line    int
	objects []objectLines
}

type objectLines struct {
	line     int
	versions []int
}

func linesOf(root *yaml.Node) lines {
	var out lines
	for _, t := range items(root, "tests") {
		tl := testLines{line: t.Line}
		for _, o := range items(t, "objects") {
			ol := objectLines{line: o.Line}
			for _, v := range items(o, "versions") {
				ol.versions = append(ol.versions, v.Line)
			}
			tl.objects = append(tl.objects, ol)
		}
		out.tests = append(out.tests, tl)
	}
	return out
}

// items are those of a list behind a key; none when there is no such list.
func items(n *yaml.Node, key string) []*yaml.Node {
	n = resolved(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolved(n.Content[i+1]).Content
		}
	}
	return nil
}

// resolved follows documents and aliases to the node itself.
func resolved(n *yaml.Node) *yaml.Node {
	for {
		switch {
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		default:
			return n
		}
	}
}

// version is the line of a version of an object, or of an object; of the test
// where that is all there is.
func (l lines) version(test, object, version int) int {
	if test >= len(l.tests) {
		return 0
	}
	t := l.tests[test]
	if object >= len(t.objects) {
		return t.line
	}
	if o := t.objects[object]; version < len(o.versions) {
		return o.versions[version]
	}
	return t.objects[object].line
}

// clock reads the times of one test.
type clock struct {
	now      time.Time
	duration func(string) (time.Duration, error)
}

// at reads a time: RFC 3339, or how far from now with a sign.
func (c clock) at(text string) (time.Time, error) {
	if text != "" && (text[0] == '+' || text[0] == '-') {
		d, err := c.duration(text[1:])
		if err != nil {
			return time.Time{}, err
		}
		if text[0] == '-' {
			d = -d
		}
		return c.now.Add(d), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, errors.New("must be a time such as 2030-01-31T00:00:00Z, or how far from now, such as -3d or +12h")
	}
	return t.UTC(), nil
}

// fieldError is an error in the value of a field.
func fieldError(field, value string, err error) error {
	return fmt.Errorf("%s %q: %w", field, value, err)
}
