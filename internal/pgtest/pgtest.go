// Package pgtest starts a private PostgreSQL on loopback for tests. It needs
// the server's binaries (apt-get install postgresql), keeps everything in one
// temporary directory, and runs the server as user postgres when the tests run
// as root, which PostgreSQL refuses.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// User and Password may do everything on the server.
const (
	User     = "postgres"
	Password = "pgtest-secret"
)

// Server is one PostgreSQL.
type Server struct {
	Port int

	bin, dir  string
	cred      *credential // nil: the tests' own
	process   *exec.Cmd
	exited    chan struct{}
	databases atomic.Int64
}

// Shared is the server of a test package. It starts when the first test asks.
//
//	var shared pgtest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }
type Shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Main runs the package's tests and stops the server.
func (s *Shared) Main(m *testing.M) int {
	code := m.Run()
	if s.server != nil {
		if err := s.server.Close(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot clean up PostgreSQL: %v\n", err)
		}
	}
	return code
}

// Server returns the running server.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = start() })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// New starts a server of the test's own, for tests that stop it.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("cannot clean up PostgreSQL: %v", err)
		}
	})
	return s
}

func start() (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "weedlc-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// binaries finds the server's directory, the newest version first.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("no PostgreSQL server is installed: apt-get install postgresql")
	}
	return filepath.Dir(initdb), nil
}

func version(initdb string) int {
	n, _ := strconv.Atoi(strings.Split(initdb, "/")[4])
	return n
}

// create makes the cluster's files.
func (s *Server) create() error {
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return fmt.Errorf("PostgreSQL does not run as root, and: %w", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.cred = &credential{uid, gid}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
	}
	passwords := filepath.Join(s.dir, "password")
	if err := os.WriteFile(passwords, []byte(Password+"\n"), 0o644); err != nil {
		return err
	}
	cmd := s.command("initdb", "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C",
		"-U", User, "-A", "scram-sha-256", "--pwfile", passwords, "-D", s.data())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.Port = listener.Addr().(*net.TCPAddr).Port
	return listener.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = attributes(s.cred)
	return cmd
}

// startWithin bounds how long a server may take until it answers.
const startWithin = 30 * time.Second

// Start starts the server and returns once it answers.
func (s *Server) Start() error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.Port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "full_page_writes=off", "-c", "synchronous_commit=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB")
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(p *exec.Cmd) {
		_ = p.Wait() // its log tells more
		close(exited)
	}(s.process)
	for deadline := time.Now().Add(startWithin); ; {
		conn, err := s.connect("postgres")
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(s.logPath())
			return fmt.Errorf("PostgreSQL ended:\n%s", text)
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// Stop ends the server at once, with every connection; its data stay.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	// SIGINT is a fast shutdown: sessions are ended, no recovery is needed.
	if err := s.process.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.exited:
	case <-time.After(startWithin):
		return errors.Join(errors.New("PostgreSQL does not stop"), s.process.Process.Kill())
	}
	s.process = nil
	return nil
}

// Close stops the server and removes its files.
func (s *Server) Close() error { return errors.Join(s.Stop(), os.RemoveAll(s.dir)) }

func (s *Server) logPath() string { return filepath.Join(s.dir, "server.log") }

func (s *Server) connect(database string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return pgx.Connect(ctx, s.URL(database, User, Password))
}

// URL is that of a database for a user. An empty password is left out.
func (s *Server) URL(database, name, password string) string {
	login := name
	if password != "" {
		login += ":" + password
	}
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", login, s.Port, database)
}

// Database makes a new empty database and returns its URL, with the password.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("db%d", s.databases.Add(1))
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return s.URL(name, User, Password)
}

// Exec runs statements in a database.
func (s *Server) Exec(t testing.TB, database, statements string) {
	t.Helper()
	conn, err := s.connect(database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), statements); err != nil {
		t.Fatal(err)
	}
}
