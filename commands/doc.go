// Package commands is weedlc's command line: the cobra tree with one file a
// subcommand, the configuration, the rendering, and the table of exit codes.
//
// A command is a constructor that pairs an options struct with AddFlags, a
// validation and a run method. Streams, clock, environment and the cluster
// come in through Host; only OSHost touches the process's own.
package commands
