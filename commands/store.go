package commands

import (
	"context"

	"github.com/spf13/pflag"

	"weedlc/cursorfile"
)

// storeOptions say where the cursors are.
type storeOptions struct{ dir string }

func (o *storeOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "cursor-dir", "", "keep the cursors in this local `directory`, not on the filer")
	settings(flags, "cursor-dir")
}

// files are the cursors of a cluster, or those of the local directory.
func (o *storeOptions) files(c *Cluster) cursorfile.Files {
	if o.dir != "" {
		return cursorfile.NewDir(o.dir)
	}
	return c.Cursors
}

func (o *storeOptions) open(a *app, c *Cluster) *cursorfile.Store {
	return cursorfile.NewStore(o.files(c), func(line string) { a.log.Warn(line) })
}

// cursorOptions are the flags of every command on cursors.
type cursorOptions struct {
	cluster clusterOptions
	store   storeOptions
}

func (o *cursorOptions) AddFlags(flags *pflag.FlagSet) {
	o.cluster.AddFlags(flags)
	o.store.AddFlags(flags)
}

// connect dials the cluster unless the cursors are in a local directory. The
// cluster is nil then. A pause is told.
func (o *cursorOptions) connect(ctx context.Context, a *app) (*Cluster, func(), error) {
	c, done, err := o.dial(ctx, a)
	if err == nil {
		a.warnPaused(ctx, o.store.files(c))
	}
	return c, done, err
}

// dial is connect without a word.
func (o *cursorOptions) dial(ctx context.Context, a *app) (*Cluster, func(), error) {
	if o.store.dir != "" {
		return nil, func() {}, nil
	}
	c, err := a.dial(ctx, o.cluster, false)
	if err != nil {
		return nil, nil, err
	}
	return c, func() { _ = c.Close() }, nil
}

// lock takes the locks of shards. A local directory has none: there is no
// cluster to ask for them.
func (o *cursorOptions) lock(ctx context.Context, a *app, c *Cluster, locks lockOptions, shards []int) (Lock, error) {
	if c == nil {
		return noLock{}, nil
	}
	return locks.take(ctx, a, c, shards)
}
