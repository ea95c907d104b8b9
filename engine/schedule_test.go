package engine_test

import (
	"testing"
	"time"

	"weedlc/engine"
)

func TestForeign(t *testing.T) {
	ours := engine.ShardState{
		Found: true, SideFound: true,
		Cursor: engine.Cursor{TsNs: 5, RuleSetHash: engine.Hash{1}},
		Side:   engine.Side{TsNs: 5, RuleSetHash: engine.Hash{1}},
	}
	for _, c := range []struct {
		name   string
		change func(*engine.ShardState)
		want   bool
	}{
		{"ours", func(*engine.ShardState) {}, false},
		{"moved", func(st *engine.ShardState) { st.Cursor.TsNs = 6 }, true},
		{"other rules", func(st *engine.ShardState) { st.Cursor.RuleSetHash = engine.Hash{2} }, true},
		{"other retention", func(st *engine.ShardState) { st.Cursor.PromotedHash = engine.Hash{2} }, false},
		{"no side file", func(st *engine.ShardState) { st.SideFound = false }, true},
		{"no cursor", func(st *engine.ShardState) { *st = engine.ShardState{} }, false},
	} {
		st := ours
		c.change(&st)
		if got := st.Foreign(); got != c.want {
			t.Errorf("%s: foreign is %v, want %v", c.name, got, c.want)
		}
	}
}

// Each bucket has a place of its own in every interval, and one place an
// interval.
func TestReconcileAt(t *testing.T) {
	interval := int64(30 * 24 * time.Hour)
	last := scenarioNow.UnixNano()
	places := map[int64]bool{}
	for _, bucket := range []string{"a", "b", "c", "d"} {
		at := engine.ReconcileAtNs(bucket, last, interval)
		if at <= last || at > last+interval {
			t.Errorf("%s: after %d, not within an interval", bucket, at-last)
		}
		places[at%interval] = true
		if got := engine.ReconcileAtNs(bucket, at-1, interval); got != at {
			t.Errorf("%s: reconciled a nanosecond before its place, again at %d, want %d", bucket, got, at)
		}
		if got := engine.ReconcileAtNs(bucket, at, interval); got != at+interval {
			t.Errorf("%s: reconciled at its place, again at %d, want %d", bucket, got, at+interval)
		}
	}
	if len(places) != 4 {
		t.Errorf("%d places for 4 buckets", len(places))
	}
	if got := engine.ReconcileAtNs("a", last, 0); got != 0 {
		t.Errorf("without an interval it is %d, want never", got)
	}
}
