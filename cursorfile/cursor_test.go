package cursorfile_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// decodeCursor reads a cursor of shard 3 in both forms, which must agree, and
// checks that an error comes alone.
func decodeCursor(t *testing.T, text string) (cursorfile.CursorFile, error) {
	t.Helper()
	f, err := cursorfile.DecodeCursor("shard-03.json", 3, []byte(text), now, false)
	strict, strictErr := cursorfile.DecodeCursor("shard-03.json", 3, []byte(text), now, true)
	if !reflect.DeepEqual(f, strict) || !reflect.DeepEqual(err, strictErr) {
		t.Errorf("strictly read as %v, %v, else as %v, %v", strict, strictErr, f, err)
	}
	if err != nil && !reflect.DeepEqual(f, cursorfile.CursorFile{}) {
		t.Errorf("%v comes beside error %v", f, err)
	}
	return f, err
}

func TestCursorText(t *testing.T) {
	data, err := cursorfile.EncodeCursor(3, sampleCursor(), nil)
	if err != nil || string(data) != sampleCursorText {
		t.Fatalf("encoded as %s, %v, want %s", data, err, sampleCursorText)
	}
	f, err := decodeCursor(t, sampleCursorText)
	if err != nil || f.Cursor != sampleCursor() || f.Extra != nil || f.Warnings != nil {
		t.Errorf("decoded as %+v, %v, want %+v", f, err, sampleCursor())
	}
}

func TestCursorOfOlderWriters(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       engine.Cursor
	}{
		{
			"no last walk", edit(t, sampleCursorText, ",\n  \"last_walked_ns\": 1907755140000000000", ""),
			engine.Cursor{TsNs: ago(time.Hour), RuleSetHash: hashOf(1), PromotedHash: hashOf(2)},
		},
		{
			"zero hashes", strings.NewReplacer(onesHash, zeroHash, twosHash, zeroHash).Replace(sampleCursorText),
			engine.Cursor{TsNs: ago(time.Hour), LastWalkedNs: ago(time.Minute)},
		},
		{
			"no replay rules", edit(t, sampleCursorText, "1907751600000000000", "0"),
			engine.Cursor{RuleSetHash: hashOf(1), PromotedHash: hashOf(2), LastWalkedNs: ago(time.Minute)},
		},
		{"other layout", "\r\n\t " + strings.Join(strings.Fields(sampleCursorText), "") + " \n\n", sampleCursor()},
		{"last walk written as 0", edit(t, sampleCursorText, "1907755140000000000", "0"), engine.Cursor{TsNs: ago(time.Hour), RuleSetHash: hashOf(1), PromotedHash: hashOf(2)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := decodeCursor(t, tc.text)
			if err != nil || f.Cursor != tc.want || f.Warnings != nil {
				t.Errorf("decoded as %+v, %v, want %+v", f, err, tc.want)
			}
		})
	}
}

func TestScenario47_DamagedCursor(t *testing.T) {
	replace := func(old, new string) string { return edit(t, sampleCursorText, old, new) }
	const tsNs, lastWalked = "1907751600000000000", "1907755140000000000"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", `shard-03.json is empty`},
		{"a newline", "\n", `shard-03.json is malformed at line 1, column 1: unexpected end of JSON input`},
		{"cut", sampleCursorText[:40], `shard-03.json is malformed at line 4, column 5: unexpected end of JSON input`},
		{"zero bytes", strings.Repeat("\x00", 8), `shard-03.json is malformed at line 1, column 1: invalid character '\x00' looking for beginning of value`},
		{"no JSON", "ts_ns=5", `shard-03.json is malformed at line 1, column 2: invalid character 's' in literal true (expecting 'r')`},
		{"no UTF-8", replace("promoted", "promoted\xff"), `shard-03.json is not UTF-8`},
		{"byte order mark", "\ufeff" + sampleCursorText, `shard-03.json is malformed at line 1, column 1: invalid character 'ï' looking for beginning of value`},
		{"trailing comma", replace(lastWalked, lastWalked+","), `shard-03.json is malformed at line 8, column 1: invalid character '}' looking for beginning of object key string`},
		{"a comment", replace("{\n", "{ // now\n"), `shard-03.json is malformed at line 1, column 3: invalid character '/' looking for beginning of object key string`},
		{"trailing text", sampleCursorText + "x", `shard-03.json is malformed at line 9, column 1: invalid character 'x' after top-level value`},
		{"twice the document", sampleCursorText + sampleCursorText, `shard-03.json is malformed at line 9, column 1: invalid character '{' after top-level value`},
		{"a list", "[]", `shard-03.json is a list, not an object`},
		{"null", "null", `shard-03.json is null, not an object`},
		{"a number", "7", `shard-03.json is a number, not an object`},
		{"empty object", "{}", `shard-03.json: version is missing`},

		{"version 99", replace(`"version": 1`, `"version": 99`), `shard-03.json: version "99" is not 1`},
		{"version 0", replace(`"version": 1`, `"version": 0`), `shard-03.json: version "0" is not 1`},
		{"version 2 with new fields", `{"version": 2, "new": 1}`, `shard-03.json: version "2" is not 1`},
		{"version as text", replace(`"version": 1`, `"version": "1"`), `shard-03.json: version "1" is a string, not a whole number`},
		{"version missing", replace("\"version\": 1,\n", "\n"), `shard-03.json: version is missing`},
		{"another shard", replace(`"shard_id": 3`, `"shard_id": 7`), `shard-03.json: shard_id "7" is not 3`},
		{"shard missing", replace("\"shard_id\": 3,\n", "\n"), `shard-03.json: shard_id is missing`},
		{"shard null", replace(`"shard_id": 3`, `"shard_id": null`), `shard-03.json: shard_id "null" is null, not a whole number`},

		{"field twice", replace(`"ts_ns": `+tsNs, `"ts_ns": `+tsNs+`, "ts_ns": 5`), `shard-03.json: ts_ns "5" is there twice`},
		{"the same twice", replace(`"shard_id": 3`, `"shard_id": 3, "shard_id": 3`), `shard-03.json: shard_id "3" is there twice`},
		{"twice by an escape", replace(`"shard_id": 3`, `"shard_id": 3, "shard\u005fid": 4`), `shard-03.json: shard_id "4" is there twice`},
		{"other case", replace(`"ts_ns"`, `"TS_NS"`), `shard-03.json: TS_NS "1907751600000000000" is not spelled "ts_ns"`},
		{"other case beside", replace(`"ts_ns": `+tsNs, `"ts_ns": `+tsNs+`, "Ts_Ns": 5`), `shard-03.json: Ts_Ns "5" is not spelled "ts_ns"`},
		{"long s", replace(`"ts_ns": `+tsNs, `"ts_ns": `+tsNs+`, "tſ_ns": 5`), `shard-03.json: tſ_ns "5" is not spelled "ts_ns"`},

		{"position missing", replace("\"ts_ns\": "+tsNs+",\n", "\n"), `shard-03.json: ts_ns is missing`},
		{"position null", replace(tsNs, "null"), `shard-03.json: ts_ns "null" is null, not a whole number`},
		{"position as text", replace(tsNs, `"5"`), `shard-03.json: ts_ns "5" is a string, not a whole number`},
		{"position as time", replace(tsNs, `"2030-06-15T11:00:00Z"`), `shard-03.json: ts_ns "2030-06-15T11:00:00Z" is a string, not a whole number`},
		{"position in a list", replace(tsNs, `[5]`), `shard-03.json: ts_ns "[5]" is a list, not a whole number`},
		{"position in an object", replace(tsNs, `{"a":5}`), `shard-03.json: ts_ns "{\"a\":5}" is an object, not a whole number`},
		{"position true", replace(tsNs, `true`), `shard-03.json: ts_ns "true" is true or false, not a whole number`},
		{"negative", replace(tsNs, `-1`), `shard-03.json: ts_ns "-1" is negative`},
		{"fraction", replace(tsNs, `5.5`), `shard-03.json: ts_ns "5.5" is not a whole number`},
		{"whole fraction", replace(tsNs, `5.0`), `shard-03.json: ts_ns "5.0" is not a whole number`},
		{"exponent", replace(tsNs, `1e18`), `shard-03.json: ts_ns "1e18" is not a whole number`},
		{"beyond 64 bits", replace(tsNs, `9223372036854775808`), `shard-03.json: ts_ns "9223372036854775808" is out of range`},
		{"the last of 64 bits", replace(tsNs, `9223372036854775807`), `shard-03.json: ts_ns "9223372036854775807" is 2262-04-11T23:47:16.854775807Z, 2032115h47m16.854775807s after now: at most 5m0s is accepted`},
		{"last walk null", replace(lastWalked, `null`), `shard-03.json: last_walked_ns "null" is null, not a whole number`},
		{"last walk negative", replace(lastWalked, `-1`), `shard-03.json: last_walked_ns "-1" is negative`},

		{"31-byte hash", replace(onesHash, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=="), `shard-03.json: rule_set_hash "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==" is 31 bytes long, not 32`},
		{"33-byte hash", replace(twosHash, "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC"), `shard-03.json: promoted_hash "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC" is 33 bytes long, not 32`},
		{"no hash", replace(onesHash, ""), `shard-03.json: rule_set_hash is 0 bytes long, not 32`},
		{"long hash", replace(onesHash, strings.Repeat("A", 400)), `shard-03.json: rule_set_hash "` + strings.Repeat("A", 64) + `…" is 300 bytes long, not 32`},
		{"long hash cut at a character", replace(onesHash, strings.Repeat("é", 33)+"x"), `shard-03.json: rule_set_hash "` + strings.Repeat("é", 32) + `…" is not base64`},
		{"long hash cut before a character", replace(onesHash, "x"+strings.Repeat("é", 33)), `shard-03.json: rule_set_hash "x` + strings.Repeat("é", 31) + `…" is not base64`},
		{"hash in hex", replace(onesHash, strings.Repeat("01", 32)), `shard-03.json: rule_set_hash "` + strings.Repeat("01", 32) + `" is 48 bytes long, not 32`},
		{"hash no base64", replace(onesHash, "not a hash"), `shard-03.json: rule_set_hash "not a hash" is not base64`},
		{"hash without padding", replace(onesHash, strings.TrimRight(onesHash, "=")), `shard-03.json: rule_set_hash "` + strings.TrimRight(onesHash, "=") + `" is not base64`},
		{"hash with loose bits", replace(onesHash, "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQF="), `shard-03.json: rule_set_hash "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQF=" is not canonical base64`},
		{"hash on two lines", replace(onesHash, `AQEB\n`+onesHash[4:]), `shard-03.json: rule_set_hash "AQEB\n` + onesHash[4:] + `" is not canonical base64`},
		{"hash null", replace(`"`+onesHash+`"`, "null"), `shard-03.json: rule_set_hash "null" is null, not a string`},
		{"hash as bytes", replace(`"`+onesHash+`"`, "[1,2]"), `shard-03.json: rule_set_hash "[1,2]" is a list, not a string`},
		{"hash missing", replace(`"promoted_hash": "`+twosHash+`",`, ""), `shard-03.json: promoted_hash is missing`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := decodeCursor(t, tc.text)
			wantCorrupt(t, err, tc.want)
		})
	}
}

func TestCursorAheadOfNow(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ahead  time.Duration
		accept bool
	}{
		{"1 ns before", -1, true},
		{"now", 0, true},
		{"1 ns after", 1, true},
		{"5 min less 1 ns", 5*time.Minute - 1, true},
		{"5 min", 5 * time.Minute, true},
		{"5 min and 1 ns", 5*time.Minute + 1, false},
		{"a day", 24 * time.Hour, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			written := engine.Cursor{TsNs: ago(-tc.ahead), RuleSetHash: hashOf(1), LastWalkedNs: ago(-tc.ahead)}
			data, err := cursorfile.EncodeCursor(3, written, nil)
			if err != nil {
				t.Fatal(err)
			}
			f, err := decodeCursor(t, string(data))
			if accepted := err == nil; accepted != tc.accept {
				t.Fatalf("accepted is %v, want %v: %v", accepted, tc.accept, err)
			}
			if !tc.accept {
				return
			}
			want := written
			want.TsNs, want.LastWalkedNs = min(want.TsNs, ago(0)), min(want.LastWalkedNs, ago(0))
			if f.Cursor != want {
				t.Errorf("decoded as %+v, want %+v", f.Cursor, want)
			}
			if got, want := len(f.Warnings), map[bool]int{true: 2}[tc.ahead > 0]; got != want {
				t.Errorf("warnings are %q, want %d", f.Warnings, want)
			}
		})
	}

	_, err := decodeCursor(t, edit(t, sampleCursorText, "1907751600000000000", "1907755500000000001"))
	wantCorrupt(t, err, `shard-03.json: ts_ns "1907755500000000001" is 2030-06-15T12:05:00.000000001Z, 5m0.000000001s after now: at most 5m0s is accepted`)
	f, err := decodeCursor(t, edit(t, sampleCursorText, "1907751600000000000", "1907755260000000000"))
	want := `shard-03.json: ts_ns "1907755260000000000" is 2030-06-15T12:01:00Z, 1m0s after now: taken as now`
	if err != nil || len(f.Warnings) != 1 || f.Warnings[0] != want {
		t.Errorf("warnings are %q, %v, want %q", f.Warnings, err, want)
	}
}

func TestCursorKeepsUnknownFields(t *testing.T) {
	text := edit(t, sampleCursorText, "{\n", `{ "new": {"b": 1.50, "a": [ ]}, "also": "<&>", `)
	f, err := cursorfile.DecodeCursor("shard-03.json", 3, []byte(text), now, false)
	if err != nil {
		t.Fatal(err)
	}
	if f.Cursor != sampleCursor() {
		t.Errorf("decoded as %+v, want %+v", f.Cursor, sampleCursor())
	}
	data, err := cursorfile.EncodeCursor(3, f.Cursor, f.Extra)
	if err != nil {
		t.Fatal(err)
	}
	want := edit(t, sampleCursorText, "140000000000\n}", `140000000000,
  "also": "<&>",
  "new": {
    "b": 1.50,
    "a": []
  }
}`)
	if string(data) != want {
		t.Errorf("encoded as %s, want %s", data, want)
	}
	_, err = cursorfile.DecodeCursor("draft", 3, []byte(text), now, true)
	wantCorrupt(t, err, `draft: new "{\"b\": 1.50, \"a\": [ ]}" is not a known field`)
	text = edit(t, sampleCursorText, "{\n", `{ "a\nb\u001b[2J": 5, `)
	_, err = cursorfile.DecodeCursor("draft", 3, []byte(text), now, true)
	wantCorrupt(t, err, `draft: "a\nb\x1b[2J" "5" is not a known field`)
}

func TestEncodeCursorRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cursor engine.Cursor
		extra  map[string][]byte
		want   string
	}{
		{"negative", engine.Cursor{TsNs: -1}, nil, `encode the cursor of shard 3: shard-03.json: ts_ns "-1" is negative`},
		{"a kept field of a known name", engine.Cursor{}, map[string][]byte{"ts_ns": []byte("5")}, `encode the cursor of shard 3: shard-03.json: ts_ns "5" is there twice`},
		{"a kept field of a name like one", engine.Cursor{}, map[string][]byte{"TS_NS": []byte("5")}, `encode the cursor of shard 3: shard-03.json: TS_NS "5" is not spelled "ts_ns"`},
		{"a kept name no UTF-8", engine.Cursor{}, map[string][]byte{"\xff": []byte("5")}, `encode the cursor of shard 3: name "\xff" is not UTF-8`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := cursorfile.EncodeCursor(3, tc.cursor, tc.extra)
			if err == nil || err.Error() != tc.want || data != nil {
				t.Errorf("encoded as %q, %v, want error %s", data, err, tc.want)
			}
		})
	}
	if data, err := cursorfile.EncodeCursor(3, engine.Cursor{}, map[string][]byte{"x": []byte("{")}); err == nil {
		t.Errorf("a kept field that is no JSON is encoded as %q", data)
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shard := rapid.IntRange(0, engine.ShardCount-1).Draw(t, "shard")
		cursor, extra := drawCursor(t), drawExtra(t, "extra")
		data, err := cursorfile.EncodeCursor(shard, cursor, extra)
		if err != nil {
			t.Fatal(err)
		}
		f, err := cursorfile.DecodeCursor("f", shard, data, now, false)
		if err != nil || f.Cursor != cursor || !reflect.DeepEqual(f.Extra, extra) || f.Warnings != nil {
			t.Fatalf("%s decoded as %+v, %v, want %+v, %q", data, f, err, cursor, extra)
		}
		if _, err := cursorfile.DecodeCursor("f", shard, data, now, true); (err != nil) != (extra != nil) {
			t.Fatalf("strictly: %v, with kept fields %q", err, extra)
		}
	})
}
