package commands

import (
	"fmt"
	"strings"
)

const (
	// diffContext is how many lines are shown around a change.
	diffContext = 3
	// maxDiffCells bounds the work of comparing; above it the old text is shown
	// in front of the new.
	maxDiffCells = 4 << 20
)

// diff compares two texts line by line, with a little around what differs. The
// lines are escaped: they go to a terminal.
func diff(oldName, newName, oldText, newText string) string {
	a, b := textLines(oldText), textLines(newText)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	put := func(mark string, lines []string) {
		for _, line := range lines {
			out.WriteString(mark + escape(line) + "\n")
		}
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	put(" ", a[max(0, head-diffContext):head])
	diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail], put)
	put(" ", a[len(a)-tail:][:min(tail, diffContext)])
	return out.String()
}

// diffMiddle compares what lies between the common ends of two texts.
func diffMiddle(a, b []string, put func(mark string, lines []string)) {
	if len(a)*len(b) > maxDiffCells {
		put("-", a)
		put("+", b)
		return
	}
	// common[i][j] is the length of the longest common part of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for len(a) > 0 || len(b) > 0 {
		i, j := len(common)-1-len(a), len(common[0])-1-len(b)
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			put(" ", a[:1])
			a, b = a[1:], b[1:]
		case len(a) > 0 && (len(b) == 0 || common[i+1][j] >= common[i][j+1]):
			put("-", a[:1])
			a = a[1:]
		default:
			put("+", b[:1])
			b = b[1:]
		}
	}
}

func textLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
