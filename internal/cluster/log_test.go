package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"weedlc/engine"
)

type (
	logRequest = filer_pb.SubscribeMetadataRequest
	logMessage = filer_pb.SubscribeMetadataResponse
	logStream  = grpc.ServerStreamingServer[filer_pb.SubscribeMetadataResponse]
)

// created is a message about a new entry of /buckets/b.
func created(ts int64, name string) *logMessage {
	return &logMessage{
		TsNs: ts, Directory: "/buckets/b",
		EventNotification: &filer_pb.EventNotification{NewParentPath: "/buckets/b", NewEntry: &filer_pb.Entry{Name: name}},
	}
}

// alive is a message that says only how far the filer has read.
func alive(ts int64) *logMessage { return &logMessage{TsNs: ts} }

// filtered says how far the filer has read past events that were not asked for.
func filtered(ts int64) *logMessage {
	return &logMessage{TsNs: ts, EventNotification: &filer_pb.EventNotification{}}
}

func batch(first *logMessage, more ...*logMessage) *logMessage {
	first.Events = more
	return first
}

// The three ends of a stream (scenario 42), and those that the server does not
// announce.
func TestScenario42_EndsOfTheLog(t *testing.T) {
	const until = 100
	for _, tc := range []struct {
		name     string
		messages []*logMessage
		// then ends the stream; nil leaves it open and silent.
		then func(context.Context) error
		want []string
		err  string
	}{
		{
			name:     "silence",
			messages: []*logMessage{created(1, "a"), created(2, "b"), created(3, "c")},
			want:     []string{"1 a", "2 b", "3 c"}, err: "silent for",
		},
		{
			name:     "end at the bound",
			messages: []*logMessage{created(1, "a"), created(until, "b")},
			then:     func(context.Context) error { return nil },
			want:     []string{"1 a", "100 b"},
		},
		{
			name:     "error after one event",
			messages: []*logMessage{created(1, "a")},
			then:     func(context.Context) error { return status.Error(codes.Unavailable, "going away") },
			want:     []string{"1 a"}, err: "going away",
		},
		{
			name: "nothing at all",
			then: func(context.Context) error { return nil },
		},
		{
			name:     "an event past the bound",
			messages: []*logMessage{created(1, "a"), created(until+1, "b")},
			want:     []string{"1 a"},
		},
		{
			name:     "a heartbeat at the bound is not past it",
			messages: []*logMessage{created(1, "a"), alive(until)},
			want:     []string{"1 a"}, err: "silent for",
		},
		{
			name:     "a heartbeat past the bound",
			messages: []*logMessage{created(1, "a"), alive(until + 1)},
			want:     []string{"1 a"},
		},
		{
			name:     "filtered events past the bound",
			messages: []*logMessage{filtered(5), created(6, "a"), filtered(until + 1)},
			want:     []string{"6 a"},
		},
		{
			name:     "a flush report has no time",
			messages: []*logMessage{{FlushedTsNs: until + 1}, created(1, "a"), alive(until + 1)},
			want:     []string{"1 a"},
		},
		{
			name:     "batches",
			messages: []*logMessage{batch(created(1, "a"), created(2, "b"), created(3, "c")), batch(created(4, "d"), created(until+1, "e"), created(until+2, "f"))},
			want:     []string{"1 a", "2 b", "3 c", "4 d"},
		},
		{
			name:     "an event at the start was read before",
			messages: []*logMessage{created(0, "a"), created(1, "b"), alive(until + 1)},
			want:     []string{"1 b"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t)
			o.Silence = 300 * time.Millisecond
			o.Filers = []string{serveFiler(t, &fakeFiler{subscribe: func(_ *logRequest, s logStream) error {
				for _, m := range tc.messages {
					if err := s.Send(m); err != nil {
						return err
					}
				}
				if tc.then == nil {
					<-s.Context().Done()
					return s.Context().Err()
				}
				return tc.then(s.Context())
			}})}
			var got []string
			err := dial(t, o).ReadLog(t.Context(), engine.LogRange{UntilNs: until}, func(e *engine.Event) error {
				got = append(got, fmt.Sprintf("%d %s", e.TsNs, e.Path))
				return nil
			})
			if !slices.Equal(got, tc.want) {
				t.Errorf("events %q, want %q", got, tc.want)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if err != nil && !strings.Contains(err.Error(), o.Filers[0]) {
				t.Errorf("error %q does not name the filer", err)
			}
		})
	}
}

// Heartbeats keep a stream alive that has nothing to show, and a slow reader
// is not the filer's silence.
func TestLogStreamIsAlive(t *testing.T) {
	o := options(t)
	o.Silence = 400 * time.Millisecond
	o.Filers = []string{serveFiler(t, &fakeFiler{subscribe: func(_ *logRequest, s logStream) error {
		if err := s.Send(created(1, "a")); err != nil {
			return err
		}
		for range 4 {
			if err := s.Send(alive(2)); err != nil {
				return err
			}
			select {
			case <-time.After(o.Silence / 2):
			case <-s.Context().Done():
				return s.Context().Err()
			}
		}
		return nil
	}})}
	err := dial(t, o).ReadLog(t.Context(), engine.LogRange{UntilNs: 10}, func(*engine.Event) error {
		select {
		case <-time.After(2 * o.Silence):
		case <-t.Context().Done():
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLogRequest(t *testing.T) {
	requests := make(chan *logRequest, 2)
	c := dialFiler(t, &fakeFiler{subscribe: func(r *logRequest, _ logStream) error {
		requests <- r
		return nil
	}})
	read := func(r engine.LogRange) {
		t.Helper()
		if err := c.ReadLog(t.Context(), r, func(*engine.Event) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	read(engine.LogRange{AfterNs: 3, UntilNs: 9, Paths: []string{"b/logs", "a"}})
	read(engine.LogRange{UntilNs: 9})
	// An empty range is not asked for.
	read(engine.LogRange{AfterNs: 9, UntilNs: 9})
	first, second := <-requests, <-requests
	if first.SinceNs != 3 || first.UntilNs != 9 || !first.ClientSupportsBatching || !first.ClientSupportsIdleHeartbeat || first.ClientSupportsMetadataChunks {
		t.Errorf("request %v", first)
	}
	if first.PathPrefix != "/buckets/a" || !slices.Equal(first.PathPrefixes, []string{"/buckets/b/logs"}) {
		t.Errorf("prefixes %q, %q", first.PathPrefix, first.PathPrefixes)
	}
	if second.PathPrefix != "/buckets/" || len(second.PathPrefixes) != 0 {
		t.Errorf("prefixes %q, %q", second.PathPrefix, second.PathPrefixes)
	}
	if first.ClientId == second.ClientId || first.ClientId <= 0 || second.ClientId <= 0 {
		t.Errorf("client ids %d and %d", first.ClientId, second.ClientId)
	}
}

func TestEventPlaces(t *testing.T) {
	old, renamed := &filer_pb.Entry{Name: "k"}, &filer_pb.Entry{Name: "k2"}
	for _, tc := range []struct {
		name      string
		directory string
		n         *filer_pb.EventNotification
		paths     []string
		want      []string
	}{
		{"creation", "/buckets/b", &filer_pb.EventNotification{NewEntry: old, NewParentPath: "/buckets/b"}, nil, []string{"b:k <- create"}},
		{"creation without a new parent", "/buckets/b/d", &filer_pb.EventNotification{NewEntry: old}, nil, []string{"b:d/k <- create"}},
		{"update", "/buckets/b/d", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/buckets/b/d"}, nil, []string{"b:d/k <- update"}},
		{"removal", "/buckets/b/d", &filer_pb.EventNotification{OldEntry: old}, nil, []string{"b:d/k <- remove"}},
		{"rename", "/buckets/b/d", &filer_pb.EventNotification{OldEntry: old, NewEntry: renamed, NewParentPath: "/buckets/b"}, nil, []string{"b:k2 <- d/k"}},
		{"move to another bucket", "/buckets/b", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/buckets/c/d"}, nil, []string{"b:k <- remove", "c:d/k <- create"}},
		{"move out of the buckets", "/buckets/b", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/trash"}, nil, []string{"b:k <- remove"}},
		{"move into the buckets", "/trash", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/buckets/b"}, nil, []string{"b:k <- create"}},
		{"bucket", "/buckets", &filer_pb.EventNotification{NewEntry: old, NewParentPath: "/buckets"}, nil, []string{"k: <- create"}},
		{"outside", "/buckets2/b", &filer_pb.EventNotification{NewEntry: old, NewParentPath: "/buckets2/b"}, nil, nil},
		{"the buckets' folder", "/", &filer_pb.EventNotification{NewEntry: &filer_pb.Entry{Name: "buckets"}, NewParentPath: "/"}, nil, nil},
		{"nothing", "/buckets/b", &filer_pb.EventNotification{}, nil, nil},

		{"filtered", "/buckets/b", &filer_pb.EventNotification{NewEntry: old, NewParentPath: "/buckets/b"}, []string{"b/x", "c"}, nil},
		{"filter met by the old place", "/buckets/b/d", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/buckets/b/e"}, []string{"b/d"}, []string{"b:e/k <- d/k"}},
		{"filter met by the new place", "/buckets/b/d", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/buckets/b/e"}, []string{"b/e"}, []string{"b:e/k <- d/k"}},
		{"filter met by one bucket", "/buckets/b", &filer_pb.EventNotification{OldEntry: old, NewEntry: old, NewParentPath: "/buckets/c"}, []string{"c"}, []string{"c:k <- create"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dialFiler(t, &fakeFiler{subscribe: func(_ *logRequest, s logStream) error {
				return s.Send(&logMessage{TsNs: 5, Directory: tc.directory, EventNotification: tc.n})
			}})
			var got []string
			err := c.ReadLog(t.Context(), engine.LogRange{UntilNs: 9, Paths: tc.paths}, func(e *engine.Event) error {
				from := e.OldPath
				switch {
				case from != "":
				case e.Old == nil:
					from = "create"
				case e.New == nil:
					from = "remove"
				default:
					from = "update"
				}
				got = append(got, fmt.Sprintf("%s:%s <- %s", e.Bucket, e.Path, from))
				if e.TsNs != 5 {
					t.Errorf("time %d", e.TsNs)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("events %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// The reader's own error ends the reading and comes back as it is, even where
// it looks like one of the filer.
func TestReaderStopsTheLog(t *testing.T) {
	stop := status.Error(codes.Unavailable, "the reader's own")
	reads := 0
	f := &fakeFiler{subscribe: func(_ *logRequest, s logStream) error {
		reads++
		for ts := range int64(5) {
			if err := s.Send(created(ts+1, "k")); err != nil {
				return err
			}
		}
		return nil
	}}
	o := options(t)
	o.Filers = []string{serveFiler(t, f), serveFiler(t, f)}
	events := 0
	err := dial(t, o).ReadLog(t.Context(), engine.LogRange{UntilNs: 9}, func(*engine.Event) error {
		events++
		return stop
	})
	if err != stop || events != 1 || reads != 1 {
		t.Errorf("error %v after %d events of %d streams", err, events, reads)
	}
}

func TestLogIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := dialFiler(t, &fakeFiler{subscribe: func(_ *logRequest, s logStream) error {
		if err := s.Send(created(1, "k")); err != nil {
			return err
		}
		<-s.Context().Done()
		return nil
	}})
	err := c.ReadLog(ctx, engine.LogRange{UntilNs: 9}, func(*engine.Event) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Another filer is tried while nothing has been read, and only then: it may
// show the newest events in another order.
func TestLogFailover(t *testing.T) {
	for _, tc := range []struct {
		name     string
		messages []*logMessage
		want     []string
		fails    bool
	}{
		{"before the first event", []*logMessage{alive(1)}, []string{"healthy"}, false},
		{"after the first event", []*logMessage{created(1, "broken")}, []string{"broken"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			broken := &fakeFiler{subscribe: func(_ *logRequest, s logStream) error {
				for _, m := range tc.messages {
					if err := s.Send(m); err != nil {
						return err
					}
				}
				return status.Error(codes.Unavailable, "filer is shutting down")
			}}
			healthy := &fakeFiler{subscribe: func(_ *logRequest, s logStream) error { return s.Send(created(2, "healthy")) }}
			o := options(t)
			o.Filers = []string{serveFiler(t, broken), serveFiler(t, healthy)}
			var got []string
			err := dial(t, o).ReadLog(t.Context(), engine.LogRange{UntilNs: 9}, func(e *engine.Event) error {
				got = append(got, e.Path)
				return nil
			})
			if !slices.Equal(got, tc.want) || (err != nil) != tc.fails {
				t.Errorf("events %q, error %v", got, err)
			}
		})
	}
}

func TestLogHorizonOfOddTrees(t *testing.T) {
	for _, tc := range []struct {
		name string
		tree map[string][]string // folder → names
		want string
	}{
		{"no log", nil, ""},
		{"no day", map[string][]string{"": {"segments", "2026-13-01"}}, ""},
		{"an empty day goes before", map[string][]string{"": {"2026-01-02", "2026-01-03"}, "2026-01-03": {"07-08.00000001", "09-10.00000001"}}, "2026-01-03T07:08:00Z"},
		{"other files are passed over", map[string][]string{"": {"2026-01-02"}, "2026-01-02": {".tmp", "readme", "23-59.0a0b0c0d"}}, "2026-01-02T23:59:00Z"},
		{"several filers", map[string][]string{"": {"2026-01-02"}, "2026-01-02": {"00-00.ffffffff", "00-01.00000001"}}, "2026-01-02T00:00:00Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := dialFiler(t, &fakeFiler{list: func(r *filer_pb.ListEntriesRequest, s grpc.ServerStreamingServer[filer_pb.ListEntriesResponse]) error {
				for _, name := range tc.tree[strings.Trim(strings.TrimPrefix(r.Directory, "/topics/.system/log"), "/")] {
					if err := s.Send(&filer_pb.ListEntriesResponse{Entry: &filer_pb.Entry{Name: name}}); err != nil {
						return err
					}
				}
				return nil
			}})
			ns, err := c.LogHorizon(t.Context())
			got := ""
			if ns != 0 {
				got = time.Unix(0, ns).UTC().Format(time.RFC3339)
			}
			if err != nil || got != tc.want {
				t.Errorf("horizon %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
