package cursorfile_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"weedlc/cursorfile"
)

// checkDamage checks that an error is damage, on one line, and comes alone.
func checkDamage(t *testing.T, err error, alone bool) {
	t.Helper()
	var corrupt *cursorfile.CorruptError
	if !errors.As(err, &corrupt) {
		t.Fatalf("%v is not a CorruptError", err)
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Fatalf("error %q is not one line", err)
	}
	if !alone {
		t.Fatalf("error %v does not come alone", err)
	}
}

// What decodes reads the same to the built-in worker, and encodes to a text
// that decodes and encodes to itself.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{
		"", "{}", "null", sampleCursorText, sampleCursorText + "x", "\ufeff" + sampleCursorText,
		strings.Join(strings.Fields(sampleCursorText), " "),
		edit(f, sampleCursorText, "ts_ns\"", "TS_NS\""),
		edit(f, sampleCursorText, "{", `{"new": {"a": [1.50, null]}, "shard\u005fid": 3,`),
		edit(f, sampleCursorText, "{", `{"new": {"a": [1.50, null]}, "tſ_ns": 3, "version": 1,`),
		edit(f, sampleCursorText, "{", `{"x": "\ud800", "<": "\u2028"  ,`),
		edit(f, sampleCursorText, "1907751600000000000", "1907755260000000000"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := cursorfile.DecodeCursor("f", 3, data, now, false)
		strict, strictErr := cursorfile.DecodeCursor("f", 3, data, now, true)
		if err != nil {
			checkDamage(t, err, reflect.DeepEqual(file, cursorfile.CursorFile{}))
			checkDamage(t, strictErr, reflect.DeepEqual(strict, cursorfile.CursorFile{}))
			return
		}
		if (strictErr == nil) != (file.Extra == nil) || strictErr == nil && !reflect.DeepEqual(strict, file) {
			t.Fatalf("strictly read as %+v, %v, else as %+v", strict, strictErr, file)
		}
		theirs, err := builtinCursor(t.Context(), 3, data)
		if err != nil || len(file.Warnings) == 0 && theirs != file.Cursor {
			t.Fatalf("the built-in reads %+v, %v, we %+v", theirs, err, file.Cursor)
		}
		first, err := cursorfile.EncodeCursor(3, file.Cursor, file.Extra)
		if err != nil {
			t.Fatal(err)
		}
		again, err := cursorfile.DecodeCursor("f", 3, first, now, false)
		if err != nil || again.Cursor != file.Cursor || again.Warnings != nil {
			t.Fatalf("%s decodes as %+v, %v, want %+v", first, again, err, file)
		}
		if second, err := cursorfile.EncodeCursor(3, again.Cursor, again.Extra); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s encodes as %s, %v", first, second, err)
		}
	})
}

// What decodes encodes to a text that decodes and encodes to itself.
func FuzzSide(f *testing.F) {
	for _, text := range []string{
		"", "{}", "[]", sampleCursorText, sampleSideText, sampleSideText + "{}",
		strings.Join(strings.Fields(sampleSideText), " "),
		edit(f, sampleSideText, `"groups": {`, `"resume": {"logs": "a/b"}, "groups": {"1ns": 0,`),
		edit(f, sampleSideText, `"walk_at_ns": []`, `"walk_at_ns": [1, 2], "size": 5, "buckets": [ 1 ]`),
		edit(f, sampleSideText, `"recovery": true`, `"recovery": false, "kind": 4`),
		edit(f, sampleSideText, `"logs": {`, `"\ud800": {`),
		edit(f, sampleSideText, "1907582400000000000", "1907755260000000000"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := cursorfile.DecodeSide("f", 3, data, now, false)
		strict, strictErr := cursorfile.DecodeSide("f", 3, data, now, true)
		if err != nil {
			checkDamage(t, err, reflect.DeepEqual(file, cursorfile.SideFile{}))
			checkDamage(t, strictErr, reflect.DeepEqual(strict, cursorfile.SideFile{}))
			return
		}
		if strictErr == nil && !reflect.DeepEqual(strict, file) {
			t.Fatalf("strictly read as %+v, else as %+v", strict, file)
		}
		if strictErr != nil {
			checkDamage(t, strictErr, reflect.DeepEqual(strict, cursorfile.SideFile{}))
		}
		first, err := cursorfile.EncodeSide(3, file.Side, file.Extra)
		if err != nil {
			t.Fatal(err)
		}
		again, err := cursorfile.DecodeSide("f", 3, first, now, false)
		if err != nil || !reflect.DeepEqual(again.Side, file.Side) || again.Warnings != nil {
			t.Fatalf("%s decodes as %+v, %v, want %+v", first, again, err, file)
		}
		if second, err := cursorfile.EncodeSide(3, again.Side, again.Extra); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s encodes as %s, %v", first, second, err)
		}
	})
}
