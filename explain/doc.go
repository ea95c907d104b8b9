// Package explain says in plain words what lifecycle rules do: what a rule
// compiles to and can never do, which rules meet on the same objects, and why
// each version of a key does or does not expire, when, and by whom.
//
// It is pure. It turns engine verdicts and shard states into structured data
// with JSON names and into lines of plain text; it reads and prints nothing.
// Names, keys and tags stand in the lines quoted or as they are: whoever prints
// them escapes what a terminal must not see.
package explain
