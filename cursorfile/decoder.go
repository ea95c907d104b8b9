package cursorfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// version is the version of both files' format.
const version = 1

// MaxAhead is how far after now a time that should have come may lie, because
// the clocks of two hosts differ: it is taken as now, with a warning. One
// further ahead is damage.
const MaxAhead = 5 * time.Minute

// decoder reads one file. It keeps the first defect; after that every getter
// returns zero.
type decoder struct {
	file string
	now  time.Time
	// strict refuses fields that this version does not know.
	strict   bool
	warnings []string
	err      error
}

func (d *decoder) fail(field, value, reason string, args ...any) {
	if d.err == nil {
		d.err = &CorruptError{File: d.file, Field: field, Value: shorten(value), Reason: fmt.Sprintf(reason, args...)}
	}
}

// document checks that data is one JSON object and splits it into its fields.
func (d *decoder) document(data []byte) *object {
	var whole json.RawMessage
	if len(data) == 0 {
		d.fail("", "", "is empty")
	} else if !utf8.Valid(data) {
		d.fail("", "", "is not UTF-8")
	} else if err := json.Unmarshal(data, &whole); err != nil {
		d.malformed(data, err)
	}
	return d.split("", false, whole)
}

func (d *decoder) malformed(data []byte, err error) {
	var syntax *json.SyntaxError
	end := len(data)
	if errors.As(err, &syntax) && syntax.Offset > 0 {
		end = min(end, int(syntax.Offset)-1)
	}
	before := data[:end]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := len(before) - bytes.LastIndexByte(before, '\n')
	d.fail("", "", "is malformed at line %d, column %d: %v", line, column, err)
}

// split takes a well-formed value at a path apart. The path of the document is
// empty; keyed says that the names of the fields are data.
func (d *decoder) split(path string, keyed bool, raw []byte) *object {
	o := &object{d: d, path: path, keyed: keyed, fields: map[string]json.RawMessage{}}
	if d.err != nil {
		return o
	}
	if t := typeOf(raw); t != "an object" {
		d.fail(path, text(raw), "is %s, not an object", t)
		return o
	}
	err := members(raw, func(name string, value json.RawMessage) {
		if o.has(name) {
			d.fail(o.at(name), text(value), "is there twice")
		}
		o.names = append(o.names, name)
		o.fields[name] = value
	})
	if err != nil {
		d.fail(path, "", "is malformed: %v", err)
	}
	return o
}

// members calls fn for each field of a JSON object in the order of the text,
// repeated ones too.
func members(raw []byte, fn func(name string, value json.RawMessage)) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		fn(token.(string), value)
	}
	return nil
}

// int is a whole number of any sign.
func (d *decoder) int(path string, raw []byte) int64 {
	if d.err != nil {
		return 0
	}
	if t := typeOf(raw); t != "a number" {
		d.fail(path, text(raw), "is %s, not a whole number", t)
		return 0
	}
	v, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		d.fail(path, text(raw), "is out of range")
		return 0
	case err != nil:
		d.fail(path, text(raw), "is not a whole number")
		return 0
	}
	return v
}

// time is Unix nanoseconds, past or future.
func (d *decoder) time(path string, raw []byte) int64 {
	v := d.int(path, raw)
	if v < 0 {
		d.fail(path, text(raw), "is negative")
		return 0
	}
	return v
}

// past is Unix nanoseconds that have come; what is at most MaxAhead after now
// is returned as it is.
func (d *decoder) past(path string, raw []byte) int64 {
	v := d.time(path, raw)
	if ahead := d.ahead(v); ahead > MaxAhead {
		d.fail(path, text(raw), "is %s, %s after now: at most %s is accepted", rfc3339(v), ahead, MaxAhead)
		return 0
	}
	return v
}

// clamp returns a time that past let through, or now, with a warning, for one
// that is after it.
func (d *decoder) clamp(path string, v int64) int64 {
	ahead := d.ahead(v)
	if d.err != nil || ahead <= 0 {
		return v
	}
	d.warnings = append(d.warnings, fmt.Sprintf("%s: %s \"%d\" is %s, %s after now: taken as now", d.file, path, v, rfc3339(v), ahead))
	return d.now.UnixNano()
}

func (d *decoder) ahead(ns int64) time.Duration { return time.Duration(ns - d.now.UnixNano()) }

func rfc3339(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// text is a value as an error quotes it: a string without its quotes and
// escapes, anything else as it is written.
func text(raw []byte) string {
	var s string
	if typeOf(raw) == "a string" && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// typeOf names the type of a well-formed value.
func typeOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
