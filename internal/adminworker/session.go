package adminworker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// session is a worker with a connection. Only serve's goroutine uses it.
type session struct {
	*Worker
	ctx    context.Context // Run's
	stream Stream
}

// send wraps a body into its message.
func (s *session) send(body any) error {
	m := &plugin_pb.WorkerToAdminMessage{WorkerId: s.o.ID, SentAt: timestamppb.Now()}
	switch b := body.(type) {
	case *plugin_pb.WorkerHello:
		m.Body = &plugin_pb.WorkerToAdminMessage_Hello{Hello: b}
	case *plugin_pb.WorkerHeartbeat:
		m.Body = &plugin_pb.WorkerToAdminMessage_Heartbeat{Heartbeat: b}
	case *plugin_pb.WorkerAcknowledge:
		m.Body = &plugin_pb.WorkerToAdminMessage_Acknowledge{Acknowledge: b}
	case *plugin_pb.ConfigSchemaResponse:
		m.Body = &plugin_pb.WorkerToAdminMessage_ConfigSchemaResponse{ConfigSchemaResponse: b}
	case *plugin_pb.DetectionProposals:
		m.Body = &plugin_pb.WorkerToAdminMessage_DetectionProposals{DetectionProposals: b}
	case *plugin_pb.DetectionComplete:
		m.Body = &plugin_pb.WorkerToAdminMessage_DetectionComplete{DetectionComplete: b}
	case *plugin_pb.JobProgressUpdate:
		m.Body = &plugin_pb.WorkerToAdminMessage_JobProgressUpdate{JobProgressUpdate: b}
	case *plugin_pb.JobCompleted:
		m.Body = &plugin_pb.WorkerToAdminMessage_JobCompleted{JobCompleted: b}
	default:
		return fmt.Errorf("no message has a body of type %T", body)
	}
	return s.stream.Send(m)
}

func (s *session) acknowledge(requestID string, accepted bool, message string) error {
	return s.send(&plugin_pb.WorkerAcknowledge{RequestId: requestID, Accepted: accepted, Message: message})
}

// greet introduces the worker, with the job that it may have from an earlier
// connection, and tells once more how the last one ended.
func (s *session) greet() error {
	err := s.send(&plugin_pb.WorkerHello{
		WorkerId: s.o.ID, WorkerInstanceId: fmt.Sprintf("%s-%d", s.o.ID, os.Getpid()), Address: s.o.Host,
		WorkerVersion: mark + s.o.Version, ProtocolVersion: "plugin.v1",
		Capabilities: []*plugin_pb.JobTypeCapability{capability()},
	})
	if err == nil && s.last != nil {
		err = s.send(s.last)
	}
	return errors.Join(err, s.heartbeat())
}

func (s *session) heartbeat() error {
	h := &plugin_pb.WorkerHeartbeat{WorkerId: s.o.ID, DetectionSlotsTotal: 1, ExecutionSlotsTotal: 1}
	if s.job != nil {
		h.ExecutionSlotsUsed = 1
		h.RunningWork = []*plugin_pb.RunningWork{{
			WorkId: s.job.request.GetJob().GetJobId(), JobType: JobType, Stage: s.job.told.Load().Stage,
			Kind: plugin_pb.WorkKind_WORK_KIND_EXECUTION, State: plugin_pb.JobState_JOB_STATE_RUNNING,
		}}
	}
	return s.send(h)
}

func (s *session) handle(m *plugin_pb.AdminToWorkerMessage) error {
	id := m.GetRequestId()
	switch body := m.GetBody().(type) {
	case *plugin_pb.AdminToWorkerMessage_Hello:
		if !body.Hello.GetAccepted() {
			return fmt.Errorf("the admin server does not accept the worker: %s", body.Hello.GetMessage())
		}
		s.o.Log.Info("connected to the admin server", "worker", s.o.ID)
		return nil
	case *plugin_pb.AdminToWorkerMessage_RequestConfigSchema:
		return s.describe(id, body.RequestConfigSchema)
	case *plugin_pb.AdminToWorkerMessage_RunDetectionRequest:
		return s.detect(id, body.RunDetectionRequest)
	case *plugin_pb.AdminToWorkerMessage_ExecuteJobRequest:
		return s.execute(id, body.ExecuteJobRequest)
	case *plugin_pb.AdminToWorkerMessage_CancelRequest:
		return s.cancel(id, body.CancelRequest)
	case *plugin_pb.AdminToWorkerMessage_Shutdown:
		return s.acknowledge(id, true, "")
	}
	return s.acknowledge(id, false, "this worker does not know the request")
}

func (s *session) describe(id string, req *plugin_pb.RequestConfigSchema) error {
	answer := &plugin_pb.ConfigSchemaResponse{RequestId: id, JobType: req.GetJobType()}
	if req.GetJobType() == JobType {
		answer.Success, answer.JobTypeDescriptor = true, descriptor()
	} else {
		answer.ErrorMessage = fmt.Sprintf("this worker serves %q only", JobType)
	}
	return s.send(answer)
}

// unseenWorkers is how many workers a pass is divided among when it is not
// known how many there are.
const unseenWorkers = 4

// detect proposes a pass: one job for each worker that shares it.
func (s *session) detect(id string, req *plugin_pb.RunDetectionRequest) error {
	refuse := func(err error) error {
		return s.send(&plugin_pb.DetectionComplete{RequestId: id, JobType: JobType, ErrorMessage: err.Error()})
	}
	workers, err := s.look(s.ctx)
	if err != nil {
		s.stop(err)
		return refuse(err)
	}
	if s.ctx.Err() != nil {
		return refuse(errStopping)
	}
	if workers == 0 {
		workers = unseenWorkers
	}
	// The admin server hands out shares of the rate for as many jobs as it takes
	// of a detection: more of them would be more than the cluster's rate.
	for _, most := range []int32{req.GetMaxResults(), req.GetAdminRuntime().GetMaxJobsPerDetection()} {
		if most > 0 && int(most) < workers {
			s.o.Log.Warn("the admin server takes fewer jobs of a detection than there are workers", "jobs", most, "workers", workers)
			workers = int(most)
		}
	}
	proposals := &plugin_pb.DetectionProposals{RequestId: id, JobType: JobType}
	for _, shards := range split(workers) {
		proposals.Proposals = append(proposals.Proposals, &plugin_pb.JobProposal{
			ProposalId: id + "/" + shards, DedupeKey: mark + JobType + " shards " + shards, JobType: JobType,
			Priority: plugin_pb.JobPriority_JOB_PRIORITY_NORMAL,
			Summary:  "S3 lifecycle, shards " + shards, Detail: "proposed by " + s.o.ID,
			Parameters: map[string]*plugin_pb.ConfigValue{paramShards: text(shards)},
			Labels:     map[string]string{paramShards: shards},
		})
	}
	return errors.Join(s.send(proposals), s.send(&plugin_pb.DetectionComplete{
		RequestId: id, JobType: JobType, Success: true, TotalProposals: int32(len(proposals.Proposals)),
	}))
}
