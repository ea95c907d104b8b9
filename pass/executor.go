package pass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"weedlc/engine"
)

const (
	// attempts is how often one delete is sent when the call itself fails.
	attempts = 3
	// firstBackoff doubles with each attempt up to maxBackoff, with jitter.
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// grace is how long calls in flight may take once the pass is to end.
	grace = 10 * time.Second
)

// executor is the one place that deletes. Replay and walk hand it verdicts; it
// bounds, limits, retries and counts them.
type executor struct {
	gateway Gateway
	limiter *rate.Limiter // nil: no limit
	slots   chan *slot
	rules   *ruleGuard
	guards  Guards
	pause   *pauseWatch
	allowed *allowance
	// refused are the buckets in which nothing is deleted.
	refused map[string]bool
	observe func(Deletion)
	meter   Meter
	clock   func() time.Time

	// calls outlives the end of the pass by grace, so that what was sent is
	// also heard.
	calls context.Context

	sent atomic.Int64
	mu   sync.Mutex
	// outcomes counts objects by how they ended.
	outcomes map[Outcome]int64
	// fatal is the first error that no other call can escape; end ends the pass
	// for it, and hold because of a guard. Cut says that time ran out.
	fatal error
	end   func(error)
	hold  func(Problem)
	cut   func()
}

// slot is one delete that may be in flight. Its holder alone uses it.
type slot struct {
	sent time.Time // when its last delete was sent
}

// result is how one verdict ended.
type result struct {
	outcome Outcome
	reason  string
	// unsent is set when nothing was sent: the pass is ending, or the rule is
	// gone.
	unsent unsentWhy
}

type unsentWhy int

const (
	sentOrSettled  unsentWhy = iota
	unsentEnding             // it is left to a later pass: this one ends, or refuses the bucket
	unsentRuleGone           // the rule changed since the pass began
)

func (r result) failed() bool { return r.unsent == sentOrSettled && !r.outcome.Settled() }

func newExecutor(ctx context.Context, o Options, gw Gateway, rules *ruleGuard, end func(error)) (*executor, context.CancelFunc) {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	x := &executor{
		gateway: gw, limiter: o.Limiter, rules: rules, observe: o.Observe, meter: o.Meter, clock: o.Clock, calls: calls,
		guards: o.Guards, pause: &pauseWatch{read: o.Guards.Paused, clock: o.Clock}, allowed: newAllowance(o.Guards.MaxDeletes),
		slots:    make(chan *slot, o.Concurrency),
		outcomes: map[Outcome]int64{}, end: end,
	}
	for range o.Concurrency {
		x.slots <- &slot{}
	}
	return x, func() { stop(); cancel() }
}

// execute carries out one verdict. It blocks for whatever bounds calls, and the
// call. Once ctx is done nothing more is sent.
func (x *executor) execute(ctx context.Context, a *engine.Action, o *engine.Object, due time.Time) result {
	settle := func(r result) result { return x.settle(Deletion{Action: a, Object: o, Due: due}, r) }
	if x.refused[o.Bucket] {
		return result{unsent: unsentEnding}
	}
	if reason := unsendable(o); reason != "" {
		return settle(result{outcome: Blocked, reason: reason})
	}
	if !x.allowed.take(ctx) {
		if ctx.Err() == nil {
			x.hold(x.allowed.reached(a, o))
		}
		return result{unsent: unsentEnding}
	}
	res, lost := result{unsent: unsentEnding}, false
	// A bucket's own limiter is waited for without a slot, so that a slow bucket
	// holds up no other. The slot is kept until the end is on record.
	if waited, ok := x.wait(ctx, x.bucketLimiter(o.Bucket)); ok {
		select {
		case s := <-x.slots:
			defer func() { x.slots <- s }()
			res, lost = x.send(ctx, a, o, s, waited)
		case <-ctx.Done():
		}
	}
	x.allowed.end(res.outcome == Done, lost)
	if res.unsent != sentOrSettled {
		return res
	}
	if res.outcome == SkippedObjectLock {
		// The gateway also answers this when it could not read the lock.
		res = result{outcome: RetryLater, reason: "skipped for an object lock that the entry does not show: " + res.reason}
	}
	return settle(res)
}

// settle records and counts the end of one object and tells the observer.
func (x *executor) settle(d Deletion, r result) result {
	d.Outcome, d.Reason = r.outcome, r.reason
	if x.guards.Audit != nil {
		if err := x.guards.Audit.Append(d); err != nil {
			x.fail(auditError{err})
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outcomes[r.outcome]++
	x.meter.Settled(d)
	if x.observe != nil {
		x.observe(d)
	}
	return r
}

func (x *executor) skipLocked(a *engine.Action, o *engine.Object, due time.Time) {
	x.settle(Deletion{Action: a, Object: o, Due: due}, result{outcome: SkippedObjectLock})
}

// send makes the call, again on transport errors. It has the first token of the
// bucket's limiter, and was kept waiting for it. Lost is set when a call was sent
// and its answer did not come: it may have been carried out.
func (x *executor) send(ctx context.Context, a *engine.Action, o *engine.Object, s *slot, waited time.Duration) (res result, lost bool) {
	req := DeleteRequest{
		Bucket: o.Bucket, Path: o.Path, VersionID: o.RequestVersion(a.Kind),
		RuleHash: a.Hash, Kind: a.Kind, Identity: *o.Identity(),
	}
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		if attempt > 1 {
			var ok bool
			if waited, ok = x.wait(ctx, x.bucketLimiter(req.Bucket)); !ok {
				return result{unsent: unsentEnding}, lost
			}
		}
		resp, refusal, err := x.attempt(ctx, a, req, s, waited)
		switch {
		case refusal != nil:
			return *refusal, lost
		case err == nil && resp.Outcome == "":
			return result{outcome: RetryLater, reason: "the gateway gave no outcome"}, lost
		case err == nil:
			return result{outcome: resp.Outcome, reason: resp.Reason}, lost
		}
		var permanent Permanent
		if errors.As(err, &permanent) && permanent.Permanent() {
			x.fail(err)
			return result{outcome: TransportError, reason: err.Error()}, lost
		}
		lost = true
		wait := backoff/2 + rand.N(backoff/2)
		var info RetryInfo
		if errors.As(err, &info) && info.RetryAfter() > wait {
			wait = info.RetryAfter()
		}
		if attempt == attempts {
			return result{outcome: TransportError, reason: err.Error()}, lost
		}
		backoff = min(2*backoff, maxBackoff)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return result{outcome: TransportError, reason: err.Error()}, lost
		}
	}
}

// attempt makes one call, once it may. A refusal says that it was not made.
func (x *executor) attempt(ctx context.Context, a *engine.Action, req DeleteRequest, s *slot, waited time.Duration) (resp DeleteResponse, refusal *result, err error) {
	more, ok := x.wait(ctx, x.limiter)
	if !ok {
		return resp, &result{unsent: unsentEnding}, nil
	}
	if refusal := x.forbidden(ctx, a, s); refusal != nil {
		return resp, refusal, nil
	}
	s.sent = x.clock()
	x.sent.Add(1)
	x.meter.Called(waited + more)
	resp, err = x.gateway.Delete(x.calls, req)
	return resp, nil, err
}

func (x *executor) bucketLimiter(bucket string) *rate.Limiter {
	if x.guards.BucketLimiter == nil {
		return nil
	}
	return x.guards.BucketLimiter(bucket)
}

// wait takes a token. It is false when the pass ends first, or would: a limiter
// says at once that the time left is too short for its next token.
func (x *executor) wait(ctx context.Context, l *rate.Limiter) (waited time.Duration, ok bool) {
	if l == nil {
		return 0, ctx.Err() == nil
	}
	asked := x.clock()
	err := l.Wait(ctx)
	if err != nil {
		x.cut()
	}
	return x.clock().Sub(asked), err == nil
}

// forbidden says why a call must not be made now; nil lets it be made. The pause
// comes last: it is to be as fresh as can be.
func (x *executor) forbidden(ctx context.Context, a *engine.Action, s *slot) *result {
	ending := &result{unsent: unsentEnding}
	unread := func(what string, err error) *result {
		if ctx.Err() != nil {
			return ending
		}
		return &result{outcome: RetryLater, reason: what + ": " + err.Error()}
	}
	if standing, err := x.rules.allows(ctx, a); err != nil {
		return unread("rules could not be read again", err)
	} else if !standing {
		return &result{unsent: unsentRuleGone}
	}
	if x.guards.Closed != nil {
		if why := x.guards.Closed(x.clock()); why != "" {
			x.hold(Problem{Guard: GuardHours, Message: why})
		}
	}
	why, err := x.pause.ask(ctx, s.sent)
	if err != nil {
		return unread("nobody knows whether passes are paused", err)
	}
	if why != "" {
		x.hold(Problem{Guard: GuardPause, Message: why})
	}
	if ctx.Err() != nil {
		return ending
	}
	return nil
}

func (x *executor) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fatal == nil {
		x.fatal = err
		x.end(err)
	}
}

func (x *executor) err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fatal
}

func (x *executor) counts() (calls int64, outcomes map[Outcome]int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sent.Load(), maps.Clone(x.outcomes)
}

// unsendable says why an object must not be sent, or nothing. The gateway
// checks neither age nor rule: what is sent is deleted, so a request must name
// exactly one object and carry its full identity.
func unsendable(o *engine.Object) string {
	switch {
	case o.Entry == nil || !o.Entry.HasAttributes:
		return "the entry has no attributes, so no identity to send"
	case o.Bucket == "" || o.Path == "" || o.Key == "":
		return "empty bucket or key"
	case o.UploadID != "" && o.Path != uploadsFolder+"/"+o.UploadID,
		o.UploadID != "" && strings.Contains(o.UploadID, "/"):
		return fmt.Sprintf("%q is not an upload's folder", o.Path)
	}
	for segment := range strings.SplitSeq(o.Bucket+"/"+o.Path, "/") {
		if segment == "." || segment == ".." {
			return fmt.Sprintf("%q has a dot segment", o.Path)
		}
	}
	return ""
}

// uploadsFolder holds a bucket's unfinished uploads, one folder each.
const uploadsFolder = ".uploads"
