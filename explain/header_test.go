package explain_test

import (
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
)

func TestScenario18_ExpirationHeader(t *testing.T) {
	modified := time.Date(2030, 6, 10, 8, 0, 0, 0, time.UTC)
	r1, r2 := rule(id("keep 30/x"), expire(30)), rule(id("b"), prefix("z/"), expire(5))
	for _, c := range []struct {
		name  string
		o     engine.Object
		rules []*engine.Rule
		want  string
	}{
		{"the earliest wins", plain("z/o", modified), []*engine.Rule{r1, r2}, `expiry-date="Sun, 16 Jun 2030 00:00:00 GMT", rule-id="b"`},
		{"the ID is encoded", plain("y/o", modified), []*engine.Rule{r1, r2}, `expiry-date="Thu, 11 Jul 2030 00:00:00 GMT", rule-id="keep%2030%2Fx"`},
		{"marker rule", plain("y/o", modified), []*engine.Rule{rule(id("R3"), marker)}, ""},
		{"noncurrent rule", plain("y/o", modified), []*engine.Rule{rule(noncurrent(1))}, ""},
		{"count rule", plain("y/o", modified), []*engine.Rule{rule(newer(1))}, ""},
		{"upload rule", plain("y/o", modified), []*engine.Rule{rule(abort(1))}, ""},
		{"disabled", plain("y/o", modified), []*engine.Rule{rule(expire(1), disabled)}, ""},
		{"prefix fails", plain("y/o", modified), []*engine.Rule{r2}, ""},
		{"tag fails", plain("y/o", modified), []*engine.Rule{rule(expire(1), tagged("t", "1"))}, ""},
		{"size fails", plain("y/o", modified, withSize(5)), []*engine.Rule{rule(expire(1), below(5))}, ""},
		{"no rules", plain("y/o", modified), nil, ""},
		{"midnight is not rounded", plain("o", time.Date(2012, 12, 14, 0, 0, 0, 0, time.UTC)),
			[]*engine.Rule{rule(id("picture-deletion-rule"), expire(7))}, `expiry-date="Fri, 21 Dec 2012 00:00:00 GMT", rule-id="picture%2Ddeletion%2Drule"`},
		{"a nanosecond later is", plain("o", time.Date(2012, 12, 14, 0, 0, 0, 1, time.UTC)),
			[]*engine.Rule{rule(id("é"), expire(7))}, `expiry-date="Sat, 22 Dec 2012 00:00:00 GMT", rule-id="%C3%A9"`},
		{"date before days", plain("o", modified), []*engine.Rule{rule(id("n"), expire(30)), rule(id("d"), date(time.Date(2030, 7, 1, 0, 0, 0, 0, time.UTC)))},
			`expiry-date="Mon, 01 Jul 2030 00:00:00 GMT", rule-id="d"`},
		{"days before date", plain("o", modified), []*engine.Rule{rule(id("n"), expire(20)), rule(id("d"), date(time.Date(2030, 7, 2, 0, 0, 0, 0, time.UTC)))},
			`expiry-date="Mon, 01 Jul 2030 00:00:00 GMT", rule-id="n"`},
		{"past", plain("o", time.Date(2001, 1, 1, 1, 0, 0, 0, time.UTC)), []*engine.Rule{rule(id("n"), expire(1))},
			`expiry-date="Wed, 03 Jan 2001 00:00:00 GMT", rule-id="n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := explain.ExpirationHeader(numbered(c.rules...), &c.o); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestScenario18_OnlyTheCurrentObjectHasAHeader(t *testing.T) {
	rules := numbered(rule(id("r"), expire(7)))
	g := versions(version(aged(1)), version(aged(9), demoted(aged(1))))
	if got := explain.ExpirationHeader(rules, &g.Objects[1]); got != "" {
		t.Errorf("a noncurrent version has %q", got)
	}
	want := `expiry-date="Sat, 22 Jun 2030 00:00:00 GMT", rule-id="r"`
	if got := key(bucket(engine.Enabled), g, rules...).ExpirationHeader; got != want {
		t.Errorf("the key has %q, want %q", got, want)
	}
	deleted := versions(version(aged(1), isMarker), version(aged(9), demoted(aged(1))))
	if got := key(bucket(engine.Enabled), deleted, rules...).ExpirationHeader; got != "" {
		t.Errorf("a deleted key has %q", got)
	}
}
