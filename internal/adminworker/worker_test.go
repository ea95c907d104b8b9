package adminworker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
)

func TestHelloSaysWhatIsServed(t *testing.T) {
	r := start(t)
	hello := r.connect()
	if hello.GetWorkerId() != "w1" || hello.GetAddress() != "host1" || hello.GetWorkerVersion() != "weedlc 1.2" {
		t.Errorf("the hello is %v", hello)
	}
	caps := hello.GetCapabilities()
	if len(caps) != 1 || caps[0].GetJobType() != JobType || !caps[0].GetCanDetect() || !caps[0].GetCanExecute() || caps[0].GetMaxExecutionConcurrency() != 1 {
		t.Errorf("the capabilities are %v", caps)
	}
	if h := await(t, r.from).GetHeartbeat(); h.GetExecutionSlotsTotal() != 1 || h.GetExecutionSlotsUsed() != 0 || len(h.GetRunningWork()) != 0 {
		t.Errorf("the first heartbeat is %v", h)
	}
	r.accept()
	r.ask("s1", &plugin_pb.RequestConfigSchema{JobType: JobType})
	if a := answer(r, (*toAdmin).GetConfigSchemaResponse); !a.GetSuccess() || a.GetRequestId() != "s1" || a.GetJobTypeDescriptor().GetJobType() != JobType {
		t.Errorf("the schema is %v", a)
	}
	r.ask("s2", &plugin_pb.RequestConfigSchema{JobType: "vacuum"})
	if a := answer(r, (*toAdmin).GetConfigSchemaResponse); a.GetSuccess() || a.GetErrorMessage() == "" {
		t.Errorf("the schema of another job type is %v", a)
	}
	r.ask("p1", &plugin_pb.RequestObjectPreview{})
	if a := answer(r, (*toAdmin).GetAcknowledge); a.GetRequestId() != "p1" || a.GetAccepted() {
		t.Errorf("a request that is unknown is answered with %v", a)
	}
}

// A detection proposes a job for each worker, of which the admin server takes
// a few at most.
func TestDetectionDividesTheShards(t *testing.T) {
	vacuum := Peer{ID: "v", Version: "4.53", Runs: []string{"vacuum"}}
	for name, tc := range map[string]struct {
		peers     []Peer
		peered    error
		most, cap int32
		want      []string
	}{
		"alone":                      {peers: []Peer{weedlc("w1")}, want: []string{"0-15"}},
		"alone and not listed yet":   {want: []string{"0-15"}},
		"two":                        {peers: []Peer{weedlc("w1"), weedlc("w2"), vacuum}, want: []string{"0-7", "8-15"}},
		"three":                      {peers: []Peer{weedlc("w1"), weedlc("w2"), weedlc("w3")}, want: []string{"0-4", "5-9", "10-15"}},
		"three of which two":         {peers: []Peer{weedlc("w1"), weedlc("w2"), weedlc("w3")}, most: 2, cap: 16, want: []string{"0-7", "8-15"}},
		"three by whom one is asked": {peers: []Peer{weedlc("w1"), weedlc("w2"), weedlc("w3")}, most: 16, cap: 1, want: []string{"0-15"}},
		"not seen":                   {peered: errGone, want: []string{"0-3", "4-7", "8-11", "12-15"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, tc.peers...)
			r.see(tc.peered, tc.peers...)
			r.connect()
			r.ask("d1", &plugin_pb.RunDetectionRequest{
				JobType: JobType, MaxResults: tc.most, AdminRuntime: &plugin_pb.AdminRuntimeConfig{MaxJobsPerDetection: tc.cap},
			})
			proposals := answer(r, (*toAdmin).GetDetectionProposals)
			var got []string
			ids := map[string]bool{}
			for _, p := range proposals.GetProposals() {
				got = append(got, p.GetParameters()[paramShards].GetStringValue())
				ids[p.GetProposalId()], ids[p.GetDedupeKey()] = true, true
				// Without it the built-in worker carries out nothing.
				if _, there := p.GetParameters()["filer_grpc_address"]; there || p.GetJobType() != JobType {
					t.Errorf("the proposal is %v", p)
				}
			}
			if !slices.Equal(got, tc.want) || len(ids) != 2*len(got) {
				t.Errorf("proposed are %v by the names %v, want %v", got, ids, tc.want)
			}
			done := answer(r, (*toAdmin).GetDetectionComplete)
			if !done.GetSuccess() || int(done.GetTotalProposals()) != len(tc.want) || done.GetRequestId() != "d1" {
				t.Errorf("the detection ended with %v", done)
			}
		})
	}
}

func TestJobTellsItsProgressAndItsEnd(t *testing.T) {
	r := start(t)
	r.connect()
	if job := r.execute("e1", "8-15"); len(job.Shards) != 8 || job.Shards[0] != 8 {
		t.Errorf("the job's shards are %v", job.Shards)
	}
	var told []string
	for len(told) < 2 {
		p := answer(r, (*toAdmin).GetJobProgressUpdate)
		told = append(told, p.GetStage()+": "+p.GetMessage())
		if p.GetRequestId() != "e1" || p.GetJobId() != "job-e1" {
			t.Errorf("the progress is %v", p)
		}
	}
	if want := []string{"connecting: begun", "running: half done"}; !slices.Equal(told, want) {
		t.Errorf("told is %q, want %q", told, want)
	}
	h := answer(r, (*toAdmin).GetHeartbeat)
	if work := h.GetRunningWork(); h.GetExecutionSlotsUsed() != 1 || len(work) != 1 || work[0].GetWorkId() != "job-e1" || work[0].GetStage() != "running" {
		t.Errorf("the heartbeat of a busy worker is %v", h)
	}
	r.ask("e2", request("job-e2", "0-7"))
	if c := r.completed("e2"); c.GetSuccess() || !strings.HasPrefix(c.GetErrorMessage(), "executor is at capacity") {
		t.Errorf("a second job is answered with %v", c)
	}

	go func() { r.proceed <- Result{Summary: "all done", Counts: map[string]int64{"delete_calls": 7}} }()
	c := r.completed("e1")
	if !c.GetSuccess() || c.GetResult().GetSummary() != "all done" || c.GetResult().GetOutputValues()["delete_calls"].GetInt64Value() != 7 {
		t.Errorf("the job ended with %v", c)
	}

	r.execute("e3", "0-7")
	go func() { r.proceed <- Result{Undone: "one is stuck", Summary: "most done", Notes: []string{"a", "b"}} }()
	c = r.completed("e3")
	var notes []string
	for _, a := range c.GetActivities() {
		notes = append(notes, a.GetStage()+": "+a.GetMessage())
	}
	if c.GetSuccess() || c.GetErrorMessage() != "one is stuck" || !slices.Equal(notes, []string{"undone: a", "undone: b", "summary: most done"}) {
		t.Errorf("the job that left something undone ended with %v", c)
	}
}

func TestJobsThatAreRefused(t *testing.T) {
	r := start(t)
	r.connect()
	for want, req := range map[string]*plugin_pb.ExecuteJobRequest{
		"a built-in worker has proposed it": {Job: &plugin_pb.JobSpec{JobId: "job-x", JobType: JobType}},
		`job parameter "shards"`:            request("job-x", "9-3"),
		`job type "vacuum" is not served`:   {Job: &plugin_pb.JobSpec{JobId: "job-x", JobType: "vacuum"}},
	} {
		r.ask("x", req)
		if c := r.completed("x"); c.GetSuccess() || !strings.Contains(c.GetErrorMessage(), want) {
			t.Errorf("%q is not in %v", want, c)
		}
	}
}

func TestCancelEndsTheJobMeant(t *testing.T) {
	for _, target := range []string{"e1", "job-e1"} {
		r := start(t)
		r.connect()
		r.execute("e1", "0-7")
		r.ask("c1", &plugin_pb.CancelRequest{TargetId: "other"})
		if a := answer(r, (*toAdmin).GetAcknowledge); a.GetAccepted() || a.GetRequestId() != "c1" {
			t.Errorf("the end of another job is answered with %v", a)
		}
		r.ask("c2", &plugin_pb.CancelRequest{TargetId: target, Reason: "too slow"})
		if a := answer(r, (*toAdmin).GetAcknowledge); !a.GetAccepted() || a.GetRequestId() != "c2" {
			t.Errorf("the end of the job is answered with %v", a)
		}
		if c := r.completed("e1"); c.GetErrorMessage() != "cancelled by the admin server: too slow: cut short" {
			t.Errorf("the cancelled job ended with %v", c)
		}
		r.execute("e2", "0-7")
	}
}

// A job goes on while there is no connection; the next one hears of it.
func TestJobOutlivesItsConnection(t *testing.T) {
	r := start(t)
	r.connect()
	r.accept()
	r.execute("e1", "0-7")
	close(r.gone)
	r.connect()
	if h := answer(r, (*toAdmin).GetHeartbeat); len(h.GetRunningWork()) != 1 || h.GetRunningWork()[0].GetWorkId() != "job-e1" {
		t.Errorf("the first heartbeat after the break is %v", h)
	}
	close(r.gone)
	r.proceed <- Result{Summary: "done"} // in between
	r.connect()
	if c := r.completed("e1"); !c.GetSuccess() {
		t.Errorf("the job ended with %v", c)
	}
	close(r.gone)
	r.connect()
	if c := r.completed("e1"); !c.GetSuccess() {
		t.Errorf("the end told again is %v", c)
	}
}

// A worker that is stopped ends its job, tells of it, and takes no other.
func TestStopTellsOfTheJob(t *testing.T) {
	r := start(t)
	r.connect()
	r.execute("e1", "0-7")
	r.end()
	c := r.completed("e1")
	if c.GetSuccess() || c.GetErrorMessage() != "the worker was stopped: cut short" {
		t.Errorf("the job ended with %v", c)
	}
	answer(r, (*toAdmin).GetHeartbeat)
	await(t, r.closed)
	if err := await(t, r.returned); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}

func TestStoppingWorkerLeavesJobsToOthers(t *testing.T) {
	s, out := unconnected(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.ctx = ctx
	if err := s.execute("e1", request("job-e1", "0-7")); err != nil {
		t.Fatal(err)
	}
	if c := (<-out).GetJobCompleted(); c.GetSuccess() || !strings.HasPrefix(c.GetErrorMessage(), "executor is at capacity") {
		t.Errorf("the job is answered with %v", c)
	}
	if err := s.detect("d1", &plugin_pb.RunDetectionRequest{}); err != nil {
		t.Fatal(err)
	}
	if d := (<-out).GetDetectionComplete(); d.GetSuccess() || d.GetErrorMessage() == "" {
		t.Errorf("the detection is answered with %v", d)
	}
}

func TestStopWithoutConnection(t *testing.T) {
	r := start(t)
	r.connect()
	r.accept()
	r.execute("e1", "0-7")
	close(r.gone)
	r.end()
	if err := await(t, r.returned); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
}

// The first connection has to succeed.
func TestFirstConnectionBreaks(t *testing.T) {
	r := start(t)
	r.connect()
	close(r.gone)
	if err := await(t, r.returned); !errors.Is(err, errGone) {
		t.Errorf("Run returned %v", err)
	}
}

func TestWorkerThatIsNotAcceptedComesBack(t *testing.T) {
	r := start(t)
	r.connect()
	r.ask("", &plugin_pb.AdminToWorkerMessage_Hello{Hello: &plugin_pb.AdminHello{Message: "full"}})
	r.connect()
}

// A built-in worker ends ours, wherever it is noticed first.
func TestBuiltInWorkerIsRefused(t *testing.T) {
	want := `worker "plugin-1" at "host9", version "4.53", serves "s3_lifecycle" on the same admin server`
	ended := func(t *testing.T, r *rig) {
		t.Helper()
		err := await(t, r.returned)
		found, ok := errors.AsType[*BuiltInError](err)
		if !ok || err.Error() != want || !slices.Equal(found.Without(), []string{"vacuum"}) {
			t.Errorf("Run returned %v", err)
		}
	}
	t.Run("at the start", func(t *testing.T) { ended(t, start(t, weedlc("w2"), builtIn)) })
	t.Run("by the watch, in the middle of a job", func(t *testing.T) {
		r := start(t)
		r.connect()
		r.execute("e1", "0-7")
		r.see(nil, weedlc("w1"), builtIn)
		if c := r.completed("e1"); c.GetErrorMessage() != want+": cut short" {
			t.Errorf("the job ended with %v", c)
		}
		answer(r, (*toAdmin).GetHeartbeat)
		ended(t, r)
	})
	for name, ask := range map[string]func(s *session) error{
		"by a detection": func(s *session) error { return s.detect("d1", &plugin_pb.RunDetectionRequest{}) },
		"by a job":       func(s *session) error { return s.execute("e1", request("job-e1", "0-7")) },
	} {
		t.Run(name, func(t *testing.T) {
			var stopped error
			s, out := unconnected(t, builtIn)
			s.stop = func(err error) { stopped = err }
			if err := ask(s); err != nil {
				t.Fatal(err)
			}
			m := <-out
			if got := m.GetDetectionComplete().GetErrorMessage() + m.GetJobCompleted().GetErrorMessage(); got != want {
				t.Errorf("the answer is %q", got)
			}
			if stopped == nil || stopped.Error() != want {
				t.Errorf("the worker is stopped by %v", stopped)
			}
		})
	}
}
