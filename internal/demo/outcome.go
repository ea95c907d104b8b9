package main

import (
	"errors"
	"fmt"
	"time"
)

// outcome is what became of one item, and what the engine says of it.
type outcome struct {
	item
	judgement
	got fate
}

// outcomes compares the trees from before and after a pass at now.
func outcomes(items []item, before, after *tree, now time.Time) []outcome {
	marked := after.markers()
	var list []outcome
	for _, it := range items {
		o := before.objects[it.handle]
		out := outcome{it, judge(before.snapshot.BucketActions(it.bucket), &o, now), kept}
		switch left, there := after.objects[it.handle]; {
		case !there:
			out.got = deleted
		case o.Latest && !left.Latest && marked[it.where()]:
			out.got = hidden
			out.why += "; its data stays, below a delete marker"
		}
		list = append(list, out)
	}
	return list
}

// check reports every way in which the story did not go as told: an item that
// was not there, or met another fate than it should or than the engine says,
// and whatever is there that nobody put there.
func check(list []outcome, before, after *tree) error {
	var errs []error
	told, covered := map[handle]bool{}, map[handle]bool{}
	for _, out := range list {
		told[out.handle] = true
		if out.got == hidden {
			covered[out.where()] = true
		}
		if _, there := before.objects[out.handle]; !there {
			errs = append(errs, fmt.Errorf("%s was not there before the pass", out.item))
			continue
		}
		if out.got != out.want {
			errs = append(errs, fmt.Errorf("%s is %s, not %s", out.item, out.got, out.want))
		}
		if out.goes != (out.got != kept) {
			errs = append(errs, fmt.Errorf("%s is %s; the engine says %q", out.item, out.got, out.why))
		}
	}
	for h := range before.objects {
		if !told[h] {
			errs = append(errs, fmt.Errorf("%q in bucket %q was there before the pass and is not part of the story", h.key, h.bucket))
		}
	}
	for h, o := range after.objects {
		_, old := before.objects[h]
		marker := o.Latest && o.DeleteMarker && covered[h.where()]
		if !old && !marker {
			errs = append(errs, fmt.Errorf("%q in bucket %q came up in the pass", h.key, h.bucket))
		}
	}
	return errors.Join(errs...)
}

func (it item) String() string {
	return fmt.Sprintf("%s of %q in bucket %q", it.label, it.key, it.bucket)
}

// sent is how many of the items a pass has to send a delete for.
func sent(items []item) int {
	n := 0
	for _, it := range items {
		if it.want != kept {
			n++
		}
	}
	return n
}

// same reports what the second pass changed.
func same(a, b *tree) error {
	var errs []error
	for h, o := range a.objects {
		now, there := b.objects[h]
		if !there || now.Latest != o.Latest {
			errs = append(errs, fmt.Errorf("the second pass changed %q in bucket %q", h.key, h.bucket))
		}
	}
	for h := range b.objects {
		if _, there := a.objects[h]; !there {
			errs = append(errs, fmt.Errorf("%q in bucket %q came up in the second pass", h.key, h.bucket))
		}
	}
	return errors.Join(errs...)
}
