package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// command is a program to run once.
type command struct {
	argv []string
	dir  string
	env  []string // beside PATH, HOME and TMPDIR
	in   string
	out  io.Writer // nil: kept
}

// ended is how a program ran.
type ended struct {
	wall   time.Duration
	peakMB float64       // most resident memory; 0 is unknown
	cpu    time.Duration // processor time
	code   int
	out    []byte
	errs   []byte
}

func (c command) run(ctx context.Context) (ended, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(c.in)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TMPDIR=" + c.dir}, c.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = c.out, &errs
	if c.out == nil {
		cmd.Stdout = &out
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return ended{}, err
	}
	peak, stop := make(chan float64, 1), make(chan struct{})
	go func() { peak <- watchMemory(cmd.Process.Pid, stop) }()
	err := cmd.Wait()
	wall := time.Since(start)
	close(stop)
	e := ended{
		wall: wall, peakMB: <-peak, code: cmd.ProcessState.ExitCode(), out: out.Bytes(), errs: errs.Bytes(),
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited || ctx.Err() != nil { //nolint:errorlint // Wait returns it bare
		return e, fmt.Errorf("%s: %w", c.argv[0], err)
	}
	return e, nil
}

// watchInterval is rare enough not to take the processor from what is measured.
const watchInterval = 50 * time.Millisecond

// watchMemory reads the kernel's high-water mark of a process until it ends.
// The resource usage that the kernel hands over at the end does not do: a
// child's begins with what its parent has resident.
func watchMemory(pid int, stop <-chan struct{}) float64 {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	peak := 0.0
	for {
		peak = max(peak, highWater(fmt.Sprintf("/proc/%d/status", pid)))
		select {
		case <-tick.C:
		case <-stop:
			return peak
		}
	}
}

// highWater is the most memory that was resident, in MB; 0 is unknown.
func highWater(file string) float64 {
	status, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kb, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return float64(kb) / 1024
}
