package engine

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// element is one element with everything below it, as XML has it. JSON is
// turned into the same.
type element struct {
	name, space string
	attributes  []xml.Attr
	// text is the character data directly inside, comments taken out.
	text     string
	children []*element
	line     int
	// path is known once the parent has been read with fields.
	path string

	// fault is what made the element unreadable in JSON; nil is nothing.
	fault *jsonFault
	// keys are what JSON may have inside; nil is what fields knows.
	keys []string
}

// isKnown reports whether an element can be one that its name says it is.
func (e *element) isKnown() bool { return e.fault == nil && knownSpace(e.space) }

// element reads the rest of the element that start opens. With keep unset it
// only reads over it. It is false when the document ends the reading.
func (p *documentParser) element(d *xml.Decoder, start xml.StartElement, keep bool) (*element, bool) {
	type open struct {
		*element
		text []byte
	}
	begin := func(s xml.StartElement) open {
		line, _ := d.InputPos()
		return open{element: &element{name: s.Name.Local, space: s.Name.Space, attributes: s.Attr, line: line}}
	}
	stack := []open{begin(start)}
	for {
		token, err := d.Token()
		if err != nil {
			p.malformed(d, err)
			return nil, false
		}
		top := &stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			child := begin(token)
			if keep {
				top.children = append(top.children, child.element)
			}
			stack = append(stack, child)
		case xml.EndElement:
			top.element.text = string(top.text)
			if len(stack) == 1 {
				return top.element, true
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if keep {
				top.text = append(top.text, token...)
			}
		default:
			p.outside(d, token)
		}
	}
}

// field is an element that may stand inside another.
type field struct {
	name string
	// repeats is set when it may stand there more than once.
	repeats bool
}

// group holds the known children of an element by their name.
type group map[string][]*element

// one is the first child of a name, nil when there is none.
func (g group) one(name string) *element {
	if all := g[name]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// fields sorts the children of an element that holds elements only. It is
// false when there was a surprise, so that what seems missing may be what was
// misspelt.
func (r *ruleParser) fields(e *element, known ...field) (group, bool) {
	if e.fault != nil {
		r.defect(e, e.fault.value, "", "%s", e.fault.message)
		return nil, false
	}
	ok := r.plain(e)
	if text := strings.Trim(e.text, xmlBlanks); text != "" {
		r.defect(e, text, "", "text where only elements belong")
		ok = false
	}
	names := make([]string, len(known))
	repeats := map[string]bool{}
	for i, f := range known {
		names[i] = f.name
		repeats[f.name] = f.repeats
	}
	allowed := names
	if e.keys != nil {
		allowed = e.keys
	}
	g := group{}
	unknown := map[string]bool{}
	for _, child := range e.children {
		if _, named := repeats[child.name]; named && child.isKnown() {
			g[child.name] = append(g[child.name], child)
			continue
		}
		ok = false
		child.path = e.path + "/" + child.name
		if id := child.space + " " + child.name; !unknown[id] {
			unknown[id] = true
			r.surprise(child, allowed)
		}
	}
	for _, name := range names {
		for i, child := range g[name] {
			child.path = e.path + "/" + name
			if len(g[name]) > 1 {
				child.path += fmt.Sprintf("[%d]", i+1)
			}
			if i == 1 && !repeats[name] {
				r.defect(child, "", "", "second %s", name)
				ok = false
			}
		}
	}
	return g, ok
}

// surprise refuses an element that is not one of those allowed in its place, or
// not of the type that it must have there.
func (r *ruleParser) surprise(e *element, allowed []string) {
	if e.fault != nil && !e.fault.unknown {
		r.defect(e, e.fault.value, "", "%s", e.fault.message)
		return
	}
	r.defect(e, "", strings.Join(allowed, ", "), "%s", unknownMessage(e, allowed))
}

// leaf is the text of an element that holds text only.
func (r *ruleParser) leaf(e *element) (string, bool) {
	ok := r.plain(e)
	if len(e.children) > 0 {
		child := e.children[0]
		child.path = e.path + "/" + child.name
		r.defect(child, "", "", "element where only text belongs")
		ok = false
	}
	return e.text, ok
}

// plain refuses attributes; no element of a rule has any.
func (r *ruleParser) plain(e *element) bool {
	odd := oddAttributes(e.attributes)
	for _, a := range odd {
		r.defect(&element{path: e.path + "/@" + a.name, line: e.line}, a.value, "", "%s", a.message)
	}
	return len(odd) == 0
}

type oddAttribute struct{ name, value, message string }

// oddAttributes are those that declare no namespace, or declare one twice.
func oddAttributes(attributes []xml.Attr) []oddAttribute {
	var odd []oddAttribute
	seen := map[xml.Name]bool{}
	for _, a := range attributes {
		name := a.Name.Local
		if a.Name.Space != "" {
			name = a.Name.Space + ":" + name
		}
		switch {
		case seen[a.Name]:
			odd = append(odd, oddAttribute{name, a.Value, "second attribute of this name"})
		case name != "xmlns" && a.Name.Space != "xmlns":
			odd = append(odd, oddAttribute{name, a.Value, "unexpected attribute"})
		}
		seen[a.Name] = true
	}
	return odd
}

// unknownMessage says why an element is not one of those known in its place.
func unknownMessage(e *element, known []string) string {
	for _, name := range known {
		switch {
		case e.name == name:
			return fmt.Sprintf("element in the foreign namespace %s", quoteCut(e.space))
		case strings.EqualFold(e.name, name):
			return fmt.Sprintf("unknown element, spelt %s", name)
		}
	}
	return "unknown element"
}
