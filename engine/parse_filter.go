package engine

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	maxPrefixBytes   = 1024
	maxTagKeyRunes   = 128
	maxTagValueRunes = 256
)

// selection holds the elements of a filter that some actions exclude; nil
// where the filter has none.
type selection struct{ tag, size *element }

// conditionFields are what Filter and And have in common.
func conditionFields() []field {
	return []field{
		{name: "Prefix"}, {name: "Tag", repeats: true},
		{name: "ObjectSizeGreaterThan"}, {name: "ObjectSizeLessThan"},
	}
}

// selection reads what a rule applies to: the Filter or the rule's own Prefix.
func (r *ruleParser) selection(e *element, g group, complete bool) selection {
	filter, prefix := g.one("Filter"), g.one("Prefix")
	switch {
	case filter != nil && prefix != nil:
		r.defect(e, "", "one of them", "Filter and Prefix exclude each other")
	case filter == nil && prefix == nil && complete:
		if !r.doc.opt.AllowUnfiltered {
			r.defect(e, "", "a Filter, empty for the whole bucket", "neither Filter nor Prefix")
			break
		}
		r.warn(e, "", "neither Filter nor Prefix: applies to the whole bucket")
	}
	r.prefix(prefix)
	if filter == nil {
		return selection{}
	}
	return r.filter(filter)
}

func (r *ruleParser) filter(e *element) selection {
	g, _ := r.fields(e, append(conditionFields(), field{name: "And"})...)
	var names []string
	for _, child := range e.children {
		if len(g[child.name]) > 0 && child.isKnown() {
			names = append(names, child.name)
		}
	}
	// A second Prefix, size or And has been refused as such.
	if len(g) > 1 || len(g["Tag"]) > 1 {
		r.defect(e, "", "one condition, or several inside And",
			"%d conditions side by side: %s", len(names), cutList(names))
	}
	selected := r.conditions(g)
	if and := g.one("And"); and != nil {
		selected = r.and(and, selected)
	}
	return selected
}

func (r *ruleParser) and(e *element, selected selection) selection {
	g, ok := r.fields(e, conditionFields()...)
	count := 0
	for _, all := range g {
		count += len(all)
	}
	if ok && count < 2 {
		r.defect(e, "", "two conditions or more", "And with fewer than two conditions")
	}
	inner := r.conditions(g)
	if inner.tag == nil {
		inner.tag = selected.tag
	}
	if inner.size == nil {
		inner.size = selected.size
	}
	return inner
}

func (r *ruleParser) conditions(g group) selection {
	r.prefix(g.one("Prefix"))
	for _, tag := range g["Tag"] {
		r.tag(tag)
	}
	greater, less := g.one("ObjectSizeGreaterThan"), g.one("ObjectSizeLessThan")
	r.sizes(greater, less)
	selected := selection{tag: g.one("Tag"), size: greater}
	if selected.size == nil {
		selected.size = less
	}
	return selected
}

func (r *ruleParser) prefix(e *element) {
	if e == nil {
		return
	}
	text, ok := r.leaf(e)
	if !ok {
		return
	}
	if len(text) > maxPrefixBytes {
		r.defect(e, text, fmt.Sprintf("up to %d bytes", maxPrefixBytes), "prefix of %d bytes is too long", len(text))
		return
	}
	r.rule.Prefix = text
	const literal = "a prefix is taken literally"
	if strings.Contains(text, "*") {
		r.warn(e, text, "%s, it has no wildcards", literal)
	}
	if strings.HasPrefix(text, "/") {
		r.warn(e, text, "keys do not start with a slash, so this matches nothing")
	}
	if hasPercentCode(text) {
		r.warn(e, text, "%s, percent codes are not decoded", literal)
	}
	if strings.Trim(text, xmlBlanks) != text {
		r.warn(e, text, "%s, blanks at its ends too", literal)
	}
}

func hasPercentCode(s string) bool {
	isHex := func(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '%' && isHex(s[i+1]) && isHex(s[i+2]) {
			return true
		}
	}
	return false
}

// tag reads one Tag. A tag without Value asks for the empty value.
func (r *ruleParser) tag(e *element) {
	g, ok := r.fields(e, field{name: "Key"}, field{name: "Value"})
	keyElement, valueElement := g.one("Key"), g.one("Value")
	if keyElement == nil {
		if ok {
			r.defect(e, "", "Key and Value", "tag without a Key")
		}
		return
	}
	key, ok := r.leaf(keyElement)
	if !ok {
		return
	}
	value := ""
	if valueElement != nil {
		if value, ok = r.leaf(valueElement); !ok {
			return
		}
	}
	if key == "" {
		r.defect(keyElement, "", "", "empty tag key")
		return
	}
	if n := utf8.RuneCountInString(key); n > maxTagKeyRunes {
		r.defect(keyElement, key, fmt.Sprintf("up to %d characters", maxTagKeyRunes), "tag key of %d characters is too long", n)
	}
	if n := utf8.RuneCountInString(value); n > maxTagValueRunes {
		r.defect(valueElement, value, fmt.Sprintf("up to %d characters", maxTagValueRunes), "tag value of %d characters is too long", n)
	}
	if _, repeated := r.rule.Tags[key]; repeated {
		r.defect(keyElement, key, "each key once", "repeated tag key")
		return
	}
	if r.rule.Tags == nil {
		r.rule.Tags = map[string]string{}
	}
	r.rule.Tags[key] = value
}

// sizes reads the size bounds, which are strict: an object of exactly the
// bound is outside.
func (r *ruleParser) sizes(greater, less *element) {
	low, haveLow := r.number(greater, 0, math.MaxInt64)
	if haveLow {
		r.rule.SizeGreaterThan = &low
	}
	high, haveHigh := r.number(less, 1, math.MaxInt64)
	if haveHigh {
		r.rule.SizeLessThan = &high
	}
	if !haveLow || !haveHigh {
		return
	}
	switch {
	case low >= high:
		r.defect(greater, greater.text, fmt.Sprintf("less than ObjectSizeLessThan, %d", high), "empty size range")
	case low+1 == high:
		r.warn(greater, greater.text, "no effect: no size lies between the bounds")
	}
}

// cutList joins names for a message and leaves out most of a long list.
func cutList(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
