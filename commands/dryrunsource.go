package commands

import (
	"context"
	"fmt"
	"time"

	"weedlc/internal/cluster"
)

// open connects to the cluster, without a gateway, or opens the backup.
func (o *dryRunOptions) open(ctx context.Context, a *app) (*Cluster, error) {
	if o.from != "" {
		return openBackup(ctx, a, o.from)
	}
	return a.dialToRead(ctx, o.cluster, o.cursors)
}

// openBackup reads a metadata backup in place of a cluster. It has neither
// cursors nor locks, and its clock stands where the file was last written.
func openBackup(ctx context.Context, a *app, file string) (*Cluster, error) {
	progress := newProgress(a)
	b, err := cluster.OpenBackup(ctx, file, cluster.BackupOptions{
		Progress: func(entries, read, size int64) {
			progress.show(func(elapsed time.Duration) string {
				return fmt.Sprintf("%s  reading the backup: %d%%, entries %s", elapsed, 100*read/max(size, 1), group(entries))
			})
		},
	})
	a.stderr.clear()
	if err != nil {
		return nil, err
	}
	return &Cluster{Filer: b, Close: b.Close}, nil
}
