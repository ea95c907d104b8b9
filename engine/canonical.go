package engine

import (
	"bytes"
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CanonicalXML writes rules as an S3 lifecycle document, the same bytes for
// equal rules. ParseXML reads it back to equal rules, numbered from 1, with two
// exceptions: Unsupported elements are left out, as no Rule holds their
// content, and no rules at all make a document that is refused. A rule without
// actions is written with ExpiredObjectDeleteMarker false, which does nothing.
//
// The rules are those of ParseXML, or as valid; nothing is checked.
func CanonicalXML(rules []*Rule) []byte {
	w := &xmlWriter{}
	w.buf.WriteString(xml.Header)
	w.element("LifecycleConfiguration xmlns=\""+Namespace+"\"", func() {
		for _, r := range rules {
			w.element("Rule", func() { w.rule(r) })
		}
	})
	return w.buf.Bytes()
}

func (w *xmlWriter) rule(r *Rule) {
	if r.ID != "" {
		w.text("ID", r.ID)
	}
	w.element("Filter", func() { w.filter(r) })
	if r.Enabled {
		w.text("Status", "Enabled")
	} else {
		w.text("Status", "Disabled")
	}
	idle := len(r.Kinds()) == 0
	if r.ExpirationDays > 0 || !r.ExpirationDate.IsZero() || r.ExpiredMarker || idle {
		w.element("Expiration", func() {
			w.count("Days", r.ExpirationDays)
			if !r.ExpirationDate.IsZero() {
				w.text("Date", r.ExpirationDate.UTC().Format(time.RFC3339))
			}
			if r.ExpiredMarker || idle {
				w.text("ExpiredObjectDeleteMarker", strconv.FormatBool(r.ExpiredMarker))
			}
		})
	}
	if r.NoncurrentDays > 0 || r.NewerNoncurrent > 0 {
		w.element("NoncurrentVersionExpiration", func() {
			w.count("NoncurrentDays", r.NoncurrentDays)
			w.count("NewerNoncurrentVersions", r.NewerNoncurrent)
		})
	}
	if r.AbortDays > 0 {
		w.element("AbortIncompleteMultipartUpload", func() { w.count("DaysAfterInitiation", r.AbortDays) })
	}
}

func (w *xmlWriter) filter(r *Rule) {
	var conditions []func()
	if r.Prefix != "" {
		conditions = append(conditions, func() { w.text("Prefix", r.Prefix) })
	}
	for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
		conditions = append(conditions, func() {
			w.element("Tag", func() {
				w.text("Key", key)
				w.text("Value", r.Tags[key])
			})
		})
	}
	if bound := r.SizeGreaterThan; bound != nil {
		conditions = append(conditions, func() { w.text("ObjectSizeGreaterThan", strconv.FormatInt(*bound, 10)) })
	}
	if bound := r.SizeLessThan; bound != nil {
		conditions = append(conditions, func() { w.text("ObjectSizeLessThan", strconv.FormatInt(*bound, 10)) })
	}
	all := func() {
		for _, condition := range conditions {
			condition()
		}
	}
	switch len(conditions) {
	case 0:
		w.text("Prefix", "")
	case 1:
		all()
	default:
		w.element("And", all)
	}
}

// xmlWriter writes elements, one a line, indented by their depth.
type xmlWriter struct {
	buf   bytes.Buffer
	depth int
}

// element writes an element around what inside writes. The tag may carry
// attributes.
func (w *xmlWriter) element(tag string, inside func()) {
	name, _, _ := strings.Cut(tag, " ")
	w.indent()
	w.buf.WriteString("<" + tag + ">\n")
	w.depth++
	inside()
	w.depth--
	w.indent()
	w.buf.WriteString("</" + name + ">\n")
}

func (w *xmlWriter) text(name, value string) {
	w.indent()
	w.buf.WriteString("<" + name + ">")
	xml.Escape(&w.buf, []byte(value))
	w.buf.WriteString("</" + name + ">\n")
}

// count writes a number; 0 is none.
func (w *xmlWriter) count(name string, n int) {
	if n > 0 {
		w.text(name, strconv.Itoa(n))
	}
}

func (w *xmlWriter) indent() {
	for range w.depth {
		w.buf.WriteString("  ")
	}
}
