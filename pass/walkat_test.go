package pass

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestInsertWalkAt_KeepsFirstAndLastOfAGrain(t *testing.T) {
	g := walkAtGrain()
	list := []int64(nil)
	for _, ns := range []int64{10 * g, 10*g + 5, 10*g + 3, 11 * g, 10*g + 9, 10*g + 1} {
		list = insertWalkAt(list, ns)
	}
	if want := []int64{10 * g, 10*g + 9, 11 * g}; !slices.Equal(list, want) {
		t.Fatalf("got %v, want %v", list, want)
	}
}

func TestTakeWalkAt(t *testing.T) {
	g := walkAtGrain()
	for _, tc := range []struct {
		name string
		list []int64
		w    int64
		want []int64
	}{
		{"nothing has come", []int64{10 * g}, 10*g - 1, []int64{10 * g}},
		{"exactly due", []int64{10 * g}, 10 * g, nil},
		{"a later one stays", []int64{10 * g, 12 * g}, 10 * g, []int64{12 * g}},
		{"within a grain the walk goes on", []int64{10 * g, 10*g + 9}, 10*g + 3, []int64{10*g + 4, 10*g + 9}},
		{"the last of a grain is next", []int64{10 * g, 10*g + 4}, 10*g + 3, []int64{10*g + 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := takeWalkAt(tc.list, tc.w); !slices.Equal(got, tc.want) {
				t.Fatalf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// Whatever is put down and whenever walks begin, a time that has come is never
// without a walk: at each walk, the list as it was holds an entry at or before
// it for every time that came since the walk before.
func TestWalkAt_NoTimeIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := walkAtGrain()
		times := rapid.SliceOfN(rapid.Int64Range(g, 6*g), 1, 30).Draw(t, "times")
		walks := rapid.SliceOfN(rapid.Int64Range(g, 7*g), 1, 10).Draw(t, "walks")
		slices.Sort(walks)
		var list []int64
		for _, ns := range times {
			list = insertWalkAt(list, ns)
		}
		if !slices.IsSorted(list) {
			t.Fatalf("not sorted: %v", list)
		}
		before := int64(0)
		for _, w := range walks {
			come := slices.ContainsFunc(times, func(ns int64) bool { return before < ns && ns <= w })
			walked := len(list) > 0 && list[0] <= w
			if come && !walked {
				t.Fatalf("a time in (%d, %d] has come, the list says %v", before, w, list)
			}
			if walked {
				list = takeWalkAt(list, w)
				before = w
			}
		}
	})
}
