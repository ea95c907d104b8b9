package main

import (
	"context"
	"fmt"
	"strings"

	"weedlc/engine"
	"weedlc/internal/cluster"
)

// tree is everything that lives in buckets with rules at one time.
type tree struct {
	snapshot *engine.Snapshot
	objects  map[handle]engine.Object
}

const (
	uploadsFolder  = ".uploads"
	versionsSuffix = ".versions"
	// pageLimit is more than the stage puts into any folder.
	pageLimit = 1000
)

// readTree lists the buckets and reads their rules.
func readTree(ctx context.Context, c *cluster.Cluster) (*tree, error) {
	all, err := c.Buckets(ctx)
	if err != nil {
		return nil, err
	}
	t := &tree{objects: map[handle]engine.Object{}}
	var sources []engine.Source
	for _, b := range all {
		if len(b.Rules) == 0 { // SeaweedFS's own
			continue
		}
		rules, findings := engine.ParseXML(b.Name, b.Rules, engine.ParseOptions{})
		if len(findings) > 0 {
			return nil, fmt.Errorf("%s", findings[0])
		}
		sources = append(sources, engine.Source{Bucket: b, Rules: rules})
		r := treeReader{ctx: ctx, cluster: c, bucket: b, tree: t}
		if err := r.folder(""); err != nil {
			return nil, err
		}
	}
	t.snapshot = engine.New().Compile(sources)
	return t, nil
}

// treeReader reads one bucket into a tree. It knows what the stage makes:
// objects, versions in their folders, unfinished uploads.
type treeReader struct {
	ctx     context.Context
	cluster *cluster.Cluster
	bucket  engine.Bucket
	tree    *tree
}

// folder reads a folder; dir is empty or ends in a slash.
func (r *treeReader) folder(dir string) error {
	entries, err := r.list(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return err
	}
	for i := range entries {
		e := &entries[i]
		name, isVersions := engine.IsVersionFolder(e.Name)
		switch {
		case !e.Nature.IsFolder():
			r.add(engine.NewObject(r.bucket.Name, dir+e.Name, e))
		case dir == "" && e.Name == uploadsFolder:
			err = r.uploads()
		case isVersions && r.bucket.Versioned():
			err = r.versions(dir+name, e)
		default:
			err = r.folder(dir + e.Name + "/")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *treeReader) uploads() error {
	entries, err := r.list(uploadsFolder)
	for i := range entries {
		if o, ok := engine.NewUpload(r.bucket.Name, &entries[i]); ok {
			r.add(o)
		}
	}
	return err
}

func (r *treeReader) versions(key string, container *engine.Entry) error {
	files, err := r.list(key + versionsSuffix)
	if err != nil {
		return err
	}
	g := engine.NewGroup(r.bucket.Name, key, container, files, nil)
	if g.Unresolved != "" {
		return fmt.Errorf("bucket %q, key %q: %s", g.Bucket, g.Key, g.Unresolved)
	}
	for _, o := range g.Objects {
		r.add(o)
	}
	return nil
}

func (r *treeReader) list(folder string) ([]engine.Entry, error) {
	return r.cluster.List(r.ctx, engine.Page{Bucket: r.bucket.Name, Folder: folder, Limit: pageLimit})
}

func (r *treeReader) add(o engine.Object) {
	r.tree.objects[handle{o.Bucket, o.Key, o.VersionID + o.UploadID}] = o
}

// markers are the keys whose current version is a delete marker.
func (t *tree) markers() map[handle]bool {
	keys := map[handle]bool{}
	for h, o := range t.objects {
		if o.Latest && o.DeleteMarker {
			keys[h.where()] = true
		}
	}
	return keys
}
