package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/pass"
)

// dryRunState is a dry run under way. Its size is that of the rules, not that
// of the objects.
type dryRunState struct {
	a     *app
	o     *dryRunOptions
	filer pass.Filer
	now   time.Time
	// buckets are the buckets by name.
	buckets  map[string]engine.Bucket
	tally    *explain.Tally
	forecast *explain.Forecast // nil unless asked for
	changes  map[change]*changeCount
	markers  markerRules
	// newMarkers counts the delete markers that markers may be about.
	newMarkers int64

	sink          sink
	found, listed int64
	// err is the first error of the sink; stop ends the preview for it.
	err  error
	stop context.CancelFunc
}

// changeCount adds up one kind of change.
type changeCount struct {
	Change  change `json:"change"`
	Objects int64  `json:"objects"`
	// DueNow counts those that are due at the clock by the rules that have them
	// due first.
	DueNow int64 `json:"due_now"`
	Bytes  int64 `json:"bytes"`
}

func newDryRunState(ctx context.Context, a *app, o *dryRunOptions, c *Cluster, stop context.CancelFunc) (*dryRunState, error) {
	d := &dryRunState{
		a: a, o: o, filer: capped(c.Filer, int(o.listConcurrency)), buckets: map[string]engine.Bucket{},
		tally: explain.NewTally(), changes: map[change]*changeCount{}, markers: markerRules{}, stop: stop,
	}
	now, err := passClock(ctx, a, d.filer)
	if err != nil {
		return nil, err
	}
	if d.now, err = o.at.resolve(now); err != nil {
		return nil, fmt.Errorf("--at %q: %w", o.at.text, err)
	}
	buckets, err := d.filer.Buckets(ctx)
	if err != nil {
		return nil, fmt.Errorf("list buckets: %w", err)
	}
	for _, b := range buckets {
		if b.Versioning == engine.Suspended && len(b.Rules) > 0 {
			rules, _ := engine.ParseBucket(b, o.rules.allowUnfiltered)
			d.markers.set(b, rules)
		}
		b.Rules = nil
		d.buckets[b.Name] = b
	}
	var missing []error
	for _, name := range o.bucketSet() {
		if _, there := d.buckets[name]; !there {
			missing = append(missing, noSuchBucket(name, buckets))
		}
	}
	if len(missing) > 0 {
		return nil, errors.Join(missing...)
	}
	if o.forecast > 0 {
		d.forecast = explain.NewForecast(d.now, int((o.forecast+engine.Day()-1)/engine.Day()))
	}
	for _, c := range changes() {
		d.changes[c] = &changeCount{Change: c}
	}
	if d.sink, err = newSink(a, o); err != nil {
		return nil, err
	}
	return d, nil
}

// passClock is the now of a pass: the earlier of this host's clock and the
// filer's.
func passClock(ctx context.Context, a *app, f pass.Filer) (time.Time, error) {
	now := a.host.Now().UTC()
	filer, err := f.Now(ctx)
	if err != nil {
		return now, fmt.Errorf("read the filer's clock: %w", err)
	}
	if filer.Before(now) {
		now = filer.UTC()
	}
	return now, nil
}

// observe takes what a pass would do.
func (d *dryRunState) observe(del pass.Deletion) {
	d.tell(pass.Judgement{Object: del.Object, Prospect: pass.Prospect{
		Action: del.Action, Due: del.Due, Outcome: del.Outcome, Reason: del.Reason,
	}})
}

// tell takes what becomes of one object.
func (d *dryRunState) tell(j pass.Judgement) {
	b, a := d.buckets[j.Object.Bucket], j.Action
	if a != nil && d.forecast != nil && j.Outcome != pass.Blocked {
		d.forecast.Add(b, a, j.Object, j.Due)
	}
	switch j.Outcome {
	case pass.Done:
		d.tally.Add(b, a, j.Object, explain.EffectOf(a.Kind, b.Versioning))
		if d.markers.maySend(a, j.Object) {
			d.newMarkers++
		}
	case pass.SkippedObjectLock:
		d.tally.Add(b, a, j.Object, explain.SkipLock)
	}
	if d.o.compare {
		d.compare(j)
		return
	}
	if j.Outcome == pass.Done || j.Outcome == pass.SkippedObjectLock && d.o.locked {
		d.list(func() record { return newObjectLine(j.Object, a, j.Due, d.now) })
	}
}

func (d *dryRunState) compare(j pass.Judgement) {
	c, first := compared(j)
	n := d.changes[c]
	n.Objects++
	n.Bytes += j.Object.Size
	if first.Outcome == pass.Done {
		n.DueNow++
	}
	if c != unchanged {
		d.list(func() record { return newChangeLine(c, j, d.now) })
	}
}

// list hands an object to the sink, unless enough are listed.
func (d *dryRunState) list(r func() record) {
	d.found++
	if d.o.summary || d.err != nil || d.o.limit > 0 && d.listed >= d.o.limit {
		return
	}
	d.listed++
	if d.err = d.sink.record(r()); d.err != nil {
		d.stop()
	}
}

// finish writes the result if there is a whole one, and says how it ended.
func (d *dryRunState) finish(_ context.Context, rep *pass.Report) error {
	d.a.stderr.clear()
	if d.err == nil && !rep.Interrupted && !incomplete(rep) {
		d.err = d.sink.finish(d.result(rep))
	}
	switch {
	case d.err != nil:
		return d.outputEnding()
	case rep.Interrupted:
		return coded{errors.New("interrupted: not everything was looked at"), exitInterrupted}
	case incomplete(rep):
		var errs []error
		for _, p := range rep.Errors {
			errs = append(errs, errors.New(problemText(p)))
		}
		if !rep.Failed {
			errs = append(errs, errors.New("not everything was looked at: the result is not complete"))
		}
		return errors.Join(errs...)
	}
	for _, p := range rep.Errors {
		d.a.log.Warn(problemText(p))
	}
	var codes []int
	for _, code := range codesOf(rep) {
		if code != exitCutShort { // by --events: the pass would be, this is not
			codes = append(codes, code)
		}
	}
	if code := worst(codes...); code != exitDone {
		return ending{code}
	}
	return nil
}

// problemText is a problem as an error's or a warning's text.
func problemText(p pass.Problem) string {
	return strings.TrimPrefix(strings.TrimPrefix(problemLine(p), string(pass.CategoryTransport)+": "), string(pass.CategoryRules)+": ")
}

// outputEnding is how the command ends when the result could not be written: a
// reader that went away has what it wanted, and Main tells of other errors of
// standard output.
func (d *dryRunState) outputEnding() error {
	if errors.Is(d.err, syscall.EPIPE) {
		return nil
	}
	if out, ok := d.a.host.Out.(*checkedWriter); ok && out.err != nil {
		return ending{exitFailed}
	}
	return d.err
}

// incomplete reports whether something could not be looked at, so that what was
// found is not all.
func incomplete(rep *pass.Report) bool {
	if rep.Failed {
		return true
	}
	for _, p := range rep.Errors {
		if p.Category == pass.CategoryTransport {
			return true
		}
	}
	for _, s := range rep.Shards {
		failures := s.Failed
		if s.Blocked != nil {
			failures = append(failures[:len(failures):len(failures)], *s.Blocked)
		}
		for _, f := range failures {
			if o := pass.Outcome(f.Outcome); o == pass.RetryLater || o == pass.TransportError {
				return true
			}
		}
	}
	return false
}

func (d *dryRunState) result(rep *pass.Report) *dryRunResult {
	r := &dryRunResult{
		now: d.now, o: d.o, rules: d.tally.Rows(), total: d.tally.Total(), report: rep, found: d.found, listed: d.listed, newMarkers: d.newMarkers,
	}
	if d.o.nextPass {
		r.now = rep.Now.UTC()
	}
	if d.forecast != nil {
		f := d.forecast.Report()
		r.forecast = &f
	}
	if d.o.compare {
		for _, c := range changes() {
			r.changes = append(r.changes, *d.changes[c])
		}
	}
	return r
}

// dryRunProgress shows a dry run to a person. It implements pass.Progress.
type dryRunProgress struct{ *progress }

func newDryRunProgress(a *app) dryRunProgress { return dryRunProgress{newProgress(a)} }

// Update implements pass.Progress.
func (p dryRunProgress) Update(t pass.Totals) {
	p.show(func(elapsed time.Duration) string {
		return fmt.Sprintf("%s  entries walked %s  due %s", elapsed, group(t.EntriesWalked), group(t.DeleteCalls))
	})
}
