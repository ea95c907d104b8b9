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
	slots   chan struct{}
	rules   *ruleGuard
	observe func(Deletion)

	// calls outlives the end of the pass by grace, so that what was sent is
	// also heard.
	calls context.Context

	sent atomic.Int64
	mu   sync.Mutex
	// outcomes counts objects by how they ended.
	outcomes map[Outcome]int64
	// fatal is the first error that no other call can escape; end ends the pass
	// for it.
	fatal error
	end   func(error)
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
	unsentEnding             // the pass ends before the call could be made
	unsentRuleGone           // the rule changed since the pass began
)

func (r result) failed() bool { return r.unsent == sentOrSettled && !r.outcome.Settled() }

func newExecutor(ctx context.Context, o Options, gw Gateway, rules *ruleGuard, end func(error)) (*executor, context.CancelFunc) {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return &executor{
		gateway: gw, limiter: o.Limiter, rules: rules, observe: o.Observe, calls: calls,
		slots:    make(chan struct{}, o.Concurrency),
		outcomes: map[Outcome]int64{}, end: end,
	}, func() { stop(); cancel() }
}

// execute carries out one verdict. It blocks for a slot, the limiter and the
// call. Once ctx is done nothing more is sent.
func (x *executor) execute(ctx context.Context, a *engine.Action, o *engine.Object, due time.Time) result {
	settle := func(r result) result { return x.settle(Deletion{Action: a, Object: o, Due: due}, r) }
	if reason := unsendable(o); reason != "" {
		return settle(result{outcome: Blocked, reason: reason})
	}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return result{unsent: unsentEnding}
	}
	if ok, err := x.rules.allows(ctx, a); err != nil {
		if ctx.Err() != nil {
			return result{unsent: unsentEnding}
		}
		return settle(result{outcome: RetryLater, reason: fmt.Sprintf("rules could not be read again: %v", err)})
	} else if !ok {
		return result{unsent: unsentRuleGone}
	}
	req := DeleteRequest{
		Bucket: o.Bucket, Path: o.Path, VersionID: o.RequestVersion(a.Kind),
		RuleHash: a.Hash, Kind: a.Kind, Identity: *o.Identity,
	}
	res := x.send(ctx, req)
	if res.unsent != sentOrSettled {
		return res
	}
	if res.outcome == SkippedObjectLock {
		// The gateway also answers this when it could not read the lock.
		res = result{outcome: RetryLater, reason: "skipped for an object lock that the entry does not show: " + res.reason}
	}
	return settle(res)
}

// settle counts the end of one object and tells the observer.
func (x *executor) settle(d Deletion, r result) result {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.outcomes[r.outcome]++
	if x.observe != nil {
		d.Outcome, d.Reason = r.outcome, r.reason
		x.observe(d)
	}
	return r
}

func (x *executor) skipLocked(a *engine.Action, o *engine.Object, due time.Time) {
	x.settle(Deletion{Action: a, Object: o, Due: due}, result{outcome: SkippedObjectLock})
}

// send makes the call, again on transport errors.
func (x *executor) send(ctx context.Context, req DeleteRequest) result {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		if x.limiter != nil {
			if err := x.limiter.Wait(ctx); err != nil {
				return result{unsent: unsentEnding}
			}
		}
		if ctx.Err() != nil {
			return result{unsent: unsentEnding}
		}
		x.sent.Add(1)
		resp, err := x.gateway.Delete(x.calls, req)
		if err == nil {
			if resp.Outcome == "" {
				return result{outcome: RetryLater, reason: "the gateway gave no outcome"}
			}
			return result{outcome: resp.Outcome, reason: resp.Reason}
		}
		var permanent Permanent
		if errors.As(err, &permanent) && permanent.Permanent() {
			x.fail(err)
			return result{outcome: TransportError, reason: err.Error()}
		}
		wait := backoff/2 + rand.N(backoff/2)
		var info RetryInfo
		if errors.As(err, &info) && info.RetryAfter() > wait {
			wait = info.RetryAfter()
		}
		if attempt == attempts {
			return result{outcome: TransportError, reason: err.Error()}
		}
		backoff = min(2*backoff, maxBackoff)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return result{outcome: TransportError, reason: err.Error()}
		}
	}
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
	case o.Identity == nil:
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
