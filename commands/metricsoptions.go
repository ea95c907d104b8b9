package commands

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// metricsOptions say where the metrics of a command go; each may be empty.
type metricsOptions struct {
	listen, file, push string
}

func (o *metricsOptions) AddFlags(flags *pflag.FlagSet) {
	flags.Var(checkedValue{&o.listen, "address", checkListen}, "metrics-listen", "serve /metrics at this address while the command runs, as in :9327")
	flags.Var(checkedValue{&o.file, "file", checkPromFile}, "metrics-file", "write the metrics to this file after each pass, for node_exporter's textfile collector; ends in .prom")
	flags.Var(checkedValue{&o.push, "url", checkPushURL}, "metrics-push", "push the metrics to this Prometheus push gateway after each pass")
}

// addConfigurable is AddFlags for a command whose metrics the configuration may
// send somewhere. It is for one command of those that a host runs side by side:
// with the same file the one would replace what the other wrote.
func (o *metricsOptions) addConfigurable(flags *pflag.FlagSet) {
	o.AddFlags(flags)
	settings(flags, "metrics-listen", "metrics-file", "metrics-push")
}

// checkedValue is a word that has a form to keep; the empty one is none.
type checkedValue struct {
	p     *string
	kind  string
	check func(string) error
}

func (v checkedValue) String() string {
	if v.p == nil {
		return ""
	}
	return *v.p
}

func (v checkedValue) Type() string { return v.kind }

func (v checkedValue) Set(s string) error {
	if s != "" {
		if err := v.check(s); err != nil {
			return err
		}
	}
	*v.p = s
	return nil
}

func checkListen(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return errors.New("must be host:port or :port")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q must be a number up to 65535", port)
	}
	return nil
}

func checkPromFile(s string) error {
	if name := filepath.Base(s); !strings.HasSuffix(name, ".prom") || name == ".prom" {
		return errors.New("must end in .prom: the textfile collector reads no other files")
	}
	return nil
}

func checkPushURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be a URL such as http://localhost:9091")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must have neither a query nor a fragment")
	case strings.Contains(u.Path, "/metrics"):
		return errors.New("must end in front of /metrics, which is added")
	}
	return nil
}

// checkFolder finds out whether the metrics can be written, before there is
// anything to write.
func (o *metricsOptions) checkFolder() error {
	dir := filepath.Dir(o.file)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return hint(fmt.Errorf("--metrics-file %q: there is no directory %q", o.file, dir), "mkdir -p %s", shellWord(dir))
	case err != nil:
		return fmt.Errorf("--metrics-file %q: %w", o.file, err)
	case !info.IsDir():
		return fmt.Errorf("--metrics-file %q: %q is no directory", o.file, dir)
	}
	if info, err := os.Stat(o.file); err == nil && info.IsDir() {
		return fmt.Errorf("--metrics-file %q: is a directory", o.file)
	}
	// A trial tells more than the permissions do: the file system may be full or
	// read-only.
	trial, err := os.CreateTemp(dir, filepath.Base(o.file))
	if err != nil {
		return fmt.Errorf("--metrics-file %q: no file can be made beside it: %w", o.file, err)
	}
	return errors.Join(trial.Close(), os.Remove(trial.Name()))
}
