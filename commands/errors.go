package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"weedlc/internal/cluster"
)

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// hint adds a line to an error that says what to do, with a command that can
// be run where there is one.
func hint(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// tell prints an error and its hints. An ending has been told already.
func tell(w io.Writer, err error) {
	if err == nil {
		return
	}
	if _, ok := errors.AsType[ending](err); ok {
		return
	}
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok && joined.Error() == err.Error() {
		for _, e := range joined.Unwrap() {
			tell(w, e)
		}
		tellHints(w, err)
		return
	}
	fmt.Fprintf(w, "weedlc: %s\n", escape(err.Error()))
	tellHints(w, err)
}

// tellHints prints the hints of the chain down to where it branches.
func tellHints(w io.Writer, err error) {
	for ; err != nil; err = errors.Unwrap(err) {
		text := ""
		switch e := err.(type) { //nolint:errorlint // each link is looked at by itself
		case hinted:
			text = e.hint
		case *cluster.ConnectError:
			text = e.Hint
		}
		if text != "" {
			fmt.Fprintf(w, "hint: %s\n", escape(text))
		}
	}
}

// nearest is the word of a list that a misspelt or shortened one most likely
// means; empty when none is close.
func nearest(word string, words []string) string {
	for _, w := range words {
		if word != "" && strings.HasPrefix(w, word+"-") {
			return w
		}
	}
	best, limit := "", max(1, (len(word)+2)/3)+1
	for _, w := range words {
		if d := distance(word, w); d < limit {
			best, limit = w, d
		}
	}
	return best
}

// distance is the edit distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
