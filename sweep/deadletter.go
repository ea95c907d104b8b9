package sweep

import "time"

// DeadLetter is a job that waits for a person. No worker touches it.
type DeadLetter struct {
	// JobID is the job's id and the letter's.
	JobID int64
	Key
	Policy   string
	Category Category
	Blocker  Blocker
	// FirstSeen is the admission, LastSeen the last execution or, without one,
	// the time of burial.
	FirstSeen, LastSeen time.Time
	BuriedAt            time.Time
	Attempts            int
	RedriveOf           int64 // 0 is none
	// State is JobDead while the letter is open, then JobRedriven, JobDiscarded or
	// JobSuperseded.
	State JobState
	// ClosedAt is zero while open. ClosedBy is the new job of a redrive, or the
	// later job that superseded it; 0 is none.
	ClosedAt time.Time
	ClosedBy int64
}

// LetterFilter selects dead letters; the zero value selects the open ones.
type LetterFilter struct {
	// Closed adds the closed ones.
	Closed bool
	Sweep  string // "" is every sweep
	Shard  *int   // nil is every shard
}

// Act is a person's decision on a dead letter.
type Act struct {
	Reason string
	// User and Host are of the operating system.
	User, Host string
	At         time.Time
}

// EventKind is what history tells.
type EventKind string

const (
	EventBuried     EventKind = "buried"
	EventRedriven   EventKind = "redriven"
	EventDiscarded  EventKind = "discarded"
	EventSuperseded EventKind = "superseded"
)

// Event is one line of history. User is empty when no person did it; Host is
// then the worker's name, or empty for a job that no worker held.
type Event struct {
	At    time.Time
	Kind  EventKind
	JobID int64
	Key
	// Other is the new job of a redrive, or the one that superseded; 0 is none.
	Other      int64
	Category   Category
	Reason     string
	User, Host string
}

// HistoryFilter selects events; the zero value selects all.
type HistoryFilter struct {
	JobID int64  // 0 is every job; a job's own events and those that name it as Other
	Sweep string // "" is every sweep
	Since time.Time
}
