package memcluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"weedlc/engine"
)

// Op is a kind of call that a pass makes.
type Op string

// The calls of a pass, in the words of the interfaces they belong to. An Event
// is the handing over of one event within a ReadLog.
const (
	OpNow        Op = "now"
	OpBuckets    Op = "buckets"
	OpBucket     Op = "bucket"
	OpList       Op = "list"
	OpLookup     Op = "lookup"
	OpReadLog    Op = "read_log"
	OpEvent      Op = "event"
	OpHorizon    Op = "horizon"
	OpDelete     Op = "delete"
	OpLoad       Op = "load"
	OpSaveSide   Op = "save_side"
	OpSaveCursor Op = "save_cursor"
)

// Call is one call, before it takes effect or after.
type Call struct {
	Op Op
	// Bucket and Path are what the call is for, where that makes sense; a List's
	// path is the folder.
	Bucket, Path string
	// Shard is that of a load or save.
	Shard int
	// Delete is the request of an OpDelete.
	Delete *engine.DeleteRequest
	// Done is false before the call takes effect, true after.
	Done bool
}

// Hook is asked before and after each call. Its error becomes the call's: one
// from after lets the call take effect and hides it. A hook may use the cluster,
// and is asked by several callers at once where these call at once.
type Hook func(Call) error

// SetHook replaces the hook; nil removes it.
func (c *Cluster) SetHook(h Hook) {
	c.hookMu.Lock()
	defer c.hookMu.Unlock()
	c.hook = h
}

func (c *Cluster) ask(ctx context.Context, call Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.hookMu.Lock()
	h := c.hook
	c.hookMu.Unlock()
	if h == nil {
		return nil
	}
	return h(call)
}

// around makes a call between its two hooks.
func (c *Cluster) around(ctx context.Context, call Call, fn func() error) error {
	if err := c.ask(ctx, call); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	call.Done = true
	return c.ask(context.WithoutCancel(ctx), call)
}

// Killed is the error of every call once the process that makes it counts as
// dead. Another attempt cannot mend it.
type Killed struct{}

func (Killed) Error() string { return "process killed" }

// Permanent reports that another attempt is of no use.
func (Killed) Permanent() bool { return true }

// Unwrap makes it a cancellation for whoever looks.
func (Killed) Unwrap() error { return context.Canceled }

// KillAfter is a hook that lets n calls pass, counting before and after each,
// and answers Killed from then on. Reached is set once it has; nil is not
// wanted.
func KillAfter(n int, reached *bool) Hook {
	var mu sync.Mutex
	return func(Call) error {
		mu.Lock()
		defer mu.Unlock()
		if n > 0 {
			n--
			return nil
		}
		if reached != nil {
			*reached = true
		}
		return Killed{}
	}
}

// Answer is a scripted end of one LifecycleDelete.
type Answer struct {
	// Err fails the call instead of answering it.
	Err error
	// Outcome and Reason are answered without a look at the object, unless
	// Applied is set: then the call is carried out first.
	Outcome engine.Outcome
	Reason  string
	Applied bool
}

// Unavailable is the error of a call that was not answered. RetryAfter is the
// server's wish for a pause; zero is none.
type Unavailable struct {
	What  string
	Pause time.Duration
}

func (u Unavailable) Error() string { return u.What + ": unavailable" }

// RetryAfter is the pause that the server asks for.
func (u Unavailable) RetryAfter() time.Duration { return u.Pause }

// faults are the scripted answers and failures. A negative count never ends.
type faults struct {
	answers map[string][]Answer
	lookups map[string]int
	lists   map[string]int
}

func newFaults() faults {
	return faults{answers: map[string][]Answer{}, lookups: map[string]int{}, lists: map[string]int{}}
}

// AnswerDeletes queues answers for deletes of a path, whatever the version.
func (c *Cluster) AnswerDeletes(bucketName, path string, answers ...Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := join(bucketName, clean(path))
	c.faults.answers[at] = append(c.faults.answers[at], answers...)
}

// FailLookups fails the next n look-ups of a path; a negative n fails all.
func (c *Cluster) FailLookups(bucketName, path string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.lookups[join(bucketName, clean(path))] = n
}

// FailLists fails the next n pages of a folder; a negative n fails all.
func (c *Cluster) FailLists(bucketName, folder string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.lists[join(bucketName, clean(folder))] = n
}

// ClearFaults forgets scripted answers and failures.
func (c *Cluster) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = newFaults()
}

// spend uses up one failure of a counted fault.
func spend(counts map[string]int, at string) error {
	switch n := counts[at]; {
	case n == 0:
		return nil
	case n > 0:
		counts[at] = n - 1
	}
	return Unavailable{What: fmt.Sprintf("%q", at)}
}

// Counts are what was asked of the cluster.
type Counts struct {
	// Deletes are LifecycleDelete calls that reached the gateway.
	Deletes int64
	// Reads are the ranges of log asked for, Events what they handed over.
	Reads, Events int64
	// Pages are listing calls, Folders those of them that began a folder, and
	// Entries what all of them returned.
	Pages, Folders, Entries int64
	Lookups                 int64
}

// Counts returns the counts since the cluster began or TakeCounts was called.
func (c *Cluster) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// TakeCounts returns the counts and starts them anew.
func (c *Cluster) TakeCounts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.counts
	c.counts = Counts{}
	return counts
}

// DeleteRecord is one LifecycleDelete that the gateway answered.
type DeleteRecord struct {
	// At is the simulated time of the call.
	At      time.Time
	Request engine.DeleteRequest
	// Response has no outcome when the call failed.
	Response engine.DeleteResponse
}

// Deletes lists every LifecycleDelete so far.
func (c *Cluster) Deletes() []DeleteRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]DeleteRecord(nil), c.deletes...)
}
