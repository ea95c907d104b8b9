package commands

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/sweep"
)

func newSweep(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Passes from a durable queue: scheduled, retried, dead-lettered",
		Long: `Carry out passes through a durable queue. A schedule says when, the queue owns
what is unfinished, workers under one limit do it, and what cannot be done waits
for a person as a dead letter.

A sweep is one slot of the schedule, as cleanup:2026-08-21T02:00Z, and has a job
for each of the 16 shards. The queue is a SQLite file on one host, or a
PostgreSQL database that several hosts share. From cron, on one host:

  weedlc sweep run --every 24h

On several hosts: sweep enqueue on any of them, sweep work on each. docs/sweeps.md
tells the model, how to set the budgets, and when plain run from cron is enough.`,
		Args: groupArgs,
		RunE: showHelp,
	}
	cmd.AddCommand(
		newSweepRun(a), newSweepEnqueue(a), newSweepWork(a), newSweepStatus(a), newSweepDeadLetters(a),
		newSweepRedrive(a), newSweepDiscard(a), newSweepHistory(a), newSweepMigrate(a), newSweepPrune(a),
	)
	return cmd
}

// slotName is the first part of the id of a scheduled sweep.
const slotName = "cleanup"

// slotOptions name the sweep that is to be admitted.
type slotOptions struct {
	id    string
	every time.Duration
}

func (o *slotOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.id, "sweep", "", "`id` of the sweep (default the slot of the schedule that now falls into)")
	addEvery(flags, &o.every, "interval of the schedule, in whole minutes")
}

func addEvery(flags *pflag.FlagSet, p *time.Duration, usage string) {
	*p = day
	flags.Var(durationValue{p}, "every", usage)
	settings(flags, "every")
}

// sweepID is the id to admit at now. On the command line it is either given or
// comes of an interval.
func (o *slotOptions) sweepID(layers map[string]layer, now time.Time) (string, error) {
	if o.id == "" {
		id, err := sweep.SlotID(slotName, o.every, now)
		if err != nil {
			return "", fmt.Errorf("--every %q: must be whole minutes, such as 30m or 24h", formatDuration(o.every))
		}
		return id, nil
	}
	if layers["every"] == fromFlag {
		return "", errors.New("--sweep and --every exclude each other")
	}
	return o.id, sweep.CheckID(o.id)
}

// act is a decision of the person who runs this.
func (a *app) act(reason string) sweep.Act {
	who := a.host.Who()
	name, host := who, "unknown"
	if i := strings.LastIndexByte(who, '@'); i >= 0 {
		name, host = who[:i], who[i+1:]
	}
	return sweep.Act{Reason: reason, User: name, Host: host, At: a.host.Now()}
}
