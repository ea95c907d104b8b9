package engine

// Page asks for a part of a folder.
type Page struct {
	Bucket string
	// Folder is inside the bucket, without a trailing slash; empty is the
	// bucket itself.
	Folder string
	// Prefix restricts the names; After is the last name of the page before.
	Prefix, After string
	// Limit is from 1.
	Limit int
}

// LogRange is a half-open stretch of event time: after AfterNs, through
// UntilNs.
type LogRange struct {
	AfterNs, UntilNs int64
	// Paths restricts the events to these prefixes of "bucket/key"; empty is
	// every bucket.
	Paths []string
}

// DeleteRequest is one verdict to carry out.
type DeleteRequest struct {
	Bucket    string
	Path      string
	VersionID string
	RuleHash  RuleHash
	Kind      Kind
	Identity  Identity
}

// DeleteResponse is the gateway's answer.
type DeleteResponse struct {
	Outcome Outcome
	Reason  string
}

// Outcome is the end of one delete, in the words of the wire, in lower case.
type Outcome string

// The gateway's outcomes, and TransportError for a call that has none.
const (
	Done              Outcome = "done"
	NoopResolved      Outcome = "noop_resolved"
	SkippedObjectLock Outcome = "skipped_object_lock"
	RetryLater        Outcome = "retry_later"
	Blocked           Outcome = "blocked"
	TransportError    Outcome = "transport_error"
)

// Settled reports whether a position may move past the object.
func (o Outcome) Settled() bool {
	return o == Done || o == NoopResolved || o == SkippedObjectLock
}
