package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// dueBucket makes a bucket with so many objects that are due, to be met on the
// way, and some that are not. It returns their deletes.
func (r *rig) dueBucket(w way, name string, n int) []sent {
	r.t.Helper()
	r.CreateBucket(name, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	w.ready(r)
	var due []sent
	for i := range n {
		key := fmt.Sprintf("k%03d", i)
		r.Put(name, key, weedtest.Object{Age: 2 * day})
		due = append(due, sent{name, key, "", engine.ExpirationDays})
	}
	r.Put(name, "young", weedtest.Object{})
	r.proxy.Forget()
	return due
}

// guardHeld fails unless a guard ended the pass, as its only problem.
func guardHeld(t *testing.T, rep *pass.Report, want pass.Guard) {
	t.Helper()
	if rep.Status != pass.Partial || rep.CutShort || len(rep.Errors) != 1 || rep.Errors[0].Guard != want {
		t.Fatalf("the pass ended %q, cut short %v: %+v, want guard %q", rep.Status, rep.CutShort, rep.Errors, want)
	}
}

// positions are where the cursors stand.
func (r *rig) positions() string { return fmt.Sprint(r.cursors()) }

func TestScenario54_MaxDeletesAtTheGateway(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			b := "capped-" + way.name
			due := r.dueBucket(way, b, 60)
			r.opts.Concurrency, r.opts.Guards.MaxDeletes = 16, 10
			// What is not deleted does not count.
			for i := range 5 {
				r.proxy.Add(weedtest.Rule{Bucket: b, Path: due[i].path, Times: 1,
					Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_NOOP_RESOLVED, Reason: "NOT_FOUND: by a test"})
			}
			guardHeld(t, r.run(t.Context()), pass.GuardMaxDeletes)
			if n := 61 - len(r.Keys(b)); n != 10 {
				t.Errorf("%d objects are gone, want 10", n)
			}
			guardHeld(t, r.run(t.Context()), pass.GuardMaxDeletes)
			if n := 61 - len(r.Keys(b)); n != 20 {
				t.Errorf("%d objects are gone after two passes, want 20", n)
			}
			r.opts.Guards.MaxDeletes = 61
			for range 2 { // an object that was answered for falsely goes by the second at the latest
				if rep := r.run(t.Context()); rep.Status != pass.OK {
					t.Fatalf("the pass ended %q: %+v", rep.Status, rep.Errors)
				}
			}
			for _, key := range r.Keys(b) {
				if i := slices.IndexFunc(due, func(s sent) bool { return s.path == key }); i >= 5 {
					t.Errorf("%q is left", key)
				}
			}
		})
	}
}

func TestScenario54_MaxFractionOnARealServer(t *testing.T) {
	r := newRig(t)
	due := r.dueBucket(ways[0], "mostly-due", 9)
	r.CreateBucket("hardly-due", weedtest.Plain, document(rule("days", prefix("tmp/"), expire(1))))
	for i := range 9 {
		r.Put("hardly-due", fmt.Sprintf("keep%d", i), weedtest.Object{Age: 2 * day})
	}
	r.Put("hardly-due", "tmp/x", weedtest.Object{Age: 2 * day})
	r.opts.Concurrency, r.opts.Guards.MaxFraction = 16, 0.5
	rep := r.run(t.Context())
	guardHeld(t, rep, pass.GuardMaxFraction)
	if p := rep.Errors[0]; p.Bucket != "mostly-due" || !strings.Contains(p.Message, `9 of its 10 objects are due`) || !strings.Contains(p.Message, `rule "days" 9`) {
		t.Errorf("the problem is %+v", p)
	}
	tmp := sent{"hardly-due", "tmp/x", "", engine.ExpirationDays}
	r.wantSent(tmp)
	guardHeld(t, r.run(t.Context()), pass.GuardMaxFraction)
	r.wantSent(tmp)
	r.opts.Guards.MaxFraction = 0.9
	r.pass(pass.OK, due...)
	r.wantKeys("mostly-due", "young")
}

// A pause ends a pass under way: each of the slots sends one more delete at
// most, however long deletes take.
func TestScenario55_PauseInTheMiddleOfAPass(t *testing.T) {
	for _, way := range ways {
		for _, tc := range []struct {
			concurrency int
			delay       time.Duration
		}{{1, 0}, {16, 0}, {16, 30 * time.Millisecond}} {
			t.Run(fmt.Sprintf("%s/%d at a time/each %v", way.name, tc.concurrency, tc.delay), func(t *testing.T) {
				r := newRig(t)
				b := fmt.Sprintf("paused-%s-%d-%d", way.name, tc.concurrency, tc.delay.Milliseconds())
				due := r.dueBucket(way, b, 150)
				files := r.cluster.Files(cursorfile.FilerDir)
				r.opts.Concurrency = tc.concurrency
				r.opts.Guards.Paused = func(ctx context.Context) (string, error) {
					p, err := cursorfile.ReadPause(ctx, files)
					if p == nil || err != nil {
						return "", err
					}
					return p.String(), nil
				}
				r.proxy.Add(weedtest.Rule{Bucket: b, Delay: tc.delay})
				done := make(chan *pass.Report, 1)
				go func() { done <- r.run(t.Context()) }()
				r.must(r.proxy.Await(t.Context(), weedtest.LifecycleDelete, 20))
				_, err := cursorfile.SetPause(t.Context(), files, cursorfile.Pause{Reason: "incident 12", By: "ann@ops1", Since: time.Now()})
				r.must(err)
				before := len(r.deletes())
				rep := <-done
				guardHeld(t, rep, pass.GuardPause)
				if m := rep.Errors[0].Message; !strings.Contains(m, "by ann@ops1: incident 12") {
					t.Errorf("the problem is %q", m)
				}
				after := len(r.deletes())
				t.Logf("%d deletes before the pause, %d after", before, after-before)
				if after-before > tc.concurrency {
					t.Errorf("%d deletes were sent after the pause, with %d slots", after-before, tc.concurrency)
				}
				if rep.Totals.Outcomes[pass.Done] != int64(after) || len(r.Keys(b)) != 151-after {
					t.Errorf("%d deletes were sent, %v heard of, %d objects are left", after, rep.Totals.Outcomes, len(r.Keys(b)))
				}

				positions := r.positions()
				guardHeld(t, r.run(t.Context()), pass.GuardPause)
				if len(r.deletes()) != after || r.positions() != positions {
					t.Error("a pass that is paused has changed something")
				}
				_, err = cursorfile.LiftPause(t.Context(), files)
				r.must(err)
				if rep := r.run(t.Context()); rep.Status != pass.OK {
					t.Errorf("the next pass ended %q: %+v", rep.Status, rep.Errors)
				}
				r.wantKeys(b, "young")
				sent := r.deletes()
				for _, s := range due {
					if !slices.Contains(sent, s) {
						t.Errorf("%v was not sent", s)
					}
				}
			})
		}
	}
}

// Out of hours a pass ends as by a pause.
func TestWorkTimeEndsInTheMiddleOfAPass(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			b := "hours-" + way.name
			r.dueBucket(way, b, 100)
			closed := make(chan struct{})
			r.opts.Concurrency = 16
			r.opts.Guards.Closed = func(time.Time) string {
				select {
				case <-closed:
					return "outside the work time"
				default:
					return ""
				}
			}
			rep := r.meanwhile(t.Context(), 20, func() { close(closed) })
			guardHeld(t, rep, pass.GuardHours)
			// Twenty slots' worth had been let through when it closed.
			if n := len(r.deletes()); n < 20 || n > 20+16 {
				t.Errorf("%d deletes were sent", n)
			}
			r.opts.Guards.Closed = nil
			if rep := r.run(t.Context()); rep.Status != pass.OK {
				t.Errorf("the next pass ended %q: %+v", rep.Status, rep.Errors)
			}
			r.wantKeys(b, "young")
		})
	}
}

// weedlcBinary builds the program as it is shipped.
func weedlcBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "weedlc")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "weedlc/cmd/weedlc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// auditLine is what the tests read of an audit log's line.
type auditLine struct {
	RunID   string `json:"run_id"`
	Bucket  string `json:"bucket"`
	Key     string `json:"key"`
	Action  string `json:"action"`
	RuleID  string `json:"rule_id"`
	Outcome string `json:"outcome"`
}

func auditLines(t *testing.T, file string) []auditLine {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []auditLine
	for line := range bytes.Lines(text) {
		var l auditLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

// A pass that is killed without a chance to end has a line for each delete that
// was answered, and none for one that was not.
func TestScenario56_AuditLogAfterAKill(t *testing.T) {
	binary := weedlcBinary(t)
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			b := "killed-" + way.name
			due := r.dueBucket(way, b, 120)
			file := filepath.Join(t.TempDir(), "audit.jsonl")
			command := func() *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), binary, "run", "--concurrency", "16", "--no-lock", "--settle", r.opts.Settle.String(),
					"--audit-log", file, "--master", r.server.Addr(weedtest.Master).String(), "--s3", r.proxy.Addr())
				cmd.Dir = r.server.Dir()
				cmd.Stderr = t.Output()
				return cmd
			}
			const answered, slots = 40, 16
			hold := make(chan struct{})
			r.proxy.Add(weedtest.Rule{Bucket: b, Times: answered})
			r.proxy.Add(weedtest.Rule{Bucket: b, Hold: hold})
			cmd := command()
			r.must(cmd.Start())
			// Once every slot waits for its answer, what was answered before is done
			// with. The probe of the gateway is a call too.
			r.must(r.proxy.Await(t.Context(), weedtest.LifecycleDelete, 1+answered+slots))
			r.must(cmd.Process.Kill())
			_ = cmd.Wait()
			close(hold)
			r.proxy.Clear()

			var gone []string
			left := r.Keys(b)
			for _, s := range due {
				if !slices.Contains(left, s.path) {
					gone = append(gone, s.path)
				}
			}
			var told []string
			for _, l := range auditLines(t, file) {
				if l.Bucket != b || l.Outcome != "done" || l.RuleID != "days" || l.Action != "expiration_days" {
					t.Errorf("a line is %+v", l)
				}
				told = append(told, l.Key)
			}
			same(t, "keys on record", told, gone)
			if len(told) != answered {
				t.Errorf("%d lines, want %d", len(told), answered)
			}

			out, err := command().Output()
			if err != nil {
				t.Fatalf("the next run: %v\n%s", err, out)
			}
			r.wantKeys(b, "young")
			done := map[string]int{}
			for _, l := range auditLines(t, file) {
				if l.Outcome == "done" {
					done[l.Key]++
				} else if l.Outcome != "noop_resolved" {
					t.Errorf("a line is %+v", l)
				}
			}
			for _, s := range due {
				if done[s.path] != 1 {
					t.Errorf("%q is told as deleted %d times", s.path, done[s.path])
				}
			}
		})
	}
}
