package pass

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"weedlc/engine"
)

func TestMergeRanges(t *testing.T) {
	r := func(pairs ...int64) []LogRange {
		var out []LogRange
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, LogRange{AfterNs: pairs[i], UntilNs: pairs[i+1]})
		}
		return out
	}
	for _, tc := range []struct {
		name     string
		in, want []LogRange
	}{
		{"none", nil, nil},
		{"apart", r(30, 40, 10, 20), r(10, 20, 30, 40)},
		{"touching", r(20, 30, 10, 20), r(10, 30)},
		{"one apart", r(21, 30, 10, 20), r(10, 20, 21, 30)},
		{"inside", r(10, 50, 20, 30), r(10, 50)},
		{"overlapping", r(10, 30, 20, 50), r(10, 50)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := mergeRanges(tc.in)
			if !slices.EqualFunc(got, tc.want, func(a, b LogRange) bool { return a.AfterNs == b.AfterNs && a.UntilNs == b.UntilNs }) {
				t.Fatalf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBacklogReady(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for _, tc := range []struct {
		name   string
		count  int
		waited time.Duration
		want   bool
	}{
		{"one at once", 1, 0, false},
		{"not long enough", 1, longestWait - 1, false},
		{"long enough", 1, longestWait, true},
		{"one too few", behind + batch - 1, 0, false},
		{"enough", behind + batch, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b backlog
			for i := range tc.count {
				b.push(keyTask{path: strconv.Itoa(i), entry: &engine.Entry{}}, start)
			}
			if got := b.ready(start.Add(tc.waited)); got != tc.want {
				t.Fatalf("ready: %v", got)
			}
		})
	}
}

func newShardRun() *shardRun {
	return &shardRun{
		groups: map[time.Duration]int64{}, groupEnds: map[time.Duration]int64{}, unsettled: map[int64]int{},
		stops: map[time.Duration]int64{}, walkAt: map[string][]int64{}, memory: map[string]*bucketMemory{},
	}
}

func TestPositions(t *testing.T) {
	const d1, d2 = time.Hour, 2 * time.Hour
	build := func() *shardRun {
		r := newShardRun()
		r.arrivals, r.arrivalsEnd = 900, 1000
		r.groups[d1], r.groupEnds[d1] = 500, 600
		r.groups[d2], r.groupEnds[d2] = 100, 300
		return r
	}
	for _, tc := range []struct {
		name                   string
		change                 func(*shardRun)
		readTo, settled        int64
		arrivals, short, longg int64
	}{
		{"all read", func(*shardRun) {}, 1000, 990, 990, 600, 300},
		{"read to the end of the first window", func(*shardRun) {}, 300, 990, 900, 500, 300},
		{"read into a window", func(*shardRun) {}, 550, 990, 900, 550, 300},
		{"nothing read", func(*shardRun) {}, 0, 990, 900, 500, 100},
		{"unsettled in one window", func(r *shardRun) { r.begin(550) }, 1000, 990, 990, 549, 300},
		{"settled again", func(r *shardRun) { r.begin(550); r.done(550) }, 1000, 990, 990, 600, 300},
		{"unsettled between windows", func(r *shardRun) { r.begin(700) }, 1000, 990, 990, 600, 300},
		{"first event of a window", func(r *shardRun) { r.begin(501) }, 1000, 990, 990, 500, 300},
		{"failure holds all behind it", func(r *shardRun) { r.begin(200); r.fail(200, engine.Failure{}) }, 1000, 990, 900, 500, 199},
		{"a stop holds its group only", func(r *shardRun) { r.stop(d1, 520); r.stop(d1, 510); r.stop(d1, 530) }, 1000, 990, 990, 509, 300},
		{"the log has not settled", func(*shardRun) {}, 1000, 590, 900, 590, 300},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := build()
			tc.change(r)
			arrivals, groups := r.positions(tc.readTo, tc.settled)
			if arrivals != tc.arrivals || groups[d1] != tc.short || groups[d2] != tc.longg {
				t.Errorf("got arrivals %d, groups %d and %d; want %d, %d and %d",
					arrivals, groups[d1], groups[d2], tc.arrivals, tc.short, tc.longg)
			}
		})
	}
}

func TestScopeIn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules []string
		dir   string
		want  []selection
	}{
		{"everything", []string{""}, "", []selection{{}}},
		{"no rule", nil, "", nil},
		{"a folder of its own", []string{"logs/"}, "", []selection{{"logs", true}}},
		{"inside it", []string{"logs/"}, "logs/", []selection{{}}},
		{"a name", []string{"logs"}, "", []selection{{"logs", false}}},
		{"a name covers a folder", []string{"logs/app/", "lo"}, "", []selection{{"lo", false}}},
		{"two folders", []string{"b/x/", "a/y", "a/z"}, "", []selection{{"a", true}, {"b", true}}},
		{"names and folders in order", []string{"m", "z/", "a/"}, "", []selection{{"a", true}, {"m", false}, {"z", true}}},
		{"names below", []string{"b/x/", "a/y", "a/z"}, "a/", []selection{{"y", false}, {"z", false}}},
		{"elsewhere", []string{"a/y"}, "b/", nil},
		{"nested prefixes", []string{"s", "s/c", "s/c/a"}, "", []selection{{"s", false}}},
		{"below nested prefixes", []string{"s", "s/c"}, "s/", []selection{{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := scopeOf(tc.rules, "").in(tc.dir); !slices.Equal(got, tc.want) {
				t.Fatalf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestUnsendable(t *testing.T) {
	good := engine.Object{Bucket: "buk", Key: "a/b", Path: "a/b", Entry: &engine.Entry{HasAttributes: true}}
	upload := engine.Object{Bucket: "buk", Key: "video/a", Path: ".uploads/u1", UploadID: "u1", Entry: &engine.Entry{HasAttributes: true}}
	for _, tc := range []struct {
		name string
		o    func() engine.Object
		ok   bool
	}{
		{"object", func() engine.Object { return good }, true},
		{"upload", func() engine.Object { return upload }, true},
		{"no identity", func() engine.Object { o := good; o.Entry = &engine.Entry{}; return o }, false},
		{"no bucket", func() engine.Object { o := good; o.Bucket = ""; return o }, false},
		{"no key", func() engine.Object { o := good; o.Key = ""; return o }, false},
		{"dot segment", func() engine.Object { o := good; o.Path = "a/./b"; return o }, false},
		{"dots", func() engine.Object { o := good; o.Path = "a/../b"; return o }, false},
		{"bucket of dots", func() engine.Object { o := good; o.Bucket = ".."; return o }, false},
		{"three dots are a name", func() engine.Object { o := good; o.Path = "a/.../b"; return o }, true},
		{"Scenario31 uploads folder itself", func() engine.Object { o := upload; o.Path, o.UploadID = ".uploads/", ""; o.Key = ""; return o }, false},
		{"Scenario31 dots as an upload", func() engine.Object { o := upload; o.Path, o.UploadID = ".uploads/..", ".."; return o }, false},
		{"Scenario31 dot as an upload", func() engine.Object { o := upload; o.Path, o.UploadID = ".uploads/.", "."; return o }, false},
		{"Scenario31 a part", func() engine.Object { o := upload; o.Path, o.UploadID = ".uploads/x/part", "x/part"; return o }, false},
		{"Scenario31 elsewhere", func() engine.Object { o := upload; o.Path = "video/a"; return o }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := tc.o()
			if reason := unsendable(&o); (reason == "") != tc.ok {
				t.Fatalf("unsendable says %q", reason)
			}
		})
	}
}
