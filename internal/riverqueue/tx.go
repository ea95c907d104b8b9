package riverqueue

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// statements run in one transaction. Queries are written once for both
// databases, with $1 as placeholders.
type statements interface {
	// exec returns how many rows were changed.
	exec(ctx context.Context, query string, args ...any) (int64, error)
	// query calls each for every row. It must not run another statement.
	query(ctx context.Context, query string, args []any, each func(scan scanner) error) error
	// now is the clock of leases and heartbeats.
	now(ctx context.Context) (time.Time, error)
	commit(ctx context.Context) error
	rollback(ctx context.Context) error
}

type scanner func(dest ...any) error

// tx is one transaction, with what River does in it.
type tx interface {
	statements
	// insert adds a River job that may be fetched from at on.
	insert(ctx context.Context, args jobArgs, at time.Time) (id int64, err error)
	// complete finishes the River job that ctx belongs to.
	complete(ctx context.Context, job *riverJob) error
}

// row runs a query for one row; found is false without one.
func row(ctx context.Context, t statements, query string, args []any, dest ...any) (found bool, err error) {
	err = t.query(ctx, query, args, func(scan scanner) error {
		found = true
		return scan(dest...)
	})
	return found, err
}

type sqliteTx struct {
	*sql.Tx
	clock func() time.Time
}

func (t sqliteTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t sqliteTx) query(ctx context.Context, query string, args []any, each func(scanner) error) error {
	rows, err := t.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t sqliteTx) now(context.Context) (time.Time, error) { return t.clock(), nil }
func (t sqliteTx) commit(context.Context) error           { return t.Commit() }

func (t sqliteTx) rollback(context.Context) error {
	if err := t.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

type postgresTx struct{ pgx.Tx }

func (t postgresTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := t.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (t postgresTx) query(ctx context.Context, query string, args []any, each func(scanner) error) error {
	rows, err := t.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t postgresTx) now(ctx context.Context) (time.Time, error) {
	var now time.Time
	_, err := row(ctx, t, `SELECT clock_timestamp()`, nil, &now)
	return now, err
}

func (t postgresTx) commit(ctx context.Context) error { return t.Commit(ctx) }

func (t postgresTx) rollback(ctx context.Context) error {
	if err := t.Rollback(ctx); !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil
}

// micros is how times are stored; 0 is the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
