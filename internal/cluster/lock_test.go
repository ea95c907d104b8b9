package cluster_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/internal/cluster"
)

// lockScript answers lock requests with its answers in turn, the last one for
// ever, and keeps the requests.
type lockScript struct {
	mu       sync.Mutex
	answers  []*filer_pb.LockResponse
	requests []*filer_pb.LockRequest
	unlocked []string
	// used is closed when the last answer has been given once.
	used chan struct{}
}

func newLockScript(answers ...*filer_pb.LockResponse) *lockScript {
	return &lockScript{answers: answers, used: make(chan struct{})}
}

func (s *lockScript) lock(r *filer_pb.LockRequest) *filer_pb.LockResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	if n == len(s.answers)-1 {
		close(s.used)
	}
	return s.answers[min(n, len(s.answers)-1)]
}

func (s *lockScript) unlock(r *filer_pb.UnlockRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlocked = append(s.unlocked, r.Name+" "+r.RenewToken)
}

func (s *lockScript) tokens() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var tokens []string
	for _, r := range s.requests {
		tokens = append(tokens, r.RenewToken)
	}
	return strings.Join(tokens, ",")
}

func given(token string) *filer_pb.LockResponse    { return &filer_pb.LockResponse{RenewToken: token} }
func lockError(text string) *filer_pb.LockResponse { return &filer_pb.LockResponse{Error: text} }

func dialLocks(t *testing.T, s *lockScript) *cluster.Cluster {
	t.Helper()
	o := options(t)
	o.LockServerWait = 2 * time.Second
	o.Filers = []string{serveFiler(t, &fakeFiler{lock: s.lock, unlock: s.unlock})}
	return dial(t, o)
}

func TestLockRequest(t *testing.T) {
	s := newLockScript(given("t1"))
	held, err := dialLocks(t, s).LockShards(t.Context(), []int{7}, owner(42), 0)
	if err != nil {
		t.Fatal(err)
	}
	held.Release()
	r := s.requests[0]
	if r.Name != "s3.lifecycle.shard-07" || r.Owner != "weedlc host.example 42 2030-06-15T12:00:00Z" || r.SecondsToLock != 1 || r.RenewToken != "" {
		t.Errorf("request %v", r)
	}
	if len(s.unlocked) != 1 || s.unlocked[0] != "s3.lifecycle.shard-07 t1" {
		t.Errorf("unlocked %q", s.unlocked)
	}
}

// The filers need some seconds after a start; an answer without a token is not
// a lock either.
func TestLockServiceStarts(t *testing.T) {
	s := newLockScript(
		lockError("no lock server found"),
		&filer_pb.LockResponse{LockHostMovedTo: "filer-2:8888"},
		given("t1"),
	)
	held, err := dialLocks(t, s).LockShards(t.Context(), []int{1}, owner(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	held.Release()
}

func TestLockServiceStaysAway(t *testing.T) {
	start := time.Now()
	_, err := dialLocks(t, newLockScript(lockError("no lock server found"))).LockShards(t.Context(), []int{1}, owner(1), 0)
	if !errors.Is(err, cluster.ErrNoLockServer) || !strings.Contains(err.Error(), "no lock server found") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("waited for %s", took)
	}
}

func TestLockOfAStranger(t *testing.T) {
	for _, text := range []string{"somebody", "weedlc h x 2030-06-15T12:00:00Z", "weedlc h 1 yesterday", "weedlc h 1 2030-06-15T12:00:00Z more", ""} {
		_, err := dialLocks(t, newLockScript(lockError("lock already owned by "+text))).LockShards(t.Context(), []int{1}, owner(1), 0)
		held, ok := errors.AsType[*cluster.HeldError](err)
		if !ok || held.Text != text || held.Owner != (cluster.Owner{}) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLockRenewal(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []*filer_pb.LockResponse
		tokens  string
		lost    bool
	}{
		{"the token changes", []*filer_pb.LockResponse{given("t1"), given("t2"), given("t3")}, ",t1,t2", false},
		{"a failure is tried again", []*filer_pb.LockResponse{given("t1"), lockError("connection refused"), given("t2"), given("t3")}, ",t1,t1,t2", false},
		{"forgotten and taken anew", []*filer_pb.LockResponse{given("t1"), lockError("lock: non-empty token on a new lock"), given("t2"), given("t3")}, ",t1,,t2", false},
		{"expired and taken anew", []*filer_pb.LockResponse{given("t1"), lockError("lock: non-empty token on an expired lock"), given("t2"), given("t3")}, ",t1,,t2", false},
		{"forgotten and taken by another", []*filer_pb.LockResponse{given("t1"), lockError("lock: non-empty token on a new lock"), lockError("lock already owned by x")}, ",t1,", true},
		{"another holds it", []*filer_pb.LockResponse{given("t1"), {Error: "lock: token mismatch", LockOwner: "x"}}, ",t1", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newLockScript(tc.answers...)
			held, err := dialLocks(t, s).LockShards(t.Context(), []int{1}, owner(1), 0)
			if err != nil {
				t.Fatal(err)
			}
			<-s.used
			if tc.lost {
				if err := awaitLoss(held, 1); err == nil {
					t.Error("the lock is not lost")
				}
			}
			held.Release() // ends a renewal under way
			if got := s.tokens(); !strings.HasPrefix(got, tc.tokens) {
				t.Errorf("tokens %q, want %q", got, tc.tokens)
			}
			if unlocked := len(s.unlocked) > 0; unlocked == tc.lost {
				t.Errorf("unlocked %v, lost %v", unlocked, tc.lost)
			}
		})
	}
}

// awaitLoss returns the error of a lock once it is lost; nil when it is still
// held after seconds.
func awaitLoss(held *cluster.Held, shard int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if err := held.Err(shard); err != nil {
			return err
		}
		<-tick.C
	}
	return nil
}

// A lock that cannot be renewed counts as lost when its time is over, and a
// lost one stays lost.
func TestLockLostForGood(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer *filer_pb.LockResponse
		want   string
	}{
		{"not renewed in time", lockError("connection refused"), "could not be renewed in time"},
		{"taken by another", &filer_pb.LockResponse{Error: "lock: token mismatch", LockOwner: owner(2).String()}, "process 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			held, err := dialLocks(t, newLockScript(given("t1"), tc.answer, tc.answer, tc.answer, tc.answer, tc.answer, given("t2"))).
				LockShards(t.Context(), []int{1}, owner(1), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Release()
			first := awaitLoss(held, 1)
			if first == nil || !strings.Contains(first.Error(), tc.want) {
				t.Fatalf("error %v, want %q", first, tc.want)
			}
			if again := held.Err(1); again == nil || again.Error() != first.Error() {
				t.Errorf("then %v", again)
			}
		})
	}
}

func TestNoShardsNoLocks(t *testing.T) {
	held, err := dialLocks(t, newLockScript(lockError("not asked"))).LockShards(t.Context(), nil, owner(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	held.Release()
}
