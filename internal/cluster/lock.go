package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
)

// lockName is the name under which a shard is locked. Every weedlc of a cluster
// uses it.
func lockName(shard int) string { return fmt.Sprintf("s3.lifecycle.shard-%02d", shard) }

// unlockTimeout bounds the giving back of all locks together.
const unlockTimeout = 5 * time.Second

// ErrNoLockServer is returned when the filers do not know, for too long, who of
// them keeps a lock.
var ErrNoLockServer = errors.New("the filers have no lock service yet")

// Owner tells people who holds a lock.
type Owner struct {
	Host  string
	PID   int
	Since time.Time
}

// ownerMark begins every owner's text of ours.
const ownerMark = "weedlc"

func (o Owner) String() string {
	return fmt.Sprintf("%s %s %d %s", ownerMark, o.Host, o.PID, o.Since.UTC().Format(time.RFC3339))
}

// parseOwner reads an owner's text; zero when it is not one of ours.
func parseOwner(text string) Owner {
	words := strings.Split(text, " ")
	if len(words) != 4 || words[0] != ownerMark {
		return Owner{}
	}
	pid, err := strconv.Atoi(words[2])
	if err != nil {
		return Owner{}
	}
	since, err := time.Parse(time.RFC3339, words[3])
	if err != nil {
		return Owner{}
	}
	return Owner{Host: words[1], PID: pid, Since: since}
}

// HeldError says that another holds the lock of a shard.
type HeldError struct {
	Shard int
	// Owner is the holder; zero when Text is not weedlc's.
	Owner Owner
	// Text is what the holder calls itself.
	Text string
}

func (e *HeldError) Error() string {
	if e.Owner == (Owner{}) {
		return fmt.Sprintf("shard %d is held by %q", e.Shard, e.Text)
	}
	return fmt.Sprintf("shard %d is held by process %d on host %q since %s",
		e.Shard, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.RFC3339))
}

// Held is a set of locked shards. It is renewed in the background until
// Release, and is safe for concurrent use.
type Held struct {
	cluster *Cluster
	owner   string
	stop    context.CancelFunc
	stopped sync.WaitGroup

	mu     sync.Mutex
	leases []*lease // ascending
}

// lease is one lock. Its fields are guarded by Held.mu once it is renewed in
// the background.
type lease struct {
	shard int
	token string
	// until is when the lock ends unless it is renewed: counted from before the
	// request, so never later than the filer's own time.
	until time.Time
	lost  error
}

// LockShards locks the shards in ascending order, all or none, for owner. When
// another holds one of them it tries again for the time of wait, then returns a
// HeldError. The locks end by themselves soon after the process does.
func (c *Cluster) LockShards(ctx context.Context, shards []int, owner Owner, wait time.Duration) (*Held, error) {
	shards = slices.Compact(slices.Sorted(slices.Values(shards)))
	deadline := time.Now().Add(wait)
	for {
		h := &Held{cluster: c, owner: owner.String()}
		err := h.acquire(ctx, shards)
		if err == nil {
			h.renewInBackground(ctx)
			return h, nil
		}
		h.unlock()
		var held *HeldError
		if !errors.As(err, &held) || !time.Now().Before(deadline) {
			return nil, err
		}
		if err := pause(ctx, min(time.Second, time.Until(deadline))); err != nil {
			return nil, err
		}
	}
}

func (h *Held) acquire(ctx context.Context, shards []int) error {
	for _, shard := range shards {
		l := &lease{shard: shard}
		started := time.Now()
		for {
			err := h.lock(ctx, l)
			if err == nil {
				break
			}
			if !errors.Is(err, errNotReady) {
				return err
			}
			if time.Since(started) > h.cluster.options.LockServerWait {
				return fmt.Errorf("lock of shard %d: %w: %w", shard, ErrNoLockServer, err)
			}
			if err := pause(ctx, 500*time.Millisecond); err != nil {
				return err
			}
		}
		h.leases = append(h.leases, l)
	}
	return nil
}

// errNotReady is an answer that says nothing of the lock: the filers have not
// agreed, or do not reach each other.
var errNotReady = errors.New("not ready")

// errForgotten is the answer to a renewal of a lock that the filer does not
// know.
var errForgotten = errors.New("the filer does not know the lock")

// The filer tells why a lock is not given in words only.
const (
	textOwned       = "lock already owned by "
	textNewLock     = "non-empty token on a new lock"
	textExpiredLock = "non-empty token on an expired lock"
	textMismatch    = "token mismatch"
)

// lock takes or renews one lock.
func (h *Held) lock(ctx context.Context, l *lease) error {
	ttl := h.cluster.options.LockTTL
	start := time.Now()
	var resp *filer_pb.LockResponse
	// One filer that hangs must not use the time up in which another can renew.
	timeout := min(h.cluster.options.CallTimeout, ttl/4)
	err := h.cluster.onFilerWithin(ctx, fmt.Sprintf("lock shard %d", l.shard), timeout, func(ctx context.Context, f *filer) (err error) {
		resp, err = f.client.DistributedLock(ctx, &filer_pb.LockRequest{
			Name: lockName(l.shard), SecondsToLock: int64(ttl / time.Second), RenewToken: l.token, Owner: h.owner,
		})
		return err
	})
	switch {
	case err != nil:
		return err
	case resp.Error == "" && resp.RenewToken != "":
		l.token, l.until = resp.RenewToken, start.Add(ttl)
		return nil
	case strings.HasPrefix(resp.Error, textOwned):
		text := strings.TrimPrefix(resp.Error, textOwned)
		owner := parseOwner(text)
		return &HeldError{Shard: l.shard, Owner: owner, Text: text}
	case strings.Contains(resp.Error, textMismatch):
		owner := parseOwner(resp.LockOwner)
		return &HeldError{Shard: l.shard, Owner: owner, Text: resp.LockOwner}
	case strings.Contains(resp.Error, textNewLock), strings.Contains(resp.Error, textExpiredLock):
		return errForgotten
	}
	return fmt.Errorf("%w: %q", errNotReady, resp.Error)
}

// renewInBackground keeps the locks until stop. The context's end does not end
// the locks: what was done under them is still to be saved.
func (h *Held) renewInBackground(ctx context.Context) {
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.stopped.Go(func() {
		for pause(ctx, h.cluster.options.LockTTL/4) == nil {
			for _, l := range h.leases {
				h.renew(ctx, l)
			}
		}
	})
}

// renew renews one lock. A lock that the filers have forgotten, as a lone one
// does when it starts again, is taken anew if nobody else has done so.
func (h *Held) renew(ctx context.Context, l *lease) {
	h.mu.Lock()
	next := *l
	h.mu.Unlock()
	if next.lost != nil {
		return
	}
	err := h.lock(ctx, &next)
	if errors.Is(err, errForgotten) {
		next.token = ""
		err = h.lock(ctx, &next)
	}
	var held *HeldError
	if errors.As(err, &held) {
		next.lost = fmt.Errorf("lock lost: %w", held)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	*l = next
}

// Err returns an error once the lock of the shard is lost, or for a shard that
// is not among the locked ones.
func (h *Held) Err(shard int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.leases {
		if l.shard != shard {
			continue
		}
		if l.lost == nil && !time.Now().Before(l.until) {
			l.lost = fmt.Errorf("lock of shard %d lost: it could not be renewed in time", shard)
		}
		return l.lost
	}
	return fmt.Errorf("shard %d is not locked", shard)
}

// Release gives the locks back within some seconds. What cannot be given back
// ends by itself.
func (h *Held) Release() {
	h.stop()
	h.stopped.Wait()
	h.unlock()
}

// unlock gives back what is held, the last lock first.
func (h *Held) unlock() {
	h.mu.Lock()
	leases := h.leases
	h.leases = nil
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	for _, l := range slices.Backward(leases) {
		if l.lost != nil {
			continue
		}
		err := h.cluster.onFiler(ctx, fmt.Sprintf("unlock shard %d", l.shard), func(ctx context.Context, f *filer) error {
			_, err := f.client.DistributedUnlock(ctx, &filer_pb.UnlockRequest{Name: lockName(l.shard), RenewToken: l.token})
			return err
		})
		if err != nil {
			h.cluster.options.Log.Warn("lock not given back", "shard", l.shard, "error", err)
		}
	}
}
