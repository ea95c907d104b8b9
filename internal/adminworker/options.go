package adminworker

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
)

// JobType is the one that the worker serves.
const JobType = "s3_lifecycle"

// Options of a worker.
type Options struct {
	// ID names the worker to the admin server. Two workers of one ID push each
	// other off.
	ID string
	// Host is where the worker runs, Version is weedlc's; both for people.
	Host, Version string

	// Connect opens the stream to the admin server. It ends with the context.
	Connect func(ctx context.Context) (Stream, error)
	// Peers lists the workers that are connected to the admin server.
	Peers func(ctx context.Context) ([]Peer, error)
	// Work carries out a job and returns when it is done or, with its progress
	// saved, some seconds after the context has ended. What it tells replaces
	// what it told before.
	Work func(ctx context.Context, job Job, tell func(Progress)) Result

	// Heartbeat is how often the admin server hears of the worker; 0 is 15 s. It
	// takes a worker for dead after two minutes.
	Heartbeat time.Duration
	// Reconnect is the pause before a new connection; 0 is 5 s.
	Reconnect time.Duration

	// Log is told of connections and jobs; nil is none.
	Log *slog.Logger
}

func (o *Options) setDefaults() {
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Reconnect = cmp.Or(o.Reconnect, 5*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Stream is one connection to the admin server. One goroutine sends while
// another receives.
type Stream interface {
	Send(*plugin_pb.WorkerToAdminMessage) error
	Recv() (*plugin_pb.AdminToWorkerMessage, error)
	CloseSend() error
}

// Progress is how far a job is.
type Progress struct {
	// Stage is one word, Message one line.
	Stage, Message string
	// Now asks for it to be told at once, and not with the next heartbeat.
	Now bool
}

// Result is how a job ended.
type Result struct {
	// Undone says what the job left undone, on one line; empty is nothing.
	Undone string
	// Summary says what it did, on one line.
	Summary string
	// Counts are its numbers by name.
	Counts map[string]int64
	// Notes are lines for the job's history, one for each thing left undone.
	Notes []string
}
