package pass

import (
	"context"
	"fmt"
	"sync"

	"weedlc/engine"
)

// lookahead lists folders before the traversal comes to them, so that the
// filer works on the next ones while one is worked through. The traversal's
// order does not change, and it alone uses the lookahead.
type lookahead struct {
	filer  Filer
	bucket string
	pages  int // entries of one listing call
	// most is how many folders of each level may be listed ahead.
	most int
	// slots bound the listing calls in flight, over all buckets.
	slots chan struct{}
	ready map[string]func() fetched
	wg    sync.WaitGroup
}

// aheadPage is how many entries of a folder are listed ahead: a folder's own
// pages are larger, but those of a whole row of folders are in memory at once.
const aheadPage = 128

// fetched is one page, or why there is none.
type fetched struct {
	entries []engine.Entry
	last    bool
	err     error
}

// start asks for a page and returns how to wait for it.
func (a *lookahead) start(ctx context.Context, p Page) (wait func() fetched) {
	ready := make(chan fetched, 1)
	a.wg.Go(func() { ready <- a.fetch(ctx, p) })
	return func() fetched { return <-ready }
}

func (a *lookahead) fetch(ctx context.Context, p Page) fetched {
	p.Bucket = a.bucket
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return fetched{err: ctx.Err()}
	}
	entries, err := a.filer.List(ctx, p)
	if err != nil {
		err = fmt.Errorf("list %q of bucket %q: %w", p.Folder, a.bucket, err)
	}
	return fetched{entries: entries, last: len(entries) < p.Limit, err: err}
}

// firstPage is the first page of a part of a folder, from the lookahead where it
// is all of the folder and has been listed.
func (a *lookahead) firstPage(ctx context.Context, p Page) fetched {
	if p.Prefix == "" && p.After == "" {
		if wait := a.ready[p.Folder]; wait != nil {
			delete(a.ready, p.Folder)
			return wait()
		}
	}
	p.Limit = a.pages
	return a.fetch(ctx, p)
}

// pagesOf hands over the entries of a part of a folder, page by page. While one
// page is worked through the next is on its way.
func (a *lookahead) pagesOf(ctx context.Context, p Page, fn func([]engine.Entry) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got := a.firstPage(ctx, p)
	for {
		if got.err != nil {
			return got.err
		}
		var next func() fetched
		if !got.last {
			next = a.start(ctx, Page{Folder: p.Folder, Prefix: p.Prefix, After: got.entries[len(got.entries)-1].Name, Limit: a.pages})
		}
		if err := fn(got.entries); err != nil || got.last {
			return err
		}
		got = next()
	}
}

// row lists ahead the folders of one page of a level.
type row struct {
	*lookahead
	entries []engine.Entry
	// wanted is the path of an entry's folder, where all of it is going to be
	// listed.
	wanted func(*engine.Entry) (folder string, ok bool)
	// next is the first entry that was not considered, started the entries whose
	// folders are on their way.
	next    int
	started []int
}

// advance is told that the traversal comes to an entry of the page. Folders
// that it has passed without listing them are dropped.
func (r *row) advance(ctx context.Context, at int) {
	for len(r.started) > 0 && r.started[0] < at {
		folder, _ := r.wanted(&r.entries[r.started[0]])
		delete(r.ready, folder)
		r.started = r.started[1:]
	}
	for r.next = max(r.next, at); r.next < len(r.entries) && len(r.started) < r.most; r.next++ {
		folder, ok := r.wanted(&r.entries[r.next])
		if !ok {
			continue
		}
		r.ready[folder] = r.start(ctx, Page{Folder: folder, Limit: min(aheadPage, r.pages)})
		r.started = append(r.started, r.next)
	}
}
