package explain_test

import (
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

func TestWordsOfEachKind(t *testing.T) {
	newYear := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		v    engine.Versioning
		r    *engine.Rule
		want []string
	}{
		{"days, filtered", engine.Unversioned, rule(prefix("logs/"), above(1000), expire(7)), []string{
			`Deletes current objects whose key begins with "logs/" and that are larger than 1,000 bytes, 7 days after they were last modified.`,
		}},
		{"one day", engine.Unversioned, rule(prefix("logs/"), expire(1)), []string{
			`Deletes current objects whose key begins with "logs/", 1 day after they were last modified.`,
		}},
		{"days, versioned", engine.Enabled, rule(prefix("logs/"), expire(7)), []string{
			`Puts a delete marker on top of current objects whose key begins with "logs/", 7 days after they were last modified.`,
		}},
		{"days, suspended", engine.Suspended, rule(expire(1234567)), []string{
			`Puts a delete marker on top of all current objects in the bucket, 1,234,567 days after they were last modified.`,
		}},
		{"date", engine.Unversioned, rule(date(newYear), tagged("t", "1")), []string{
			`Deletes current objects that carry the tag "t"="1", from 2031-01-01T00:00:00Z on, whatever their age.`,
		}},
		{"everything in a filter", engine.Unversioned,
			rule(prefix("a\n\"b\"/"), tagged("k", "", "a", "é"), above(0), below(2000), expire(7)), []string{
				`Deletes current objects whose key begins with "a\n\"b\"/", that carry the tags "a"="é" and "k"="" and that are larger than 0 and smaller than 2,000 bytes, 7 days after they were last modified.`,
			}},
		{"noncurrent days", engine.Enabled, rule(noncurrent(30), below(1)), []string{
			`Deletes noncurrent versions that are smaller than 1 byte, 30 days after they became noncurrent.`,
		}},
		{"noncurrent days and count", engine.Enabled, rule(prefix("k/"), noncurrent(10), newer(2)), []string{
			`Deletes noncurrent versions whose key begins with "k/", 10 days after they became noncurrent, except the newest 2 of each key.`,
		}},
		{"count", engine.Enabled, rule(newer(1)), []string{
			`Deletes all noncurrent versions in the bucket, at once, except the newest one of each key.`,
		}},
		{"abort", engine.Unversioned, rule(prefix("video/"), abort(7)), []string{
			`Aborts unfinished uploads whose key begins with "video/", 7 days after they were begun.`,
		}},
		{"marker", engine.Enabled, rule(prefix("k/"), marker), []string{
			`Deletes delete markers whose key begins with "k/", once they are all that is left of their key.`,
		}},
		{"two kinds", engine.Enabled, rule(expire(7), noncurrent(30)), []string{
			`Puts a delete marker on top of all current objects in the bucket, 7 days after they were last modified.`,
			`Deletes all noncurrent versions in the bucket, 30 days after they became noncurrent.`,
		}},
		{"disabled", engine.Unversioned, rule(disabled, expire(7)), []string{
			`The rule is disabled: it deletes nothing. Enabled, it would do this:`,
			`Deletes all current objects in the bucket, 7 days after they were last modified.`,
		}},
		{"transition beside an expiration", engine.Unversioned, rule(prefix("b/"), expire(60), unsupported("Transition")), []string{
			`Deletes current objects whose key begins with "b/", 60 days after they were last modified.`,
			`SeaweedFS does not carry out its Transition: no object changes its storage class.`,
		}},
		{"transitions only", engine.Unversioned, rule(unsupported("Transition", "NoncurrentVersionTransition")), []string{
			`Does nothing: SeaweedFS does not carry out its Transition and NoncurrentVersionTransition: no object changes its storage class.`,
		}},
		{"no action", engine.Unversioned, rule(disabled), []string{
			`The rule is disabled: it deletes nothing.`,
			`Does nothing: the rule has no action.`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) { equal(t, "words", explain.Words(c.r, c.v), c.want) })
	}
}

func TestScenario05_WholeBucketIsSaidPlainly(t *testing.T) {
	const action = `<Status>Enabled</Status><Expiration><Days>7</Days></Expiration>`
	for _, selection := range []string{`<Filter/>`, `<Filter><Prefix/></Filter>`, `<Prefix/>`} {
		rules, findings := engine.ParseXML("b",
			[]byte(`<LifecycleConfiguration><Rule>`+selection+action+`</Rule></LifecycleConfiguration>`), engine.ParseOptions{})
		if len(rules) != 1 {
			t.Fatalf("%s: %v", selection, findings)
		}
		if got, want := explain.Selects(rules[0]), "the whole bucket: every key"; got != want {
			t.Errorf("%s selects %q, want %q", selection, got, want)
		}
		equal(t, selection, explain.Words(rules[0], engine.Unversioned), []string{
			"Deletes all current objects in the bucket, 7 days after they were last modified.",
		})
	}
	narrow := rule(prefix("a/"), tagged("x", "1", "w", "2"), below(10), expire(7))
	if got, want := explain.Selects(narrow), `prefix "a/", tag "w"="2", tag "x"="1", smaller than 10 bytes`; got != want {
		t.Errorf("selects %q, want %q", got, want)
	}
}
