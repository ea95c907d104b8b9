// Package engine decides what S3 lifecycle rules expire. It parses rules,
// compiles them into actions, and judges objects against them with reasons.
//
// Everything here is pure: no I/O, no logging, no clock. The time of a
// verdict is always an argument.
//
// The vocabulary is that of SeaweedFS: a rule compiles to one action per
// populated element; an action has a kind, a delay and a hash; keys fall into
// sixteen shards; a cursor is the position of one shard in the filer's
// meta-log.
package engine
