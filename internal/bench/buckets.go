package main

import (
	"context"
	"fmt"
	"time"

	"weedlc/internal/weedtest"
)

// manyBuckets measures a first pass over a thousand buckets with rules, and
// one after it that has nothing to do.
func manyBuckets(ctx context.Context, b *bench, sc scenario) error {
	usual, err := b.days(ctx)
	if err != nil {
		return err
	}
	const buckets = 1000
	for i := range b.runs {
		err := onStands(ctx, turned(b.passes(usual, sc), i), 1, func(_ int, t tool, s *stand) error {
			trees := make([]tree, buckets)
			for i := range trees {
				trees[i] = flatTree(fmt.Sprintf("bench-many-%04d", i), max(1, sc.entries/buckets), 10, time.Now().Add(-45*day))
			}
			err := each(ctx, buckets, 8, func(ctx context.Context, i int) error {
				return weedtest.Guarded(ctx, func(tb weedtest.TB) error {
					s.server.Client(tb).CreateBucket(trees[i].bucket, weedtest.Plain, expire(coldDays))
					return nil
				})
			})
			if err != nil {
				return err
			}
			if err := s.seeder.fill(ctx, trees...); err != nil {
				return err
			}
			if err := s.settle(ctx); err != nil {
				return err
			}
			if err := b.measureOn(ctx, sc, s, t, row{Case: "first pass", Units: dueIn(trees), Unit: "deletes"}, trees...); err != nil {
				return err
			}
			if err := b.passBy(ctx, t, s, 1); err != nil {
				return err
			}
			return b.measureOn(ctx, sc, s, t, row{Case: caseIdle}, trees...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
