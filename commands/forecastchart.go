package commands

import (
	"io"
	"slices"
	"strings"
	"time"

	"weedlc/explain"
)

// period is a stretch of a forecast that is shown as one bar.
type period struct {
	name string
	explain.Counts
}

// goes is how many things go in the period.
func (p period) goes() int64 { return goes(p.Counts) }

// periods are what a forecast is shown as: what is due already, then days, weeks
// or months, whichever make up to some 30 bars, then what lies behind them.
func periods(f *explain.ForecastReport) []period {
	all := []period{{name: "due already", Counts: f.Now}}
	last := ""
	for i, d := range f.Days {
		name := d.Date
		switch {
		case len(f.Days) > 26*7:
			name = d.Date[:len("2006-01")]
		case len(f.Days) > 31:
			name = "week of " + f.Days[i-i%7].Date
		}
		if name != last {
			all = append(all, period{name: name})
			last = name
		}
		all[len(all)-1].Counts.Add(d.Counts)
	}
	for _, p := range []period{{"later", f.Later}, {"locked, no end known", f.Never}} {
		if p.goes() > 0 {
			all = append(all, p)
		}
	}
	return all
}

// barWidth is the longest bar, in columns.
const barWidth = 30

// writeChart writes the forecast as bars of the number of things that go.
func (r *dryRunResult) writeChart(w io.Writer, width int) error {
	all := periods(r.forecast)
	table, most := forecastTable(all), mostOf(all)
	table.header = append(table.header, "")
	for i, p := range all {
		table.cells[i] = append(table.cells[i], word(bar(p.goes(), most, barWidth)))
	}
	if err := writeLine(w, r.forecastTitle()+":"); err != nil {
		return err
	}
	if err := table.fit(w, width); err != nil {
		return err
	}
	return writeLine(w, "")
}

// forecastTable has a row for each period.
func forecastTable(all []period) rows {
	table := rows{header: []string{"WHEN", "DELETES", "REMOVED"}}
	hidden := slices.ContainsFunc(all, func(p period) bool { return p.HiddenBytes > 0 })
	if hidden {
		table.header = append(table.header, "HIDDEN")
	}
	for _, p := range all {
		row := []cell{word(p.name), word(unlessZero(p.goes(), group)), word(unlessZero(p.RemovedBytes, bytesText))}
		if hidden {
			row = append(row, word(unlessZero(p.HiddenBytes, bytesText)))
		}
		table.cells = append(table.cells, row)
	}
	return table
}

// mostOf is the number of things that go in the fullest period.
func mostOf(all []period) int64 {
	most := int64(0)
	for _, p := range all {
		most = max(most, p.goes())
	}
	return most
}

// forecastTitle names the last day of the forecast.
func (r *dryRunResult) forecastTitle() string {
	return "Forecast, through " + r.now.AddDate(0, 0, len(r.forecast.Days)-1).Format(time.DateOnly)
}

// bar is as long as n is of most. What is not nothing is seen.
func bar(n, most int64, width int) string {
	if n == 0 {
		return ""
	}
	eighths := int(float64(n) / float64(most) * float64(width) * 8)
	eighths = max(1, eighths)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}
