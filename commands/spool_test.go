package commands

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, size := range []int{0, 1, inMemory - 1, inMemory, inMemory + 1, 3*inMemory + 7} {
		var s spool
		want := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for part := range slices.Chunk(want, 700_001) {
			_, err := s.Write(part)
			check(t, err)
		}
		if spilled := s.file != nil; spilled != (size > inMemory) {
			t.Errorf("%d bytes are in a file: %v", size, spilled)
		}
		var got bytes.Buffer
		check(t, s.copyTo(&got))
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes came back as %d others", size, got.Len())
		}
		check(t, s.Close())
		left, err := os.ReadDir(os.TempDir())
		check(t, err)
		if len(left) > 0 {
			t.Errorf("%d bytes left %v behind", size, left)
		}
	}
}

func TestSpoolWithoutRoom(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere")
	var s spool
	if _, err := s.Write(make([]byte, inMemory)); err != nil {
		t.Error(err)
	}
	if _, err := s.Write([]byte("x")); err == nil {
		t.Error("no error without a place for the file")
	}
}
