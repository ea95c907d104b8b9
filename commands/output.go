package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The forms of a result.
const (
	formTable = "table"
	formTSV   = "tsv"
	formJSON  = "json"
)

// outputOptions choose the form of the result; empty leaves it to where
// standard output goes.
type outputOptions struct{ form string }

// AddFlags takes what the command does on a pipe when no form is given.
func (o *outputOptions) AddFlags(flags *pflag.FlagSet, onPipe string) {
	flags.VarP(choiceValue{&o.form, []string{formTable, formTSV, formJSON}}, "output", "o",
		"form of the result (default table on a terminal, "+onPipe+" on a pipe)")
	settings(flags, "output")
}

// chosen is the form of a result that is a table on a terminal and tab-separated
// on a pipe, unless one was asked for.
func (o *outputOptions) chosen(a *app) string {
	switch {
	case o.form != "":
		return o.form
	case a.host.OutTTY:
		return formTable
	}
	return formTSV
}

// rows is a result of one record a row.
type rows struct {
	header []string
	// short are the header's names where a terminal is too narrow; nil is none.
	short []string
	cells [][]cell
	// lead is how many columns say what a row is about; they stay together
	// where a terminal is too narrow. 0 keeps the row on one line.
	lead int
}

// cell is one value: what a person reads and what a program reads. They are
// the same unless raw is set. Short stands for text where a terminal is too
// narrow; empty is no shorter form.
type cell struct{ text, raw, short string }

func word(s string) cell { return cell{text: s, raw: s} }

// write renders rows as a table or as tab-separated values.
func (r rows) write(w io.Writer, form string) error {
	if form == formTable {
		return writeTable(w, r)
	}
	for _, row := range r.cells {
		fields := make([]string, len(row))
		for i, c := range row {
			fields[i] = tsv.Replace(c.raw)
		}
		if _, err := fmt.Fprintln(w, strings.Join(fields, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes one document, indented.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// instant is a time in a result: RFC 3339 in UTC for programs, to the second
// for people. The zero time and 0 nanoseconds are nothing, shown as none.
func instant(t time.Time, none string) cell {
	if t.IsZero() {
		return cell{text: none}
	}
	t = t.UTC()
	return cell{text: t.Format(time.RFC3339), raw: t.Format(time.RFC3339Nano)}
}

// nanos is the time of Unix nanoseconds; 0 is the zero time.
func nanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// timeJSON is the time of Unix nanoseconds for JSON; nil for 0.
func timeJSON(ns int64) *time.Time {
	if ns == 0 {
		return nil
	}
	t := nanos(ns)
	return &t
}

// span is a duration in a result: whole seconds for programs.
func span(d time.Duration) cell {
	return cell{text: formatDuration(d.Truncate(time.Second)), raw: fmt.Sprint(int64(d / time.Second))}
}

// seconds is a duration for JSON, to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

func count(n int64) cell { return word(fmt.Sprint(n)) }

// sortedKeys lists a map's keys in order.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
