package pass

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weedlc/engine"
)

// errRefused ends the walk of a bucket of which too much is due.
var errRefused = errors.New("too much of the bucket is due")

// share is how much of a bucket is due.
type share struct {
	objects, due int64
	// rules are the due objects of each rule.
	rules map[string]int64
}

// above reports whether more than a fraction is due. The division is the one by
// which the fraction was read, so that 29 of 100 are not above 0.29.
func (s share) above(fraction float64) bool {
	return s.objects > 0 && float64(s.due)/float64(s.objects) > fraction
}

// census counts what is due in each bucket that is to be walked, before anything
// is deleted there, and refuses the buckets that are above the fraction, and
// those that could not be counted.
func (w *work) census(o WalkOptions) {
	most := w.o.Guards.MaxFraction
	if most == 0 || w.preview || len(w.plan.walks) == 0 {
		return
	}
	w.o.Progress.Notice(fmt.Sprintf("counting what is due in %s before the first delete there", plural(len(w.plan.walks), "bucket")))
	o.Options = w.o
	w.refused = map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, together)
	for _, bw := range w.plan.walks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			name := bw.bucket.Name
			s, err := w.countDue(o, name)
			if w.ctx.Err() != nil || err == nil && !s.above(most) {
				return
			}
			p := s.problem(most)
			if err != nil {
				p = Problem{Message: "how much of it is due could not be counted: " + err.Error()}
			}
			p.Shard, p.Bucket, p.Category, p.Guard = -1, name, CategoryGuard, GuardMaxFraction
			w.problem(p)
			mu.Lock()
			defer mu.Unlock()
			w.refused[name] = true
		})
	}
	wg.Wait()
}

// countDue walks all of a bucket, as far as the options narrow it, and judges it
// by every rule.
func (w *work) countDue(o WalkOptions, bucket string) (share, error) {
	o.Progress, o.Meter = quiet{}, unmetered{}
	o.ListConcurrency = max(1, o.ListConcurrency/together)
	o.Buckets, o.ExcludeBuckets = []string{bucket}, nil
	s := share{rules: map[string]int64{}}
	f := &foresight{
		o: PreviewOptions{WalkOptions: o, Tell: func(j Judgement) {
			if j.Outcome == Done {
				s.due++
				s.rules[j.Action.Rule.Label()]++
			}
		}},
		recorded: newRecorder(nil).recorded, rules: w.plan.all, whole: true,
	}
	c := &work{
		o: o.Options, deps: Deps{Filer: w.deps.Filer}, ctx: w.ctx, now: w.now, guard: w.guard,
		seen: map[Problem]bool{}, runs: map[int]*shardRun{},
	}
	if err := c.planWalk(o, w.plan.book, w.plan.all); err != nil {
		return s, err
	}
	for _, bw := range c.plan.walks {
		bw.told = make(chan judged, ahead)
	}
	c.foretell(f)
	for _, bw := range c.plan.walks {
		if bw.err != nil {
			return s, bw.err
		}
	}
	s.objects = c.totals().EntriesWalked
	return s, nil
}

// problem says by which rules how much is due.
func (s share) problem(most float64) Problem {
	labels := slices.SortedFunc(maps.Keys(s.rules), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.rules[b], s.rules[a]), strings.Compare(a, b))
	})
	var by []string
	for _, label := range labels {
		by = append(by, fmt.Sprintf("rule %q %d", label, s.rules[label]))
	}
	p := Problem{Message: fmt.Sprintf("left alone: %d of its %d objects are due, more than the fraction %s that may be: %s",
		s.due, s.objects, strconv.FormatFloat(most, 'g', -1, 64), strings.Join(by, ", "))}
	if len(labels) > 0 {
		p.RuleID = labels[0]
	}
	return p
}

// prefixes are those of the keys that a walk has to see.
func (w *walker) prefixes(view *engine.Snapshot, bucket string) []string {
	if w.foresight != nil && w.foresight.whole {
		return []string{""}
	}
	return view.Prefixes(bucket)
}

// excludes reports whether the walk leaves a key alone, and everything that
// begins with it.
func (w *walker) excludes(key string) bool {
	return slices.ContainsFunc(w.excluded, func(p string) bool { return strings.HasPrefix(key, p) })
}
