package cursorfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// endOfTime is a now that no time in Unix nanoseconds is after.
func endOfTime() time.Time { return time.Unix(0, math.MaxInt64) }

// document is a file's text: indented by two spaces, with a final newline, as
// the built-in worker writes it.
func document(fields ordered) ([]byte, error) {
	compact, err := marshal(fields)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// field is one field of an object to be written.
type field struct {
	name  string
	value any
}

// ordered is an object whose fields are written in this order.
type ordered []field

// add appends a field, and leaves out one that has its type's zero value.
func add[T comparable](o ordered, name string, value T) ordered {
	var zero T
	if value == zero {
		return o
	}
	return append(o, field{name, value})
}

// keep appends fields that this version does not know, in the order of their
// names.
func keep[JSON ~[]byte](o ordered, kept map[string]JSON) ordered {
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		o = append(o, field{name, json.RawMessage(kept[name])})
	}
	return o
}

// MarshalJSON refuses text that JSON cannot carry unchanged.
func (o ordered) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range o {
		if s, ok := f.value.(string); ok && !utf8.ValidString(s) {
			return nil, fmt.Errorf("%s %q is not UTF-8", f.name, s)
		}
		if !utf8.ValidString(f.name) {
			return nil, fmt.Errorf("name %q is not UTF-8", f.name)
		}
		name, err := marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(f.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// marshal is json.Marshal that leaves the characters of HTML as they are and
// returns the error of MarshalJSON bare.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if wrapped := (*json.MarshalerError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}
