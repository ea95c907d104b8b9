package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
)

// database is one of the two, with River on it.
type database interface {
	// do runs fn in one transaction and commits it unless fn fails.
	do(ctx context.Context, fn func(t tx) error) error
	// lease runs a River client until ctx ends.
	lease(ctx context.Context, l *leaser) error
	// migrate brings River's tables and ours from their version, which it returns,
	// to the newest one, under a lock.
	migrate(ctx context.Context) (from int, err error)
	// version is the one of our tables; 0 is none.
	version(ctx context.Context, t statements) (int, error)
	close() error
}

// callTimeout bounds one transaction of ours.
const callTimeout = 30 * time.Second

// riverDB is what both databases share. T is the driver's transaction.
type riverDB[T any] struct {
	driver riverdriver.Driver[T]
	client *river.Client[T] // inserts only
	begin  func(ctx context.Context) (T, statements, error)
	log    *slog.Logger
}

func newRiverDB[T any](driver riverdriver.Driver[T], log *slog.Logger) (*riverDB[T], error) {
	client, err := river.NewClient(driver, &river.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	return &riverDB[T]{driver: driver, client: client, log: log}, nil
}

type riverTx[T any] struct {
	statements
	native T
	client *river.Client[T]
}

func (db *riverDB[T]) do(ctx context.Context, fn func(tx) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	native, st, err := db.begin(ctx)
	if err != nil {
		return err
	}
	if err := fn(riverTx[T]{st, native, db.client}); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not done within %s: %w", callTimeout, err)
		}
		// The connection may be the reason; the transaction ends with it.
		return errors.Join(err, st.rollback(context.WithoutCancel(ctx)))
	}
	return st.commit(ctx)
}

func (t riverTx[T]) insert(ctx context.Context, args jobArgs, at time.Time) (int64, error) {
	res, err := t.client.InsertTx(ctx, t.native, args, &river.InsertOpts{
		Queue: queueName, MaxAttempts: deliveries, ScheduledAt: at,
	})
	if err != nil {
		return 0, err
	}
	return res.Job.ID, nil
}

func (t riverTx[T]) complete(ctx context.Context, job *riverJob) error {
	_, err := river.JobCompleteTx[riverdriver.Driver[T]](ctx, t.native, job)
	return err
}
