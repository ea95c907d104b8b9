package riverqueue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type postgresDB struct {
	*riverDB[pgx.Tx]
	pool *pgxpool.Pool
}

func openPostgres(ctx context.Context, l Location, password string, log *slog.Logger) (*postgresDB, error) {
	config, err := pgxpool.ParseConfig(l.url.String())
	if err != nil {
		// The parser's own text may show parts of the URL.
		return nil, errors.New("the URL has a parameter that cannot be used")
	}
	if password != "" {
		config.ConnConfig.Password = password
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "weedlc"
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	// A migration holds one connection and needs another.
	config.MaxConns = max(config.MaxConns, minConns)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	river, err := newRiverDB(riverpgxv5.New(pool), log)
	if err != nil {
		pool.Close()
		return nil, err
	}
	river.begin = func(ctx context.Context) (pgx.Tx, statements, error) {
		t, err := pool.Begin(ctx)
		return t, postgresTx{t}, err
	}
	return &postgresDB{river, pool}, nil
}

// connectTimeout is for a URL that has none.
const connectTimeout = 5 * time.Second

// minConns is the least size of the pool.
const minConns = 4

// migrationLock is the key of the advisory lock under which one process at a
// time migrates: River's own migrations do not wait for each other.
const migrationLock = 0x7765656d6c63

// migrationTimeout bounds the wait for another process's migration and our own.
const migrationTimeout = time.Minute

func (db *postgresDB) migrate(ctx context.Context) (from int, err error) {
	ctx, cancel := context.WithTimeout(ctx, migrationTimeout)
	defer cancel()
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return 0, err
	}
	defer func() {
		free := context.WithoutCancel(ctx)
		_, unlockErr := conn.Exec(free, `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
		err = errors.Join(err, unlockErr)
	}()

	if err := db.do(ctx, func(t tx) error {
		var foreign int
		_, err := row(ctx, t, `SELECT count(*) FROM pg_class WHERE oid = to_regclass('river_migration')
			AND to_regclass('weedlc_schema') IS NULL`, nil, &foreign)
		if err != nil {
			return err
		}
		if foreign > 0 {
			return notOurs()
		}
		if from, err = db.version(ctx, t); err != nil || from > 0 {
			return err
		}
		return mark(ctx, t)
	}); err != nil {
		return 0, err
	}
	if from >= schemaVersion {
		return from, checkVersion(from)
	}
	m, err := rivermigrate.New(db.driver, &rivermigrate.Config{Logger: db.log})
	if err != nil {
		return 0, err
	}
	opts := &rivermigrate.MigrateOpts{TargetVersion: riverVersion}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, opts); err != nil {
		return 0, err
	}
	return from, db.do(ctx, func(t tx) error {
		return createTables(ctx, t, "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
	})
}

func (db *postgresDB) version(ctx context.Context, t statements) (int, error) {
	return readVersion(ctx, t, `SELECT 1 FROM pg_class WHERE oid = to_regclass('weedlc_schema')`)
}

// Error codes of PostgreSQL.
const (
	pgNoRights      = "42501"
	pgBadPassword   = "28P01"
	pgNotAuthorized = "28000"
	pgNoDatabase    = "3D000"
	pgReadOnly      = "25006"
)

func explainPostgres(err error) (what, hint string) {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case pgNoRights:
			return "no rights", "let the user create tables in the schema: GRANT CREATE, USAGE ON SCHEMA public TO …"
		case pgBadPassword, pgNotAuthorized:
			return "the database refuses the user", "set PGPASSWORD, or name a file with --queue-password-file"
		case pgNoDatabase:
			return "no such database", "create it: createdb …"
		case pgReadOnly:
			return "the database is read-only", "name the primary, not a standby"
		}
		return "", ""
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return "cannot be reached", ""
	}
	return "", ""
}

func (db *postgresDB) close() error {
	db.pool.Close()
	return nil
}
