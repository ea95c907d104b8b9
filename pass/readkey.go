package pass

import (
	"context"
	"fmt"
	"strings"

	"weedlc/engine"
)

// ReadKey returns everything that lies at a key as rules judge it: the object
// of a bucket without versions, or all versions of the key. The key of a folder
// marker ends in a slash. A key with nothing at it is an empty group.
func ReadKey(ctx context.Context, f Filer, b engine.Bucket, key string) (engine.Group, error) {
	k := keys{filer: f, pages: DefaultPageSize}
	if b.Versioned() || isUpload(key) {
		return k.read(ctx, b, key)
	}
	g := engine.Group{Bucket: b.Name, Key: key}
	e, err := k.lookup(ctx, b.Name, key)
	if err != nil {
		return g, err
	}
	// A look-up does not tell "dir" from "dir/", two objects of S3.
	if e != nil && strings.HasSuffix(key, "/") != (e.Nature == engine.FolderMarker) {
		return g, nil
	}
	if o, ok := single(b.Name, key, e); ok {
		g.Objects = []engine.Object{o}
	}
	return g, nil
}

// ReadUploads returns the unfinished uploads that would make a key, in the order
// of their IDs. Leftovers are the IDs of those that were completed and left
// behind: they share their chunks with a live object and are never aborted.
func ReadUploads(ctx context.Context, f Filer, b engine.Bucket, key string) (uploads []engine.Object, leftovers []string, err error) {
	k := keys{filer: f, pages: DefaultPageSize}
	page := Page{Bucket: b.Name, Folder: uploadsFolder, Limit: k.pages}
	for {
		entries, err := f.List(ctx, page)
		if err != nil {
			return nil, nil, fmt.Errorf("list the uploads of bucket %q: %w", b.Name, err)
		}
		for i := range entries {
			o, ok := engine.NewUpload(b.Name, &entries[i])
			if !ok || o.Key != key {
				continue
			}
			left, err := k.isLeftover(ctx, b, &o)
			switch {
			case err != nil:
				return nil, nil, err
			case left:
				leftovers = append(leftovers, o.UploadID)
			default:
				uploads = append(uploads, o)
			}
		}
		if len(entries) < page.Limit {
			return uploads, leftovers, nil
		}
		page.After = entries[len(entries)-1].Name
	}
}
