package riverqueue

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"modernc.org/sqlite"
)

// applicationID stands in the header of our SQLite files ("WLCQ").
const applicationID = 0x574c4351

type sqliteDB struct {
	*riverDB[*sql.Tx]
	pool *sql.DB
}

// openSQLite opens the file, and makes it when create is set. A file that is
// not ours is not touched.
func openSQLite(ctx context.Context, path string, create bool, clock func() time.Time, log *slog.Logger) (*sqliteDB, error) {
	empty, err := inspectFile(path)
	if err != nil {
		return nil, err
	}
	if empty {
		if !create {
			return nil, noSchema()
		}
		if err := stamp(ctx, path); err != nil {
			return nil, err
		}
	}
	// One connection: SQLite has one writer anyway, and River's loops would make
	// each other wait for the lock.
	pool, err := sql.Open("sqlite", sqliteDSN(path, "journal_mode(WAL)", "busy_timeout(5000)"))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	river, err := newRiverDB(riversqlite.New(pool), log)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	river.begin = func(ctx context.Context) (*sql.Tx, statements, error) {
		t, err := pool.BeginTx(ctx, nil)
		return t, sqliteTx{t, clock}, err
	}
	return &sqliteDB{river, pool}, nil
}

// inspectFile reads the header of a file. It refuses what is not ours; a
// missing or empty file is empty.
func inspectFile(path string) (empty bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	const magic, idAt, size = "SQLite format 3\x00", 68, 100
	header := make([]byte, size)
	switch n, err := io.ReadFull(f, header); {
	case n == 0 && errors.Is(err, io.EOF):
		return true, nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return false, err
	}
	if string(header[:len(magic)]) != magic || binary.BigEndian.Uint32(header[idAt:]) != applicationID {
		return false, notOurs()
	}
	return false, nil
}

// stamp writes the application id, before the file is switched to a
// write-ahead log: it must stand in the file itself for inspectFile.
func stamp(ctx context.Context, path string) error {
	pool, err := sql.Open("sqlite", sqliteDSN(path, "busy_timeout(5000)"))
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	return errors.Join(err, pool.Close())
}

func sqliteDSN(path string, pragmas ...string) string {
	q := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

func (db *sqliteDB) migrate(ctx context.Context) (from int, err error) {
	native, st, err := db.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer st.rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is left to roll back after a commit
	if err := mark(ctx, st); err != nil {
		return 0, err
	}
	if _, err := row(ctx, st, `SELECT version FROM weedlc_schema`, nil, &from); err != nil {
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
	//nolint:staticcheck // SQLite's migrations up to this version share a transaction, which is the lock
	if _, err := m.MigrateTx(ctx, native, rivermigrate.DirectionUp, opts); err != nil {
		return 0, err
	}
	if err := createTables(ctx, st, "INTEGER PRIMARY KEY AUTOINCREMENT"); err != nil {
		return 0, err
	}
	return from, st.commit(ctx)
}

func (db *sqliteDB) version(ctx context.Context, t statements) (int, error) {
	return readVersion(ctx, t, `SELECT 1 FROM sqlite_master WHERE name = 'weedlc_schema'`)
}

// Result codes of SQLite.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

func explainSQLite(err error) (what, hint string) {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return "", ""
	}
	switch e.Code() & 0xff {
	case sqliteBusy:
		return "another process holds the file", ""
	case sqliteReadOnly, sqliteCantOpen:
		return "the file and its directory cannot be written", "give the user that runs weedlc the right to write both"
	case sqliteFull:
		return "the disk is full", ""
	case sqliteNotADB:
		return "the file is damaged", ""
	}
	return "", ""
}

func (db *sqliteDB) close() error { return db.pool.Close() }
