// Package clustertest is the conformance suite that every cluster passes which
// a pass runs on: what listings, look-ups and the meta-log show of the writes
// of S3 and filer clients, in which order, and how LifecycleDelete answers.
//
// A case makes buckets of its own and never looks at others', so the suite
// runs on a cluster that holds other things too.
package clustertest
