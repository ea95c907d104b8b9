package memcluster

import "weedlc/engine"

// Tree copies everything below a bucket, by path. No hook is asked, no fault
// spent and nothing counted: it is for who judges from outside.
func (c *Cluster) Tree(bucketName string) map[string]engine.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]engine.Entry{}
	if b := c.buckets[bucketName]; b != nil {
		for path, e := range b.entries {
			out[path] = *e
		}
	}
	return out
}

// Stored lists every bucket, in the same way.
func (c *Cluster) Stored() []engine.Bucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []engine.Bucket
	for _, name := range c.bucketNames() {
		out = append(out, c.buckets[name].info)
	}
	return out
}
