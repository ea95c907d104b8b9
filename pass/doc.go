// Package pass carries out one bounded pass over a set of shards at one
// frozen instant: it plans, replays the meta-log, walks what must be walked,
// deletes what is due and moves positions over what is settled.
//
// The package declares the small interfaces that it consumes; a real cluster
// and an in-memory one implement them and pass the same conformance suite.
package pass
