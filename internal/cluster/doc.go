// Package cluster speaks to a SeaweedFS cluster: it finds the filers and S3
// gateways, reads entries and the meta-log, sends LifecycleDelete, keeps small
// files on the filer and takes the filer's distributed locks.
//
// It is the only package that imports SeaweedFS's protobuf clients. What it
// hands out is engine's, so that the packages above need not know the wire.
//
// Every filer call that ends in a transport error is tried on the next filer
// of the cluster and fails within a minute when none answers. The one
// exception is ReadLog, which moves to another filer only before it has
// handed over an event: two filers may show the newest events in different
// order.
//
// A Backup stands in for a filer: it answers from a file that fs.meta.save of
// weed shell wrote.
package cluster
