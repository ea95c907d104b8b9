package commands

import (
	"cmp"
	"io"
	"slices"
	"strings"
)

// fit writes a table as wide as a terminal has room for: with short forms where
// the full ones are too wide, and where those are too, each row on two lines,
// the leading columns on the first and the others side by side below. A width
// of 0 has no limit.
func (r rows) fit(w io.Writer, width int) error {
	switch short := r.shortened(); {
	case width == 0 || r.lead == 0 || r.width() <= width:
		return r.write(w, formTable)
	case short.width() <= width:
		return short.write(w, formTable)
	}
	return r.fold(w, width)
}

// gap lies between two columns.
const gap = "  "

// shortened has the short forms for text.
func (r rows) shortened() rows {
	short := rows{header: r.header, lead: r.lead}
	if r.short != nil {
		short.header = r.short
	}
	for _, row := range r.cells {
		cells := make([]cell, len(row))
		for i, c := range row {
			cells[i] = cell{text: cmp.Or(c.short, c.text), raw: c.raw}
		}
		short.cells = append(short.cells, cells)
	}
	return short
}

// width is that of the whole table.
func (r rows) width() int {
	total := 0
	for _, n := range r.widths() {
		total += n + len(gap)
	}
	return total - len(gap)
}

// widths are those of the columns.
func (r rows) widths() []int {
	widths := make([]int, len(r.header))
	for i, name := range r.header {
		widths[i] = displayWidth(name)
	}
	for _, row := range r.cells {
		for i, c := range row {
			widths[i] = max(widths[i], displayWidth(escape(c.text)))
		}
	}
	return widths
}

// fold writes each row on two lines. Where even the second is too wide, its
// widest column comes last, so that one long name does not push the others off
// the screen.
func (r rows) fold(w io.Writer, width int) error {
	widths := r.widths()
	var below []int
	total, widest := 0, r.lead
	for i := r.lead; i < len(widths); i++ {
		below = append(below, i)
		total += len(gap) + widths[i]
		if widths[i] > widths[widest] {
			widest = i
		}
	}
	if total+len(gap) > width {
		below = append(slices.DeleteFunc(below, func(i int) bool { return i == widest }), widest)
	}
	header := make([]cell, len(r.header))
	for i, name := range r.header {
		header[i] = word(name)
	}
	for _, row := range slices.Concat([][]cell{header}, r.cells) {
		var rest []string
		lead := leadLine(row[:r.lead])
		if displayWidth(lead) > width {
			lead = leadLine(rows{cells: [][]cell{row[:r.lead]}}.shortened().cells[0])
		}
		for _, i := range below {
			text := escape(row[i].text)
			rest = append(rest, text+strings.Repeat(" ", widths[i]-displayWidth(text)))
		}
		line := lead + "\n" + gap + gap + strings.TrimRight(strings.Join(rest, gap), " ") + "\n"
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// leadLine is the first line of a folded row, without what there is none of.
func leadLine(lead []cell) string {
	var texts []string
	for i, c := range lead {
		if i == 0 || c.text != "-" {
			texts = append(texts, escape(c.text))
		}
	}
	return strings.Join(texts, gap)
}
