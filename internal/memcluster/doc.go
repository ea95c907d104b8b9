// Package memcluster is a SeaweedFS cluster in memory, for property tests and
// simulations: a filer with its meta-log, the S3 gateway's writes and its
// LifecycleDelete, and a store of cursors.
//
// It writes the entries, extended attributes and events that the real server
// writes, in the same order; the conformance suite of internal/clustertest
// holds both to it. Nothing in it reads the wall clock: the filer, the gateway
// and the host that runs weedlc each see one simulated time through a skew of
// their own.
//
// What a simulation needs beyond a server: late, lost and trimmed events,
// answers and failures of choice, a hook around every call (to end a "process"
// at a chosen point), counters, a model of SeaweedFS's own lifecycle worker,
// and an oracle that says what is due.
package memcluster
