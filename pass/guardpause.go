package pass

import (
	"context"
	"sync"
	"time"
)

// pauseMaxAge is how old the knowledge that nothing is paused may be.
const pauseMaxAge = 10 * time.Millisecond

// pauseWatch knows whether the pass is paused. Reading costs a call to the
// filer, so that one reading serves many deletes; but a slot that has sent one
// since the reading began needs a new one. So a pause is followed by one delete
// for each slot at most.
type pauseWatch struct {
	read  func(context.Context) (why string, err error)
	clock func() time.Time

	// mu is held while it is read: others wait for the result.
	mu sync.Mutex
	// began is when the last reading that succeeded began.
	began time.Time
	why   string
	// failed is when the last reading that failed ended.
	failed time.Time
	err    error
}

// ask returns why the pass is paused, for a slot that last sent a delete at a
// time. A reading that fails does so for all who wait for it.
func (p *pauseWatch) ask(ctx context.Context, sent time.Time) (why string, err error) {
	if p.read == nil {
		return "", nil
	}
	asked := p.clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	began := p.clock()
	switch {
	case p.failed.After(asked):
		return "", p.err
	case p.began.After(sent) && began.Sub(p.began) < pauseMaxAge:
		return p.why, nil
	}
	if why, err = p.read(ctx); err != nil {
		p.failed, p.err = p.clock(), err
		return "", err
	}
	p.began, p.why = began, why
	return why, nil
}
