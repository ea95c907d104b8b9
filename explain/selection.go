package explain

import (
	"maps"
	"math"
	"strings"

	"weedlc/engine"
)

// bounds are a rule's size limits, both exclusive.
func bounds(r *engine.Rule) (low, high int64) {
	low, high = -1, math.MaxInt64
	if r.SizeGreaterThan != nil {
		low = *r.SizeGreaterThan
	}
	if r.SizeLessThan != nil {
		high = *r.SizeLessThan
	}
	return low, high
}

// covers reports whether a selects everything that b selects.
func covers(a, b *engine.Rule) bool {
	if !strings.HasPrefix(b.Prefix, a.Prefix) {
		return false
	}
	for key, value := range a.Tags {
		if got, ok := b.Tags[key]; !ok || got != value {
			return false
		}
	}
	lowA, highA := bounds(a)
	lowB, highB := bounds(b)
	return lowA <= lowB && highA >= highB
}

// meet reports whether some object can be selected by both rules.
func meet(a, b *engine.Rule) bool {
	if !strings.HasPrefix(a.Prefix, b.Prefix) && !strings.HasPrefix(b.Prefix, a.Prefix) {
		return false
	}
	for key, value := range a.Tags {
		if other, ok := b.Tags[key]; ok && other != value {
			return false
		}
	}
	lowA, highA := bounds(a)
	lowB, highB := bounds(b)
	return max(lowA, lowB) < min(highA, highB)-1
}

// both is the filter of what two rules that meet select together.
func both(a, b *engine.Rule) *engine.Rule {
	common := &engine.Rule{Prefix: a.Prefix}
	if len(b.Prefix) > len(a.Prefix) {
		common.Prefix = b.Prefix
	}
	if len(a.Tags)+len(b.Tags) > 0 {
		common.Tags = maps.Clone(a.Tags)
		if common.Tags == nil {
			common.Tags = map[string]string{}
		}
		maps.Copy(common.Tags, b.Tags)
	}
	lowA, highA := bounds(a)
	lowB, highB := bounds(b)
	if low := max(lowA, lowB); low >= 0 {
		common.SizeGreaterThan = &low
	}
	if high := min(highA, highB); high < math.MaxInt64 {
		common.SizeLessThan = &high
	}
	return common
}
