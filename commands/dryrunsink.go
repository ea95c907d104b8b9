package commands

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// sink writes the objects of a dry run, and in the end what they add up to. It
// holds a bounded number of objects.
type sink interface {
	record(record) error
	// finish is called when everything was looked at, and then only.
	finish(*dryRunResult) error
	// close drops what was not written.
	close()
}

func newSink(a *app, o *dryRunOptions) (sink, error) {
	switch o.form {
	case formTable:
		return &tableSink{a: a, o: o}, nil
	case formJSON:
		return &jsonSink{out: a.host.Out}, nil
	case formMarkdown:
		return &markdownSink{out: a.host.Out, version: a.release()}, nil
	case formHTML:
		return newHTMLSink(a.host.Out, a.release(), o.header())
	case formJSONL:
		return newStreamSink(a, jsonLine), nil
	case formTSV:
		if a.host.OutTTY {
			return newStreamSink(a, shownLine), nil
		}
	}
	return newStreamSink(a, tsvLine), nil
}

// streamSink writes an object a line, as it goes.
type streamSink struct {
	a       *app
	out     *bufio.Writer
	line    func(io.Writer, record) error
	flushed time.Time
}

// flushEvery is how long a line may wait for the next ones.
const flushEvery = 500 * time.Millisecond

func newStreamSink(a *app, line func(io.Writer, record) error) *streamSink {
	return &streamSink{a: a, out: bufio.NewWriterSize(a.host.Out, 64<<10), line: line}
}

func (s *streamSink) record(r record) error {
	if err := s.line(s.out, r); err != nil {
		return err
	}
	now := s.a.host.Now()
	if now.Sub(s.flushed) < flushEvery {
		return nil
	}
	s.flushed = now
	return s.flush()
}

// flush keeps the line of progress from running into the result when both go to
// one terminal.
func (s *streamSink) flush() error {
	if s.a.host.OutTTY {
		s.a.stderr.clear()
	}
	return s.out.Flush()
}

// finish tells what it adds up to on standard error: standard output has the
// objects, or the rules of a summary, only.
func (s *streamSink) finish(r *dryRunResult) error {
	if r.o.summary {
		if err := r.summaryTSV(s.out); err != nil {
			return err
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	for _, line := range r.lines() {
		s.a.notice("%s", line)
	}
	return nil
}

func (s *streamSink) close() { _ = s.out.Flush() }

func tsvLine(w io.Writer, r record) error {
	fields := r.fields()
	for i := range fields {
		fields[i] = tsv.Replace(fields[i])
	}
	return writeFields(w, fields)
}

func writeFields(w io.Writer, fields []string) error {
	_, err := io.WriteString(w, strings.Join(fields, "\t")+"\n")
	return err
}

// shownLine is a line that goes to a terminal.
func shownLine(w io.Writer, r record) error {
	fields := r.fields()
	for i := range fields {
		fields[i] = escape(tsv.Replace(fields[i]))
	}
	return writeFields(w, fields)
}

func jsonLine(w io.Writer, r record) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// jsonSink writes one document. The objects come last in it.
type jsonSink struct {
	out     io.Writer
	objects spool
	some    bool
}

func (s *jsonSink) record(r record) error {
	if s.some {
		if _, err := io.WriteString(&s.objects, ","); err != nil {
			return err
		}
	}
	s.some = true
	if _, err := io.WriteString(&s.objects, "\n    "); err != nil {
		return err
	}
	return jsonLine(trimNewline{&s.objects}, r)
}

// trimNewline drops the line break that ends each write.
type trimNewline struct{ w io.Writer }

func (t trimNewline) Write(p []byte) (int, error) {
	if n := len(p); n > 0 && p[n-1] == '\n' {
		written, err := t.w.Write(p[:n-1])
		if err == nil {
			written++
		}
		return written, err
	}
	return t.w.Write(p)
}

func (s *jsonSink) finish(r *dryRunResult) error {
	var doc strings.Builder
	if err := writeJSON(&doc, r.json()); err != nil {
		return err
	}
	head := strings.TrimSuffix(doc.String(), "\n}\n")
	if r.o.summary {
		_, err := io.WriteString(s.out, doc.String())
		return err
	}
	if _, err := io.WriteString(s.out, head+",\n  \"objects\": ["); err != nil {
		return err
	}
	if err := s.objects.copyTo(s.out); err != nil {
		return err
	}
	end := "]\n}\n"
	if s.some {
		end = "\n  " + end
	}
	_, err := io.WriteString(s.out, end)
	return err
}

func (s *jsonSink) close() { _ = s.objects.Close() }

// tableSink shows objects to a person. Columns are as wide as the rows of one
// batch need; where a row does not fit into the terminal, objects take two
// lines.
type tableSink struct {
	a     *app
	o     *dryRunOptions
	batch []record
}

// batchRows is how many rows have columns of the same width.
const batchRows = 1000

func (s *tableSink) record(r record) error {
	s.batch = append(s.batch, r)
	if len(s.batch) < batchRows {
		return nil
	}
	return s.flush()
}

func (s *tableSink) flush() error {
	if len(s.batch) == 0 {
		return nil
	}
	s.a.stderr.clear()
	table := rows{header: s.o.header(), lead: 3}
	if s.o.compare {
		table.lead = 4
	}
	for _, r := range s.batch {
		table.cells = append(table.cells, r.cells())
	}
	s.batch = s.batch[:0]
	return errors.Join(table.fit(s.a.host.Out, s.a.host.width()), writeLine(s.a.host.Out, ""))
}

func (s *tableSink) finish(r *dryRunResult) error {
	if err := s.flush(); err != nil {
		return err
	}
	return r.writeText(s.a.host.Out, s.a.host.width())
}

func (s *tableSink) close() {}

// release is what a report says made it.
func (a *app) release() string {
	if a.host.Version == "" {
		return "weedlc"
	}
	return fmt.Sprintf("weedlc %s", a.host.Version)
}
