package pass_test

import (
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// tally is a meter that adds up.
type tally struct {
	mu              sync.Mutex
	scanned, walked map[int]int64
	outcomes        map[pass.Outcome]int64
	ranges, calls   int64
	saved           map[int]int64 // the last position of each shard
	ended           []*pass.Report
}

func newTally() *tally {
	return &tally{scanned: map[int]int64{}, walked: map[int]int64{}, outcomes: map[pass.Outcome]int64{}, saved: map[int]int64{}}
}

func (m *tally) add(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
}

func (m *tally) Scanned(shard int)       { m.add(func() { m.scanned[shard]++ }) }
func (m *tally) RangeRead()              { m.add(func() { m.ranges++ }) }
func (m *tally) Walked(shard, n int)     { m.add(func() { m.walked[shard] += int64(n) }) }
func (m *tally) Called(time.Duration)    { m.add(func() { m.calls++ }) }
func (m *tally) Settled(d pass.Deletion) { m.add(func() { m.outcomes[d.Outcome]++ }) }
func (m *tally) Ended(r *pass.Report)    { m.add(func() { m.ended = append(m.ended, r) }) }
func (m *tally) Saved(st *engine.ShardState, _ time.Duration) {
	m.add(func() { m.saved[st.Shard] = st.Cursor.TsNs })
}

// What the meter is told adds up to the reports, of a pass that walks and one
// that reads the log, and a shard that could not be saved is not told of.
func TestMeterAddsUpToTheReport(t *testing.T) {
	w := orchard(t)
	const unsaved = 3
	var ranges int64
	failing := false
	w.c.SetHook(func(c memcluster.Call) error {
		switch {
		case c.Op == memcluster.OpReadLog && c.Done:
			ranges++
		case c.Op == memcluster.OpSaveCursor && c.Shard == unsaved && failing:
			return errors.New("disk full")
		}
		return nil
	})
	check := func(rep *pass.Report, m *tally) {
		t.Helper()
		if m.ranges != ranges {
			t.Errorf("%d ranges, want %d", m.ranges, ranges)
		}
		if m.calls != rep.Totals.DeleteCalls || !maps.Equal(m.outcomes, rep.Totals.Outcomes) {
			t.Errorf("%d calls with outcomes %v, want %d with %v", m.calls, m.outcomes, rep.Totals.DeleteCalls, rep.Totals.Outcomes)
		}
		for _, s := range rep.Shards {
			if m.scanned[s.Shard] != s.EventsScanned || m.walked[s.Shard] != s.EntriesWalked {
				t.Errorf("shard %d: %d events and %d entries, want %d and %d", s.Shard, m.scanned[s.Shard], m.walked[s.Shard], s.EventsScanned, s.EntriesWalked)
			}
			switch at, saved := m.saved[s.Shard]; {
			case saved == (s.Shard == unsaved && failing):
				t.Errorf("shard %d: saved is %v", s.Shard, saved)
			case saved && at != s.TsNs:
				t.Errorf("shard %d: position %d, want %d", s.Shard, at, s.TsNs)
			}
		}
		if len(m.ended) != 1 || m.ended[0] != rep {
			t.Errorf("%d ends, want the report's", len(m.ended))
		}
	}

	m := newTally()
	w.opts.Meter = m
	rep := w.pass()
	check(rep, m)
	if rep.Totals.EntriesWalked == 0 || rep.Totals.DeleteCalls == 0 {
		t.Errorf("the first pass does nothing: %+v", rep.Totals)
	}
	w.at(22)
	m, ranges, failing = newTally(), 0, true
	w.opts.Meter = m
	rep = w.pass()
	check(rep, m)
	if rep.Totals.EventsScanned == 0 || rep.Totals.DeleteCalls == 0 || ranges == 0 {
		t.Errorf("the second pass does nothing: %+v", rep.Totals)
	}
}
