package cursorfile_test

import (
	"fmt"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// BenchmarkCodec is what a shard's two files cost; the side file with what it
// remembers of that many buckets.
func BenchmarkCodec(b *testing.B) {
	b.Run("cursor/encode", func(b *testing.B) {
		for b.Loop() {
			if _, err := cursorfile.EncodeCursor(3, sampleCursor(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cursor/decode", func(b *testing.B) {
		data := []byte(sampleCursorText)
		for b.Loop() {
			if _, err := cursorfile.DecodeCursor("shard-03.json", 3, data, now, true); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{1, 10, 1000} {
		side := sampleSide()
		side.Buckets = map[string]engine.BucketMemory{}
		for i := range n {
			side.Buckets[fmt.Sprintf("bucket-%04d", i)] = engine.BucketMemory{
				Rules: hashOf(byte(i)), ReconciledNs: ago(time.Hour), WalkAtNs: []int64{ago(time.Hour), ago(-time.Hour)},
			}
		}
		data, err := cursorfile.EncodeSide(3, side, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("side/encode/buckets=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := cursorfile.EncodeSide(3, side, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("side/decode/buckets=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := cursorfile.DecodeSide("shard-03.weedlc.json", 3, data, now, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
