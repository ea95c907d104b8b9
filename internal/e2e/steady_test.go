package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// With a rule of a day and one of 400 days on one cluster, the third daily pass
// reads what the second has not read, walks nothing and sends nothing.
func TestMixedDelays_ThirdPassSendsNothing(t *testing.T) {
	r := newRig(t)
	r.CreateBucket("mixed-short", weedtest.Plain, document(rule("day", prefix(""), expire(1))))
	r.CreateBucket("mixed-long", weedtest.Plain, document(rule("year", prefix(""), expire(400))))
	var short, long []sent
	for i := range 40 {
		key := fmt.Sprintf("k%02d", i)
		r.Put("mixed-short", key, weedtest.Object{})
		r.Put("mixed-long", key, weedtest.Object{})
		short = append(short, sent{"mixed-short", key, "", engine.ExpirationDays})
		long = append(long, sent{"mixed-long", key, "", engine.ExpirationDays})
	}
	begin := time.Now()
	r.passAt(begin, pass.OK)

	rep := r.passAt(begin.Add(day), pass.OK, short...)
	wantQuiet(t, rep)
	if rep.Totals.EventsScanned < 40 {
		t.Errorf("the second pass has read %d events, less than it had to", rep.Totals.EventsScanned)
	}

	var read []window
	r.filer.reads = func(rng pass.LogRange) error {
		read = append(read, window{rng.AfterNs, rng.UntilNs})
		return nil
	}
	rep = r.passAt(begin.Add(2*day), pass.OK)
	wantQuiet(t, rep)
	if rep.Totals.EventsScanned != 0 {
		t.Errorf("the third pass has read %d events of a log that was read before", rep.Totals.EventsScanned)
	}
	// Of each delay a day of the log, and the day's arrivals, which end where
	// the next day of the short delay begins.
	from := func(d time.Duration) int64 { return begin.Add(d).UnixNano() }
	same(t, "ranges of the log", read, []window{
		{from(day - 400*day + engine.Slack()), from(2*day - 400*day + engine.Slack())},
		{from(engine.Slack()), from(2 * day)},
	})

	r.filer.reads = nil
	r.passAt(begin.Add(400*day-time.Hour), pass.OK)
	wantQuiet(t, r.passAt(begin.Add(400*day), pass.OK, long...))
}

// window is a stretch of the log.
type window struct{ after, until int64 }

// In real time, a pass reads the events since the last one, and those of the
// time in which the log settles.
func TestPassReadsArrivalsOnce(t *testing.T) {
	r := newRig(t)
	const b = "arrivals"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(7))))
	r.opts.Settle = 0
	r.pass(pass.OK)
	for i := range 20 {
		r.Put(b, fmt.Sprintf("k%02d", i), weedtest.Object{})
	}
	rep := r.pass(pass.OK)
	wantQuiet(t, rep)
	if got := rep.Totals.EventsScanned; got != 20 {
		t.Errorf("%d events were read, want those of 20 puts", got)
	}
	rep = r.pass(pass.OK)
	wantQuiet(t, rep)
	if got := rep.Totals.EventsScanned; got != 0 {
		t.Errorf("%d events were read a second time", got)
	}
}

// A pass on a cluster where nobody writes ends at the end of the log.
func TestScenario42_QuietCluster(t *testing.T) {
	r := newRig(t)
	r.CreateBucket("quiet", weedtest.Plain, document(rule("days", prefix(""), expire(7))))
	for range 3 {
		rep := r.pass(pass.OK)
		if rep.Duration > 15*time.Second {
			t.Errorf("a pass on a quiet cluster took %s", rep.Duration)
		}
	}
	for _, sh := range allShards {
		side := r.state(sh).Side
		if age := time.Since(time.Unix(0, side.ArrivalsNs)); age > r.opts.Settle+time.Minute {
			t.Errorf("shard %d has read arrivals through %s ago", sh, age)
		}
	}
}

// A lost event is one that a reconciliation makes up for, a repeated one costs
// no second call, and one of a bucket that is no more is nothing.
func TestScenario49_LostRepeatedAndStaleEvents(t *testing.T) {
	r := newRig(t)
	const b, again = "events", "events-again"
	rules := document(rule("days", prefix(""), expire(7)))
	r.CreateBucket(b, weedtest.Plain, rules)
	r.CreateBucket(again, weedtest.Plain, rules)
	begin := time.Now()
	r.passAt(begin, pass.OK)

	r.Put(b, "lost", weedtest.Object{})
	r.Put(b, "twice", weedtest.Object{})
	r.Put(again, "k", weedtest.Object{})
	r.Remove("/buckets/" + again)
	r.CreateBucket(again, weedtest.Plain, "")
	r.Put(again, "k", weedtest.Object{})
	r.filer.event = func(e *engine.Event, on func(*engine.Event) error) error {
		switch {
		case e.Bucket == b && e.Path == "lost":
			return nil
		case e.Bucket == b && e.Path == "twice":
			if err := on(e); err != nil {
				return err
			}
		}
		return on(e)
	}
	r.passAt(time.Now(), pass.OK)
	r.passAt(begin.Add(9*day), pass.OK, sent{b, "twice", "", engine.ExpirationDays})
	r.wantKeys(b, "lost")

	r.opts.ReconcileInterval = 10 * day
	r.passAt(begin.Add(20*day), pass.OK, sent{b, "lost", "", engine.ExpirationDays})
	r.wantKeys(again, "k")
	r.passAt(begin.Add(20*day), pass.OK)
}

// The shards of a pass are a part of its keys: what the others own stays until
// they run.
func TestShardsOfAPass(t *testing.T) {
	r := newRig(t)
	const b = "subset"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	some := []int{0, 3, 4, 5, 15}
	var ours, theirs []sent
	for i := range 60 {
		key := fmt.Sprintf("k%02d", i)
		r.Put(b, key, weedtest.Object{Age: 2 * day})
		c := sent{b, key, "", engine.ExpirationDays}
		if slices.Contains(some, engine.ShardOf(b, key)) {
			ours = append(ours, c)
		} else {
			theirs = append(theirs, c)
		}
	}
	r.opts.Shards = some
	r.pass(pass.OK, ours...)
	if got := len(r.cursors()); got != len(some) {
		t.Errorf("the pass left %d cursors, want %d", got, len(some))
	}
	r.opts.Shards = allShards
	r.pass(pass.OK, theirs...)
	r.wantKeys(b)
}
