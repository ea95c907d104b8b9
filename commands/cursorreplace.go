package commands

import (
	"context"
	"errors"
	"fmt"

	"weedlc/cursorfile"
)

// replacement is a new text for one file of a shard.
type replacement struct {
	shard int
	name  string
	text  []byte
	// was is the version of the file that the text replaces; empty when there
	// is none.
	was  string
	lock Lock
}

// replace writes a text that has been checked, after a backup, if the file is
// still what was read.
func (a *app) replace(ctx context.Context, store *cursorfile.Store, files cursorfile.Files, r replacement) error {
	backups, err := store.Backup(ctx, r.shard, a.host.Now())
	if err != nil {
		return err
	}
	if err := r.lock.Err(r.shard); err != nil {
		return err
	}
	if _, err := files.Write(ctx, r.name, r.text, r.was); err != nil {
		if errors.Is(err, cursorfile.ErrChanged) {
			return fmt.Errorf("%s %w", r.name, cursorfile.ErrChanged)
		}
		return fmt.Errorf("write %s: %w", r.name, err)
	}
	a.tellBackups(backups)
	return nil
}

// tellBackups names the copies that were made.
func (a *app) tellBackups(names []string) {
	for _, name := range names {
		a.notice("kept %s", name)
	}
}
