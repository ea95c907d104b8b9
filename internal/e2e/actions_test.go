package e2e_test

import (
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// delay is that of every timed rule of TestTimedActions.
const delay = 2

// Each action with a delay, in each kind of bucket: what is due at an instant
// goes, what is due a nanosecond later goes then, and no pass sends a call
// that an earlier one has sent. A pass has three ways to meet what is due: a
// walk, the arrival of an event that makes an entry old, and the event that
// its delay is counted from.
func TestTimedActions(t *testing.T) {
	for _, way := range []struct {
		name   string
		settle time.Duration
		// ahead is how long after its clock was set an object is due.
		ahead time.Duration
		// replay says that the first pass comes before the clocks are set, so that
		// the next one walks nothing; stepReplayed that the one after it neither does.
		replay, stepReplayed bool
	}{
		{name: "walk", settle: 0, ahead: 10 * time.Minute},
		{name: "arrival", settle: 5 * time.Minute, ahead: 10 * time.Minute, replay: true},
		{name: "group", settle: 5 * time.Minute, ahead: delay * day, replay: true, stepReplayed: true},
	} {
		t.Run(way.name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Settle = way.settle
			s := timedActions(r, way.name)
			if way.replay {
				wantRecovery(t, r.pass(pass.OK), "cold_start")
			}
			at := time.Now().Add(way.ahead)
			s.setClocks(at.Add(-delay * day))
			if rep := r.passAt(at, pass.OK, s.due...); way.replay {
				wantQuiet(t, rep)
			}
			s.check(r, false)
			r.passAt(at, pass.OK)
			if rep := r.passAt(at.Add(step), pass.OK, s.later...); way.stepReplayed {
				wantQuiet(t, rep)
			}
			s.check(r, true)
			r.passAt(at.Add(step), pass.OK)
			s.check(r, true)
		})
	}
}

// stage is a set of buckets and what passes are to do there.
type stage struct {
	// name begins the buckets' names: events of a bucket that is gone would
	// speak for one of the same name.
	name string
	// clocks set the clocks of objects to one instant, or a step behind it.
	clocks     []func(time.Time)
	due, later []sent
	// checks compare what is left; all is set once the later ones are gone too.
	checks []func(all bool)
}

func (s *stage) setClocks(at time.Time) {
	for _, set := range s.clocks {
		set(at)
	}
}

func (s *stage) check(r *rig, all bool) {
	r.t.Helper()
	for _, check := range s.checks {
		check(all)
	}
}

// step is one nanosecond: what is not due is so by this much.
const step = time.Nanosecond

// timedActions fills buckets with young objects.
func timedActions(r *rig, name string) *stage {
	s := &stage{name: name}
	s.expirations(r)
	s.noncurrents(r)
	s.aborts(r)
	return s
}

func (s *stage) expirations(r *rig) {
	rules := document(rule("days", prefix(""), expire(delay)))
	for name, kind := range map[string]weedtest.BucketKind{
		"days-plain": weedtest.Plain, "days-versioned": weedtest.Versioned, "days-suspended": weedtest.Suspended, "days-locked": weedtest.Locked,
	} {
		name = s.name + "-" + name
		r.CreateBucket(name, kind, rules)
		due, later := r.Put(name, "due", weedtest.Object{Body: "due"}), r.Put(name, "later", weedtest.Object{})
		s.clocks = append(s.clocks, func(clock time.Time) {
			r.t.Helper()
			r.SetVersionMtime(name, "due", due, clock)
			r.SetVersionMtime(name, "later", later, clock.Add(step))
		})
		s.due = append(s.due, sent{name, "due", versionOf(kind, due), engine.ExpirationDays})
		s.later = append(s.later, sent{name, "later", versionOf(kind, later), engine.ExpirationDays})
		s.checks = append(s.checks, func(all bool) {
			r.t.Helper()
			if all {
				r.wantKeys(name)
			} else {
				r.wantKeys(name, "later")
			}
			if kind == weedtest.Plain {
				return
			}
			// Data that an expiration hides stays, unless the null marker takes its
			// place.
			left := map[string]int{}
			for _, v := range r.versions(name) {
				left[v.key]++
				if v.key == "due" && v.latest != v.marker {
					r.t.Errorf("%s: version %q of key %q: latest %v, marker %v", name, v.id, v.key, v.latest, v.marker)
				}
			}
			want := 2
			if kind == weedtest.Suspended {
				want = 1
			}
			if left["due"] != want {
				r.t.Errorf("%s: key %q has %d versions and markers, want %d", name, "due", left["due"], want)
			}
		})
	}
}

func (s *stage) noncurrents(r *rig) {
	rules := document(rule("noncurrent", prefix(""), noncurrent(delay, 0)))

	// The rule is not about the objects of a bucket without versions.
	plain := s.name + "-nc-plain"
	r.CreateBucket(plain, weedtest.Plain, rules)
	r.Put(plain, "k", weedtest.Object{})
	s.clocks = append(s.clocks, func(clock time.Time) { r.t.Helper(); r.SetMtime(plain, "k", clock) })
	s.checks = append(s.checks, func(bool) { r.t.Helper(); r.wantKeys(plain, "k") })

	// A version that is followed by a version, by a null version and by nothing
	// but a marker; and a null version that is followed by a version.
	for name, states := range map[string]struct{ first, second weedtest.BucketKind }{
		"nc-versioned": {weedtest.Versioned, weedtest.Versioned},
		"nc-suspended": {weedtest.Versioned, weedtest.Suspended},
		"nc-null":      {weedtest.Plain, weedtest.Versioned},
	} {
		name = s.name + "-" + name
		r.CreateBucket(name, states.first, rules)
		var old [2]string
		keys := [2]string{"due", "later"}
		for i, key := range keys {
			if old[i] = r.Put(name, key, weedtest.Object{Body: "old"}); old[i] == "" {
				old[i] = "null"
			}
		}
		if states.first != states.second {
			r.SetVersioning(name, states.second == weedtest.Versioned)
		}
		for i, key := range keys {
			newest := r.Put(name, key, weedtest.Object{Body: "newer"})
			s.clocks = append(s.clocks, func(clock time.Time) {
				r.t.Helper()
				at := clock.Add(time.Duration(i) * step)
				r.SetVersionMtime(name, key, old[i], at.Add(-time.Minute))
				r.SetVersionMtime(name, key, newest, at)
				r.SetDemoted(name, key, old[i], at)
			})
			c := sent{name, key, old[i], engine.NoncurrentDays}
			if i == 0 {
				s.due = append(s.due, c)
			} else {
				s.later = append(s.later, c)
			}
		}
		s.checks = append(s.checks, func(all bool) {
			r.t.Helper()
			r.wantKeys(name, keys[:]...)
			want := 3
			if all {
				want = 2
			}
			if got := r.versions(name); len(got) != want {
				r.t.Errorf("%s has %d versions, want %d: %v", name, len(got), want, got)
			}
		})
	}

	// A version goes only beyond those that the rule keeps, the newest first.
	keep := s.name + "-nc-keep"
	r.CreateBucket(keep, weedtest.Versioned, document(rule("keep", prefix(""), noncurrent(delay, 1))))
	var ids []string
	for range 4 {
		ids = append(ids, r.Put(keep, "k", weedtest.Object{}))
	}
	s.clocks = append(s.clocks, func(clock time.Time) {
		r.t.Helper()
		for i, id := range ids {
			r.SetVersionMtime(keep, "k", id, clock.Add(time.Duration(i)*time.Millisecond-time.Second))
			if i < 3 {
				r.SetDemoted(keep, "k", id, clock)
			}
		}
		r.SetDemoted(keep, "k", ids[0], clock.Add(step))
	})
	s.due = append(s.due, sent{keep, "k", ids[1], engine.NoncurrentDays})
	s.later = append(s.later, sent{keep, "k", ids[0], engine.NoncurrentDays})
	s.checks = append(s.checks, func(all bool) {
		r.t.Helper()
		want := []version{{"k", ids[3], true, false}, {"k", ids[2], false, false}}
		if !all {
			want = append(want, version{"k", ids[0], false, false})
		}
		r.wantVersions(keep, want...)
	})
}

func (s *stage) aborts(r *rig) {
	for name, kind := range map[string]weedtest.BucketKind{
		"abort-plain": weedtest.Plain, "abort-versioned": weedtest.Versioned, "abort-suspended": weedtest.Suspended,
	} {
		name = s.name + "-" + name
		r.CreateBucket(name, kind, document(rule("abort", prefix("in/"), abort(delay))))
		due := r.StartUpload(name, "in/due", "part")
		later := r.StartUpload(name, "in/later")
		out := r.StartUpload(name, "out/due")
		s.clocks = append(s.clocks, func(clock time.Time) {
			r.t.Helper()
			r.SetMtime(name, ".uploads/"+due, clock)
			r.SetMtime(name, ".uploads/"+later, clock.Add(step))
			r.SetMtime(name, ".uploads/"+out, clock)
		})
		s.due = append(s.due, sent{name, ".uploads/" + due, "", engine.AbortMPU})
		s.later = append(s.later, sent{name, ".uploads/" + later, "", engine.AbortMPU})
		s.checks = append(s.checks, func(all bool) {
			r.t.Helper()
			want := []string{"in/later", "out/due"}
			if all {
				want = want[1:]
			}
			same(r.t, "uploads of "+name, r.Uploads(name), want)
		})
	}
}
