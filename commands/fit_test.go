package commands

import (
	"bytes"
	"strings"
	"testing"
)

func fitted(t *testing.T, r rows, width int) string {
	t.Helper()
	var b bytes.Buffer
	check(t, r.fit(&b, width))
	return b.String()
}

func TestFit(t *testing.T) {
	r := rows{
		header: []string{"KEY", "VERSION", "ACTION", "RULE", "SIZE"}, lead: 2,
		cells: [][]cell{
			{word("a/b"), {text: "0123456789abcdef", short: "0123…cdef"}, word("expire"), word("r"), word("1 B")},
			{word("k\x1b"), {text: "-"}, word("abort"), word("long name"), word("12 B")},
		},
	}
	full := `KEY    VERSION           ACTION  RULE       SIZE
a/b    0123456789abcdef  expire  r          1 B
k\x1b  -                 abort   long name  12 B
`
	short := `KEY    VERSION    ACTION  RULE       SIZE
a/b    0123…cdef  expire  r          1 B
k\x1b  -          abort   long name  12 B
`
	folded := `KEY  VERSION
    ACTION  RULE       SIZE
a/b  0123456789abcdef
    expire  r          1 B
k\x1b
    abort   long name  12 B
`
	ruleLast := `KEY  VERSION
    ACTION  SIZE  RULE
a/b  0123456789abcdef
    expire  1 B   r
k\x1b
    abort   12 B  long name
`
	narrow := `KEY  VERSION
    ACTION  SIZE  RULE
a/b  0123…cdef
    expire  1 B   r
k\x1b
    abort   12 B  long name
`
	wide := 5 + 16 + 6 + 9 + 4 + 4*len(gap)
	for width, want := range map[int]string{
		0: full, wide: full, wide - 1: short, wide - 7: short, wide - 8: folded, 27: folded, 26: ruleLast, 21: ruleLast, 20: narrow, 1: narrow,
	} {
		equal(t, strings.Repeat("-", width), fitted(t, r, width), want)
	}
	r.lead = 0
	equal(t, "a table without leading columns", fitted(t, r, 20), full)
}
