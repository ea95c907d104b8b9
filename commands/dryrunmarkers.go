package commands

import (
	"fmt"
	"slices"
	"strings"

	"weedlc/engine"
)

// markerRules are the rules that take delete markers which nothing is left
// below, of the suspended buckets, by bucket. There the gateway removes the null
// version that expires and puts a delete marker in its place, with an ID that
// nobody can foresee; where it is all that is left, such a rule takes it too.
type markerRules map[string][]*engine.Rule

// set replaces what is known of a bucket.
func (m markerRules) set(b engine.Bucket, rules []*engine.Rule) {
	if b.Versioning == engine.Suspended {
		m[b.Name] = slices.DeleteFunc(slices.Clone(rules), func(r *engine.Rule) bool { return !r.Enabled || !r.ExpiredMarker })
	}
}

// maySend reports whether the delete marker that an action puts in the place of
// an object may be taken by a rule.
func (m markerRules) maySend(a *engine.Action, o *engine.Object) bool {
	return (a.Kind == engine.ExpirationDays || a.Kind == engine.ExpirationDate) &&
		slices.ContainsFunc(m[o.Bucket], func(r *engine.Rule) bool { return strings.HasPrefix(o.Key, r.Prefix) })
}

// newMarkersText says what the objects that are listed do not show.
func newMarkersText(n int64) string {
	return fmt.Sprintf("Not listed: up to %s that run puts in suspended buckets itself and takes where nothing is left below, at once or in the next pass.",
		thousands(n, "delete marker"))
}
