package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ParseShards reads a set of shards: a number ("5"), a range with both ends
// included ("0-15"), or a comma list of both ("0-3,8"). The result is
// ascending and free of duplicates. On error it is nil.
func ParseShards(spec string) ([]int, error) {
	if spec == "" {
		return nil, errors.New("no shard given")
	}
	if strings.ContainsFunc(spec, unicode.IsSpace) {
		return nil, fmt.Errorf("shards %q contain whitespace", spec)
	}
	var set [ShardCount]bool
	for item := range strings.SplitSeq(spec, ",") {
		if item == "" {
			return nil, fmt.Errorf("shards %q have an empty item", spec)
		}
		lo, hi, err := parseShardRange(item)
		if err != nil {
			return nil, err
		}
		for shard := lo; shard <= hi; shard++ {
			set[shard] = true
		}
	}
	var shards []int
	for shard, in := range set {
		if in {
			shards = append(shards, shard)
		}
	}
	return shards, nil
}

// parseShardRange reads one item of a list; a single shard is a range of one.
func parseShardRange(item string) (lo, hi int, err error) {
	first, last, isRange := strings.Cut(item, "-")
	if !isRange {
		last = first
	}
	if !isDigits(first) || !isDigits(last) {
		return 0, 0, fmt.Errorf("%q is neither a shard nor a range of shards such as \"0-%d\"", item, ShardCount-1)
	}
	if lo, err = parseShard(first); err != nil {
		return 0, 0, err
	}
	if hi, err = parseShard(last); err != nil {
		return 0, 0, err
	}
	if lo > hi {
		return 0, 0, fmt.Errorf("range %q is empty: %d is after %d", item, lo, hi)
	}
	return lo, hi, nil
}

// parseShard reads decimal digits; a number too long for an int is out of
// range like any other.
func parseShard(digits string) (int, error) {
	shard, err := strconv.Atoi(digits)
	if err != nil || shard >= ShardCount {
		return 0, fmt.Errorf("shard %q is out of range: shards are 0 to %d", digits, ShardCount-1)
	}
	return shard, nil
}

func isDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// FormatShards is the shortest spelling of ascending shards that ParseShards
// reads back; empty for none. Two neighbours are a list, three are a range.
func FormatShards(shards []int) string {
	var items []string
	for rest := shards; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[n-1]+1 {
			n++
		}
		if n >= 3 {
			items = append(items, fmt.Sprintf("%d-%d", rest[0], rest[n-1]))
		} else {
			for _, shard := range rest[:n] {
				items = append(items, strconv.Itoa(shard))
			}
		}
		rest = rest[n:]
	}
	return strings.Join(items, ",")
}
