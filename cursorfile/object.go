package cursorfile

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"weedlc/engine"
)

// object is one JSON object of a file. Its getters take a field's name, and
// fail the decoder when it is not there or not what they return.
type object struct {
	d    *decoder
	path string
	// names are those of fields, in the order of the text.
	names  []string
	fields map[string]json.RawMessage
	// keyed is set when the names are data, not the format's.
	keyed bool
}

// at is the path of a field, with the name quoted where it is data or holds what
// must be escaped.
func (o *object) at(name string) string {
	quoted := strconv.Quote(name)
	switch {
	case o.keyed:
		return o.path + "[" + quoted + "]"
	case quoted != `"`+name+`"`:
		name = quoted
	}
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o *object) has(name string) bool {
	_, ok := o.fields[name]
	return ok
}

// header reads the fields that say whether the rest can be understood.
func (o *object) header(shard int) {
	if v := o.int("version"); v != version {
		o.d.fail("version", strconv.FormatInt(v, 10), "is not %d", version)
	}
	if v := o.int("shard_id"); v != int64(shard) {
		o.d.fail("shard_id", strconv.FormatInt(v, 10), "is not %d", shard)
	}
}

// unknown returns the fields that are not among the known ones, compact; nil
// when there is none. A name that differs from a known one in case only is
// damage: the built-in worker reads it as the known field.
func (o *object) unknown(known ...string) map[string][]byte {
	if o.d.err != nil {
		return nil
	}
	var extra map[string][]byte
	for _, name := range o.names {
		spelling := ""
		for _, k := range known {
			if strings.EqualFold(name, k) {
				spelling = k
			}
		}
		if name == spelling {
			continue
		}
		value := o.fields[name]
		if spelling != "" {
			o.d.fail(o.at(name), text(value), "is not spelled %q", spelling)
		}
		if o.d.strict {
			o.d.fail(o.at(name), text(value), "is not a known field")
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			o.d.fail(o.at(name), text(value), "is malformed: %v", err)
		}
		if extra == nil {
			extra = map[string][]byte{}
		}
		extra[name] = compact.Bytes()
	}
	return extra
}

// get returns the text of a field, nil when it is missing or once there is a
// defect.
func (o *object) get(name string) []byte {
	if !o.has(name) {
		o.d.fail(o.at(name), "", "is missing")
	}
	if o.d.err != nil {
		return nil
	}
	return o.fields[name]
}

func (o *object) int(name string) int64  { return o.d.int(o.at(name), o.get(name)) }
func (o *object) time(name string) int64 { return o.d.time(o.at(name), o.get(name)) }

// past is a time that has come, clamped to now.
func (o *object) past(name string) int64 {
	path := o.at(name)
	return o.d.clamp(path, o.d.past(path, o.get(name)))
}

// count is a whole number from 0.
func (o *object) count(name string) int {
	v := o.int(name)
	if v < 0 || int64(int(v)) != v {
		o.d.fail(o.at(name), strconv.FormatInt(v, 10), "is not a count")
		return 0
	}
	return int(v)
}

func (o *object) string(name string) string {
	raw := o.get(name)
	if raw == nil {
		return ""
	}
	if t := typeOf(raw); t != "a string" {
		o.d.fail(o.at(name), text(raw), "is %s, not a string", t)
		return ""
	}
	return text(raw)
}

func (o *object) bool(name string) bool {
	raw := o.get(name)
	if raw == nil {
		return false
	}
	if t := typeOf(raw); t != "true or false" {
		o.d.fail(o.at(name), text(raw), "is %s, not true or false", t)
		return false
	}
	return raw[0] == 't'
}

// hash is the base64 of 32 bytes.
func (o *object) hash(name string) engine.Hash {
	value := o.string(name)
	if o.d.err != nil {
		return engine.Hash{}
	}
	sum, err := base64.StdEncoding.DecodeString(value)
	switch {
	case err != nil:
		o.d.fail(o.at(name), value, "is not base64")
	case len(sum) != len(engine.Hash{}):
		o.d.fail(o.at(name), value, "is %d bytes long, not %d", len(sum), len(engine.Hash{}))
	case base64.StdEncoding.EncodeToString(sum) != value:
		o.d.fail(o.at(name), value, "is not canonical base64")
	default:
		return engine.Hash(sum)
	}
	return engine.Hash{}
}

// object is a nested object; keyed says that its names are data.
func (o *object) object(name string, keyed bool) *object {
	return o.d.split(o.at(name), keyed, o.get(name))
}

// list calls fn for each item of a list with the item's path.
func (o *object) list(name string, fn func(path string, raw []byte)) {
	raw := o.get(name)
	if raw == nil {
		return
	}
	if t := typeOf(raw); t != "a list" {
		o.d.fail(o.at(name), text(raw), "is %s, not a list", t)
		return
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		o.d.fail(o.at(name), text(raw), "is malformed: %v", err)
	}
	for i, item := range items {
		fn(fmt.Sprintf("%s[%d]", o.at(name), i), item)
	}
}

// optional is what the getter returns, or zero for a field that is not there.
func optional[T any](o *object, name string, getter func(string) T) T {
	if !o.has(name) {
		var zero T
		return zero
	}
	return getter(name)
}
