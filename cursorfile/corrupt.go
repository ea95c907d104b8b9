package cursorfile

import (
	"fmt"
	"unicode/utf8"
)

// CorruptError says what is wrong with a file that is there.
type CorruptError struct {
	// File is the name that the file was read by.
	File string
	// Field is where in the file; empty when the whole file is meant.
	Field string
	// Value is what is written there, shortened when it is long; empty when
	// nothing is.
	Value string
	// Reason completes a sentence that starts with the field or the file.
	Reason string
}

func (e *CorruptError) Error() string {
	switch {
	case e.Field == "":
		return e.File + " " + e.Reason
	case e.Value == "":
		return fmt.Sprintf("%s: %s %s", e.File, e.Field, e.Reason)
	}
	return fmt.Sprintf("%s: %s %q %s", e.File, e.Field, e.Value, e.Reason)
}

// Corrupt tells damage from a failure to read, for callers that know this
// package by its interface only.
func (e *CorruptError) Corrupt() bool { return true }

// maxValue is how much of a value an error quotes, in bytes; a hash fits.
const maxValue = 64

func shorten(value string) string {
	if len(value) <= maxValue {
		return value
	}
	end := maxValue
	for !utf8.RuneStart(value[end]) {
		end--
	}
	return value[:end] + "…"
}
