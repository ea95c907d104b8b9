package explain

import (
	"fmt"
	"strings"
	"time"

	"weedlc/engine"
)

// ExpirationHeader is the value of the x-amz-expiration header that S3 would
// send for an object: the earliest expiry by Days or Date among the rules, at
// the next 00:00 UTC whatever the day clock, and the rule's percent-encoded ID.
// It is empty for what such a rule does not select, and for anything but a
// current object. SeaweedFS itself sends no such header.
func ExpirationHeader(rules []*engine.Rule, o *engine.Object) string {
	var current []*engine.Action
	for _, a := range serving(engine.Bucket{Name: o.Bucket}, rules, 0).active {
		if isCurrentExpiry(a.Kind) {
			current = append(current, a)
		}
	}
	return expirationHeader(current, o)
}

func expirationHeader(actions []*engine.Action, o *engine.Object) string {
	// Neither kind's due time depends on now.
	a, v, ok := engine.NextDue(actions, o, time.Time{}, engine.MidnightClock)
	if !ok {
		return ""
	}
	return fmt.Sprintf(`expiry-date="%s", rule-id="%s"`, v.Due.UTC().Format(headerTime), percentEncode(a.Rule.Label()))
}

// headerTime is RFC 1123 in GMT, as headers have it.
const headerTime = "Mon, 02 Jan 2006 15:04:05 GMT"

// percentEncode leaves letters and digits as they are, so that the result is
// safe inside the header's quotes.
func percentEncode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
