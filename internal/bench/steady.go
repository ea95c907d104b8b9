package main

import (
	"context"
	"fmt"
	"time"

	"weedlc/internal/weedtest"
)

// Steady passes need a log with events of days ago. A day of ten seconds, as
// SeaweedFS's tests have it, makes such a log in a minute.

const (
	caseIdle  = "nothing due"
	caseFresh = "1 % due"
	gone      = "gone"
)

// passes are the two tools that keep positions between passes.
func (b *bench) passes(c clock, sc scenario) []tool {
	return b.chosen([]tool{b.weedlcRun(c, sc), b.builtInRun(c, "")})
}

func steady(ctx context.Context, b *bench, sc scenario) error {
	short := b.shortDays()
	return onStands(ctx, b.passes(short, sc), 1, func(_ int, t tool, s *stand) error {
		soon, late := freshTree("bench-short", "first", sc.entries), freshTree("bench-long", "first", sc.entries)
		s.CreateBucket(soon.bucket, weedtest.Plain, expire(1))
		s.CreateBucket(late.bucket, weedtest.Plain, expire(400))
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := b.passBy(ctx, t, s, 1); err != nil { // the first pass, over empty buckets
			return err
		}
		// The log of 400 days begins with what the 400-day rule waits for.
		if err := s.seeder.fill(ctx, late, soon); err != nil {
			return err
		}
		if err := comeDue(ctx, short); err != nil {
			return err
		}
		// One pass deletes, the next one meets the events of that.
		if err := b.passBy(ctx, t, s, 2); err != nil {
			return err
		}
		for i := range soon.items {
			soon.items[i].due = true
		}
		for range b.runs {
			if err := s.settle(ctx); err != nil {
				return err
			}
			if err := b.measureOn(ctx, sc, s, t, row{Case: caseIdle}, soon, late); err != nil {
				return err
			}
		}
		if t.name == nameBuiltIn {
			if err := b.countNow(ctx, sc, caseIdle, short, s); err != nil {
				return err
			}
		}
		for i := range b.runs + 1 {
			fresh := freshTree(soon.bucket, fmt.Sprintf("fresh-%d", i), max(1, sc.entries/100))
			if err := s.seeder.fill(ctx, fresh); err != nil {
				return err
			}
			if err := comeDue(ctx, short); err != nil {
				return err
			}
			for i := range fresh.items {
				fresh.items[i].due = true
			}
			if i == b.runs {
				if t.name == nameBuiltIn {
					return b.countNow(ctx, sc, caseFresh, short, s)
				}
				break
			}
			if err := b.measureOn(ctx, sc, s, t, row{Case: caseFresh, Units: len(fresh.items), Unit: "deletes"}, fresh, late); err != nil {
				return err
			}
		}
		return nil
	})
}

// passBy lets a tool make passes that are not measured.
func (b *bench) passBy(ctx context.Context, t tool, s *stand, n int) error {
	for range n {
		r, err := t.run(ctx, s)
		if err != nil {
			return err
		}
		b.say("  (%s, not measured: %.3f s%s)", t.name, r.Seconds, r.aside())
	}
	return nil
}

// comeDue waits until what was just written is a day old, and an hour more: the
// slack of 1/24 of a day.
func comeDue(ctx context.Context, c clock) error { return pause(ctx, c.day+c.day/12+time.Second) }

// replay measures the reading of a log of which nothing lives any more.
func replay(ctx context.Context, b *bench, sc scenario) error {
	short := b.shortDays()
	const bucket = "bench-gone"
	return onStands(ctx, b.passes(short, sc), 1, func(_ int, t tool, s *stand) error {
		s.CreateBucket(bucket, weedtest.Plain, expire(1))
		if err := s.settle(ctx); err != nil {
			return err
		}
		if err := b.passBy(ctx, t, s, 1); err != nil {
			return err
		}
		for i := range b.runs + 1 {
			began := time.Now()
			lies := freshTree(bucket, fmt.Sprintf("%s-%d", gone, i), sc.entries)
			if err := s.seeder.fill(ctx, lies); err != nil {
				return err
			}
			if err := s.unlink(ctx, lies); err != nil {
				return err
			}
			if err := comeDue(ctx, short); err != nil {
				return err
			}
			kind := row{Units: 2 * sc.entries, Unit: "events"}
			if i == b.runs {
				if t.name == nameBuiltIn {
					return b.countNow(ctx, sc, "", short, s)
				}
				break
			}
			order := []tool{t}
			if t.name == nameWeedlc {
				order = turned([]tool{t, bareStream(bucket, began, time.Now())}, i)
			}
			for _, t := range order {
				if err := b.measureOn(ctx, sc, s, t, kind); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func bareStream(bucket string, after, until time.Time) tool {
	return tool{name: nameStream, part: streaming, run: func(ctx context.Context, s *stand) (reading, error) {
		return s.streamBare(ctx, bucket, after, until)
	}}
}
