package pass

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkMergeRanges merges the windows of sixteen shards with that many
// delay groups each, half of which overlap.
func BenchmarkMergeRanges(b *testing.B) {
	for _, groups := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			var windows []LogRange
			for range 16 {
				for g := range groups {
					after := int64(g)*1000 + random.Int64N(500)
					windows = append(windows, LogRange{AfterNs: after, UntilNs: after + random.Int64N(1000)})
				}
			}
			random.Shuffle(len(windows), func(i, j int) { windows[i], windows[j] = windows[j], windows[i] })
			b.ReportAllocs()
			for b.Loop() {
				mergeRanges(slices.Clone(windows))
			}
		})
	}
}
