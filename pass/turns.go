package pass

import "sync"

// turns shares the pass among the buckets that it walks, so that a small one
// is done early beside huge ones.
type turns struct {
	// starting bounds the walks that have not listed much yet, long the others:
	// each has a few pages in memory.
	starting, long chan struct{}
	deletes        int // in flight at most
	// much is how many entries a walk lists before it counts as long.
	much int

	mu    sync.Mutex
	freed *sync.Cond
	// walks are under way.
	walks int
}

const (
	// longWalk is how many pages a walk lists before it counts as long.
	longWalk = 16
	// longWalks is how many long walks are under way beside those that start.
	longWalks = 16
)

// newTurns lets walks start side by side; a side of one has one walk at a time.
func newTurns(side, deletes, page int) *turns {
	long := longWalks
	if side == 1 {
		long = 0
	}
	s := &turns{starting: make(chan struct{}, side), long: make(chan struct{}, long), deletes: deletes, much: longWalk * page}
	s.freed = sync.NewCond(&s.mu)
	return s
}

// turn is one bucket's part in the turns.
type turn struct {
	*turns
	listed int
	isLong bool
	held   int // deletes in flight
}

// start waits until one more walk may start.
func (s *turns) start() *turn {
	s.starting <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.walks++
	return &turn{turns: s}
}

// list counts entries of the walk. A walk that has listed much makes way for
// another one to start beside it.
func (t *turn) list(entries int) {
	if t.listed += entries; t.isLong || t.listed < t.much {
		return
	}
	select {
	case t.long <- struct{}{}:
		t.isLong = true
		<-t.starting
	default:
	}
}

// enter waits for the bucket's share of the deletes in flight: half, or all of
// them while no other bucket is walked.
func (t *turn) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.held >= t.share() {
		t.freed.Wait()
	}
	t.held++
}

func (t *turn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held--
	t.freed.Broadcast()
}

// share is how many deletes the bucket may have in flight. The caller holds the
// lock.
func (s *turns) share() int {
	if s.walks > 1 {
		return max(1, s.deletes/2)
	}
	return s.deletes
}

// end makes way for another walk.
func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.walks--
	t.freed.Broadcast()
	if t.isLong {
		<-t.long
	} else {
		<-t.starting
	}
}
