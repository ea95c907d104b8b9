package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"weedlc/internal/riverqueue"
)

// queuePasswordEnv holds the password of a PostgreSQL queue. It is no setting:
// a setting is a flag, and a flag stands in process listings.
const queuePasswordEnv = envPrefix + "QUEUE_PASSWORD"

// queueOptions say where the queue of sweeps is.
type queueOptions struct{ location, passwordFile string }

func (o *queueOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.location, "queue", "", "`place` of the queue, sqlite:PATH or postgres://USER@HOST/DATABASE (default sqlite: and /var/lib/weedlc/queue.db for root, $XDG_STATE_HOME/weedlc/queue.db for others)")
	flags.StringVar(&o.passwordFile, "queue-password-file", "", "read the password of a PostgreSQL queue from this `file` (default "+queuePasswordEnv+" or PGPASSWORD in the environment)")
	settings(flags, "queue", "queue-password-file")
}

// place is the location, and whether it is the usual one because none was given.
func (o *queueOptions) place(a *app) (location string, usual bool) {
	if o.location != "" {
		return o.location, false
	}
	return riverqueue.KindSQLite + ":" + filepath.Join(a.host.stateDir(), "queue.db"), true
}

// stateDir is where a host keeps what outlives a command.
func (h *Host) stateDir() string {
	state, home := h.getenv("XDG_STATE_HOME"), h.getenv("HOME")
	switch {
	case h.Root || state == "" && home == "":
		return "/var/lib/weedlc"
	case state != "":
		return filepath.Join(state, "weedlc")
	}
	return filepath.Join(home, ".local", "state", "weedlc")
}

// exists reports whether a queue was asked for, or is in the usual place.
func (o *queueOptions) exists(a *app) bool {
	location, usual := o.place(a)
	if !usual {
		return true
	}
	_, err := os.Stat(strings.TrimPrefix(location, riverqueue.KindSQLite+":"))
	return !errors.Is(err, fs.ErrNotExist)
}

// open opens the queue; create makes it, or brings it to today's schema.
func (o *queueOptions) open(ctx context.Context, a *app, create bool) (*riverqueue.Queue, error) {
	location, options, err := o.resolve(a, create)
	if err != nil {
		return nil, err
	}
	q, err := riverqueue.Open(ctx, location, options)
	if err != nil {
		return nil, queueError(err)
	}
	return q, nil
}

// resolve is what a queue is opened with. A password on the command line is
// refused.
func (o *queueOptions) resolve(a *app, create bool) (string, riverqueue.Options, error) {
	options := riverqueue.Options{Migrate: create, Clock: a.host.Now, Log: a.log}
	location, usual := o.place(a)
	parsed, err := riverqueue.ParseLocation(location)
	if err != nil {
		return "", options, hint(err, "--queue sqlite:/var/lib/weedlc/queue.db")
	}
	if parsed.HasPassword() && a.global.layers["queue"] == fromFlag {
		return "", options, hint(errors.New("a password in --queue stands in process listings"),
			"put it into %s, or into a file for --queue-password-file", queuePasswordEnv)
	}
	if options.Password, err = o.password(a, parsed); err != nil {
		return "", options, err
	}
	if usual && create {
		if err := os.MkdirAll(filepath.Dir(parsed.Path), 0o700); err != nil {
			return "", options, hint(fmt.Errorf("queue: %w", err), "name another place for the queue with --queue")
		}
	}
	return location, options, nil
}

func (o *queueOptions) password(a *app, l riverqueue.Location) (string, error) {
	switch {
	case l.Kind != riverqueue.KindPostgres:
		return "", nil
	case o.passwordFile != "":
		data, err := os.ReadFile(o.passwordFile)
		if err != nil {
			return "", fmt.Errorf("--queue-password-file: %w", err)
		}
		word := strings.TrimRight(string(data), "\r\n")
		if word == "" || strings.ContainsAny(word, "\r\n") {
			return "", fmt.Errorf("--queue-password-file %q: must hold one line, the password", o.passwordFile)
		}
		return word, nil
	case a.host.getenv(queuePasswordEnv) != "":
		return a.host.getenv(queuePasswordEnv), nil
	case l.HasPassword():
		return "", nil
	}
	return a.host.getenv("PGPASSWORD"), nil
}

// queueError gives an error of the queue its hint.
func queueError(err error) error {
	if e, ok := errors.AsType[*riverqueue.Error](err); ok && e.Hint != "" {
		return hint(err, "%s", e.Hint)
	}
	return err
}
