package commands

import (
	"fmt"
	"strings"
	"time"

	"weedlc/engine"
)

// lines is the page.
func (f *statusFacts) lines() []statusLine {
	list := []statusLine{f.pauseLine(), f.bucketLine()}
	list = append(list, f.shardLines()...)
	list = append(list, f.lastPassLine())
	for _, w := range cutWalks(f.states()) {
		list = append(list, statusLine{fmt.Sprintf("walk of %q", w.bucket), statusNote, w.String(), "weedlc run"})
	}
	return append(append(list, f.queueLines()...), f.builtInLine())
}

func (f *statusFacts) states() []engine.ShardState {
	var views []shardView
	for _, s := range f.shards {
		views = append(views, s.shardView)
	}
	return readable(views)
}

func (f *statusFacts) pauseLine() statusLine {
	if f.pause == nil {
		return statusLine{"pause", statusOK, "there is none", ""}
	}
	return statusLine{"pause", statusAttention, f.pause.String(), "weedlc resume"}
}

// bucketTally counts the buckets with rules.
type bucketTally struct {
	withRules, never, changed, refused, unreadable int
}

func (f *statusFacts) bucketTally() bucketTally {
	t := bucketTally{withRules: len(f.buckets)}
	for _, b := range f.buckets {
		switch {
		case b.tally.unreadable:
			t.unreadable++
		case b.tally.refused > 0:
			t.refused++
		}
		switch b.processed {
		case processedNever:
			t.never++
		case processedChanged, processedPartly:
			t.changed++
		}
	}
	return t
}

func (f *statusFacts) bucketLine() statusLine {
	t := f.bucketTally()
	l := statusLine{"buckets", statusOK, fmt.Sprintf("with rules: %d, never processed: %d", t.withRules, t.never), "weedlc rules list"}
	if t.changed > 0 {
		l.says += fmt.Sprintf(", rules changed since: %d", t.changed)
	}
	if t.never+t.changed > 0 {
		l.state = statusNote
	}
	for _, bad := range []struct {
		n    int
		what string
	}{{t.unreadable, "unreadable"}, {t.refused, "with refused rules"}} {
		if bad.n > 0 {
			l.state = statusAttention
			l.says += fmt.Sprintf(", %s: %d", bad.what, bad.n)
		}
	}
	return l
}

// shardLines has one line for the shards of which the same is to be said.
func (f *statusFacts) shardLines() []statusLine {
	var list []statusLine
	var shards [][]int
	for _, s := range f.shards {
		l := f.shardLine(s)
		i := 0
		for i < len(list) && list[i] != l {
			i++
		}
		if i == len(list) {
			list, shards = append(list, l), append(shards, nil)
		}
		shards[i] = append(shards[i], s.shard)
	}
	for i := range list {
		noun := "shard "
		if len(shards[i]) > 1 {
			noun = "shards "
		}
		list[i].what = noun + engine.FormatShards(shards[i])
		if list[i].more != "" && len(shards[i]) < engine.ShardCount {
			list[i].more += " --shards " + engine.FormatShards(shards[i])
		}
	}
	return list
}

// shardLine is what there is to say of a shard, without its number. Times are
// rounded, so that shards of one pass are told together.
func (f *statusFacts) shardLine(s shardStatus) statusLine {
	l := statusLine{state: statusOK, more: "weedlc cursor show"}
	if s.damage != nil {
		l.state, l.says = statusAttention, s.damage.Error()
		return l
	}
	if !s.state.Found {
		l.says = "no pass yet"
		if f.hasRules() {
			l.state, l.more = statusAttention, "weedlc run"
		}
		return l
	}
	var parts []string
	part := func(state statusState, format string, args ...any) {
		parts = append(parts, fmt.Sprintf(format, args...))
		if state == statusAttention || l.state == statusOK {
			l.state = state
		}
	}
	if b := s.state.Side.Blocked; b != nil {
		part(statusAttention, "blocked at %s", failureLine(*b))
	}
	if n := len(s.state.Side.Failed); n > 0 {
		part(statusAttention, "%s of walks failed", plural(n, "delete"))
	}
	switch {
	case s.behind == nil:
		part(statusOK, "how far behind is not known")
	case f.maxLag > 0 && *s.behind > f.maxLag:
		part(statusAttention, "%s behind", roundSpan(*s.behind))
	default:
		part(statusOK, "%s behind", roundSpan(*s.behind))
	}
	for _, w := range s.state.Warnings {
		part(statusNote, "%s", w)
	}
	if ns := s.state.Cursor.TsNs; ns != 0 {
		part(statusOK, "lag %s", roundSpan(f.now.Sub(nanos(ns))))
	}
	if ns := s.state.Cursor.LastWalkedNs; ns != 0 {
		part(statusOK, "walked %s", f.ago(ns))
	}
	l.says = strings.Join(parts, ", ")
	return l
}

// roundSpan is a duration to the minute, or to the hour from two days on.
func roundSpan(d time.Duration) string {
	unit := time.Minute
	if d >= 2*day {
		unit = time.Hour
	}
	return formatDuration(max(0, d).Truncate(unit))
}

func (f *statusFacts) ago(ns int64) string {
	d := f.now.Sub(nanos(ns))
	if d < time.Minute {
		return "just now"
	}
	return roundSpan(d) + " ago"
}

func (f *statusFacts) lastPassLine() statusLine {
	l := statusLine{what: "last pass", state: statusOK, more: "weedlc cursor show"}
	switch ns := f.lastPassNs(); {
	case ns != 0:
		l.says = fmt.Sprintf("had read the log through %s, %s", nanos(ns).Format(time.RFC3339), f.ago(ns))
	case f.hasRules() && len(f.foreign()) == 0:
		l.state, l.says, l.more = statusNote, "never run: "+verb(len(f.buckets), "bucket is", "buckets are")+" waiting", "weedlc run"
	default:
		l.says = "not known"
	}
	return l
}

// builtInLine says what the cursors tell of the built-in worker: that somebody
// else has written them.
func (f *statusFacts) builtInLine() statusLine {
	shards := f.foreign()
	if len(shards) == 0 {
		return statusLine{"built-in worker", statusOK, "not seen: every cursor is weedlc's", ""}
	}
	return statusLine{
		"built-in worker", statusNote,
		fmt.Sprintf("it, or a person, has written the cursors of shards %s since weedlc did", engine.FormatShards(shards)), "weedlc cursor show",
	}
}
