package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// scenario is one situation that tools are measured in.
type scenario struct {
	name, title string
	// entries is its size at scale 1.
	entries int
	// byHand scenarios are measured only when they are asked for.
	byHand bool
	run    func(context.Context, *bench, scenario) error
}

func scenarios() []scenario {
	return []scenario{
		{name: "cold-all", entries: 20_000, run: cold{due: 1}.run,
			title: "first pass, every object is due"},
		{name: "cold-tenth", entries: 20_000, run: cold{due: 10}.run,
			title: "first pass, 1 object in 10 is due"},
		{name: "cold-sparse", entries: 200_000, run: cold{due: 1000}.run,
			title: "first pass, 1 object in 1,000 is due"},
		{name: "steady", entries: 20_000, run: steady,
			title: "a 1-day and a 400-day rule, that many objects each: a later pass with nothing newly due, and with 1 % newly due"},
		{name: "edit", entries: 20_000, run: edit,
			title: "the rule of one bucket of 20 was edited, so that everything in it is due"},
		{name: "replay", entries: 100_000, run: replay,
			title: "objects that were written and deleted since the last pass, all past their due time"},
		{name: "versions", entries: 20_000, run: versions,
			title: "first pass over keys of four versions, two of each are due"},
		{name: "dry-run", entries: 100_000, run: dryRun,
			title: "dry-run -o jsonl against a bare listing, and --from a backup against decoding it; 1 object in 10 is due"},
		{name: "one-key", entries: 10_000, byHand: true, run: oneKey,
			title: "first pass over one key with that many versions, half of them due"},
		{name: "many-buckets", entries: 20_000, byHand: true, run: manyBuckets,
			title: "first pass, and one with nothing to do, over 1,000 buckets with rules; 1 object in 10 is due"},
	}
}

// bench is one run of this command.
type bench struct {
	options
	log  io.Writer
	rows []*row
	// profiled counts the profiles that were asked for.
	profiled int
}

// measure carries out the scenarios and writes the result, also of those
// before one that failed.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	b := &bench{options: o, log: stderr}
	for _, path := range []*string{&b.weedlc, &b.short, &b.shortShell, &b.profiles} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		if _, _, err := splitAtMarks(o.markdown); err != nil {
			return err // now, and not in an hour
		}
	}
	machine := thisMachine()
	var failed error
	for _, sc := range o.scenarios {
		sc.entries = b.size(sc)
		b.say("%s: %s; %d entries", sc.name, sc.title, sc.entries)
		if err := sc.run(ctx, b, sc); err != nil {
			failed = fmt.Errorf("scenario %s: %w", sc.name, err)
			break
		}
	}
	result := newResult(b, machine)
	if err := result.publish(o, stdout); err != nil {
		return err
	}
	return failed
}

func (b *bench) size(sc scenario) int {
	if b.entries > 0 {
		return b.entries
	}
	return max(40, int(float64(sc.entries)*b.scale))
}

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.log, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// chosen are the tools that -tool leaves.
func (b *bench) chosen(all []tool) []tool {
	return slices.DeleteFunc(all, func(t tool) bool { return !b.wants(t.name) })
}

func (b *bench) wants(name string) bool {
	if len(b.tools) == 0 {
		return true
	}
	return slices.ContainsFunc(b.tools, func(part string) bool { return strings.Contains(name, part) })
}

// record keeps a reading. work is how many units the tool had to deal with.
func (b *bench) record(sc scenario, kind row, r reading) {
	kind.Scenario, kind.Entries = sc.name, sc.entries
	i := slices.IndexFunc(b.rows, func(have *row) bool {
		return have.Scenario == sc.name && have.Case == kind.Case && have.Tool == kind.Tool
	})
	if i < 0 {
		i = len(b.rows)
		b.rows = append(b.rows, &kind)
	}
	b.rows[i].Readings = append(b.rows[i].Readings, r)
	b.say("  %-28s %8.3f s, %.2f s of the processors, %.2f s itself%s", strings.TrimSpace(kind.Tool+" "+kind.Case), r.Seconds, r.Busy, r.Client, r.aside())
}

// turned is a list that starts at another place each time, so that no tool
// always comes first.
func turned[T any](list []T, by int) []T {
	by %= max(1, len(list))
	return slices.Concat(list[by:], list[:by])
}
