package engine

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Namespace is the XML namespace of S3 documents.
const Namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

const (
	maxDocumentBytes = 1 << 20
	maxRules         = 1000
	// maxRuleFindings bounds what a hostile document makes a caller hold and
	// print. Findings of the document are always kept.
	maxRuleFindings = 10_000

	rootName      = "LifecycleConfiguration"
	xmlBlanks     = " \t\r\n"
	byteOrderMark = "\uFEFF"
)

// ParseOptions says what the parser may assume.
type ParseOptions struct {
	// AllowUnfiltered accepts a rule with neither Filter nor Prefix, for the
	// whole bucket. Such a rule is refused otherwise.
	AllowUnfiltered bool
	// Versioning is the bucket's state when KnownVersioning is set; rules that
	// it leaves without effect get a warning.
	Versioning      Versioning
	KnownVersioning bool
}

// ParseXML reads the lifecycle document of a bucket, which may be empty for a
// document that belongs to none. It returns the accepted rules in the order of
// the document, Disabled ones too, and everything that it found.
//
// It is strict: an element, attribute or text that it does not know is a
// defect, because dropping a condition would widen a rule. A defect refuses its
// rule, never a part of it. A defect of the document, which a document without
// rules has too, leaves no rules; it is not to be read as "no rules".
func ParseXML(bucket string, doc []byte, opt ParseOptions) ([]*Rule, []Finding) {
	p := newDocumentParser(bucket, opt)
	if doc, ok := p.content(doc); ok {
		p.xml(doc)
	}
	return p.result()
}

// ParseBucket reads the rules that are installed in a bucket, as ParseXML does.
// A bucket without a document is one whose document is empty.
func ParseBucket(b Bucket, allowUnfiltered bool) ([]*Rule, []Finding) {
	return ParseXML(b.Name, b.Rules, ParseOptions{
		AllowUnfiltered: allowUnfiltered, Versioning: b.Versioning, KnownVersioning: true,
	})
}

// ParseRules reads a lifecycle document in either form: XML as ParseXML does,
// JSON as ParseJSON does.
func ParseRules(bucket string, doc []byte, opt ParseOptions) ([]*Rule, []Finding) {
	head := bytes.TrimLeft(bytes.TrimPrefix(doc, []byte(byteOrderMark)), xmlBlanks)
	switch {
	case len(head) == 0 || head[0] == '<':
		return ParseXML(bucket, doc, opt)
	case head[0] == '{' || head[0] == '[':
		return ParseJSON(bucket, doc, opt)
	}
	p := newDocumentParser(bucket, opt)
	p.refuse(Finding{Message: "neither XML nor JSON", Allowed: "an S3 lifecycle document or the AWS CLI's JSON, in UTF-8"})
	return p.result()
}

// documentParser reads one document, a rule at a time.
type documentParser struct {
	bucket string
	opt    ParseOptions

	rules    []*Rule
	findings []Finding
	dropped  int
	// broken is set by a defect of the document.
	broken bool
	// firstOf maps an ID to the first rule that has it; refused holds the
	// numbers of refused rules.
	firstOf map[string]int
	refused map[int]bool
}

func newDocumentParser(bucket string, opt ParseOptions) *documentParser {
	return &documentParser{bucket: bucket, opt: opt, firstOf: map[string]int{}, refused: map[int]bool{}}
}

// result is what was accepted and what was found.
func (p *documentParser) result() ([]*Rule, []Finding) {
	if p.dropped > 0 {
		p.findings = append(p.findings, Finding{
			Bucket: p.bucket, Warning: true, Message: fmt.Sprintf("%d more findings not listed", p.dropped),
		})
	}
	if p.broken {
		return nil, p.findings
	}
	return slices.DeleteFunc(p.rules, func(r *Rule) bool { return p.refused[r.Number] }), p.findings
}

// refuse records a defect of the document.
func (p *documentParser) refuse(f Finding) {
	p.broken = true
	f.Bucket = p.bucket
	p.findings = append(p.findings, f)
}

// report records a finding of a rule.
func (p *documentParser) report(f Finding) {
	f.Bucket = p.bucket
	if !f.Warning {
		p.refused[f.Rule] = true
	}
	if f.Other > 0 {
		p.refused[f.Other] = true
	}
	if len(p.findings) >= maxRuleFindings {
		p.dropped++
		return
	}
	p.findings = append(p.findings, f)
}

// content is a document without its byte order mark; false when it is too large
// or empty.
func (p *documentParser) content(doc []byte) ([]byte, bool) {
	if len(doc) > maxDocumentBytes {
		p.refuse(Finding{
			Message: fmt.Sprintf("document of %d bytes is too large", len(doc)),
			Allowed: fmt.Sprintf("up to %d bytes", maxDocumentBytes),
		})
		return nil, false
	}
	doc = bytes.TrimPrefix(doc, []byte(byteOrderMark))
	if len(bytes.Trim(doc, xmlBlanks)) == 0 {
		p.refuse(Finding{Message: "document is empty"})
		return nil, false
	}
	return doc, true
}

func (p *documentParser) xml(doc []byte) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	d.CharsetReader = func(label string, _ io.Reader) (io.Reader, error) {
		return nil, encodingError(label)
	}
	if root, ok := p.prolog(d); ok && p.root(d, root) && p.body(d) {
		p.epilog(d)
	}
}

// prolog reads up to the root element.
func (p *documentParser) prolog(d *xml.Decoder) (xml.StartElement, bool) {
	for first := true; ; first = false {
		token, err := d.Token()
		if err == io.EOF {
			p.refuse(Finding{Message: "no root element", Allowed: rootName})
			return xml.StartElement{}, false
		}
		if err != nil {
			p.malformed(d, err)
			return xml.StartElement{}, false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start, true
		}
		if decl, ok := token.(xml.ProcInst); ok && first && decl.Target == "xml" {
			continue
		}
		p.outside(d, token)
	}
}

// root checks the root element. A document of another kind is not looked into.
func (p *documentParser) root(d *xml.Decoder, start xml.StartElement) bool {
	line, _ := d.InputPos()
	at := Finding{Path: start.Name.Local, Line: line}
	if start.Name.Local != rootName {
		at.Message, at.Allowed = "not a lifecycle document", rootName
		p.refuse(at)
		return false
	}
	if !knownSpace(start.Name.Space) {
		at.Value, at.Message, at.Allowed = start.Name.Space, "foreign namespace", Namespace+" or none"
		p.refuse(at)
		return false
	}
	for _, odd := range oddAttributes(start.Attr) {
		p.refuse(Finding{Path: rootName + "/@" + odd.name, Line: line, Value: odd.value, Message: odd.message})
	}
	return true
}

// body reads the root's children up to its end.
func (p *documentParser) body(d *xml.Decoder) bool {
	count := 0
	for {
		token, err := d.Token()
		if err != nil {
			p.malformed(d, err)
			return false
		}
		switch token := token.(type) {
		case xml.StartElement:
			isRule := token.Name.Local == "Rule" && knownSpace(token.Name.Space)
			if isRule {
				count++
			}
			e, ok := p.element(d, token, isRule && count <= maxRules)
			if !ok {
				return false
			}
			switch {
			case !isRule:
				p.refuse(Finding{
					Path: rootName + "/" + e.name, Line: e.line,
					Message: unknownMessage(e, []string{"Rule"}), Allowed: "Rule",
				})
			case count <= maxRules:
				p.rule(e, count)
			}
		case xml.EndElement:
			p.count(count)
			return true
		default:
			p.outside(d, token)
		}
	}
}

func (p *documentParser) count(rules int) {
	switch {
	case rules > maxRules:
		p.refuse(Finding{
			Path: rootName, Message: fmt.Sprintf("%d rules are too many", rules),
			Allowed: fmt.Sprintf("up to %d", maxRules),
		})
	case rules == 0 && !p.broken:
		p.refuse(Finding{Path: rootName, Message: "no rules", Allowed: fmt.Sprintf("1 to %d", maxRules)})
	}
}

// epilog reads what follows the root element.
func (p *documentParser) epilog(d *xml.Decoder) {
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			p.malformed(d, err)
			return
		}
		if start, ok := token.(xml.StartElement); ok {
			line, _ := d.InputPos()
			p.refuse(Finding{Path: start.Name.Local, Line: line, Message: "second root element"})
			return
		}
		p.outside(d, token)
	}
}

// outside refuses a token that belongs to no rule, unless it means nothing.
func (p *documentParser) outside(d *xml.Decoder, token xml.Token) {
	line, _ := d.InputPos()
	switch token := token.(type) {
	case xml.CharData:
		if text := strings.Trim(string(token), xmlBlanks); text != "" {
			p.refuse(Finding{Line: line, Value: text, Message: "text outside of a rule"})
		}
	case xml.ProcInst:
		p.refuse(Finding{Line: line, Value: token.Target, Message: "processing instruction"})
	case xml.Directive:
		p.refuse(Finding{Line: line, Value: string(token), Message: "document type declaration"})
	}
}

// malformed refuses a document that is not well-formed XML.
func (p *documentParser) malformed(d *xml.Decoder, err error) {
	line, _ := d.InputPos()
	f := Finding{Line: line}
	var syntax *xml.SyntaxError
	var encoding encodingError
	switch {
	case errors.As(err, &encoding):
		f.Value, f.Message, f.Allowed = string(encoding), "unsupported encoding", "UTF-8"
	case errors.As(err, &syntax):
		f.Message = "malformed XML: " + printable(syntax.Msg)
	default:
		f.Message = "malformed XML: " + printable(strings.TrimPrefix(err.Error(), "xml: "))
	}
	p.refuse(f)
}

// printable replaces what must not reach a terminal in a message that repeats
// bytes of the document unquoted.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// encodingError is the name of an encoding that the parser does not read.
type encodingError string

func (e encodingError) Error() string { return fmt.Sprintf("unsupported encoding %q", string(e)) }

func knownSpace(space string) bool { return space == "" || space == Namespace }
