package main

import (
	"context"
	"time"

	"weedlc/internal/weedtest"
)

// cold is a first pass over a bucket in which one object in due is due.
type cold struct{ due int }

const (
	coldBucket = "bench-cold"
	coldDays   = 30
)

func (k cold) run(ctx context.Context, b *bench, sc scenario) error {
	usual, err := b.days(ctx)
	if err != nil {
		return err
	}
	shape := flatTree(coldBucket, sc.entries, k.due, time.Now().Add(-45*day))
	// What a run has taken is put back for the next one.
	taken := tree{bucket: shape.bucket}
	for _, it := range shape.items {
		if it.due {
			taken.items = append(taken.items, it)
		}
	}
	tools := append([]tool{b.bareDeletes(shape), b.weedlcRun(usual, sc), b.builtInRun(usual, "")}, b.rclones(coldBucket, coldDays)...)
	return onStands(ctx, b.chosen(tools), b.runs+1, func(round int, t tool, s *stand) error {
		counting := round == b.runs
		if counting && t.name != nameBuiltIn {
			return nil
		}
		missing := taken
		if round == 0 {
			s.CreateBucket(shape.bucket, weedtest.Plain, expire(coldDays))
			missing = shape
		}
		if err := s.seeder.fill(ctx, missing); err != nil {
			return err
		}
		s.Remove("/etc/s3/lifecycle")
		if err := s.settle(ctx); err != nil {
			return err
		}
		if counting {
			return b.countNow(ctx, sc, "", usual, s)
		}
		if t.part == deleting {
			if err := b.measureListings(ctx, sc, s, round, shape); err != nil {
				return err
			}
		}
		return b.measureOn(ctx, sc, s, t, row{Units: len(taken.items), Unit: "deletes"}, shape)
	})
}

// measureListings measures the bare listings of a tree.
func (b *bench) measureListings(ctx context.Context, sc scenario, s *stand, round int, t tree) error {
	for _, l := range turned(bareListings(t), round) {
		if err := b.measureOn(ctx, sc, s, l, row{Units: len(t.items), Unit: "objects"}); err != nil {
			return err
		}
	}
	return nil
}

// measureOn runs a tool on a stand, checks what became of the trees and keeps
// the reading.
func (b *bench) measureOn(ctx context.Context, sc scenario, s *stand, t tool, kind row, trees ...tree) error {
	quieten()
	before := processors()
	r, err := t.run(ctx, s)
	if err != nil {
		return err
	}
	used := processors().since(before)
	r.Busy, r.Stolen = used.busy, used.stolen
	if r.Client == 0 {
		r.Client = used.own
	}
	if err := s.check(ctx, &r, trees...); err != nil {
		return err
	}
	kind.Tool, kind.Part = t.name, t.part
	b.record(sc, kind, r)
	return nil
}

// countNow counts the deletes of a built-in pass on a stand that is ready for
// it, for the rows of a case.
func (b *bench) countNow(ctx context.Context, sc scenario, of string, c clock, s *stand) error {
	calls, err := b.countCalls(ctx, c, s)
	if err != nil {
		return err
	}
	for _, r := range b.rows {
		if r.Scenario == sc.name && r.Case == of && r.Tool == nameBuiltIn {
			r.Counted = &calls
		}
	}
	return nil
}
