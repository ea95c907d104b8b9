package riverqueue

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Kinds of locations.
const (
	KindSQLite   = "sqlite"
	KindPostgres = "postgres"
)

// Location is where a queue lies: "sqlite:PATH" or a URL "postgres://…".
type Location struct {
	Kind string
	// Path is SQLite's file.
	Path string

	url *url.URL // PostgreSQL's
}

// ParseLocation reads a location. Its errors never hold the text of a URL,
// which may hold a password.
func ParseLocation(s string) (Location, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	switch {
	case scheme == KindSQLite && rest != "":
		return Location{Kind: KindSQLite, Path: rest}, nil
	case scheme == KindPostgres || scheme == "postgresql":
		u, err := url.Parse(s)
		if err != nil {
			return Location{}, errors.New("queue: the URL of the PostgreSQL database cannot be read")
		}
		if !strings.HasPrefix(rest, "//") {
			return Location{}, fmt.Errorf("queue: a PostgreSQL database is %q", "postgres://USER@HOST/DATABASE")
		}
		return Location{Kind: KindPostgres, url: u}, nil
	}
	if strings.Contains(s, "://") {
		return Location{}, fmt.Errorf("queue: scheme %q is not known: %q or %q",
			scheme, "sqlite:PATH", "postgres://USER@HOST/DATABASE")
	}
	return Location{}, fmt.Errorf("queue %q is neither %q nor %q", s, "sqlite:PATH", "postgres://USER@HOST/DATABASE")
}

// HasPassword says that the URL holds a password, which a process listing
// shows when it stands on a command line.
func (l Location) HasPassword() bool {
	if l.url == nil {
		return false
	}
	_, user := l.url.User.Password()
	return user || l.url.Query().Has("password")
}

// String is the location without its password and parameters.
func (l Location) String() string {
	if l.url == nil {
		return l.Kind + ":" + l.Path
	}
	shown := url.URL{Scheme: KindPostgres, Host: l.url.Host, Path: l.url.Path}
	if name := l.url.User.Username(); name != "" {
		shown.User = url.User(name)
	}
	return shown.String()
}
