package commands

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed templates/dryrun.html
var dryRunTemplate string

// htmlSink writes a report as one HTML file, which needs nothing else.
type htmlSink struct {
	out     io.Writer
	version string
	pages   *template.Template
	columns []htmlColumn
	objects spool
}

// htmlColumn is a column's name and the class of its cells.
type htmlColumn struct{ Name, Class string }

type htmlCell struct{ Name, Class, Text string }

type htmlFact struct{ Name, Value string }

type htmlSection struct {
	Title  string
	Header []htmlColumn
	Rows   [][]htmlCell
	// Cards has a row one value below the other where the screen is narrow.
	Cards bool
}

type htmlForecast struct {
	Title  string
	Header []htmlColumn
	Bars   []htmlBar
}

type htmlBar struct {
	Cells []htmlCell
	// Percent is the length of the bar; 0 for none.
	Percent float64
}

// htmlReport is what the template shows of a dry run.
type htmlReport struct {
	Now, Version    string
	Headline        string
	Lines, Problems []string
	Facts, Figures  []htmlFact
	Sections        []htmlSection
	Forecast        *htmlForecast
	// Objects are the columns of what is listed; none when nothing is.
	Objects []htmlColumn
}

func newHTMLSink(out io.Writer, version string, header []string) (*htmlSink, error) {
	pages, err := template.New("report").Parse(dryRunTemplate)
	if err != nil {
		return nil, fmt.Errorf("template of the report: %w", err)
	}
	return &htmlSink{out: out, version: version, pages: pages, columns: htmlColumns(header)}, nil
}

func htmlColumns(header []string) []htmlColumn {
	columns := make([]htmlColumn, len(header))
	for i, name := range header {
		columns[i] = htmlColumn{heading(name), cellClass(name)}
	}
	return columns
}

// cellClass is how the cells of a column are set.
func cellClass(name string) string {
	switch name {
	case "KEY":
		return "key"
	case "VERSION":
		return "version"
	case "RULE":
		return "rule"
	case "INSTALLED", "CANDIDATE":
		return "prospect"
	case "BUCKET", "WHY":
		return "id"
	case "DUE", "WHEN", "AFTER", "THROUGH":
		return "time"
	}
	numbers := []string{"AGE", "SIZE", "DUE NOW", "DELETES"}
	for _, c := range ruleColumns() {
		numbers = append(numbers, c.name)
	}
	if slices.Contains(numbers, name) {
		return "num"
	}
	return ""
}

func htmlRow(columns []htmlColumn, row []cell) []htmlCell {
	cells := make([]htmlCell, len(row))
	for i, c := range row {
		cells[i] = htmlCell{columns[i].Name, columns[i].Class, escape(c.text)}
		if c.text == "-" {
			cells[i].Class += " none"
		}
	}
	return cells
}

func (s *htmlSink) record(r record) error {
	return s.pages.ExecuteTemplate(&s.objects, "row", htmlRow(s.columns, r.cells()))
}

func (s *htmlSink) finish(r *dryRunResult) error {
	rep := s.report(r)
	// The head is rendered before anything is written, so that a defect in it
	// leaves no half of a report.
	var head spool
	defer head.Close()
	if err := s.pages.ExecuteTemplate(&head, "head", rep); err != nil {
		return err
	}
	if err := head.copyTo(s.out); err != nil {
		return err
	}
	if err := s.objects.copyTo(s.out); err != nil {
		return err
	}
	return s.pages.ExecuteTemplate(s.out, "foot", rep)
}

func (s *htmlSink) close() { _ = s.objects.Close() }

func (s *htmlSink) report(r *dryRunResult) *htmlReport {
	rep := &htmlReport{
		Now: r.now.Format(time.RFC3339), Version: escape(s.version),
		Headline: escape(r.headline()), Problems: escapeAll(r.problems()), Lines: escapeAll(r.lines()[1:]),
	}
	if r.listed > 0 {
		rep.Objects = s.columns
	}
	for _, f := range r.facts() {
		rep.Facts = append(rep.Facts, htmlFact{f.name, escape(f.value)})
	}
	for _, f := range r.figures() {
		rep.Figures = append(rep.Figures, htmlFact{f.name, f.value})
	}
	for _, sec := range r.sections() {
		out := htmlSection{Title: escape(sec.title), Header: htmlColumns(sec.header), Cards: sec.lead > 0}
		for _, row := range sec.cells {
			out.Rows = append(out.Rows, htmlRow(out.Header, row))
		}
		rep.Sections = append(rep.Sections, out)
	}
	if r.forecast != nil {
		rep.Forecast = newHTMLForecast(r)
	}
	return rep
}

func newHTMLForecast(r *dryRunResult) *htmlForecast {
	all := periods(r.forecast)
	table := forecastTable(all)
	f := &htmlForecast{Title: r.forecastTitle(), Header: htmlColumns(append(table.header, ""))}
	most := mostOf(all)
	for i, p := range all {
		b := htmlBar{Cells: htmlRow(f.Header, table.cells[i])}
		if p.goes() > 0 {
			b.Percent = max(float64(p.goes()*1000/most)/10, 0.1)
		}
		f.Bars = append(f.Bars, b)
	}
	return f
}

func escapeAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = escape(t)
	}
	return out
}
