package commands

import (
	"fmt"
	"io"
	"strings"
)

// markdownSink writes a report in Markdown.
type markdownSink struct {
	out     io.Writer
	version string
	objects spool
}

func (s *markdownSink) record(r record) error {
	_, err := io.WriteString(&s.objects, markdownRow(r.cells()))
	return err
}

func (s *markdownSink) finish(r *dryRunResult) error {
	var b strings.Builder
	b.WriteString("# Dry run of lifecycle rules\n\n")
	lines := r.lines()
	fmt.Fprintf(&b, "%s\n\n", markdown(lines[0]))
	for _, line := range lines[1:] {
		fmt.Fprintf(&b, "- %s\n", markdown(line))
	}
	for _, f := range r.facts() {
		fmt.Fprintf(&b, "- %s: %s\n", f.name, markdown(f.value))
	}
	if problems := r.problems(); len(problems) > 0 {
		b.WriteString("\n## What a person must know\n\n")
		for _, p := range problems {
			fmt.Fprintf(&b, "- %s\n", markdown(p))
		}
	}
	for _, sec := range r.sections() {
		fmt.Fprintf(&b, "\n## %s\n\n%s", markdown(sec.title), markdownHead(sec.header))
		for _, row := range sec.cells {
			b.WriteString(markdownRow(row))
		}
	}
	if r.forecast != nil {
		table := forecastTable(periods(r.forecast))
		fmt.Fprintf(&b, "\n## %s\n\n%s", r.forecastTitle(), markdownHead(table.header))
		for _, row := range table.cells {
			b.WriteString(markdownRow(row))
		}
	}
	if r.listed > 0 {
		fmt.Fprintf(&b, "\n## Objects\n\n%s", markdownHead(r.o.header()))
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return err
	}
	if err := s.objects.copyTo(s.out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "\nMade by %s.\n", markdown(s.version))
	return err
}

func (s *markdownSink) close() { _ = s.objects.Close() }

func markdownHead(names []string) string {
	row := make([]cell, len(names))
	for i, name := range names {
		row[i] = word(heading(name))
	}
	return markdownRow(row) + "|" + strings.Repeat(" --- |", len(names)) + "\n"
}

// heading is the name of a column as a report has it.
func heading(name string) string {
	if name == "" {
		return name
	}
	return strings.ReplaceAll(name[:1]+strings.ToLower(name[1:]), "ttl", "TTL")
}

func markdownRow(row []cell) string {
	var b strings.Builder
	b.WriteString("|")
	for _, c := range row {
		b.WriteString(" " + markdown(c.text) + " |")
	}
	b.WriteString("\n")
	return b.String()
}

// markdown makes text safe: what does not print is escaped, and so is whatever
// means something in Markdown or in the HTML that it may carry.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range escape(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]()#+!|~>", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
