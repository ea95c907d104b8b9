// Package adminworker serves the job type s3_lifecycle of a SeaweedFS admin
// server: it proposes the jobs of a pass, each a range of shards, and hands
// those that the admin server gives it to whoever carries them out.
//
// It speaks SeaweedFS's plugin protocol (plugin_pb) itself. SeaweedFS's own
// package for that, weed/plugin/worker, brings 400 packages and 46 MB of the
// server along, ends a job with the connection that brought it, and gives it no
// time to end with the process.
//
// A job outlives the connection: it goes on while the admin server restarts,
// is named in the heartbeats of the next connection, and its end is told there.
package adminworker
