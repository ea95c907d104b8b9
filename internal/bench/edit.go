package main

import (
	"context"
	"fmt"
	"time"

	"weedlc/internal/weedtest"
)

// edit measures the pass after the rule of one bucket of twenty was made
// shorter, so that everything in that bucket is due.
func edit(ctx context.Context, b *bench, sc scenario) error {
	usual, err := b.days(ctx)
	if err != nil {
		return err
	}
	const buckets = 20
	tools := b.chosen([]tool{{name: nameDeletes, part: deleting}, b.weedlcRun(usual, sc), b.builtInRun(usual, "")})
	return onStands(ctx, tools, 1, func(_ int, t tool, s *stand) error {
		trees := make([]tree, buckets)
		for i := range trees {
			trees[i] = flatTree(fmt.Sprintf("bench-edit-%02d", i), max(1, sc.entries/buckets), 1, time.Now().Add(-20*day))
			for j := range trees[i].items {
				trees[i].items[j].due = false
			}
			s.CreateBucket(trees[i].bucket, weedtest.Plain, expire(30))
		}
		if err := s.seeder.fill(ctx, trees...); err != nil {
			return err
		}
		if err := s.settle(ctx); err != nil {
			return err
		}
		if t.part == "" {
			if err := b.passBy(ctx, t, s, 2); err != nil {
				return err
			}
		}
		// Each run edits another bucket, and takes what it holds.
		for i := range min(b.runs+1, buckets) {
			edited := trees[i]
			s.PutRules(edited.bucket, expire(10))
			for j := range edited.items {
				edited.items[j].due = true
			}
			kind := row{Units: edited.due(), Unit: "deletes"}
			if i == b.runs {
				if t.name == nameBuiltIn {
					return b.countNow(ctx, sc, "", usual, s)
				}
				break
			}
			if err := s.settle(ctx); err != nil {
				return err
			}
			this := t
			if t.part == deleting {
				if err := b.measureListings(ctx, sc, s, i, edited); err != nil {
					return err
				}
				this = b.bareDeletes(edited)
			}
			if err := b.measureOn(ctx, sc, s, this, kind, trees...); err != nil {
				return err
			}
		}
		return nil
	})
}
