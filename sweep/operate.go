package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Enqueue admits a sweep. The jobs are those that it made; none when the sweep
// had been admitted before.
func Enqueue(ctx context.Context, q Queue, a Admission) ([]Job, error) {
	if err := CheckID(a.Sweep); err != nil {
		return nil, err
	}
	if len(a.Shards) == 0 {
		return nil, errors.New("no shards to admit")
	}
	// One order for everybody: two hosts that admit the same sweep at once wait
	// for each other and never both.
	a.Shards = slices.Clone(a.Shards)
	slices.Sort(a.Shards)
	a.Shards = slices.Compact(a.Shards)
	if a.Shards[0] < 0 {
		return nil, fmt.Errorf("shard %d is negative", a.Shards[0])
	}
	return q.Admit(ctx, a)
}

// Redrive makes a new job of a dead letter, once. The reason is required.
func Redrive(ctx context.Context, q Queue, jobID int64, act Act) (Job, error) {
	if err := act.check(); err != nil {
		return Job{}, err
	}
	return q.Redrive(ctx, jobID, act)
}

// Discard closes a dead letter. The reason is required.
func Discard(ctx context.Context, q Queue, jobID int64, act Act) error {
	if err := act.check(); err != nil {
		return err
	}
	return q.Discard(ctx, jobID, act)
}

// maxReason is the length of a reason in bytes.
const maxReason = 1000

func (a Act) check() error {
	switch {
	case strings.TrimSpace(a.Reason) == "":
		return errors.New("a reason is required")
	case len(a.Reason) > maxReason:
		return fmt.Errorf("reason has %d bytes, of %d at most", len(a.Reason), maxReason)
	case a.User == "" || a.Host == "":
		return errors.New("a decision names the user and host it was made by")
	}
	return nil
}
