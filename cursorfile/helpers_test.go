package cursorfile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weedlc/cursorfile"
	"weedlc/cursorfile/filestest"
	"weedlc/engine"
)

// now is the clock of the tests.
var now = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)

const (
	zeroHash = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	onesHash = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
	twosHash = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
)

func hashOf(b byte) (h engine.Hash) {
	for i := range h {
		h[i] = b
	}
	return h
}

// ago is a time before now in Unix nanoseconds.
func ago(d time.Duration) int64 { return now.Add(-d).UnixNano() }

func sampleCursor() engine.Cursor {
	return engine.Cursor{TsNs: ago(time.Hour), RuleSetHash: hashOf(1), PromotedHash: hashOf(2), LastWalkedNs: ago(time.Minute)}
}

const sampleCursorText = `{
  "version": 1,
  "shard_id": 3,
  "ts_ns": 1907751600000000000,
  "rule_set_hash": "` + onesHash + `",
  "promoted_hash": "` + twosHash + `",
  "last_walked_ns": 1907755140000000000
}
`

func sampleSide() engine.Side {
	return engine.Side{
		TsNs:        ago(time.Hour),
		RuleSetHash: hashOf(1),
		ArrivalsNs:  ago(5 * time.Minute),
		HorizonNs:   ago(90 * 24 * time.Hour),
		Groups: map[time.Duration]int64{
			30 * 24 * time.Hour: ago(30 * 24 * time.Hour),
			36 * time.Hour:      ago(time.Hour),
			7 * 24 * time.Hour:  ago(7 * 24 * time.Hour),
		},
		Buckets: map[string]engine.BucketMemory{
			"photos": {Rules: hashOf(1), WalkAtNs: []int64{ago(0), ago(-2 * time.Hour)}, ReconciledNs: ago(48 * time.Hour)},
			"logs":   {},
		},
		Blocked: &engine.Failure{
			TsNs: ago(30 * time.Minute), Bucket: "photos", Key: "a & <b>\n", VersionID: "null", Action: "expiration_days",
			Outcome: "blocked", Reason: "said no", RuleID: "R1", RuleHash: "0102030405060708", SinceNs: ago(20 * time.Minute), Attempts: 3,
		},
		BlockedMore: 2,
		Failed: []engine.Failure{
			{Bucket: "logs", Outcome: "transport_error", SinceNs: ago(time.Minute), Recovery: true},
		},
	}
}

const sampleSideText = `{
  "version": 1,
  "shard_id": 3,
  "ts_ns": 1907751600000000000,
  "rule_set_hash": "` + onesHash + `",
  "arrivals_ns": 1907754900000000000,
  "horizon_ns": 1899979200000000000,
  "groups": {
    "36h0m0s": 1907751600000000000,
    "7d": 1907150400000000000,
    "30d": 1905163200000000000
  },
  "buckets": {
    "logs": {
      "rules": "` + zeroHash + `",
      "walk_at_ns": [],
      "reconciled_ns": 0
    },
    "photos": {
      "rules": "` + onesHash + `",
      "walk_at_ns": [
        1907755200000000000,
        1907762400000000000
      ],
      "reconciled_ns": 1907582400000000000
    }
  },
  "blocked": {
    "ts_ns": 1907753400000000000,
    "bucket": "photos",
    "key": "a & <b>\n",
    "version_id": "null",
    "action": "expiration_days",
    "outcome": "blocked",
    "reason": "said no",
    "rule_id": "R1",
    "rule_hash": "0102030405060708",
    "since_ns": 1907754000000000000,
    "attempts": 3
  },
  "blocked_more": 2,
  "failed": [
    {
      "bucket": "logs",
      "key": "",
      "outcome": "transport_error",
      "since_ns": 1907755140000000000,
      "attempts": 0,
      "recovery": true
    }
  ]
}
`

// edit replaces the one occurrence of a piece of text.
func edit(t testing.TB, text, old, new string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q occurs %d times", old, n)
	}
	return strings.Replace(text, old, new, 1)
}

// wantCorrupt checks that an error is damage with this text.
func wantCorrupt(t *testing.T, err error, want string) {
	t.Helper()
	var corrupt *cursorfile.CorruptError
	if !errors.As(err, &corrupt) || err.Error() != want {
		t.Errorf("error is\n  %v\nwant damage\n  %s", err, want)
	}
	var damage interface{ Corrupt() bool }
	if !errors.As(err, &damage) || !damage.Corrupt() {
		t.Errorf("%v does not call itself corrupt", err)
	}
}

// put writes a file, whatever was there.
func put(t *testing.T, files cursorfile.Files, name, text string) {
	t.Helper()
	_, was, err := files.Read(t.Context(), name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := files.Write(t.Context(), name, []byte(text), was); err != nil {
		t.Fatal(err)
	}
}

// holds checks the text of a file.
func holds(t *testing.T, files *filestest.Memory, name, want string) {
	t.Helper()
	data, _, err := files.Read(t.Context(), name)
	if err != nil || string(data) != want {
		t.Errorf("%s holds %q, %v, want %q", name, data, err, want)
	}
}

// drawHash favours the zero hash.
func drawHash(t *rapid.T, label string) (h engine.Hash) {
	if rapid.Bool().Draw(t, label+" set") {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), len(h), len(h)).Draw(t, label))
	}
	return h
}

// drawPast favours zero and now.
func drawPast(t *rapid.T, label string) int64 {
	return rapid.OneOf(rapid.SampledFrom([]int64{0, 1, ago(0)}), rapid.Int64Range(0, ago(0))).Draw(t, label)
}

func drawCursor(t *rapid.T) engine.Cursor {
	return engine.Cursor{
		TsNs:         drawPast(t, "ts_ns"),
		RuleSetHash:  drawHash(t, "rule_set_hash"),
		PromotedHash: drawHash(t, "promoted_hash"),
		LastWalkedNs: drawPast(t, "last_walked_ns"),
	}
}

// drawExtra draws fields of no known name, as compact JSON.
func drawExtra(t *rapid.T, label string) map[string][]byte {
	values := rapid.SampledFrom([]string{`1`, `1.50`, `null`, `true`, `"<&>\u0000"`, `[]`, `{}`, `[1,{"b":2,"a":[]}]`, `{"ts_ns":1,"ts_ns":2}`})
	drawn := rapid.MapOfN(rapid.StringMatching(`x_[a-z"<é\\.]{0,4}`), values, 0, 3).Draw(t, label)
	var extra map[string][]byte
	for name, value := range drawn {
		if extra == nil {
			extra = map[string][]byte{}
		}
		extra[name] = []byte(value)
	}
	return extra
}

func drawFailure(t *rapid.T) engine.Failure {
	text := func(label string) string { return rapid.String().Draw(t, label) }
	return engine.Failure{
		TsNs:      drawPast(t, "failure ts_ns"),
		Bucket:    text("bucket"),
		Key:       text("key"),
		VersionID: text("version_id"),
		Action:    text("action"),
		Outcome:   text("outcome"),
		Reason:    text("reason"),
		RuleID:    text("rule_id"),
		RuleHash:  text("rule_hash"),
		SinceNs:   drawPast(t, "since_ns"),
		Attempts:  rapid.IntRange(0, 1<<40).Draw(t, "attempts"),
		Recovery:  rapid.Bool().Draw(t, "recovery"),
	}
}

func drawSide(t *rapid.T) engine.Side {
	s := engine.Side{
		TsNs:        drawPast(t, "ts_ns"),
		RuleSetHash: drawHash(t, "rule_set_hash"),
		ArrivalsNs:  drawPast(t, "arrivals_ns"),
		HorizonNs:   drawPast(t, "horizon_ns"),
		Groups:      map[time.Duration]int64{},
		Buckets:     map[string]engine.BucketMemory{},
		BlockedMore: rapid.IntRange(0, 3).Draw(t, "blocked_more"),
	}
	delays := rapid.OneOf(
		rapid.Map(rapid.Int64Range(1, 36500), func(days int64) time.Duration { return time.Duration(days) * 24 * time.Hour }),
		rapid.Map(rapid.Int64Min(1), func(ns int64) time.Duration { return time.Duration(ns) }),
	)
	for _, delay := range rapid.SliceOfN(delays, 0, 4).Draw(t, "delays") {
		s.Groups[delay] = drawPast(t, "position")
	}
	for _, name := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "buckets") {
		b := engine.BucketMemory{Rules: drawHash(t, "rules"), ReconciledNs: drawPast(t, "reconciled_ns")}
		if rapid.Bool().Draw(t, "walk") {
			b.Walk = &engine.WalkPoint{
				StartedNs: drawPast(t, "started_ns"), Rules: drawHash(t, "walk rules"),
				From: rapid.String().Draw(t, "from"), HorizonNs: drawPast(t, "walk horizon"), Bound: rapid.Bool().Draw(t, "bound"),
			}
		}
		var at int64
		for range rapid.IntRange(0, 3).Draw(t, "walks") {
			at += rapid.Int64Range(1, 1<<61).Draw(t, "walk_at after")
			b.WalkAtNs = append(b.WalkAtNs, at)
		}
		s.Buckets[name] = b
	}
	if rapid.Bool().Draw(t, "is blocked") {
		blocked := drawFailure(t)
		s.Blocked = &blocked
	}
	for range rapid.IntRange(0, 2).Draw(t, "failed") {
		s.Failed = append(s.Failed, drawFailure(t))
	}
	return s
}
