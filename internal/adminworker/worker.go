package adminworker

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
)

// Worker serves one admin server, one job at a time.
type Worker struct {
	o Options
	// stop ends the worker with the error that Run returns.
	stop context.CancelCauseFunc
	// blind is set while the peers cannot be seen.
	blind atomic.Bool

	// What follows belongs to Run's goroutine.

	job *running // nil when idle
	// last is how the last job ended. The admin server may not have heard it; to
	// hear it again does it no harm.
	last *plugin_pb.JobCompleted
}

// New returns a worker that is not connected yet.
func New(o Options) *Worker {
	o.setDefaults()
	return &Worker{o: o}
}

// Run serves the admin server until the context ends, and returns its cause
// after the job in flight has ended. A BuiltInError ends it too. The first
// connection has to succeed; a later one is made anew as often as it breaks.
func (w *Worker) Run(ctx context.Context) error {
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	if _, err := w.look(ctx); err != nil {
		return err
	}
	go w.watch(ctx)
	for heard := false; ; {
		again, err := w.serve(ctx)
		heard = heard || again
		if ctx.Err() == nil {
			if !heard {
				return err
			}
			w.o.Log.Warn("no connection to the admin server; trying again", "in", w.o.Reconnect, "error", err)
			select {
			case <-time.After(w.o.Reconnect):
				continue
			case <-ctx.Done():
			}
		}
		if w.job != nil {
			<-w.job.ended
		}
		return context.Cause(ctx)
	}
}

// watch looks for a built-in worker now and then, and stops the worker when
// there is one.
func (w *Worker) watch(ctx context.Context) {
	tick := time.NewTicker(2 * w.o.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if _, err := w.look(ctx); err != nil {
				w.stop(err)
			}
		}
	}
}

// received is what came over a stream.
type received struct {
	message *plugin_pb.AdminToWorkerMessage
	err     error
}

// serve is one connection, from its hello to its end. It reports whether the
// admin server has said anything.
func (w *Worker) serve(ctx context.Context) (heard bool, err error) {
	// The connection outlives the context: the end of the job in flight is still
	// to be told.
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	connected := context.AfterFunc(ctx, cancel)
	stream, err := w.o.Connect(streamCtx)
	if !connected() {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, err
	}
	s := &session{Worker: w, ctx: ctx, stream: stream}
	if err := s.greet(); err != nil {
		return false, err
	}

	inbox := make(chan received)
	go func() {
		for {
			m, err := stream.Recv()
			select {
			case inbox <- received{m, err}:
			case <-streamCtx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	tick := time.NewTicker(w.o.Heartbeat)
	defer tick.Stop()
	for stopping := ctx.Done(); stopping != nil || w.job != nil; {
		var job running
		if w.job != nil {
			job = *w.job
		}
		select {
		case in := <-inbox:
			if in.err != nil {
				return heard, in.err
			}
			heard, err = true, s.handle(in.message)
		case <-stopping:
			stopping = nil
		case completed := <-job.ended:
			w.job, w.last = nil, completed
			err = errors.Join(s.send(completed), s.heartbeat())
		case p := <-job.news:
			err = s.progress(p)
		case <-tick.C:
			err = s.heartbeat()
			if w.job != nil && len(job.news) == 0 {
				err = errors.Join(err, s.progress(*w.job.told.Load()))
			}
		}
		if err != nil {
			return heard, err
		}
	}
	return heard, s.close(inbox)
}

// closeTimeout is how long the admin server may take to end a stream that this
// side has ended, and so to have read everything.
const closeTimeout = 2 * time.Second

func (s *session) close(inbox <-chan received) error {
	if err := s.stream.CloseSend(); err != nil {
		return err
	}
	timeout := time.After(closeTimeout)
	for {
		select {
		case in := <-inbox:
			if in.err != nil {
				return nil
			}
		case <-timeout:
			return nil
		}
	}
}
