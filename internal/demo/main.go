// Command demo tells what weedlc does, on a SeaweedFS of its own: it fills four
// buckets with aged objects, runs bin/weedlc as a person would, and shows what
// is gone, what stayed and why. It checks what it tells and exits 1 when
// something is not so. The server and its files go at the end, also after a
// Ctrl-C.
//
//	make demo
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	binary := flag.String("weedlc", "bin/weedlc", "the weedlc to show")
	flag.Parse()
	os.Exit(run(*binary, os.Stdout, os.Stderr))
}

// run returns the exit code. Every signal that would end the process, that of
// a reader that went away too, ends the story instead, so that its server and
// files go.
func run(binary string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	err := tell(ctx, binary, stdout)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "demo: interrupted; the server and its files are gone")
		return 130
	}
	_, _ = fmt.Fprintf(stderr, "demo: %v\n", err)
	return 1
}
