package explain

import "fmt"

// Lines is the explanation as plain text: each version with its verdict, who
// deals with it, and each rule with its checks.
func (e KeyExplanation) Lines() []string {
	lines := []string{fmt.Sprintf("key %s in bucket %s (%s), at %s", quote(e.Key), quote(e.Bucket), e.Versioning, stamp(e.Now))}
	if e.Unresolved != "" {
		lines = append(lines, "  Which version is current cannot be told, so nothing is deleted: "+e.Unresolved+".")
	}
	if len(e.Versions) == 0 {
		lines = append(lines, "  Nothing lies there.")
	}
	for _, v := range e.Versions {
		lines = append(lines, indent(v.lines(e))...)
	}
	if e.ExpirationHeader != "" {
		lines = append(lines, "  S3 would send: x-amz-expiration: "+e.ExpirationHeader)
	}
	return lines
}

func (v VersionExplanation) lines(e KeyExplanation) []string {
	wrote := "last modified"
	if v.UploadID != "" {
		wrote = "begun"
	}
	text := v.name(e.Unresolved == "") + ", "
	if !v.DeleteMarker && v.UploadID == "" {
		text += counted(v.Size, "byte") + ", "
	}
	if v.ModTime.IsZero() {
		text += "without attributes"
	} else {
		text += fmt.Sprintf("%s %s (%s)", wrote, stamp(v.ModTime), distance(v.ModTime, e.Now))
	}
	lines := []string{fmt.Sprintf("%s, shard %d", text, v.Shard)}
	add := func(text string) { lines = append(lines, "  "+text) }
	add(fmt.Sprintf("%s: %s", v.Verdict, v.Why))
	if v.Handling != nil {
		add("handled by: " + v.Handling.Words)
	}
	if v.Lock != "" {
		add("lock: " + v.Lock)
	}
	if v.ServerTTL != nil {
		add("server: " + v.ServerTTL.Words)
	}
	for _, r := range v.Rules {
		add(r.Words)
		for _, c := range r.Checks {
			mark := "no"
			if c.OK {
				mark = "ok"
			}
			add("  " + mark + " " + c.Words)
		}
		if r.ClockWords != "" {
			add("  -- " + r.ClockWords)
		}
	}
	return lines
}

// name says what sort of thing a version is. Which one is current is not always
// known.
func (v VersionExplanation) name(resolved bool) string {
	what := "object"
	if v.DeleteMarker {
		what = "delete marker"
	}
	switch {
	case v.UploadID != "":
		return "unfinished upload " + word(v.UploadID)
	case v.VersionID == "":
		return what
	case !resolved:
		return what + ", version " + word(v.VersionID)
	case v.Current:
		return "current " + what + ", version " + word(v.VersionID)
	case v.DeleteMarker:
		return "noncurrent delete marker, version " + word(v.VersionID)
	}
	return "noncurrent version " + word(v.VersionID)
}
