package commands

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/pass"
)

// dryRunResult is what a dry run adds up to.
type dryRunResult struct {
	now           time.Time
	o             *dryRunOptions
	rules         []explain.TallyRow
	total         explain.Counts
	changes       []changeCount // nil unless compared
	forecast      *explain.ForecastReport
	report        *pass.Report
	found, listed int64
	newMarkers    int64
}

// goes is how many things go: objects, versions, markers and uploads.
func goes(c explain.Counts) int64 { return c.Objects + c.Versions + c.Markers + c.Uploads }

// headline says what was looked at, and by which clock.
func (r *dryRunResult) headline() string {
	at := "At " + r.now.Format(time.RFC3339)
	if r.o.rules.dayClock == midnight {
		at += ", days ending at 00:00 UTC"
	}
	would := thousands(goes(r.total), "delete") + " would be sent"
	if goes(r.total) == 0 {
		would = "nothing is due"
	}
	switch {
	case r.o.compare:
		n := int64(0)
		for _, c := range r.changes {
			if c.Change != unchanged {
				n += c.Objects
			}
		}
		return fmt.Sprintf("%s, by %s: %s. %s.", at, displayName(r.o.candidate), would, differently(n))
	case r.o.nextPass:
		return at + ", in the next run: " + would + "."
	case r.o.candidate != "":
		return at + ", by " + displayName(r.o.candidate) + ": " + would + "."
	}
	return at + ": " + would + "."
}

// differently says for how many objects a candidate makes a difference.
func differently(n int64) string {
	switch n {
	case 0:
		return "Every object goes as by the installed rules"
	case 1:
		return "1 object goes at another time than by the installed rules, or by one of the two only"
	}
	return group(n) + " objects go at another time than by the installed rules, or by one of the two only"
}

// lines say in sentences what it adds up to.
func (r *dryRunResult) lines() []string {
	lines := append([]string{r.headline()}, r.total.Lines()...)
	if r.newMarkers > 0 {
		lines = append(lines, newMarkersText(r.newMarkers))
	}
	if !r.o.summary && r.listed < r.found {
		lines = append(lines, fmt.Sprintf("%s of %s are listed; --limit 0 lists all.", group(r.listed), group(r.found)))
	}
	return append(lines, "Nothing was deleted. Bucket policies are not asked, neither here nor by run.")
}

// thousands is a count with its noun.
func thousands(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return group(n) + " " + noun + "s"
}

// column is one column of the table of rules.
type column struct {
	name string
	// short is the name where a terminal is narrow.
	short string
	of    func(explain.Counts) int64
	text  func(int64) string
}

// ruleColumns are the numbers of a rule. A person is not shown those that are 0
// for every rule.
func ruleColumns() []column {
	return []column{
		{"OBJECTS", "OBJ", func(c explain.Counts) int64 { return c.Objects }, group},
		{"VERSIONS", "VERS", func(c explain.Counts) int64 { return c.Versions }, group},
		{"MARKERS", "MARK", func(c explain.Counts) int64 { return c.Markers }, group},
		{"UPLOADS", "UPL", func(c explain.Counts) int64 { return c.Uploads }, group},
		{"REMOVED", "REMOVED", func(c explain.Counts) int64 { return c.RemovedBytes }, bytesText},
		{"HIDDEN", "HIDDEN", func(c explain.Counts) int64 { return c.HiddenBytes }, bytesText},
		{"TO TTL", "TO TTL", func(c explain.Counts) int64 { return c.TTLBytes }, bytesText},
		{"LOCKED", "LOCKED", func(c explain.Counts) int64 { return c.Locked }, group},
	}
}

// ruleTable has a row for each rule by which something goes, or would but for a
// lock.
func (r *dryRunResult) ruleTable() rows {
	columns := slices.DeleteFunc(ruleColumns(), func(c column) bool { return c.name != "OBJECTS" && c.of(r.total) == 0 })
	table := rows{header: []string{"BUCKET", "RULE"}, short: []string{"BUCKET", "RULE"}, lead: 2}
	for _, c := range columns {
		table.header, table.short = append(table.header, c.name), append(table.short, c.short)
	}
	for _, rule := range r.rules {
		cells := []cell{word(rule.Bucket), word(rule.RuleID)}
		for _, c := range columns {
			cells = append(cells, word(unlessZero(c.of(rule.Counts), c.text)))
		}
		table.cells = append(table.cells, cells)
	}
	return table
}

// unlessZero is a number for a person, who reads past a dash.
func unlessZero(n int64, text func(int64) string) string {
	if n == 0 {
		return "-"
	}
	return text(n)
}

func (r *dryRunResult) changeTable() rows {
	table := rows{header: []string{"CHANGE", "OBJECTS", "DUE NOW", "SIZE"}}
	for _, c := range r.changes {
		table.cells = append(table.cells, []cell{
			{text: c.Change.words()}, word(unlessZero(c.Objects, group)), word(unlessZero(c.DueNow, group)), word(unlessZero(c.Bytes, bytesText)),
		})
	}
	return table
}

// summaryTSV writes a line for each rule, or each kind of change.
func (r *dryRunResult) summaryTSV(w io.Writer) error {
	var table rows
	for _, c := range r.changes {
		table.cells = append(table.cells, []cell{word(string(c.Change)), count(c.Objects), count(c.DueNow), count(c.Bytes)})
	}
	if r.changes == nil {
		for _, rule := range r.rules {
			cells := []cell{word(rule.Bucket), word(rule.RuleID), word(rule.RuleHash)}
			for _, n := range []int64{
				rule.Objects, rule.HiddenObjects, rule.HiddenBytes, rule.Versions, rule.Markers, rule.Uploads,
				rule.RemovedBytes, rule.TTLBytes, rule.Locked, rule.LockedBytes,
			} {
				cells = append(cells, count(n))
			}
			table.cells = append(table.cells, cells)
		}
	}
	return table.write(w, formTSV)
}

// section is a titled table of a report.
type section struct {
	title string
	rows
}

// sections are the tables of a summary, without the forecast.
func (r *dryRunResult) sections() []section {
	var all []section
	add := func(title string, table rows) {
		if len(table.cells) > 0 {
			all = append(all, section{title, table})
		}
	}
	add("Changes", r.changeTable())
	if r.o.nextPass {
		add("Buckets that the next run walks", r.walkTable())
		add("Parts of the meta-log that it reads", r.windowTable())
	}
	title := "By rule"
	if r.o.compare {
		title = "By rule, " + displayName(r.o.candidate)
	}
	add(title, r.ruleTable())
	return all
}

func (r *dryRunResult) walkTable() rows {
	table := rows{header: []string{"BUCKET", "WHY", "SHARDS", "RULES"}, lead: 2}
	for _, w := range r.report.Walks {
		shards, rules := w.Full, "all"
		if len(shards) == 0 {
			shards, rules = w.Bound, "those the log cannot serve"
		} else if len(w.Bound) > 0 {
			shards = slices.Concat(w.Full, w.Bound)
			slices.Sort(shards)
			rules = "all for " + engine.FormatShards(w.Full)
		}
		table.cells = append(table.cells, []cell{word(w.Bucket), word(strings.Join(w.Why, ", ")), word(engine.FormatShards(shards)), word(rules)})
	}
	return table
}

// windowTable has a row for each part of the log that some shards read alike.
func (r *dryRunResult) windowTable() rows {
	table := rows{header: []string{"FOR", "AFTER", "THROUGH", "SHARDS"}, lead: 1}
	shards := map[pass.Window][]int{}
	var order []pass.Window
	for _, s := range r.report.Shards {
		for _, w := range s.Windows {
			if shards[w] == nil {
				order = append(order, w)
			}
			shards[w] = append(shards[w], s.Shard)
		}
	}
	slices.SortStableFunc(order, func(a, b pass.Window) int { return int(a.Delay/time.Second - b.Delay/time.Second) })
	for _, w := range order {
		table.cells = append(table.cells, []cell{
			word(windowName(w)), instant(nanos(w.AfterNs), "the beginning"), instant(nanos(w.UntilNs), "-"), word(engine.FormatShards(shards[w])),
		})
	}
	return table
}

func windowName(w pass.Window) string {
	if w.Delay == 0 {
		return "arrivals"
	}
	return "rules of " + formatDuration(w.Delay)
}

// writeText writes the summary for a person.
func (r *dryRunResult) writeText(w io.Writer, width int) error {
	for _, s := range r.sections() {
		if err := writeLine(w, s.title+":"); err != nil {
			return err
		}
		if err := s.fit(w, width); err != nil {
			return err
		}
		if err := writeLine(w, ""); err != nil {
			return err
		}
	}
	if r.forecast != nil {
		if err := r.writeChart(w, width); err != nil {
			return err
		}
	}
	for _, line := range r.lines() {
		if err := writeLine(w, line); err != nil {
			return err
		}
	}
	return nil
}

// fact is something about a dry run as a whole.
type fact struct{ name, value string }

// facts say what a report was made of, for those who were not there.
func (r *dryRunResult) facts() []fact {
	var facts []fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("Backup", r.o.from)
	add("Rules", r.o.candidate)
	add("Buckets", strings.Join(r.o.bucketSet(), ", "))
	add("Prefix", r.o.prefix)
	if len(r.report.Shards) < engine.ShardCount {
		var shards []int
		for _, s := range r.report.Shards {
			shards = append(shards, s.Shard)
		}
		add("Shards", engine.FormatShards(shards))
	}
	return facts
}

// problems are what a person must know of beside what goes.
func (r *dryRunResult) problems() []string {
	var lines []string
	for _, p := range r.report.Errors {
		lines = append(lines, problemText(p))
	}
	return lines
}

// figures are the numbers that are seen first.
func (r *dryRunResult) figures() []fact {
	var figures []fact
	if r.changes != nil {
		for _, c := range r.changes {
			figures = append(figures, fact{c.Change.words(), group(c.Objects)})
		}
		return figures
	}
	add := func(n int64, name, value string) {
		if n > 0 {
			figures = append(figures, fact{name, value})
		}
	}
	c := r.total
	figures = append(figures, fact{"deletes would be sent", group(goes(c))})
	add(c.RemovedBytes, "removed", bytesText(c.RemovedBytes))
	add(c.HiddenObjects, "hidden by delete markers, "+bytesText(c.HiddenBytes)+" stay", group(c.HiddenObjects))
	add(c.TTLBytes, "of what is removed is left to a volume TTL", bytesText(c.TTLBytes))
	add(c.Locked, "skipped for a lock", group(c.Locked))
	return figures
}
