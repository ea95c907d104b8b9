package engine_test

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/engine"
)

func source(bucket string, rules ...*engine.Rule) engine.Source {
	return engine.Source{Bucket: engine.Bucket{Name: bucket}, Rules: rules}
}

func compile(sources ...engine.Source) *engine.Snapshot { return engine.New().Compile(sources) }

// listing names actions by bucket, rule and kind.
func listing(actions []*engine.Action) []string {
	var out []string
	for _, a := range actions {
		out = append(out, a.Bucket+" "+a.Rule.ID+" "+a.Kind.String())
	}
	return out
}

func TestCompileMakesOneActionPerElement(t *testing.T) {
	r := rule(expire(3), noncurrent(5), newer(2), abort(7))
	off := rule(disabled, expire(4))
	when := rule(date(aged(-1)))
	loose := rule(newer(1))
	tomb := rule(marker)
	s := compile(source("b", r, off, when, loose, tomb))

	type row struct {
		delay  time.Duration
		mode   engine.Mode
		active bool
	}
	got := map[string]row{}
	for _, a := range s.Actions() {
		got[a.Kind.String()+" "+map[*engine.Rule]string{r: "r", off: "off", when: "when", loose: "loose", tomb: "tomb"}[a.Rule]] =
			row{a.Delay, a.Mode, a.Active()}
		if a.Bucket != "b" || a.Hash != a.Rule.Hash() {
			t.Errorf("action is of bucket %q and hash %v, want b and %v", a.Bucket, a.Hash, a.Rule.Hash())
		}
	}
	day := engine.Day()
	want := map[string]row{
		"expiration_days r":          {3 * day, engine.ModeEventDriven, true},
		"noncurrent_days r":          {5 * day, engine.ModeEventDriven, true},
		"abort_mpu r":                {7 * day, engine.ModeEventDriven, true},
		"expiration_days off":        {4 * day, engine.ModeDisabled, false},
		"expiration_date when":       {0, engine.ModeScanAtDate, true},
		"newer_noncurrent loose":     {0, engine.ModeScanOnly, true},
		"expired_delete_marker tomb": {0, engine.ModeScanOnly, true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("actions are %v, want %v", got, want)
	}
}

func TestSnapshotAnswersByBucket(t *testing.T) {
	s := compile(
		source("z", rule(prefix("a/"), expire(3)), rule(prefix("a/"), noncurrent(1)), rule(prefix(""), abort(3))),
		source("a", rule(prefix("x"), date(aged(1)))),
		source("off", rule(disabled, expire(1))),
		source("none"),
	)
	if got := s.Buckets(); !slices.Equal(got, []string{"a", "z"}) {
		t.Errorf("buckets are %q, want a and z", got)
	}
	for name, want := range map[string]bool{"a": true, "z": true, "off": true, "none": true, "other": false} {
		if b, ok := s.Bucket(name); ok != want || ok && b.Name != name {
			t.Errorf("bucket %q is %+v, %v, want %v", name, b, ok, want)
		}
	}
	if got := s.Prefixes("z"); !slices.Equal(got, []string{"", "a/"}) {
		t.Errorf("prefixes are %q", got)
	}
	if got := s.Prefixes("off"); len(got) != 0 {
		t.Errorf("prefixes of disabled rules are %q", got)
	}
	day := engine.Day()
	if got := s.Delays("z"); !slices.Equal(got, []time.Duration{day, 3 * day}) {
		t.Errorf("delays of z are %v", got)
	}
	if got := s.Delays("a"); len(got) != 0 {
		t.Errorf("delays of a are %v, want none: a date has no delay", got)
	}
	if got := s.DelayGroups(); !slices.Equal(got, []time.Duration{day, 3 * day}) {
		t.Errorf("delay groups are %v", got)
	}
	for bucket, want := range map[string]bool{"z": true, "a": false, "off": false, "other": false} {
		if got := s.HasUploadActions(bucket); got != want {
			t.Errorf("upload actions of %q: %v, want %v", bucket, got, want)
		}
	}
	_, walk := s.RulesForShard(0, engine.MaxEffectiveTTL(s))
	if got := walk.Buckets(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("buckets of the walk view are %q, want a", got)
	}
	if walk.HasUploadActions("z") || len(walk.DelayGroups()) != 0 {
		t.Error("the walk view has replay actions")
	}
	if b, ok := walk.Bucket("z"); !ok || b.Name != "z" {
		t.Error("the walk view does not know bucket z")
	}
}

func TestActionsAreSorted(t *testing.T) {
	twins := []*engine.Rule{rule(id("1"), expire(1)), rule(id("2"), expire(1))}
	s := compile(source("b", rule(expire(9), abort(1)), twins[0], twins[1]), source("a", rule(noncurrent(1), abort(1))))
	acts := s.Actions()
	for i := 1; i < len(acts); i++ {
		a, b := acts[i-1], acts[i]
		byBucket := strings.Compare(a.Bucket, b.Bucket)
		byHash := strings.Compare(a.Hash.String(), b.Hash.String())
		if byBucket > 0 || byBucket == 0 && (byHash > 0 || byHash == 0 && a.Kind > b.Kind) {
			t.Errorf("%v comes before %v", a, b)
		}
	}
	var ids []string
	for _, a := range acts {
		if a.Rule.ID != "" {
			ids = append(ids, a.Rule.ID)
		}
	}
	if !slices.Equal(ids, []string{"1", "2"}) {
		t.Errorf("rules of one content come in the order %q, want that of the document", ids)
	}
}

func TestMatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"", "a", "a/", "a/b", "ab", "b"})
		var rules []*engine.Rule
		for range rapid.IntRange(0, 5).Draw(t, "rules") {
			rules = append(rules, rule(prefix(part.Draw(t, "prefix")), expire(rapid.IntRange(1, 3).Draw(t, "days"))))
		}
		key := part.Draw(t, "key")
		s := compile(source("b", rules...), source("c", rule(expire(1))))
		var want []*engine.Action
		for _, a := range s.BucketActions("b") {
			if strings.HasPrefix(key, a.Rule.Prefix) {
				want = append(want, a)
			}
		}
		if got := s.Matching("b", key); !slices.Equal(got, want) {
			t.Fatalf("key %q: %q, want %q", key, listing(got), listing(want))
		}
	})
}

func TestViewsAreClones(t *testing.T) {
	r := rule(expire(3), noncurrent(10), marker)
	s := compile(source("b", r, rule(disabled, expire(1))))
	replay, walk := s.RulesForShard(7, 5*engine.Day())
	recovery := engine.RecoveryView(s)
	for name, view := range map[string]*engine.Snapshot{"replay": replay, "walk": walk, "recovery": recovery} {
		for _, a := range view.Actions() {
			if slices.Contains(s.Actions(), a) {
				t.Errorf("%s shares an action with the snapshot", name)
			}
			if a.Rule != r {
				t.Errorf("%s has a rule of its own, or a disabled one", name)
			}
			if !a.Active() {
				t.Errorf("%s has an inactive %v", name, a.Kind)
			}
		}
	}
	modes := func(v *engine.Snapshot) map[engine.Kind]engine.Mode {
		out := map[engine.Kind]engine.Mode{}
		for _, a := range v.Actions() {
			out[a.Kind] = a.Mode
		}
		return out
	}
	if got := modes(replay); !reflect.DeepEqual(got, map[engine.Kind]engine.Mode{engine.ExpirationDays: engine.ModeEventDriven}) {
		t.Errorf("replay modes are %v", got)
	}
	if got := modes(walk); !reflect.DeepEqual(got, map[engine.Kind]engine.Mode{
		engine.NoncurrentDays: engine.ModeEventDriven, engine.ExpiredDeleteMarker: engine.ModeScanOnly,
	}) {
		t.Errorf("walk modes are %v", got)
	}
	if got := len(recovery.Actions()); got != 3 {
		t.Errorf("recovery has %d actions, want 3", got)
	}
}

func TestViewsByRetention(t *testing.T) {
	s := compile(source("b", rule(expire(3))))
	for retention, want := range map[time.Duration]int{
		0:                  0,
		3*engine.Day() - 1: 0,
		3 * engine.Day():   1,
		4 * engine.Day():   1,
	} {
		replay, walk := s.RulesForShard(0, retention)
		if replay == nil || walk == nil {
			t.Fatal("a view is nil")
		}
		if len(replay.Actions()) != want || len(walk.Actions()) != 1-want {
			t.Errorf("retention %v: %d to replay, %d to walk, want %d and %d", retention, len(replay.Actions()), len(walk.Actions()), want, 1-want)
		}
	}
	empty, _ := compile().RulesForShard(0, time.Hour)
	if len(empty.Actions()) != 0 || len(empty.Buckets()) != 0 || len(empty.DelayGroups()) != 0 {
		t.Error("a view of nothing is not empty")
	}
}

func TestEngineSwapsSnapshots(t *testing.T) {
	e := engine.New()
	if s := e.Snapshot(); s == nil || len(s.Actions()) != 0 {
		t.Fatal("a new engine has rules or no snapshot")
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				s := e.Snapshot()
				if n, m := len(s.Actions()), len(s.BucketActions("b")); n != m {
					t.Errorf("a snapshot has %d actions and %d of its bucket", n, m)
				}
			}
		})
		wg.Go(func() {
			for n := range 50 {
				e.Compile([]engine.Source{source("b", make([]*engine.Rule, 0)...), source("b", rule(expire(n+1)))})
			}
		})
	}
	wg.Wait()
	if got := len(e.Snapshot().Actions()); got != 1 {
		t.Errorf("the last snapshot has %d actions, want 1", got)
	}
}

func TestBucketHashSaysWhatTheRulesDo(t *testing.T) {
	base := []*engine.Rule{
		rule(id("x"), prefix("a/"), expire(3)),
		rule(id("y"), noncurrent(5), newer(2)),
		rule(date(aged(-1))),
	}
	hash := func(b engine.Bucket, rules ...*engine.Rule) engine.Hash {
		b.Name = "b"
		return compile(engine.Source{Bucket: b, Rules: rules}).BucketHash("b")
	}
	h := hash(engine.Bucket{}, base...)
	if h.IsZero() {
		t.Fatal("a bucket with rules has a zero hash")
	}
	renamed := *base[0]
	renamed.ID, renamed.Number = "other", 9
	same := map[string]engine.Hash{
		"another order":          hash(engine.Bucket{}, base[2], base[0], base[1]),
		"a rule twice":           hash(engine.Bucket{}, base[0], base[0], base[1], base[2]),
		"another ID":             hash(engine.Bucket{}, &renamed, base[1], base[2]),
		"a disabled rule beside": hash(engine.Bucket{}, append(slices.Clone(base), rule(disabled, expire(1)))...),
		"a rule without action":  hash(engine.Bucket{}, append(slices.Clone(base), rule(prefix("q")))...),
		"creation time":          hash(engine.Bucket{CreatedNs: 7}, base...),
	}
	for name, got := range same {
		if got != h {
			t.Errorf("%s changes the hash", name)
		}
	}
	off, zeroAbove, zeroBelow := *base[0], *base[0], *base[0]
	off.Enabled = false
	above(0)(&zeroAbove)
	below(0)(&zeroBelow)
	differ := map[string]engine.Hash{
		"base":              h,
		"rule switched off": hash(engine.Bucket{}, &off, base[1], base[2]),
		"above zero":        hash(engine.Bucket{}, &zeroAbove, base[1], base[2]),
		"below zero":        hash(engine.Bucket{}, &zeroBelow, base[1], base[2]),
		"both variants":     hash(engine.Bucket{}, base[0], &zeroAbove, base[1], base[2]),
		"other days":        hash(engine.Bucket{}, rule(prefix("a/"), expire(4)), base[1], base[2]),
		"other date":        hash(engine.Bucket{}, base[0], base[1], rule(date(aged(-2)))),
		"versions":          hash(engine.Bucket{Versioning: engine.Enabled}, base...),
		"nothing":           hash(engine.Bucket{}),
	}
	seen := map[engine.Hash]string{}
	for name, got := range differ {
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[got] = name
	}
	if !hash(engine.Bucket{}, rule(disabled, expire(1))).IsZero() {
		t.Error("a bucket with only disabled rules has a hash")
	}
	if hash(engine.Bucket{Versioning: engine.Enabled}, base...) != hash(engine.Bucket{Versioning: engine.Suspended}, base...) {
		t.Error("suspending versions changes the hash")
	}

	s := compile(source("b", base...), source("c", base...))
	replay, walk := s.RulesForShard(0, 4*engine.Day())
	for name, view := range map[string]*engine.Snapshot{"replay": replay, "walk": walk, "recovery": engine.RecoveryView(s)} {
		if view.BucketHash("b") != h {
			t.Errorf("the %s view has another hash", name)
		}
	}
	if s.BucketHash("c") != h || !s.BucketHash("other").IsZero() {
		t.Error("the hash depends on the bucket's name, or an unknown bucket has one")
	}
}
