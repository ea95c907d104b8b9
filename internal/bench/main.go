// Command bench measures weedlc beside what else does its job, on throwaway
// SeaweedFS servers: SeaweedFS's own pass, rclone where it is installed, and
// the bare calls that nothing can be faster than. Each tool works on a tree of
// its own that is like the others', and what it left and took is looked at
// afterwards.
//
//	make bench
//	go run ./internal/bench -scenario cold-all,steady -runs 5
//	go run ./internal/bench -scenario window -entries 500000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err == nil:
		err = measure(ctx, o, stdout, stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

// options say what is measured, with which programs, and where the result
// goes.
type options struct {
	scenarios []scenario
	tools     []string // parts of tools' names; empty is all
	runs      int
	scale     float64
	// entries replaces the size of every scenario; 0 is the scenario's own.
	entries     int
	concurrency int
	// short and shortShell have a day of ten seconds.
	weedlc, short, shortShell string
	json, markdown, profiles  string
	verbose                   bool
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	names := flags.String("scenario", "", "scenarios to measure, with commas between (default all but those by hand)")
	tools := flags.String("tool", "", "measure only tools whose names contain one of these, with commas between")
	flags.IntVar(&o.runs, "runs", 3, "how often each tool is measured; the median counts")
	flags.Float64Var(&o.scale, "scale", 1, "multiplies the size of every scenario")
	flags.IntVar(&o.entries, "entries", 0, "size of every scenario, in place of its own")
	flags.IntVar(&o.concurrency, "concurrency", 32, "deletes in flight, of weedlc and of the bare loop")
	flags.StringVar(&o.weedlc, "weedlc", "bin/weedlc", "the weedlc to measure")
	flags.StringVar(&o.short, "weedlc-short", "bin/weedlc-short", "the same, built with -tags s3tests: a day is ten seconds")
	flags.StringVar(&o.shortShell, "weed-short", "bin/weed-short", "the weed whose shell is measured with such days")
	flags.StringVar(&o.json, "json", "", "write every measurement to this `file`")
	flags.StringVar(&o.markdown, "markdown", "", "put the tables between the marks of this `file`")
	flags.StringVar(&o.profiles, "profiles", "", "let weedlc write a CPU and a memory profile of each run into this `directory`")
	flags.BoolVar(&o.verbose, "v", false, "show what weedlc says of each of its passes")
	flags.Usage = func() {
		_, _ = fmt.Fprintf(stderr, "Usage: bench [flags]\n\nScenarios:\n%s\nFlags:\n", describe(scenarios()))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.runs < 1 || o.scale <= 0 || o.entries < 0 || o.concurrency < 1 {
		return o, errors.New("-runs, -scale and -concurrency must be above 0, -entries not below")
	}
	if *tools != "" {
		o.tools = strings.Split(*tools, ",")
	}
	var err error
	o.scenarios, err = choose(scenarios(), *names)
	return o, err
}

// choose picks the scenarios of the names; of no name those that are not by
// hand.
func choose(all []scenario, names string) ([]scenario, error) {
	var chosen []scenario
	if names == "" {
		for _, sc := range all {
			if !sc.byHand {
				chosen = append(chosen, sc)
			}
		}
		return chosen, nil
	}
	known := map[string]scenario{}
	for _, sc := range all {
		known[sc.name] = sc
	}
	for name := range strings.SplitSeq(names, ",") {
		sc, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("unknown scenario %q; they are:\n%s", name, describe(all))
		}
		chosen = append(chosen, sc)
	}
	return chosen, nil
}

func describe(all []scenario) string {
	var b strings.Builder
	for _, sc := range all {
		hand := ""
		if sc.byHand {
			hand = " (by hand)"
		}
		_, _ = fmt.Fprintf(&b, "  %-16s %s%s\n", sc.name, sc.title, hand)
	}
	return b.String()
}
