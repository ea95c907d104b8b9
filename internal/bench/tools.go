package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weedlc/internal/weedtest"
)

// tool is one way to do a job on a stand.
type tool struct {
	name string
	// part is set for bare calls: which part of the job they are.
	part part
	run  func(context.Context, *stand) (reading, error)
}

// part is what any tool must do of a job at the least.
type part string

const (
	deleting  part = "delete"
	listing   part = "list"
	streaming part = "stream"
	decoding  part = "decode"
)

// The names of tools in the tables.
const (
	nameWeedlc    = "weedlc"
	nameDryRun    = "weedlc dry-run"
	nameFrom      = "weedlc dry-run --from"
	nameBuiltIn   = "s3.lifecycle.run-shard"
	nameRclone    = "rclone delete"
	nameRclone32  = "rclone delete --checkers 32"
	nameDeletes   = "bare LifecycleDelete"
	nameListOne   = "bare listing, 1 at once"
	nameListFour  = "bare listing, 4 at once"
	nameStream    = "bare meta-log stream"
	nameDecode    = "bare decoding"
	listAtOnce    = 4 // dry-run's --list-concurrency
	dryRunListing = "4"
)

// clock is how long a day of a scenario is, and the programs that know it.
type clock struct {
	weedlc, shell string
	day           time.Duration
	// settle is what --settle is set to: the tree was written long ago as far as
	// the scenario goes, and the default of five minutes would have the pass read
	// how it was written.
	settle time.Duration
	// events is how many events of the log the built-in pass reads at most; 0 is
	// all. Where a tree stands for one that was written before the rules' delays
	// began, it is 1: the pass would else read how the tree was written just now
	// and, as the clocks are set back, send each delete twice.
	events int
}

// days are the usual ones.
func (b *bench) days(ctx context.Context) (clock, error) {
	weed, err := weedtest.Binary(ctx)
	return clock{weedlc: b.weedlc, shell: weed, day: day, settle: time.Second, events: 1}, err
}

// shortDays last ten seconds.
func (b *bench) shortDays() clock {
	return clock{weedlc: b.short, shell: b.shortShell, day: 10 * time.Second, settle: 100 * time.Millisecond}
}

func (b *bench) weedlcRun(c clock, sc scenario) tool {
	return tool{name: nameWeedlc, run: func(ctx context.Context, s *stand) (reading, error) {
		argv := []string{
			c.weedlc, "run", "--master", s.server.Addr(weedtest.Master).String(), "--output", "json",
			"--concurrency", fmt.Sprint(b.concurrency), "--settle", c.settle.String(),
		}
		e, err := command{argv: append(argv, b.profile(sc)...), dir: s.scratch}.run(ctx)
		if err != nil {
			return reading{}, err
		}
		r := reading{Seconds: e.wall.Seconds(), PeakMB: e.peakMB, Client: e.cpu.Seconds()}
		var report struct {
			Status   string
			Duration float64 `json:"duration_seconds"`
			Totals   struct {
				Events  int64 `json:"events_scanned"`
				Entries int64 `json:"entries_walked"`
				Calls   int64 `json:"delete_calls"`
			}
		}
		if err := json.Unmarshal(e.out, &report); err != nil {
			return r, fmt.Errorf("weedlc ended %d without a report: %s%s", e.code, e.out, e.errs)
		}
		r.Own = report.Duration
		r.Calls, r.Events, r.Entries = &report.Totals.Calls, &report.Totals.Events, &report.Totals.Entries
		if e.code != 0 {
			r.note("exit %d, %s", e.code, report.Status)
		}
		if b.verbose {
			b.say("%s", e.errs)
		}
		return r, nil
	}}
}

// profile are the flags that have weedlc write profiles of its next run.
func (b *bench) profile(sc scenario) []string {
	if b.profiles == "" {
		return nil
	}
	b.profiled++
	name := filepath.Join(b.profiles, fmt.Sprintf("%s-%02d", sc.name, b.profiled))
	return []string{"--cpuprofile", name + ".cpu", "--memprofile", name + ".mem"}
}

// builtInRun is SeaweedFS's own pass by its shell. What counts is the time
// between the lines that begin and end the pass, without the start of the
// shell. s3 is where it sends its deletes; empty is the gateway.
func (b *bench) builtInRun(c clock, s3 string) tool {
	return tool{name: nameBuiltIn, run: func(ctx context.Context, s *stand) (reading, error) {
		gateway := s3
		if gateway == "" {
			gateway = s.server.Addr(weedtest.Gateway).GRPC()
		}
		said := &stopwatch{begin: "running shards", end: "complete; cursors checkpointed"}
		e, err := command{
			argv: []string{
				c.shell, "shell",
				"-master=" + s.server.Addr(weedtest.Master).String(), "-filer=" + s.server.Addr(weedtest.Filer).String(),
			},
			in:  fmt.Sprintf("s3.lifecycle.run-shard -shards 0-15 -events %d -s3 %s\n", c.events, gateway),
			dir: s.scratch, out: said,
		}.run(ctx)
		if err != nil {
			return reading{}, err
		}
		r := reading{Seconds: said.took.Seconds(), Process: e.wall.Seconds(), PeakMB: e.peakMB, Client: e.cpu.Seconds()}
		if said.took == 0 {
			return r, fmt.Errorf("the built-in pass did not come to its end: %s%s", &said.text, e.errs)
		}
		return r, nil
	}}
}

// stopwatch takes the time between two phrases of a program's output.
type stopwatch struct {
	begin, end string

	text  bytes.Buffer
	began time.Time
	took  time.Duration // 0 until the end has come
}

func (w *stopwatch) Write(p []byte) (int, error) {
	now := time.Now()
	w.text.Write(p)
	if w.began.IsZero() && bytes.Contains(w.text.Bytes(), []byte(w.begin)) {
		w.began = now
	}
	if w.took == 0 && bytes.Contains(w.text.Bytes(), []byte(w.end)) {
		w.took = now.Sub(w.began)
	}
	return len(p), nil
}

// countCalls has the built-in pass run once more, on a stand that is set as
// for the measured ones, through a proxy that counts what it sends.
func (b *bench) countCalls(ctx context.Context, c clock, s *stand) (int64, error) {
	proxy := weedtest.NewProxy(s.tb, s.server.Addr(weedtest.Gateway).GRPC())
	if _, err := b.builtInRun(c, proxy.Addr()).run(ctx, s); err != nil {
		return 0, err
	}
	return int64(len(proxy.Calls(weedtest.LifecycleDelete))), nil
}

// rcloneRun deletes what is older than a number of days from a bucket. With
// --use-server-modtime it spares a request for each object.
func rcloneRun(name, bucket string, days int, more ...string) tool {
	return tool{name: name, run: func(ctx context.Context, s *stand) (reading, error) {
		path, err := exec.LookPath("rclone")
		if err != nil {
			return reading{}, err
		}
		argv := []string{path, "delete", "bench:" + bucket, "--min-age", fmt.Sprintf("%dd", days), "--use-server-modtime", "--config", "/dev/null"}
		e, err := command{
			argv: append(argv, more...), dir: s.scratch,
			env: []string{
				"RCLONE_CONFIG_BENCH_TYPE=s3", "RCLONE_CONFIG_BENCH_PROVIDER=Other", "RCLONE_CONFIG_BENCH_ENDPOINT=" + s.server.S3URL(),
				"RCLONE_CONFIG_BENCH_ACCESS_KEY_ID=any", "RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY=any",
			},
		}.run(ctx)
		if err != nil {
			return reading{}, err
		}
		r := reading{Seconds: e.wall.Seconds(), PeakMB: e.peakMB, Client: e.cpu.Seconds()}
		if e.code != 0 {
			line, _, _ := strings.Cut(string(e.errs), "\n")
			r.note("exit %d: %s", e.code, line)
		}
		return r, nil
	}}
}

// rclones are both ways to run it, none where it is not installed.
func (b *bench) rclones(bucket string, days int) []tool {
	if _, err := exec.LookPath("rclone"); err != nil {
		if !errors.Is(err, exec.ErrNotFound) {
			b.say("  rclone cannot be run: %v", err)
		}
		return nil
	}
	return []tool{
		rcloneRun(nameRclone, bucket, days),
		rcloneRun(nameRclone32, bucket, days, "--checkers", "32"),
	}
}

// bareDeletes sends the deletes of what is due in the trees.
func (b *bench) bareDeletes(trees ...tree) tool {
	return tool{name: nameDeletes, part: deleting, run: func(ctx context.Context, s *stand) (reading, error) {
		requests, err := s.requests(ctx, trees...)
		if err != nil {
			return reading{}, err
		}
		return s.deleteBare(ctx, requests, b.concurrency)
	}}
}

func bareListings(trees ...tree) []tool {
	list := func(name string, inFlight int) tool {
		return tool{name: name, part: listing, run: func(ctx context.Context, s *stand) (reading, error) {
			return s.listBare(ctx, trees, inFlight)
		}}
	}
	return []tool{list(nameListOne, 1), list(nameListFour, listAtOnce)}
}

// dryRunOf is a dry run that lists every object. It notes it when that is not
// what is due.
func (b *bench) dryRunOf(sc scenario, name string, due int, more ...string) tool {
	return tool{name: name, run: func(ctx context.Context, s *stand) (reading, error) {
		lines := &lineCounter{}
		argv := append([]string{b.weedlc, "dry-run", "--quiet", "--output", "jsonl", "--list-concurrency", dryRunListing}, more...)
		if name == nameDryRun {
			argv = append(argv, "--master", s.server.Addr(weedtest.Master).String())
		}
		e, err := command{argv: append(argv, b.profile(sc)...), dir: s.scratch, out: lines}.run(ctx)
		if err != nil {
			return reading{}, err
		}
		r := reading{Seconds: e.wall.Seconds(), PeakMB: e.peakMB, Client: e.cpu.Seconds()}
		if e.code != 0 {
			r.note("exit %d: %s", e.code, e.errs)
		}
		if lines.n != due {
			r.note("%d objects named, %d are due", lines.n, due)
		}
		return r, nil
	}}
}

type lineCounter struct{ n int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += strings.Count(string(p), "\n")
	return len(p), nil
}

var _ io.Writer = (*lineCounter)(nil)
