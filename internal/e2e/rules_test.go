package e2e_test

import (
	"fmt"
	"strings"
	"time"
)

// document is a lifecycle document of some rules.
func document(rules ...string) string {
	return "<LifecycleConfiguration>" + strings.Join(rules, "") + "</LifecycleConfiguration>"
}

// rule is one enabled rule of an id, a filter and actions.
func rule(id, filter, actions string) string {
	return "<Rule><ID>" + id + "</ID><Status>Enabled</Status><Filter>" + filter + "</Filter>" + actions + "</Rule>"
}

func prefix(p string) string { return "<Prefix>" + p + "</Prefix>" }

func tag(key, value string) string {
	return "<Tag><Key>" + key + "</Key><Value>" + value + "</Value></Tag>"
}

func both(conditions ...string) string { return "<And>" + strings.Join(conditions, "") + "</And>" }

func expire(days int) string { return fmt.Sprintf("<Expiration><Days>%d</Days></Expiration>", days) }

func expireOn(date time.Time) string {
	return "<Expiration><Date>" + date.UTC().Format(time.RFC3339) + "</Date></Expiration>"
}

const expireMarker = "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"

// noncurrent expires noncurrent versions after days, beyond the newest keep; 0
// leaves either out.
func noncurrent(days, keep int) string {
	s := ""
	if days > 0 {
		s += fmt.Sprintf("<NoncurrentDays>%d</NoncurrentDays>", days)
	}
	if keep > 0 {
		s += fmt.Sprintf("<NewerNoncurrentVersions>%d</NewerNoncurrentVersions>", keep)
	}
	return "<NoncurrentVersionExpiration>" + s + "</NoncurrentVersionExpiration>"
}

func abort(days int) string {
	return fmt.Sprintf("<AbortIncompleteMultipartUpload><DaysAfterInitiation>%d</DaysAfterInitiation></AbortIncompleteMultipartUpload>", days)
}
