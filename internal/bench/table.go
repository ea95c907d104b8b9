package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// publish prints the tables and writes the files that were asked for.
func (r *result) publish(o options, stdout io.Writer) error {
	if err := r.text(stdout); err != nil {
		return err
	}
	if o.json != "" {
		if err := r.writeJSON(o.json); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return putBetweenMarks(o.markdown, r.markdown())
	}
	return nil
}

// table is the rows of one scenario.
type table struct {
	heading string
	cells   [][]string
}

func header() []string {
	return []string{"tool", "time", "range", "rate", "× ceiling", "weedlc is", "calls", "events", "entries", "peak MB", "CPU s", "remarks"}
}

func (r *result) tables() []table {
	var list []table
	for _, row := range r.Rows {
		name := row.Scenario
		if row.Case != "" {
			name += ", " + row.Case
		}
		heading := fmt.Sprintf("%s (%s; %s entries)", name, r.titles[row.Scenario], grouped(int64(row.Entries)))
		i := slices.IndexFunc(list, func(t table) bool { return t.heading == heading })
		if i < 0 {
			i = len(list)
			list = append(list, table{heading: heading})
		}
		list[i].cells = append(list[i].cells, r.cells(row))
	}
	return list
}

func (r *result) cells(x *row) []string {
	took := x.seconds()
	times := make([]float64, len(x.Readings))
	for i, reading := range x.Readings {
		times[i] = reading.Seconds
	}
	rate, over, ours := "", "", ""
	if x.Units > 0 && took > 0 {
		rate = grouped(int64(float64(x.Units)/took)) + " " + x.Unit + "/s"
	}
	if c := r.ceiling(x.Scenario, x.Case); c > 0 {
		over = fmt.Sprintf("%.2f", took/c)
	}
	if than, ok := faster(x.Scenario, x.Case, nameWeedlc, x.Tool)(r); ok && x.Tool != nameWeedlc && x.Part == "" {
		ours = fmt.Sprintf("%.1f × faster", than)
	}
	calls, known := x.calls()
	events, read := medianCount(x.Readings, func(r reading) *int64 { return r.Events })
	entries, listed := medianCount(x.Readings, func(r reading) *int64 { return r.Entries })
	peak := ""
	if mb := median(x.Readings, func(r reading) float64 { return r.PeakMB }); mb > 0 {
		peak = strconv.Itoa(int(mb + 0.5))
	}
	cpu := ""
	if busy := median(x.Readings, func(r reading) float64 { return r.Busy }); busy > 0 {
		cpu = fmt.Sprintf("%.1f (%.1f)", busy, median(x.Readings, func(r reading) float64 { return r.Client }))
	}
	return []string{
		x.Tool, seconds(took), seconds(slices.Min(times)) + "–" + seconds(slices.Max(times)), rate, over, ours,
		knownCount(calls, known), knownCount(events, read), knownCount(entries, listed), peak, cpu, x.remarks(),
	}
}

func knownCount(n int64, known bool) string {
	if !known {
		return ""
	}
	return grouped(n)
}

// remarks are what went otherwise than it should, of all runs, and the time of
// a process where another counts.
func (r *row) remarks() string {
	var list []string
	for i, reading := range r.Readings {
		if text := strings.TrimPrefix(reading.aside(), "; "); text != "" {
			list = append(list, fmt.Sprintf("run %d: %s", i+1, text))
		}
	}
	if p := median(r.Readings, func(x reading) float64 { return x.Process }); p > 0 {
		list = append(list, "process "+seconds(p))
	}
	return strings.Join(list, "; ")
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) + " s" }

// grouped has a comma between groups of three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func (r *result) text(w io.Writer) error {
	var b bytes.Buffer
	for _, t := range r.tables() {
		_, _ = fmt.Fprintf(&b, "\n%s\n", t.heading)
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, line := range append([][]string{header()}, t.cells...) {
			_, _ = fmt.Fprintln(tw, "  "+strings.Join(line, "\t"))
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	if len(r.Goals) > 0 {
		_, _ = fmt.Fprintln(&b)
	}
	for _, g := range r.Goals {
		_, _ = fmt.Fprintln(&b, g)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *result) markdown() string {
	var b strings.Builder
	m := r.Machine
	_, _ = fmt.Fprintf(&b, "Measured %s: %d × %s, %g GB, SeaweedFS %s, %s, load %s before; %d runs, the median counts; %d deletes in flight.\n\n    %s\n",
		r.Began.Format("2006-01-02 15:04 UTC"), m.Cores, m.CPU, m.MemGB, m.Server, m.Go, m.Load, r.Runs, r.InFlight, r.Command)
	for _, t := range r.tables() {
		_, _ = fmt.Fprintf(&b, "\n### %s\n\n| %s |\n|---|%s\n", t.heading, strings.Join(header(), " | "), strings.Repeat("---:|", len(header())-2)+"---|")
		for _, line := range t.cells {
			_, _ = fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
		}
	}
	if len(r.Goals) > 0 {
		_, _ = fmt.Fprintf(&b, "\n### Goals\n\n")
	}
	for _, g := range r.Goals {
		_, _ = fmt.Fprintf(&b, "- %s\n", g)
	}
	return b.String()
}

// The marks of the part of a file that this command writes.
const (
	beginMark = "<!-- bench: begin -->"
	endMark   = "<!-- bench: end -->"
)

// putBetweenMarks replaces what a file has between the marks.
func putBetweenMarks(file, text string) error {
	before, after, err := splitAtMarks(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+beginMark+"\n"+text+endMark+after), 0o644)
}

// splitAtMarks is what a file has before and after the marks.
func splitAtMarks(file string) (before, after string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	before, rest, begins := strings.Cut(string(data), beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return "", "", fmt.Errorf("%s does not have the marks %q and %q", file, beginMark, endMark)
	}
	return before, after, nil
}
