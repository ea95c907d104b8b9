package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON reads the rules of a bucket in the form that the AWS CLI takes and
// prints (aws s3api put-bucket-lifecycle-configuration and its get). Everything
// else is as in ParseXML: the same strictness, the same findings, and paths that
// name the elements as XML does. A string stands where XML has text, a number
// for a number, true or false for a truth value; a null stands for nothing and
// is refused.
func ParseJSON(bucket string, doc []byte, opt ParseOptions) ([]*Rule, []Finding) {
	p := newDocumentParser(bucket, opt)
	if doc, ok := p.content(doc); ok {
		p.json(doc)
	}
	return p.result()
}

func (p *documentParser) json(doc []byte) {
	if !utf8.Valid(doc) {
		p.refuse(Finding{Line: lineAt(doc, invalidUTF8(doc)), Message: "malformed JSON: invalid UTF-8"})
		return
	}
	if err := json.Unmarshal(doc, new(json.RawMessage)); err != nil {
		f := Finding{Message: "malformed JSON: " + printable(err.Error())}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			f.Line = lineAt(doc, int(syntax.Offset)-1)
		}
		p.refuse(f)
		return
	}
	p.configuration(newJSONReader(doc).read())
}

// configuration reads the root object, in which the rules are a list.
func (p *documentParser) configuration(root *element) {
	if f := root.fault; f != nil {
		p.refuse(Finding{Path: rootName, Line: root.line, Value: f.value, Message: f.message})
		return
	}
	count, others := 0, map[string]bool{}
	for _, e := range root.children {
		at := Finding{Path: rootName + "/" + e.name, Line: e.line}
		switch {
		case e.fault != nil && e.fault.unknown:
			at.Message, at.Allowed = unknownMessage(e, root.keys), "Rules"
			p.refuse(at)
		case e.name == "Rule":
			count++
			if count <= maxRules {
				p.rule(e, count)
			}
		case e.fault != nil:
			at.Value, at.Message = e.fault.value, e.fault.message
			p.refuse(at)
		case others[e.name]:
			at.Message = "second " + e.name
			p.refuse(at)
		default:
			others[e.name] = true
			at.Bucket, at.Value, at.Warning = p.bucket, e.text, true
			at.Message = "no effect: SeaweedFS does not carry out transitions"
			p.findings = append(p.findings, at)
		}
	}
	p.count(count)
}

// jsonFault is why a value of JSON is no element.
type jsonFault struct {
	message, value string
	// unknown is set for a key that is not one of those allowed in its place.
	unknown bool
}

// jsonReader turns JSON that is known to be well-formed into elements.
type jsonReader struct {
	doc []byte
	dec *json.Decoder
	// line is that of the offset at.
	line, at int
}

func newJSONReader(doc []byte) *jsonReader {
	j := &jsonReader{doc: doc, dec: json.NewDecoder(bytes.NewReader(doc)), line: 1}
	j.dec.UseNumber()
	return j
}

func (j *jsonReader) read() *element {
	root := &element{name: rootName}
	j.value(root, jsonShape())
	return root
}

// token is the next one and its text. There always is one.
func (j *jsonReader) token() (json.Token, []byte) {
	from := int(j.dec.InputOffset())
	token, err := j.dec.Token()
	if err != nil {
		panic(fmt.Sprintf("well-formed JSON ends at offset %d: %v", from, err))
	}
	to := int(j.dec.InputOffset())
	j.line += bytes.Count(j.doc[j.at:to], []byte("\n"))
	j.at = to
	return token, j.doc[from:to]
}

// skip reads over what is left of a value whose first token was given.
func (j *jsonReader) skip(first json.Token) {
	for depth := depthOf(first); depth > 0; {
		token, _ := j.token()
		depth += depthOf(token)
	}
}

func depthOf(token json.Token) int {
	switch token {
	case json.Delim('{'), json.Delim('['):
		return 1
	case json.Delim('}'), json.Delim(']'):
		return -1
	}
	return 0
}

// value reads the value of an element. The line stays that of the key, if there
// is one.
func (j *jsonReader) value(e *element, want shape) {
	token, raw := j.token()
	if e.line == 0 {
		e.line = j.line
	}
	if got := formOf(token); got != want.form {
		e.fault = &jsonFault{message: fmt.Sprintf("%s where %s belongs", got, want.form)}
		if got == jsonText || got == jsonNumber || got == jsonTruth {
			e.fault.value = fmt.Sprint(token)
		}
		j.skip(token)
		return
	}
	switch token := token.(type) {
	case string:
		e.text = token
		if why := unfit(token, raw); why != "" {
			e.fault = &jsonFault{message: why, value: token}
		}
	case json.Number:
		e.text = token.String()
	case bool:
		e.text = strconv.FormatBool(token)
	default:
		j.object(e, want)
	}
}

// object reads the keys of an object up to its end.
func (j *jsonReader) object(e *element, want shape) {
	e.keys = []string{}
	for _, inner := range want.inner {
		e.keys = append(e.keys, inner.key)
	}
	lists := map[string]bool{}
	for {
		token, _ := j.token()
		key, ok := token.(string)
		if !ok {
			return
		}
		inner, known := want.of(key)
		child := &element{name: elementName(key), line: j.line}
		switch {
		case !known:
			child.fault = &jsonFault{unknown: true}
			first, _ := j.token()
			j.skip(first)
		case inner.form == jsonList:
			first, _ := j.token()
			got := formOf(first)
			if got == jsonList && !lists[key] {
				lists[key] = true
				j.items(e, inner)
				continue
			}
			child.fault = &jsonFault{message: "second " + key}
			if got != jsonList {
				child.fault.message = fmt.Sprintf("%s where %s belongs", got, jsonList)
			}
			j.skip(first)
		default:
			j.value(child, inner)
		}
		e.children = append(e.children, child)
	}
}

// items reads a list up to its end. Each item is an element of its own.
func (j *jsonReader) items(e *element, list shape) {
	item := shape{form: jsonObject, inner: list.inner}
	for j.dec.More() {
		child := &element{name: list.name}
		j.value(child, item)
		e.children = append(e.children, child)
	}
	j.token()
}

// elementName is a key as a path shows it.
func elementName(key string) string {
	odd := func(r rune) bool { return !strings.ContainsRune(nameRunes, r) }
	if key == "" || len(key) > quotedRunes || strings.ContainsFunc(key, odd) {
		return quoteCut(key)
	}
	return key
}

const nameRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:"

// unfit says why a string cannot be the text of an element, whose raw form is
// given; empty when it can.
func unfit(s string, raw []byte) string {
	if hasLoneSurrogate(raw) {
		return "half of a surrogate pair"
	}
	for _, r := range s {
		if r < ' ' && !strings.ContainsRune(xmlBlanks, r) || r == 0xFFFE || r == 0xFFFF {
			return fmt.Sprintf("character U+%04X, which S3's XML cannot hold", r)
		}
	}
	return ""
}

// hasLoneSurrogate reports a \uXXXX of a string that is half of a pair. The
// decoder reads it as another character.
func hasLoneSurrogate(raw []byte) bool {
	high := false
	for i := 0; i < len(raw); i++ {
		unit := rune(-1)
		if raw[i] == '\\' {
			i++
			if raw[i] == 'u' {
				n, _ := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
				unit = rune(n)
				i += 4
			}
		}
		isHigh := utf16.IsSurrogate(unit) && unit < 0xDC00
		isLow := utf16.IsSurrogate(unit) && !isHigh
		if high != isLow {
			return true
		}
		high = isHigh
	}
	return high
}

// lineAt is the line of an offset, from 1.
func lineAt(doc []byte, offset int) int {
	return 1 + bytes.Count(doc[:min(max(offset, 0), len(doc))], []byte("\n"))
}

// invalidUTF8 is the offset of the first byte that is none; the length when
// there is no such byte.
func invalidUTF8(doc []byte) int {
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(doc)
}
