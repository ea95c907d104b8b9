package cursorfile_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// decodeSide is decodeCursor for a side file.
func decodeSide(t *testing.T, text string) (cursorfile.SideFile, error) {
	t.Helper()
	f, err := cursorfile.DecodeSide("shard-03.weedlc.json", 3, []byte(text), now, false)
	strict, strictErr := cursorfile.DecodeSide("shard-03.weedlc.json", 3, []byte(text), now, true)
	if !reflect.DeepEqual(f, strict) || !reflect.DeepEqual(err, strictErr) {
		t.Errorf("strictly read as %v, %v, else as %v, %v", strict, strictErr, f, err)
	}
	if err != nil && !reflect.DeepEqual(f, cursorfile.SideFile{}) {
		t.Errorf("%v comes beside error %v", f, err)
	}
	return f, err
}

func TestSideText(t *testing.T) {
	data, err := cursorfile.EncodeSide(3, sampleSide(), nil)
	if err != nil || string(data) != sampleSideText {
		t.Fatalf("encoded as %s, %v, want %s", data, err, sampleSideText)
	}
	f, err := decodeSide(t, sampleSideText)
	if err != nil || !reflect.DeepEqual(f, cursorfile.SideFile{Side: sampleSide()}) {
		t.Errorf("decoded as %+v, %v, want %+v", f, err, sampleSide())
	}
}

func TestSideOfNothing(t *testing.T) {
	data, err := cursorfile.EncodeSide(15, engine.Side{}, nil)
	want := `{
  "version": 1,
  "shard_id": 15,
  "ts_ns": 0,
  "rule_set_hash": "` + zeroHash + `",
  "arrivals_ns": 0,
  "horizon_ns": 0,
  "groups": {},
  "buckets": {}
}
`
	if err != nil || string(data) != want {
		t.Fatalf("encoded as %s, %v, want %s", data, err, want)
	}
	f, err := cursorfile.DecodeSide("f", 15, data, now, true)
	if err != nil || f.Side.Groups == nil || f.Side.Buckets == nil {
		t.Errorf("decoded as %+v, %v, want maps to write to", f, err)
	}
}

func TestDamagedSide(t *testing.T) {
	replace := func(old, new string) string { return edit(t, sampleSideText, old, new) }
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", `shard-03.weedlc.json is empty`},
		{"no object", `"x"`, `shard-03.weedlc.json is a string, not an object`},
		{"trailing text", sampleSideText + "]", `shard-03.weedlc.json is malformed at line 53, column 1: invalid character ']' after top-level value`},
		{"a cursor", sampleCursorText, `shard-03.weedlc.json: arrivals_ns is missing`},
		{"version 2", replace(`"version": 1`, `"version": 2`), `shard-03.weedlc.json: version "2" is not 1`},
		{"another shard", replace(`"shard_id": 3`, `"shard_id": 13`), `shard-03.weedlc.json: shard_id "13" is not 3`},
		{"31-byte hash", replace(`"rule_set_hash": "`+onesHash, `"rule_set_hash": "`+"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=="), `shard-03.weedlc.json: rule_set_hash "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==" is 31 bytes long, not 32`},
		{"arrivals negative", replace("1907754900000000000", "-5"), `shard-03.weedlc.json: arrivals_ns "-5" is negative`},
		{"arrivals a fraction", replace("1907754900000000000", "1.5"), `shard-03.weedlc.json: arrivals_ns "1.5" is not a whole number`},
		{"arrivals ahead", replace("1907754900000000000", "1907755500000000001"), `shard-03.weedlc.json: arrivals_ns "1907755500000000001" is 2030-06-15T12:05:00.000000001Z, 5m0.000000001s after now: at most 5m0s is accepted`},
		{"horizon negative", replace("1899979200000000000", "-1"), `shard-03.weedlc.json: horizon_ns "-1" is negative`},
		{"horizon missing", replace(`"horizon_ns": 1899979200000000000,`, ""), `shard-03.weedlc.json: horizon_ns is missing`},

		{"groups missing", edit(t, sampleSideText, `"groups"`, `"group"`), `shard-03.weedlc.json: groups is missing`},
		{"groups null", `{"version":1,"shard_id":3,"ts_ns":0,"rule_set_hash":"` + zeroHash + `","arrivals_ns":0,"horizon_ns":0,"groups":null}`, `shard-03.weedlc.json: groups "null" is null, not an object`},
		{"group twice", replace(`"30d"`, `"7d"`), `shard-03.weedlc.json: groups["7d"] "1905163200000000000" is there twice`},
		{"group ahead", replace("1905163200000000000", "1907755500000000001"), `shard-03.weedlc.json: groups["30d"] "1907755500000000001" is 2030-06-15T12:05:00.000000001Z, 5m0.000000001s after now: at most 5m0s is accepted`},
		{"group negative", replace("1905163200000000000", "-1"), `shard-03.weedlc.json: groups["30d"] "-1" is negative`},
		{"group no number", replace("1905163200000000000", "[]"), `shard-03.weedlc.json: groups["30d"] "[]" is a list, not a whole number`},
		{"delay without unit", replace(`"30d"`, `"30"`), `shard-03.weedlc.json: groups "30" is not a delay such as "30d" or "36h0m0s"`},
		{"delay 0", replace(`"30d"`, `"0d"`), `shard-03.weedlc.json: groups "0d" is not a delay such as "30d" or "36h0m0s"`},
		{"delay negative", replace(`"30d"`, `"-30d"`), `shard-03.weedlc.json: groups "-30d" is not a delay such as "30d" or "36h0m0s"`},
		{"delay without number", replace(`"30d"`, `"d"`), `shard-03.weedlc.json: groups "d" is not a delay such as "30d" or "36h0m0s"`},
		{"delay empty", replace(`"30d"`, `""`), `shard-03.weedlc.json: groups is not a delay such as "30d" or "36h0m0s"`},
		{"delay too long", replace(`"30d"`, `"106752d"`), `shard-03.weedlc.json: groups "106752d" is not a delay such as "30d" or "36h0m0s"`},
		{"delay far too long", replace(`"30d"`, `"213504d"`), `shard-03.weedlc.json: groups "213504d" is not a delay such as "30d" or "36h0m0s"`},
		{"delay in hours", replace(`"30d"`, `"720h0m0s"`), `shard-03.weedlc.json: groups "720h0m0s" is not spelled "30d"`},
		{"delay short", replace(`"36h0m0s"`, `"36h"`), `shard-03.weedlc.json: groups "36h" is not spelled "36h0m0s"`},
		{"delay with a zero", replace(`"30d"`, `"030d"`), `shard-03.weedlc.json: groups "030d" is not spelled "30d"`},

		{"buckets a list", `{"version":1,"shard_id":3,"ts_ns":0,"rule_set_hash":"` + zeroHash + `","arrivals_ns":0,"horizon_ns":0,"groups":{},"buckets":[]}`, `shard-03.weedlc.json: buckets "[]" is a list, not an object`},
		{"bucket twice", replace(`"logs": {`, `"photos": {`), `shard-03.weedlc.json: buckets["photos"] "{\n      \"rules\": \"` + onesHash + `\",…" is there twice`},
		{"bucket null", replace(`"logs": {`, `"a": null, "logs": {`), `shard-03.weedlc.json: buckets["a"] "null" is null, not an object`},
		{"bucket empty", replace(`"logs": {`, `"a": {}, "logs": {`), `shard-03.weedlc.json: buckets["a"].rules is missing`},
		{"bucket's hash", replace(zeroHash, "AAAA"), `shard-03.weedlc.json: buckets["logs"].rules "AAAA" is 3 bytes long, not 32`},
		{"walks null", replace(`[]`, `null`), `shard-03.weedlc.json: buckets["logs"].walk_at_ns "null" is null, not a list`},
		{"walk negative", replace(`[]`, `[-1]`), `shard-03.weedlc.json: buckets["logs"].walk_at_ns[0] "-1" is negative`},
		{"walk null", replace(`[]`, `[1, null]`), `shard-03.weedlc.json: buckets["logs"].walk_at_ns[1] "null" is null, not a whole number`},
		{"walks equal", replace(`[]`, `[1, 1]`), `shard-03.weedlc.json: buckets["logs"].walk_at_ns[1] "1" is not after the one before it`},
		{"walks descending", replace(`[]`, `[2, 3, 1]`), `shard-03.weedlc.json: buckets["logs"].walk_at_ns[2] "1" is not after the one before it`},
		{"reconciled ahead", replace("1907582400000000000", "1907755500000000001"), `shard-03.weedlc.json: buckets["photos"].reconciled_ns "1907755500000000001" is 2030-06-15T12:05:00.000000001Z, 5m0.000000001s after now: at most 5m0s is accepted`},

		{"blocked null", replace(`"blocked": {`, `"blocked": null, "x": {`), `shard-03.weedlc.json: blocked "null" is null, not an object`},
		{"blocked without bucket", replace(`"bucket": "photos",`, ""), `shard-03.weedlc.json: blocked.bucket is missing`},
		{"blocked key no string", replace(`"a & <b>\n"`, "5"), `shard-03.weedlc.json: blocked.key "5" is a number, not a string`},
		{"blocked attempts", replace(`"attempts": 3`, `"attempts": -3`), `shard-03.weedlc.json: blocked.attempts "-3" is not a count`},
		{"blocked since ahead", replace("1907754000000000000", "1907755500000000001"), `shard-03.weedlc.json: blocked.since_ns "1907755500000000001" is 2030-06-15T12:05:00.000000001Z, 5m0.000000001s after now: at most 5m0s is accepted`},
		{"blocked more", replace(`"blocked_more": 2`, `"blocked_more": -2`), `shard-03.weedlc.json: blocked_more "-2" is not a count`},
		{"failed an object", replace(`"failed": [`, `"failed": {}, "x": [`), `shard-03.weedlc.json: failed "{}" is an object, not a list`},
		{"failed item null", replace(`"failed": [`, `"failed": [null,`), `shard-03.weedlc.json: failed[0] "null" is null, not an object`},
		{"failed item twice", replace(`"recovery": true`, `"recovery": true, "recovery": false`), `shard-03.weedlc.json: failed[0].recovery "false" is there twice`},
		{"failed recovery", replace(`"recovery": true`, `"recovery": "true"`), `shard-03.weedlc.json: failed[0].recovery "true" is a string, not true or false`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := cursorfile.DecodeSide("shard-03.weedlc.json", 3, []byte(tc.text), now, false)
			wantCorrupt(t, err, tc.want)
		})
	}
}

func TestSideAheadOfNow(t *testing.T) {
	ahead := ago(-5 * time.Minute)
	written := engine.Side{
		TsNs:       ahead,
		ArrivalsNs: ahead,
		HorizonNs:  ago(-time.Hour),
		Groups:     map[time.Duration]int64{24 * time.Hour: ahead, time.Second: ago(0)},
		Buckets:    map[string]engine.BucketMemory{"b": {WalkAtNs: []int64{ahead, ago(-1000 * time.Hour)}, ReconciledNs: ahead}},
		Blocked:    &engine.Failure{TsNs: ahead, SinceNs: ahead},
		Failed:     []engine.Failure{{SinceNs: ahead}},
	}
	data, err := cursorfile.EncodeSide(3, written, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := decodeSide(t, string(data))
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Side{
		TsNs:       ahead,
		ArrivalsNs: ago(0),
		HorizonNs:  ago(-time.Hour),
		Groups:     map[time.Duration]int64{24 * time.Hour: ago(0), time.Second: ago(0)},
		Buckets:    map[string]engine.BucketMemory{"b": {WalkAtNs: []int64{ahead, ago(-1000 * time.Hour)}, ReconciledNs: ago(0)}},
		Blocked:    &engine.Failure{TsNs: ago(0), SinceNs: ago(0)},
		Failed:     []engine.Failure{{SinceNs: ago(0)}},
	}
	if !reflect.DeepEqual(f.Side, want) {
		t.Errorf("decoded as %+v, want %+v", f.Side, want)
	}
	const tail = ` "1907755500000000000" is 2030-06-15T12:05:00Z, 5m0s after now: taken as now`
	var warnings []string
	for _, field := range []string{"arrivals_ns", `groups["1d"]`, `buckets["b"].reconciled_ns`, "blocked.ts_ns", "blocked.since_ns", "failed[0].since_ns"} {
		warnings = append(warnings, "shard-03.weedlc.json: "+field+tail)
	}
	slices.Sort(warnings)
	if got := slices.Sorted(slices.Values(f.Warnings)); !slices.Equal(got, warnings) {
		t.Errorf("warnings are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(warnings, "\n"))
	}
}

func TestSideKeepsUnknownFields(t *testing.T) {
	text := edit(t, sampleSideText, `"groups": {`, `"resume": {"logs": "a/b"}, "groups": {`)
	text = edit(t, text, `"walk_at_ns": []`, `"walk_at_ns": [], "size": 5, "age": [ 1 ]`)
	text = edit(t, text, `"recovery": true`, `"recovery": true, "kind": 4`)
	f, err := cursorfile.DecodeSide("f", 3, []byte(text), now, false)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(f.Side, sampleSide()) {
		t.Errorf("decoded as %+v, want %+v", f.Side, sampleSide())
	}
	want := map[string][]byte{"resume": []byte(`{"logs":"a/b"}`), "buckets": []byte(`{"logs":{"age":[1],"size":5}}`)}
	if !reflect.DeepEqual(f.Extra, want) {
		t.Errorf("kept %q, want %q", f.Extra, want)
	}

	data, err := cursorfile.EncodeSide(3, f.Side, f.Extra)
	if err != nil {
		t.Fatal(err)
	}
	again := edit(t, sampleSideText, "\"walk_at_ns\": [],\n      \"reconciled_ns\": 0", "\"walk_at_ns\": [],\n      \"reconciled_ns\": 0,\n      \"age\": [\n        1\n      ],\n      \"size\": 5")
	again = edit(t, again, "    }\n  ]\n}", "    }\n  ],\n  \"resume\": {\n    \"logs\": \"a/b\"\n  }\n}")
	if string(data) != again {
		t.Errorf("encoded as %s, want %s", data, again)
	}

	gone := f.Side
	gone.Buckets = maps.Clone(gone.Buckets)
	delete(gone.Buckets, "logs")
	if data, err := cursorfile.EncodeSide(3, gone, f.Extra); err != nil || strings.Contains(string(data), `"size"`) {
		t.Errorf("without its bucket a kept field is encoded as %s, %v", data, err)
	}
}

func TestSideStrictlyRefusesUnknownFields(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"of the file", edit(t, sampleSideText, `"groups": {`, `"x": 5, "groups": {`), `draft: x "5" is not a known field`},
		{"of a bucket", edit(t, sampleSideText, `"walk_at_ns": []`, `"walk_at_ns": [], "x": 5`), `draft: buckets["logs"].x "5" is not a known field`},
		{"of a failure", edit(t, sampleSideText, `"recovery": true`, `"recovery": true, "x": null`), `draft: failed[0].x "null" is not a known field`},
		{"of what is blocked", edit(t, sampleSideText, `"attempts": 3`, `"attempts": 3, "x": ""`), `draft: blocked.x is not a known field`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := cursorfile.DecodeSide("draft", 3, []byte(tc.text), now, true)
			wantCorrupt(t, err, tc.want)
			if _, err := cursorfile.DecodeSide("draft", 3, []byte(tc.text), now, false); err != nil {
				t.Errorf("not strictly: %v", err)
			}
		})
	}
	misspelled := edit(t, sampleSideText, `"recovery": true`, `"Recovery": true`)
	_, err := cursorfile.DecodeSide("f", 3, []byte(misspelled), now, false)
	wantCorrupt(t, err, `f: failed[0].Recovery "true" is not spelled "recovery"`)
}

func TestEncodeSideRefuses(t *testing.T) {
	const prefix = `encode the side file of shard 3: `
	for _, tc := range []struct {
		name string
		side engine.Side
		want string
	}{
		{"negative position", engine.Side{Groups: map[time.Duration]int64{time.Hour: -1}}, prefix + `shard-03.weedlc.json: groups["1h0m0s"] "-1" is negative`},
		{"no delay", engine.Side{Groups: map[time.Duration]int64{0: 1}}, prefix + `shard-03.weedlc.json: groups "0d" is not a delay such as "30d" or "36h0m0s"`},
		{"negative delay", engine.Side{Groups: map[time.Duration]int64{-time.Hour: 1}}, prefix + `shard-03.weedlc.json: groups "-1h0m0s" is not a delay such as "30d" or "36h0m0s"`},
		{"walks out of order", engine.Side{Buckets: map[string]engine.BucketMemory{"b": {WalkAtNs: []int64{2, 1}}}}, prefix + `shard-03.weedlc.json: buckets["b"].walk_at_ns[1] "1" is not after the one before it`},
		{"key no UTF-8", engine.Side{Blocked: &engine.Failure{Key: "a\xff"}}, prefix + `key "a\xff" is not UTF-8`},
		{"bucket no UTF-8", engine.Side{Buckets: map[string]engine.BucketMemory{"\xff": {}}}, prefix + `name "\xff" is not UTF-8`},
		{"negative count", engine.Side{BlockedMore: -1}, prefix + `shard-03.weedlc.json: blocked_more "-1" is not a count`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data, err := cursorfile.EncodeSide(3, tc.side, nil)
			if err == nil || err.Error() != tc.want || data != nil {
				t.Errorf("encoded as %q, %v, want error\n%s", data, err, tc.want)
			}
		})
	}
	for _, kept := range []string{"5", "{", `{"b":5}`} {
		if data, err := cursorfile.EncodeSide(3, engine.Side{}, map[string][]byte{"buckets": []byte(kept)}); err == nil {
			t.Errorf("kept fields of buckets %s are encoded as %s", kept, data)
		}
	}
}

func TestDelaySpellings(t *testing.T) {
	for _, tc := range []struct {
		delay time.Duration
		want  string
	}{
		{1, `"1ns"`},
		{10 * time.Second, `"10s"`},
		{1500 * time.Millisecond, `"1.5s"`},
		{24*time.Hour - 1, `"23h59m59.999999999s"`},
		{24 * time.Hour, `"1d"`},
		{24*time.Hour + 1, `"24h0m0.000000001s"`},
		{400 * 24 * time.Hour, `"400d"`},
		{106751 * 24 * time.Hour, `"106751d"`},
		{1<<63 - 1, `"2562047h47m16.854775807s"`},
	} {
		side := engine.Side{Groups: map[time.Duration]int64{tc.delay: 5}, Buckets: map[string]engine.BucketMemory{}}
		data, err := cursorfile.EncodeSide(3, side, nil)
		if err != nil || !strings.Contains(string(data), tc.want+": 5") {
			t.Errorf("%v is encoded in %s, %v, want %s", tc.delay, data, err, tc.want)
			continue
		}
		if f, err := cursorfile.DecodeSide("f", 3, data, now, true); err != nil || !reflect.DeepEqual(f.Side, side) {
			t.Errorf("%s decodes as %+v, %v", data, f, err)
		}
	}
}

func TestSideRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shard := rapid.IntRange(0, engine.ShardCount-1).Draw(t, "shard")
		side, extra := drawSide(t), drawExtra(t, "extra")
		data, err := cursorfile.EncodeSide(shard, side, extra)
		if err != nil {
			t.Fatal(err)
		}
		f, err := cursorfile.DecodeSide("f", shard, data, now, false)
		if err != nil || !reflect.DeepEqual(f, cursorfile.SideFile{Side: side, Extra: extra}) {
			t.Fatalf("%s decoded as %+v, %v, want %+v, %q", data, f, err, side, extra)
		}
	})
}
