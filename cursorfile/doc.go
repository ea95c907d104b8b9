// Package cursorfile reads and writes what is kept of a shard between passes:
// its cursor file, which the built-in worker of SeaweedFS reads and writes
// too, and the side file beside it, which only weedlc knows.
//
// The codec is strict. A file that is there and that is not exactly what it
// should be is damage, reported with the file, the field and the value; it
// never reads as zero or as absent. The exception is a field that this version
// does not know: it is kept across a load and a save.
//
// Every write is conditional on the version that was read, so two writers never
// replace each other's state unseen.
package cursorfile
