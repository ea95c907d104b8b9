package main

import (
	"fmt"
	"time"
)

const day = 24 * time.Hour

// item is one object or version that a rule can take.
type item struct {
	// path is that of its entry in the bucket.
	path string
	// key and version are what a delete is sent for; version is empty in a bucket
	// without versions.
	key, version string
	// mtime is the zero time for an object whose clock is the time of its
	// creation.
	mtime time.Time
	due   bool
}

// tree is what lies in one bucket.
type tree struct {
	bucket string
	items  []item
}

func (t tree) due() int {
	n := 0
	for _, it := range t.items {
		if it.due {
			n++
		}
	}
	return n
}

func dueIn(trees []tree) int {
	n := 0
	for _, t := range trees {
		n += t.due()
	}
	return n
}

// flatTree is n objects, half of them in one wide folder and half in folders of
// a hundred. Every dueth has the old clock and is due; the others are new.
func flatTree(bucket string, n, due int, old time.Time) tree {
	t := tree{bucket: bucket, items: make([]item, n)}
	for i := range n {
		path := fmt.Sprintf("wide/object-%07d.dat", i)
		if i >= n/2 {
			path = fmt.Sprintf("folders/%05d/object-%07d.dat", (i-n/2)/100, i)
		}
		it := item{path: path, key: path}
		if i%due == 0 {
			it.mtime, it.due = old, true
		}
		t.items[i] = it
	}
	return t
}

// freshTree is n objects whose clocks are the times of their creation.
func freshTree(bucket, name string, n int) tree {
	t := tree{bucket: bucket, items: make([]item, n)}
	for i := range n {
		path := fmt.Sprintf("%s/%05d/object-%07d.dat", name, i/1000, i)
		t.items[i] = item{path: path, key: path}
	}
	return t
}

// expire is a lifecycle document with one rule for every object.
func expire(days int) string {
	return document(fmt.Sprintf("<Expiration><Days>%d</Days></Expiration>", days))
}

func document(action string) string {
	return "<LifecycleConfiguration><Rule><ID>bench</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>" +
		action + "</Rule></LifecycleConfiguration>"
}
