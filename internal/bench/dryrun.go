package main

import (
	"context"
	"path/filepath"
	"time"

	"weedlc/internal/weedtest"
)

// The two cases of the dry run.
const (
	caseLive   = "cluster"
	caseBackup = "backup"
)

// dryRun changes nothing, so that all is measured on one tree.
func dryRun(ctx context.Context, b *bench, sc scenario) error {
	return onStands(ctx, []string{""}, 1, func(_ int, _ string, s *stand) error {
		lies := flatTree(coldBucket, sc.entries, 10, time.Now().Add(-45*day))
		s.CreateBucket(lies.bucket, weedtest.Plain, expire(coldDays))
		if err := s.seeder.fill(ctx, lies); err != nil {
			return err
		}
		backup := filepath.Join(s.scratch, "bench.meta.gz")
		s.SaveBackup(backup, "/buckets")
		if err := s.settle(ctx); err != nil {
			return err
		}
		live := b.chosen(append(bareListings(lies), b.dryRunOf(sc, nameDryRun, lies.due())))
		kept := b.chosen([]tool{
			{name: nameDecode, part: decoding, run: func(context.Context, *stand) (reading, error) { return decodeBare(backup) }},
			b.dryRunOf(sc, nameFrom, lies.due(), "--from", backup),
		})
		for i := range b.runs {
			for _, of := range []struct {
				name  string
				tools []tool
			}{{caseLive, live}, {caseBackup, kept}} {
				for _, t := range turned(of.tools, i) {
					if err := b.measureOn(ctx, sc, s, t, row{Case: of.name, Units: sc.entries, Unit: "objects"}); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}
