package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"weedlc/internal/metrics"
	"weedlc/pass"
)

// meter is the metrics of a command and where they go. A nil one has nobody to
// tell.
type meter struct {
	*metrics.Metrics
	app  *app
	to   metricsOptions
	stop func()
	// ended is set by the report of a pass and cleared when it is published.
	ended atomic.Bool
}

// open makes the metrics of a command, takes the port and tries the file before
// anything else is done. Close it. Those of walk carry a label that says so: a
// walk is no pass, and may have a file beside that of the passes.
func (o *metricsOptions) open(a *app, command string, deletesPerSecond float64) (*meter, error) {
	if *o == (metricsOptions{}) {
		return nil, nil
	}
	labels := map[string]string{}
	if command == "walk" {
		labels["command"] = command
	}
	m := &meter{Metrics: metrics.New(a.host.Now, labels), app: a, to: *o, stop: func() {}}
	m.Limit(deletesPerSecond)
	if o.file != "" {
		if err := o.checkFolder(); err != nil {
			return nil, err
		}
	}
	if o.listen != "" {
		l, err := net.Listen("tcp", o.listen)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, hint(fmt.Errorf("--metrics-listen %q: the port is in use, perhaps by another pass", o.listen), "--metrics-file serves passes that may overlap")
		}
		if err != nil {
			return nil, fmt.Errorf("--metrics-listen %q: %w", o.listen, err)
		}
		m.stop = m.Serve(l, func(err error) { a.log.Warn(err.Error()) })
		a.notice("metrics are at http://%s/metrics", l.Addr())
	}
	return m, nil
}

// Limit sets how many delete calls a second are allowed; 0 is no limit.
func (m *meter) Limit(perSecond float64) {
	if m != nil {
		m.Metrics.Limit(perSecond)
	}
}

// attach has a pass counted.
func (m *meter) attach(o *pass.Options) {
	if m != nil {
		o.Meter = m
	}
}

// Ended implements pass.Meter.
func (m *meter) Ended(r *pass.Report) {
	m.Metrics.Ended(r)
	m.ended.Store(true)
}

// pushTimeout bounds a push, so that a push gateway that is silent does not
// keep a pass from ending.
const pushTimeout = 5 * time.Second

// publish writes and pushes the metrics after a pass, or after the error that
// kept one from beginning. Nothing is said of a pass that was not to begin: while
// another holds its shards, which has its own to say, during a pause, or outside
// the hours of work. What cannot be published is a warning: the pass has done its
// work.
func (m *meter) publish(ctx context.Context, err error) {
	if m == nil {
		return
	}
	if !m.ended.Swap(false) {
		if code := codeOf(err); code == exitHeld || code == exitUndone {
			return
		}
		m.Metrics.Ended(&pass.Report{Status: pass.Failed})
	}
	if m.to.file != "" {
		if err := m.WriteFile(m.to.file); err != nil {
			m.app.log.Warn("the metrics are not written", "error", err)
		}
	}
	if m.to.push != "" {
		if err := m.pushAll(context.WithoutCancel(ctx)); err != nil {
			m.app.log.Warn("the metrics are not pushed", "error", err)
		}
	}
}

// publish publishes what a pass was counted by.
func publish(ctx context.Context, by pass.Meter, err error) {
	if m, ok := by.(*meter); ok {
		m.publish(ctx, err)
	}
}

func (m *meter) pushAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	gateway, err := url.Parse(m.to.push)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	return m.Push(ctx, gateway, host)
}

// close ends the serving of metrics.
func (m *meter) close() {
	if m != nil {
		m.stop()
	}
}
