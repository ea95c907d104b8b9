package riverqueue

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/riverqueue/river/rivermigrate"

	"weedlc/internal/pgtest"
	"weedlc/sweep"
)

// secret is a password that no text may show.
const secret = pgtest.Password

func TestLocation(t *testing.T) {
	for _, c := range []struct {
		text, kind, shown string
		password          bool
	}{
		{"sqlite:/var/lib/weedlc/queue.db", KindSQLite, "sqlite:/var/lib/weedlc/queue.db", false},
		{"sqlite:queue.db", KindSQLite, "sqlite:queue.db", false},
		{"postgres://db/weedlc", KindPostgres, "postgres://db/weedlc", false},
		{"postgresql://u@db:5433/weedlc?sslmode=require", KindPostgres, "postgres://u@db:5433/weedlc", false},
		{"postgres://u:" + secret + "@db/weedlc", KindPostgres, "postgres://u@db/weedlc", true},
		{"postgres://db/weedlc?user=u&password=" + secret, KindPostgres, "postgres://db/weedlc", true},
	} {
		l, err := ParseLocation(c.text)
		if err != nil || l.Kind != c.kind || l.String() != c.shown || l.HasPassword() != c.password {
			t.Errorf("%s: %+v, shown as %q, %v", c.text, l, l, err)
		}
	}
	for _, text := range []string{
		"", "sqlite:", "sqlite", "queue.db", "/queue.db", "mysql://u:" + secret + "@db/x", "postgres:db",
		"postgres://u:" + secret + "@[db/weedlc", "postgres://u:%zz" + secret + "@db/weedlc", "host=db password=x",
	} {
		l, err := ParseLocation(text)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

// A queue that is missing or not ours is refused, and nothing is changed.
func TestOpenSQLiteRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite", sqliteDSN(foreign))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE accounts (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path    string
		migrate bool
		want    string
	}{
		{foreign, true, "is not a queue of weedlc"},
		{foreign, false, "is not a queue of weedlc"},
		{file("text", strings.Repeat("not a database\n", 100)), true, "is not a queue of weedlc"},
		{file("short", "x"), true, "is not a queue of weedlc"},
		{file("empty", ""), false, "there is no queue yet"},
		{filepath.Join(dir, "missing"), false, "there is no queue yet"},
		{filepath.Join(dir, "no", "such", "dir"), true, "cannot be written"},
		{dir, true, "is a directory"},
	} {
		before := listing(t, dir)
		_, err := Open(t.Context(), "sqlite:"+c.path, Options{Migrate: c.migrate})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v", c.path, err)
		}
		if after := listing(t, dir); after != before {
			t.Errorf("%s: changed\n%s\nto\n%s", c.path, before, after)
		}
	}
}

// listing is a folder's names and contents.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		b.WriteString(e.Name() + " " + string(content) + "\n")
	}
	return b.String()
}

// A path is taken as it is, whatever it looks like in a URL.
func TestOpenSQLitePath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b?c=d%41&é#.db")
	q := open(t, "sqlite:"+path, time.Now)
	if _, err := sweep.Enqueue(t.Context(), q, sweep.Admission{Sweep: "s", Shards: []int{0}, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestNewerAndOlderSchema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, location string) {
		if _, err := Open(t.Context(), location, Options{}); err == nil || !strings.Contains(err.Error(), "no queue yet") {
			t.Errorf("before migration: %v", err)
		}
		from, to, err := Migrate(t.Context(), location, Options{})
		if err != nil || from != 0 || to != schemaVersion {
			t.Fatalf("migrated %d to %d, %v", from, to, err)
		}
		if from, _, err := Migrate(t.Context(), location, Options{}); err != nil || from != schemaVersion {
			t.Errorf("migrated again from %d, %v", from, err)
		}
		q := open(t, location, time.Now)
		setVersion := func(v int) {
			if err := q.do(t.Context(), func(tx tx) error {
				_, err := tx.exec(t.Context(), `UPDATE weedlc_schema SET version = $1`, v)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		setVersion(schemaVersion + 1)
		for _, migrate := range []bool{true, false} {
			_, err := Open(t.Context(), location, Options{Migrate: migrate})
			if err == nil || !strings.Contains(err.Error(), "has schema version 2 and this weedlc knows 1") {
				t.Errorf("a newer schema, migrate %t: %v", migrate, err)
			}
		}
		setVersion(0)
		if _, err := Open(t.Context(), location, Options{}); err == nil || !strings.Contains(err.Error(), "no queue yet") {
			t.Errorf("a migration that was cut: %v", err)
		}
	})
}

// Our schema's version names the one of River that it was made with.
func TestRiverVersion(t *testing.T) {
	q := open(t, "sqlite:"+filepath.Join(t.TempDir(), "q.db"), time.Now)
	m, err := rivermigrate.New(q.db.(*sqliteDB).driver, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := m.AllVersions()
	if newest := all[len(all)-1].Version; newest != riverVersion {
		t.Errorf("River's newest migration is %d and ours names %d: a new schemaVersion is needed", newest, riverVersion)
	}
}

// Many hosts that migrate an empty database at once all succeed.
func TestMigrateAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, location string) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, _, err := Migrate(t.Context(), location, Options{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		q := open(t, location, time.Now)
		if _, err := sweep.Enqueue(t.Context(), q, sweep.Admission{Sweep: "s", Shards: []int{0}, Now: time.Now()}); err != nil {
			t.Error(err)
		}
	})
}

func eachDatabase(t *testing.T, test func(t *testing.T, location string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "queue.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, shared.Server(t).Database(t))
	})
}

func TestOpenPostgresRefuses(t *testing.T) {
	s := shared.Server(t)
	s.Exec(t, "postgres", `CREATE ROLE poor LOGIN PASSWORD '`+secret+`'`)
	s.Exec(t, "postgres", `CREATE DATABASE other; `)
	s.Exec(t, "other", `CREATE TABLE river_migration (line TEXT)`)
	s.Exec(t, "postgres", `CREATE DATABASE closed`)
	for _, c := range []struct{ name, location, want, hint string }{
		{"another program's River", s.URL("other", pgtest.User, secret), "is not a queue of weedlc", "--queue"},
		{"no rights", s.URL("closed", "poor", secret), "no rights", "GRANT"},
		{"wrong password", s.URL("closed", pgtest.User, "wrong-"+secret), "refuses the user", "PGPASSWORD"},
		{"no such database", s.URL("missing", pgtest.User, secret), "no such database", "createdb"},
		{"a bad parameter", s.URL("closed", pgtest.User, secret) + "&pool_max_conns=many", "parameter", ""},
		{"nobody listens", "postgres://u:" + secret + "@127.0.0.1:1/db?sslmode=disable", "cannot be reached", ""},
	} {
		_, err := Open(t.Context(), c.location, Options{Migrate: true})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s: %v, hint %+v", c.name, err, e)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the password is shown: %v", c.name, err)
		}
	}
	// The password beside the URL.
	q, err := Open(t.Context(), s.URL("closed", pgtest.User, ""), Options{Password: secret, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil || strings.Contains(q.Location(), secret) {
		t.Errorf("%v, %q", err, q.Location())
	}
}

// A file that the user may not write is said so. Root may write any file, so
// the test goes on as another user.
func TestOpenSQLiteWithoutRights(t *testing.T) {
	if path := os.Getenv("WEEDLC_TEST_OPEN"); path != "" {
		_, err := Open(context.Background(), "sqlite:"+path, Options{Migrate: true})
		if err == nil || !strings.Contains(err.Error(), "cannot be written") && !strings.Contains(err.Error(), "permission denied") {
			t.Fatalf("opened: %v", err)
		}
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "queue.db")
	open(t, "sqlite:"+path, time.Now)
	// The test binary lies where nobody else may look.
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(t.TempDir(), "riverqueue.test")
	if err := os.WriteFile(self, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"unreadable": 0o600, "read-only": 0o444} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestOpenSQLiteWithoutRights$")
		cmd.Env = append(os.Environ(), "WEEDLC_TEST_OPEN="+path)
		cmd.Dir = "/"
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		} else if mode == 0o600 {
			continue
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
