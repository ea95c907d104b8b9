package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/internal/memcluster"
)

// TestScenario51_AtAChosenTime moves the clock of a dry run, and of a dry run
// only.
func TestScenario51_AtAChosenTime(t *testing.T) {
	h := newTestHost(t)
	h.put("b", engine.Unversioned, false, "<Rule><ID>r</ID><Status>Enabled</Status><Filter><And><Prefix>logs/</Prefix><Tag><Key>t</Key><Value>1</Value></Tag></And></Filter><Expiration><Days>7</Days></Expiration></Rule>")
	h.cluster.AdvanceTo(noon)
	for key, o := range map[string]memcluster.Object{
		"logs/a": {Tags: map[string]string{"t": "1"}, Mtime: noon.AddDate(0, 0, -3)},
		"logs/b": {Mtime: noon.AddDate(0, 0, -30)},
	} {
		_, err := h.cluster.PutObject("b", key, o)
		check(t, err)
	}
	for at, want := range map[string]string{
		"+0s": "", "+10d": "logs/a", "+96h": "logs/a", "+95h59m59s": "", "-2h": "",
		"2026-12-04T12:00:00Z": "logs/a", "2026-12-04T11:59:59.999999999Z": "", "2026-12-04T12:00:00.000000001Z": "logs/a",
	} {
		h.must(exitDone, "dry-run", "--at", at)
		equal(t, at, tsvColumn(h.out.String(), 1), want)
	}
	h.must(exitFailed, "run", "--at", "+10d")
	equal(t, "stderr of run", h.err.String(), "weedlc: unknown flag \"--at\"\nhint: weedlc dry-run --at TIME\n")
}

// seen is what a dry run at one instant says of an object.
type seen struct {
	action, rule, due string
	locked            bool
}

// isTimed reports whether what takes the object waits for a time.
func (s seen) isTimed() bool {
	return s.action != engine.NewerNoncurrent.String() && s.action != engine.ExpiredDeleteMarker.String()
}

// seenAt lists the fixture's objects that are due at an instant.
func (h *testHost) seenAt(backup, clock string, at time.Time) map[string]seen {
	h.t.Helper()
	h.must(exitDone, "dry-run", "--from", backup, "--day-clock", clock, "--at", at.Format(time.RFC3339Nano), "--locked", "--output", "jsonl", "-q")
	all := map[string]seen{}
	for line := range strings.Lines(h.out.String()) {
		l := object(h.t, []byte(line))
		upload, _ := l["upload_id"].(string)
		_, held := l["hold"]
		until, _ := l["locked_until"].(string)
		if until != "" && !parsedTime(h.t, until).After(at) {
			h.t.Errorf("at %s a lock that ended at %s is shown", at, until)
		}
		all[fmt.Sprintf("%s|%s|%s|%s", l["bucket"], l["key"], l["version_id"], upload)] =
			seen{l["action"].(string), l["rule_id"].(string), l["due"].(string), held || until != ""}
	}
	return all
}

func parsedTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	check(t, err)
	return at
}

// TestAtFlipsEachVerdictAtItsDueTime sweeps the clock over the backup: an object
// is first listed at just its due time, a nanosecond before it is kept, by
// explain-rule too, and a lock ends to the nanosecond. A kind without a time is
// due at any.
func TestAtFlipsEachVerdictAtItsDueTime(t *testing.T) {
	for _, clock := range []string{"exact", midnight} {
		t.Run(clock, func(t *testing.T) {
			h := newTestHost(t)
			backup := use(t, "backup", "small.meta.gz")
			begin := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
			sweep := map[time.Time]map[string]seen{}
			var look func(at time.Time)
			look = func(at time.Time) {
				if _, done := sweep[at]; done {
					return
				}
				sweep[at] = h.seenAt(backup, clock, at)
				for _, s := range sweep[at] {
					if due := parsedTime(t, s.due); s.isTimed() && due.After(begin) {
						look(due.Add(-1))
						look(due)
					}
				}
			}
			look(begin)
			look(time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC))
			for _, end := range []time.Time{scenarioNow, scenarioNow.Add(time.Second), scenarioNow.AddDate(0, 0, 1), scenarioNow.AddDate(1, 0, 0)} { // of locks
				look(end.Add(-1))
				look(end)
			}

			first := map[string]time.Time{}
			locks := map[string][]bool{}
			timed := 0
			for _, at := range slices.SortedFunc(maps.Keys(sweep), time.Time.Compare) {
				for name := range first {
					part := strings.Split(name, "|")
					// Where a null version is replaced by a marker, what lay below it
					// became noncurrent only now.
					_, replaced := sweep[at][fmt.Sprintf("%s|%s|null|", part[0], part[1])]
					if _, still := sweep[at][name]; !still && !replaced {
						t.Errorf("%s is due at %s, and not at %s", name, first[name], at)
					}
				}
				for name, s := range sweep[at] {
					if was := locks[name]; len(was) == 0 || was[len(was)-1] != s.locked {
						locks[name] = append(was, s.locked)
					}
					if _, known := first[name]; known {
						continue
					}
					first[name] = at
					if due := parsedTime(t, s.due); !due.Equal(at) {
						t.Errorf("%s is due since %s, and first listed at %s", name, due, at)
					}
					if at.Equal(begin) == s.isTimed() {
						t.Errorf("%s is first listed at %s by %s", name, at, s.action)
					}
					if at.After(begin) {
						timed++
						h.flipsInExplainRule(backup, clock, name, at)
					}
				}
			}
			// Those of the edges are there: days, a date, noncurrent days, an upload,
			// to the nanosecond, and locks that end.
			if timed < 30 {
				t.Errorf("only %d verdicts flipped", timed)
			}
			ends := 0
			for _, was := range locks {
				if slices.Equal(was, []bool{true, false}) {
					ends++
				}
			}
			if ends < 3 {
				t.Errorf("only %d locks ended: %v", ends, locks)
			}
		})
	}
}

// flipsInExplainRule compares what explain-rule says of an object at an instant
// and a nanosecond before it.
func (h *testHost) flipsInExplainRule(backup, clock, name string, at time.Time) {
	h.t.Helper()
	part := strings.Split(name, "|")
	var kept [2]bool
	for i, at := range []time.Time{at.Add(-1), at} {
		k := h.explainKey(exitDone, "--from", backup, "--day-clock", clock, "--bucket", part[0], "--key", part[1], "--at", at.Format(time.RFC3339Nano))
		v := slices.IndexFunc(k.Versions, func(v explain.VersionExplanation) bool { return v.VersionID == part[2] && v.UploadID == part[3] })
		if v < 0 {
			h.t.Errorf("explain-rule does not know %s", name)
			return
		}
		kept[i] = k.Versions[v].Verdict == explain.Keep
	}
	if kept != [2]bool{true, false} {
		h.t.Errorf("explain-rule keeps %s a nanosecond before it is due, and then: %v", name, kept)
	}
}
