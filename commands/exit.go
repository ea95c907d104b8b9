package commands

import (
	"errors"
	"fmt"
	"strings"

	"weedlc/pass"
)

// The exit codes. 2 is unused: the Go runtime ends with it on a panic.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUndone      = 3
	exitCutShort    = 4
	exitCorrupt     = 10
	exitHeld        = 11
	exitInterrupted = 130
)

// exitCode is one row of the table from which the help, the documentation
// and the tests are made.
type exitCode struct {
	code int
	// rank decides when several apply: the lowest wins.
	rank    int
	meaning string
}

func exitCodes() []exitCode {
	return []exitCode{
		{exitDone, 6, "done"},
		{exitFailed, 1, "failed; usage errors included"},
		{exitUndone, 4, "finished, with something left undone: a delete failed, rules refused, paused or out of hours, a guard held"},
		{exitCutShort, 5, "cut short by --runtime or --events; progress is saved"},
		{exitCorrupt, 2, "a cursor is corrupt; the other shards ran"},
		{exitHeld, 3, "another pass holds a shard"},
		{exitInterrupted, 0, "interrupted (SIGINT, SIGTERM); calls in flight got 10 s, progress is saved"},
	}
}

// worst is the one code to exit with when several apply.
func worst(codes ...int) int {
	end, rank := exitDone, len(exitCodes())
	for _, c := range codes {
		for _, row := range exitCodes() {
			if row.code == c && row.rank < rank {
				end, rank = c, row.rank
			}
		}
	}
	return end
}

// precedence lists the codes from the one that always wins.
func precedence() []int {
	rows := exitCodes()
	byRank := make([]int, len(rows))
	for _, row := range rows {
		byRank[row.rank] = row.code
	}
	return byRank[:len(rows)-1]
}

// exitHelp is the table as text.
func exitHelp() string {
	var b strings.Builder
	for _, row := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", row.code, row.meaning)
	}
	var order []string
	for _, c := range precedence() {
		order = append(order, fmt.Sprint(c))
	}
	fmt.Fprintf(&b, "\nWhen several apply, the first of %s.\n", strings.Join(order, ", "))
	return b.String()
}

// ending is an error that has been told already: it only carries its code.
type ending struct{ code int }

func (e ending) Error() string { return fmt.Sprintf("exit %d", e.code) }

// coded gives an error a code other than exitFailed.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// codeOf maps the error that a command returned to the exit code.
func codeOf(err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[ending](err); ok {
		return e.code
	}
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	return exitFailed
}

// codesOf lists the codes that a pass's report calls for.
func codesOf(r *pass.Report) []int {
	var codes []int
	add := func(applies bool, code int) {
		if applies {
			codes = append(codes, code)
		}
	}
	add(r.Interrupted, exitInterrupted)
	add(r.Failed, exitFailed)
	add(r.Corrupt, exitCorrupt)
	add(r.Status == pass.Partial, exitUndone)
	add(r.CutShort || r.Status == pass.CutShort, exitCutShort)
	return codes
}
