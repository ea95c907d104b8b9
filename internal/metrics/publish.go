package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/push"
)

// WriteFile replaces a file for the textfile collector at once. Its name ends
// in .prom, and its directory exists.
func (m *Metrics) WriteFile(name string) error {
	return prometheus.WriteToTextfile(name, m.registry)
}

// Push adds the metrics to the group job="weedlc", instance=INSTANCE of a push
// gateway. What another process pushed to the group under a name that has no
// value here stays. The address may carry a user and password; they are in no
// error.
func (m *Metrics) Push(ctx context.Context, gateway *url.URL, instance string) error {
	bare := *gateway
	bare.User = nil
	p := push.New(bare.String(), "weedlc").Grouping("instance", instance).Gatherer(m.registry).Client(&http.Client{})
	if u := gateway.User; u != nil {
		password, _ := u.Password()
		p.BasicAuth(u.Username(), password)
	}
	return p.AddContext(ctx)
}

// closing is how long a scrape that is under way may take when the server is
// stopped.
const closing = time.Second

// Serve answers scrapes of /metrics on a listener until stop is called.
func (m *Metrics) Serve(l net.Listener, failed func(error)) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("metrics are no longer served: %w", err))
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), closing)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // the scrape is given up
		}
		<-done
	}
}
