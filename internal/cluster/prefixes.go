package cluster

import (
	"slices"
	"strings"
)

// maxPrefixes is how many path prefixes are sent to a filer. It compares every
// event with each of them; beyond this many it is asked for all events of
// buckets, which are sorted out here.
const maxPrefixes = 64

// prefixes is a set of path prefixes, sorted, none of which is a prefix of
// another. The empty set matches everything.
type prefixes []string

func newPrefixes(paths []string) prefixes {
	sorted := slices.Clone(paths)
	slices.Sort(sorted)
	var out prefixes
	for _, p := range sorted {
		if len(out) == 0 || !strings.HasPrefix(p, out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out
}

func (ps prefixes) match(path string) bool {
	if len(ps) == 0 {
		return true
	}
	// A prefix of the path sorts at or before it, and nothing sorts between
	// the two but what has that prefix too.
	i, found := slices.BinarySearch(ps, path)
	return found || i > 0 && strings.HasPrefix(path, ps[i-1])
}

// request is the filter to send: the first prefix apart from the others, since
// the filer takes an empty first one for everything.
func (ps prefixes) request(bucketsDir string) (first string, others []string) {
	dir := bucketsDir + "/"
	if len(ps) == 0 || len(ps) > maxPrefixes {
		return dir, nil
	}
	for _, p := range ps[1:] {
		others = append(others, dir+p)
	}
	return dir + ps[0], others
}
