package main

import (
	"context"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
)

// check notes what a tool left of the trees that it should have taken, and
// what it took that it should have left.
func (s *stand) check(ctx context.Context, r *reading, trees ...tree) error {
	for _, t := range trees {
		there := map[string]bool{}
		if _, err := s.list(ctx, "/buckets/"+t.bucket, 8, func(p string, _ *filer_pb.Entry) { there[p] = true }); err != nil {
			return err
		}
		for _, it := range t.items {
			switch is := there["/buckets/"+t.bucket+"/"+it.path]; {
			case is && it.due:
				r.Left++
			case !is && !it.due:
				r.Wrong++
			}
		}
	}
	return nil
}
