package riverqueue

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"weedlc/sweep"
)

// Options steer Open.
type Options struct {
	// Password is for PostgreSQL; "" leaves it to the URL, PGPASSWORD and
	// PGPASSFILE.
	Password string
	// Migrate makes the queue, or brings it to the newest schema, under a lock.
	// Without it, a queue that is missing or old is an error.
	Migrate bool
	// Clock is for recorded times; nil is time.Now.
	Clock func() time.Time
	// Log takes River's warnings, each at most once in 30 s; nil is nobody.
	Log *slog.Logger
}

// Queue is a sweep.Queue on River. It is safe for concurrent use.
type Queue struct {
	location Location
	db       database
	clock    func() time.Time
}

var _ sweep.Queue = (*Queue)(nil)

// Open opens a queue. Errors are *Error where they concern the database.
func Open(ctx context.Context, location string, o Options) (*Queue, error) {
	q, err := connect(ctx, location, o)
	if err != nil {
		return nil, err
	}
	if o.Migrate {
		_, err = q.migrate(ctx)
	} else {
		err = q.check(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

// Migrate makes the queue or brings it to the newest schema, and returns the
// versions before and after; 0 is none.
func Migrate(ctx context.Context, location string, o Options) (from, to int, err error) {
	o.Migrate = true
	q, err := connect(ctx, location, o)
	if err != nil {
		return 0, 0, err
	}
	from, err = q.migrate(ctx)
	return from, schemaVersion, errors.Join(err, q.Close())
}

func connect(ctx context.Context, location string, o Options) (*Queue, error) {
	l, err := ParseLocation(location)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	log := slog.New(newQuiet(o.Log.Handler()))
	q := &Queue{location: l, clock: o.Clock}
	if l.Kind == KindSQLite {
		db, openErr := openSQLite(ctx, l.Path, o.Migrate, o.Clock, log)
		if err = openErr; err == nil {
			q.db = db
		}
	} else {
		db, openErr := openPostgres(ctx, l, o.Password, log)
		if err = openErr; err == nil {
			q.db = db
		}
	}
	if err != nil {
		return nil, wrap(l, err)
	}
	return q, nil
}

// Location is where the queue lies, without a password.
func (q *Queue) Location() string { return q.location.String() }

// Close closes the database. Lease has returned before.
func (q *Queue) Close() error { return q.wrap(q.db.close()) }

func (q *Queue) wrap(err error) error { return wrap(q.location, err) }

// do runs one transaction and explains its error.
func (q *Queue) do(ctx context.Context, fn func(tx) error) error {
	return q.wrap(q.db.do(ctx, fn))
}

func (q *Queue) migrate(ctx context.Context) (from int, err error) {
	from, err = q.db.migrate(ctx)
	return from, q.wrap(err)
}

// check refuses a queue that Open may not use as it is.
func (q *Queue) check(ctx context.Context) error {
	return q.do(ctx, func(t tx) error {
		version, err := q.db.version(ctx, t)
		switch {
		case err != nil:
			return err
		case version == 0:
			return noSchema()
		case version < schemaVersion:
			return &explained{"has an older schema", "run: weedlc sweep migrate"}
		}
		return checkVersion(version)
	})
}
