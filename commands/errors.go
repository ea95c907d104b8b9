package commands

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// complaint is one error and what to do about it.
type complaint struct {
	text  string
	hints []string
}

// tell prints an error and its hints. An ending has been told already.
func tell(w io.Writer, err error) {
	for _, c := range complaints(err) {
		fmt.Fprintf(w, "weedlc: %s\n", escape(redact(c.text)))
		for _, text := range c.hints {
			fmt.Fprintf(w, "hint: %s\n", escape(redact(text)))
		}
	}
}

// tell tells an error in the form of the log.
func (a *app) tell(err error) {
	if a.global.log.format != logJSON {
		tell(a.stderr, err)
		return
	}
	log := newLogger(a.stderr, false, logJSON, slog.LevelError)
	for _, c := range complaints(err) {
		var attrs []any
		if len(c.hints) > 0 {
			attrs = []any{"hint", strings.Join(c.hints, "; ")}
		}
		log.Error(c.text, attrs...)
	}
}

// complaints takes an error apart into those that were joined. An ending has
// been told already.
func complaints(err error) []complaint {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[ending](err); ok {
		return nil
	}
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok && joined.Error() == err.Error() {
		var parts []complaint
		for _, e := range joined.Unwrap() {
			parts = append(parts, complaints(e)...)
		}
		if n := len(parts); n > 0 {
			parts[n-1].hints = append(parts[n-1].hints, hints(err)...)
		}
		return parts
	}
	return []complaint{{err.Error(), hints(err)}}
}

// hints are those of the chain down to where it branches.
func hints(err error) []string {
	var found []string
	for ; err != nil; err = errors.Unwrap(err) {
		text := ""
		switch e := err.(type) { //nolint:errorlint // each link is looked at by itself
		case hinted:
			text = e.hint
		case *cluster.ConnectError:
			text = e.Hint
		}
		if text != "" {
			found = append(found, text)
		}
	}
	return found
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
