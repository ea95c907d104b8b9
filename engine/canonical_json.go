package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// CanonicalJSON writes rules as CanonicalXML does, in the form that ParseJSON
// and the AWS CLI read, the same bytes for equal rules.
func CanonicalJSON(rules []*Rule) []byte {
	doc := jsonDocument{Rules: []jsonRule{}}
	for _, r := range rules {
		doc.Rules = append(doc.Rules, newJSONRule(r))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		panic(fmt.Sprintf("rules as JSON: %v", err)) // strings and numbers only
	}
	return b.Bytes()
}

type jsonDocument struct{ Rules []jsonRule }

type jsonRule struct {
	ID                             string `json:",omitempty"`
	Filter                         jsonFilter
	Status                         string
	Expiration                     *jsonExpiration `json:",omitempty"`
	NoncurrentVersionExpiration    *jsonNoncurrent `json:",omitempty"`
	AbortIncompleteMultipartUpload *jsonAbort      `json:",omitempty"`
}

type jsonFilter struct {
	Prefix                *string  `json:",omitempty"`
	Tag                   *jsonTag `json:",omitempty"`
	ObjectSizeGreaterThan *int64   `json:",omitempty"`
	ObjectSizeLessThan    *int64   `json:",omitempty"`
	And                   *jsonAnd `json:",omitempty"`
}

type jsonAnd struct {
	Prefix                string    `json:",omitempty"`
	Tags                  []jsonTag `json:",omitempty"`
	ObjectSizeGreaterThan *int64    `json:",omitempty"`
	ObjectSizeLessThan    *int64    `json:",omitempty"`
}

type jsonTag struct{ Key, Value string }

type jsonExpiration struct {
	Days                      int    `json:",omitempty"`
	Date                      string `json:",omitempty"`
	ExpiredObjectDeleteMarker *bool  `json:",omitempty"`
}

type jsonNoncurrent struct {
	NoncurrentDays          int `json:",omitempty"`
	NewerNoncurrentVersions int `json:",omitempty"`
}

type jsonAbort struct{ DaysAfterInitiation int }

func newJSONRule(r *Rule) jsonRule {
	out := jsonRule{ID: r.ID, Filter: newJSONFilter(r), Status: "Disabled"}
	if r.Enabled {
		out.Status = "Enabled"
	}
	idle := len(r.Kinds()) == 0
	if r.ExpirationDays > 0 || !r.ExpirationDate.IsZero() || r.ExpiredMarker || idle {
		out.Expiration = &jsonExpiration{Days: r.ExpirationDays}
		if !r.ExpirationDate.IsZero() {
			out.Expiration.Date = r.ExpirationDate.UTC().Format(time.RFC3339)
		}
		if r.ExpiredMarker || idle {
			out.Expiration.ExpiredObjectDeleteMarker = &r.ExpiredMarker
		}
	}
	if r.NoncurrentDays > 0 || r.NewerNoncurrent > 0 {
		out.NoncurrentVersionExpiration = &jsonNoncurrent{r.NoncurrentDays, r.NewerNoncurrent}
	}
	if r.AbortDays > 0 {
		out.AbortIncompleteMultipartUpload = &jsonAbort{r.AbortDays}
	}
	return out
}

func newJSONFilter(r *Rule) jsonFilter {
	all := jsonAnd{Prefix: r.Prefix, ObjectSizeGreaterThan: r.SizeGreaterThan, ObjectSizeLessThan: r.SizeLessThan}
	for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
		all.Tags = append(all.Tags, jsonTag{key, r.Tags[key]})
	}
	conditions := len(all.Tags)
	for _, has := range []bool{r.Prefix != "", r.SizeGreaterThan != nil, r.SizeLessThan != nil} {
		if has {
			conditions++
		}
	}
	switch {
	case conditions > 1:
		return jsonFilter{And: &all}
	case len(all.Tags) == 1:
		return jsonFilter{Tag: &all.Tags[0]}
	case r.SizeGreaterThan != nil || r.SizeLessThan != nil:
		return jsonFilter{ObjectSizeGreaterThan: r.SizeGreaterThan, ObjectSizeLessThan: r.SizeLessThan}
	}
	return jsonFilter{Prefix: &r.Prefix}
}
