package memcluster

import (
	"context"
	"fmt"
	"time"

	"weedlc/engine"
)

// Now is the filer's clock.
func (c *Cluster) Now(ctx context.Context) (now time.Time, err error) {
	err = c.around(ctx, Call{Op: OpNow}, func() error {
		now = c.FilerTime()
		return nil
	})
	return now, err
}

// Buckets lists every bucket.
func (c *Cluster) Buckets(ctx context.Context) (out []engine.Bucket, err error) {
	err = c.around(ctx, Call{Op: OpBuckets}, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, name := range c.bucketNames() {
			out = append(out, c.buckets[name].info)
		}
		return nil
	})
	return out, err
}

// Bucket returns one bucket.
func (c *Cluster) Bucket(ctx context.Context, name string) (out engine.Bucket, err error) {
	err = c.around(ctx, Call{Op: OpBucket, Bucket: name}, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		b, err := c.find(name)
		if err != nil {
			return err
		}
		out = b.info
		return nil
	})
	return out, err
}

// List returns one page of a folder. The entries share their maps and slices
// with the cluster: they are not to be changed.
func (c *Cluster) List(ctx context.Context, page engine.Page) (out []engine.Entry, err error) {
	err = c.around(ctx, Call{Op: OpList, Bucket: page.Bucket, Path: page.Folder}, func() error {
		if page.Limit < 1 {
			return fmt.Errorf("page of %d entries", page.Limit)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts.Pages++
		if page.After == "" {
			c.counts.Folders++
		}
		if err := spend(c.faults.lists, join(page.Bucket, clean(page.Folder))); err != nil {
			return err
		}
		if b := c.buckets[page.Bucket]; b != nil {
			out = b.page(page)
		}
		c.counts.Entries += int64(len(out))
		return nil
	})
	return out, err
}

// Lookup returns the entry at a path. It shares its map and slice with the
// cluster: they are not to be changed.
func (c *Cluster) Lookup(ctx context.Context, bucketName, path string) (out engine.Entry, err error) {
	err = c.around(ctx, Call{Op: OpLookup, Bucket: bucketName, Path: path}, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts.Lookups++
		if err := spend(c.faults.lookups, join(bucketName, clean(path))); err != nil {
			return err
		}
		b, err := c.find(bucketName)
		if err != nil {
			return err
		}
		e := b.get(path)
		if e == nil {
			return fmt.Errorf("entry %q in bucket %q: %w", path, bucketName, engine.ErrNotFound)
		}
		out = *e
		return nil
	})
	return out, err
}

// ReadLog hands over the events of a range that can be read when it begins.
func (c *Cluster) ReadLog(ctx context.Context, r engine.LogRange, fn func(*engine.Event) error) error {
	return c.around(ctx, Call{Op: OpReadLog}, func() error {
		c.mu.Lock()
		events := c.log.read(r, c.filerNow().UnixNano())
		c.counts.Reads++
		c.mu.Unlock()
		for i := range events {
			ev := &events[i]
			if err := c.ask(ctx, Call{Op: OpEvent, Bucket: ev.Bucket, Path: ev.Path}); err != nil {
				return err
			}
			c.mu.Lock()
			c.counts.Events++
			c.mu.Unlock()
			if err := fn(ev); err != nil {
				return err
			}
		}
		return nil
	})
}

// LogHorizon is the minute in which the log begins, as far as it has reached
// its files.
func (c *Cluster) LogHorizon(ctx context.Context) (ns int64, err error) {
	err = c.around(ctx, Call{Op: OpHorizon}, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		ns = c.horizon()
		return nil
	})
	return ns, err
}
