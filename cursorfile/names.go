package cursorfile

import (
	"fmt"
	"time"
)

// FilerDir is the filer's directory of cursor files.
const FilerDir = "/etc/s3/lifecycle/daily-cursors"

// CursorName is the file of a shard's cursor, the built-in worker's name for
// it.
func CursorName(shard int) string { return fmt.Sprintf("shard-%02d.json", shard) }

// SideName is the file beside a shard's cursor.
func SideName(shard int) string { return fmt.Sprintf("shard-%02d.weedlc.json", shard) }

// What a copy of a file is kept for, as written in its name.
const (
	asBackup  = "bak"
	asDamaged = "damaged"
)

// copyName names a copy of a file taken at an instant. The copies of one second
// are numbered from 1; the first carries no number.
func copyName(name, as string, at time.Time, number int) string {
	copied := fmt.Sprintf("%s.%s-%s", name, as, at.UTC().Format("20060102T150405Z"))
	if number > 1 {
		copied += fmt.Sprintf(".%d", number)
	}
	return copied
}
