package engine

import (
	"reflect"
	"testing"
)

func shardRange(lo, hi int) []int {
	var shards []int
	for shard := lo; shard <= hi; shard++ {
		shards = append(shards, shard)
	}
	return shards
}

func TestParseShards(t *testing.T) {
	for _, tc := range []struct {
		spec string
		want []int
	}{
		{"0", []int{0}},
		{"5", []int{5}},
		{"15", []int{15}},
		{"05", []int{5}},
		{"0-15", shardRange(0, 15)},
		{"3-3", []int{3}},
		{"14-15", []int{14, 15}},
		{"0,3,7", []int{0, 3, 7}},
		{"7,3,0", []int{0, 3, 7}},
		{"3,3,3", []int{3}},
		{"0-3,8", []int{0, 1, 2, 3, 8}},
		{"8,2-4,0-3", []int{0, 1, 2, 3, 4, 8}},
	} {
		got, err := ParseShards(tc.spec)
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("ParseShards(%q) = %v, %v, want %v", tc.spec, got, err, tc.want)
		}
	}
}

func TestParseShardsErrors(t *testing.T) {
	const neither = ` is neither a shard nor a range of shards such as "0-15"`
	for _, tc := range []struct{ spec, want string }{
		{"", "no shard given"},
		{" ", `shards " " contain whitespace`},
		{" 5", `shards " 5" contain whitespace`},
		{"0, 3", `shards "0, 3" contain whitespace`},
		{"0\t-3", `shards "0\t-3" contain whitespace`},
		{"5\n", `shards "5\n" contain whitespace`},
		{"0\u00a03", `shards "0\u00a03" contain whitespace`},
		{",", `shards "," have an empty item`},
		{"0,,3", `shards "0,,3" have an empty item`},
		{"0,", `shards "0," have an empty item`},
		{"16", `shard "16" is out of range: shards are 0 to 15`},
		{"0-16", `shard "16" is out of range: shards are 0 to 15`},
		{"16-17", `shard "16" is out of range: shards are 0 to 15`},
		{"99999999999999999999", `shard "99999999999999999999" is out of range: shards are 0 to 15`},
		{"9-3", `range "9-3" is empty: 9 is after 3`},
		{"0,1-0", `range "1-0" is empty: 1 is after 0`},
		{"-1", `"-1"` + neither},
		{"-", `"-"` + neither},
		{"3-", `"3-"` + neither},
		{"1-2-3", `"1-2-3"` + neither},
		{"1..3", `"1..3"` + neither},
		{"+5", `"+5"` + neither},
		{"0x5", `"0x5"` + neither},
		{"1_0", `"1_0"` + neither},
		{"5.0", `"5.0"` + neither},
		{"all", `"all"` + neither},
		{"shard-05", `"shard-05"` + neither},
		{"٣", `"٣"` + neither},
		{"0;3", `"0;3"` + neither},
	} {
		got, err := ParseShards(tc.spec)
		if err == nil || err.Error() != tc.want || got != nil {
			t.Errorf("ParseShards(%q) = %v, %v, want error %s", tc.spec, got, err, tc.want)
		}
	}
}

func TestFormatShards(t *testing.T) {
	for _, tc := range []struct {
		shards []int
		want   string
	}{
		{nil, ""},
		{[]int{0}, "0"},
		{[]int{0, 1}, "0,1"},
		{[]int{0, 1, 2}, "0-2"},
		{[]int{9, 10}, "9,10"},
		{[]int{0, 3, 7}, "0,3,7"},
		{[]int{0, 1, 2, 3, 8}, "0-3,8"},
		{[]int{0, 2, 3, 4, 14, 15}, "0,2-4,14,15"},
		{shardRange(0, 15), "0-15"},
	} {
		if got := FormatShards(tc.shards); got != tc.want {
			t.Errorf("FormatShards(%v) = %q, want %q", tc.shards, got, tc.want)
		}
	}
}

// There are only 2^16 sets: each one survives its spelling.
func TestFormatShardsReadsBack(t *testing.T) {
	for set := 1; set < 1<<ShardCount; set++ {
		var shards []int
		for shard := range ShardCount {
			if set>>shard&1 == 1 {
				shards = append(shards, shard)
			}
		}
		got, err := ParseShards(FormatShards(shards))
		if err != nil || !reflect.DeepEqual(got, shards) {
			t.Fatalf("%v spelled %q reads as %v, %v", shards, FormatShards(shards), got, err)
		}
	}
}

func FuzzParseShards(f *testing.F) {
	for _, spec := range []string{"", "5", "0-15", "0,3,7", "0-3,8", "9-3", "16", "007", "0-", "-1", " 1", "1,,2", "a", "8,2-4,0-3"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		shards, err := ParseShards(spec)
		if err != nil {
			if shards != nil {
				t.Fatalf("ParseShards(%q) = %v beside error %v", spec, shards, err)
			}
			return
		}
		short := FormatShards(shards)
		if len(short) > len(spec) {
			t.Fatalf("%q is not the shortest spelling of %q", short, spec)
		}
		again, err := ParseShards(short)
		if err != nil || !reflect.DeepEqual(again, shards) {
			t.Fatalf("%q reads as %v, its short spelling %q as %v, %v", spec, shards, short, again, err)
		}
	})
}
