package adminworker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// errStopping makes the admin server give a job to another worker: it looks for
// these words.
var errStopping = errors.New("executor is at capacity: the worker is stopping")

var errBusy = errors.New("executor is at capacity: one job at a time")

// running is the job in flight.
type running struct {
	request *plugin_pb.ExecuteJobRequest
	cancel  context.CancelCauseFunc
	// told is what the job has told last; never nil.
	told *atomic.Pointer[Progress]
	// sent is what the admin server has been sent last.
	sent Progress
	// news are what the job wants to be heard at once, ended is its end.
	news  chan Progress
	ended chan *plugin_pb.JobCompleted
}

// execute starts a job, or says why not.
func (s *session) execute(id string, req *plugin_pb.ExecuteJobRequest) error {
	refuse := func(err error) error { return s.send(completion(id, req, Result{Undone: err.Error()})) }
	switch {
	case s.ctx.Err() != nil:
		return refuse(errStopping)
	case s.job != nil:
		return refuse(errBusy)
	case req.GetJob().GetJobType() != JobType:
		return refuse(fmt.Errorf("job type %q is not served here", req.GetJob().GetJobType()))
	}
	if _, err := s.look(s.ctx); err != nil {
		s.stop(err)
		return refuse(err)
	}
	job, err := parseJob(req)
	if err != nil {
		s.o.Log.Error("a job is refused", "job", req.GetJob().GetJobId(), "error", err)
		return refuse(err)
	}
	s.start(id, req, job)
	return errors.Join(s.acknowledge(id, true, ""), s.heartbeat())
}

func (s *session) start(id string, req *plugin_pb.ExecuteJobRequest, job Job) {
	// The job belongs to the worker and not to the connection.
	ctx, cancel := context.WithCancelCause(s.ctx)
	r := &running{
		request: req, cancel: cancel, told: new(atomic.Pointer[Progress]),
		news: make(chan Progress, 16), ended: make(chan *plugin_pb.JobCompleted, 1),
	}
	r.told.Store(&Progress{Stage: "starting", Message: "starting"})
	s.job = r
	name := req.GetJob().GetJobId()
	s.o.Log.Info("job begins", "job", name, "shards", req.GetJob().GetParameters()[paramShards].GetStringValue(),
		"deletes_per_second", job.DeletesPerSecond, "burst", job.Burst)
	go func() {
		defer cancel(nil)
		result := s.o.Work(ctx, job, r.tell)
		if ctx.Err() != nil && result.Undone != "" {
			result.Undone = fmt.Sprintf("%s: %s", endedBy(ctx), result.Undone)
		}
		s.o.Log.Info("job ends", "job", name, "summary", result.Summary, "undone", result.Undone)
		r.ended <- completion(id, req, result)
	}()
}

func endedBy(ctx context.Context) string {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err.Error()
	}
	return "the worker was stopped"
}

func (r *running) tell(p Progress) {
	r.told.Store(&p)
	if p.Now {
		select {
		case r.news <- p:
		default: // there is no connection, or too much to tell
		}
	}
}

// progress tells the admin server how far the job is, if that has changed.
func (s *session) progress(p Progress) error {
	if p == s.job.sent {
		return nil
	}
	s.job.sent = p
	return s.send(&plugin_pb.JobProgressUpdate{
		RequestId: s.job.request.GetRequestId(), JobId: s.job.request.GetJob().GetJobId(), JobType: JobType,
		State: plugin_pb.JobState_JOB_STATE_RUNNING, Stage: p.Stage, Message: p.Message, UpdatedAt: timestamppb.Now(),
	})
}

// cancel ends the job in flight, if it is the one meant.
func (s *session) cancel(id string, req *plugin_pb.CancelRequest) error {
	target := req.GetTargetId()
	if s.job == nil || target != s.job.request.GetRequestId() && target != s.job.request.GetJob().GetJobId() {
		return s.acknowledge(id, false, fmt.Sprintf("%q is not under way here", target))
	}
	s.job.cancel(fmt.Errorf("cancelled by the admin server: %s", req.GetReason()))
	return s.acknowledge(id, true, "")
}

// completion tells how a job ended. Of one that failed the admin server keeps
// the error and the activities alone.
func completion(id string, req *plugin_pb.ExecuteJobRequest, r Result) *plugin_pb.JobCompleted {
	done := &plugin_pb.JobCompleted{
		RequestId: id, JobId: req.GetJob().GetJobId(), JobType: JobType,
		Success: r.Undone == "", ErrorMessage: r.Undone, CompletedAt: timestamppb.Now(),
		Result: &plugin_pb.JobResult{Summary: r.Summary, OutputValues: map[string]*plugin_pb.ConfigValue{}},
	}
	for name, n := range r.Counts {
		done.Result.OutputValues[name] = number(n)
	}
	for _, line := range r.Notes {
		done.Activities = append(done.Activities, &plugin_pb.ActivityEvent{
			Source: plugin_pb.ActivitySource_ACTIVITY_SOURCE_EXECUTOR, Stage: "undone", Message: line, CreatedAt: timestamppb.Now(),
		})
	}
	if !done.Success && r.Summary != "" {
		done.Activities = append(done.Activities, &plugin_pb.ActivityEvent{
			Source: plugin_pb.ActivitySource_ACTIVITY_SOURCE_EXECUTOR, Stage: "summary", Message: r.Summary,
			Details: done.Result.OutputValues, CreatedAt: timestamppb.Now(),
		})
	}
	return done
}
