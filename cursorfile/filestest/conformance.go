// Package filestest holds what every implementation of cursorfile.Files must
// do, as a test suite, and one in memory for tests.
package filestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// Conformance checks an implementation. Open is called once a subtest and
// returns an empty directory that nothing else uses; it may be one that does
// not exist yet.
func Conformance(t *testing.T, open func(t *testing.T) cursorfile.Files) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, dir)
	}{
		{"absent", testAbsent},
		{"create", testCreate},
		{"create refuses what is there", testCreateTaken},
		{"replace", testReplace},
		{"replace refuses another version", testReplaceStale},
		{"replace refuses a file that is gone", testReplaceGone},
		{"same bytes again", testSameBytes},
		{"empty file", testEmptyFile},
		{"any bytes", testAnyBytes},
		{"two megabytes", testLarge},
		{"remove", testRemove},
		{"remove refuses another version", testRemoveStale},
		{"remove refuses a file that is gone", testRemoveGone},
		{"list", testList},
		{"buffers stay the caller's", testBuffers},
		{"context ended", testContextEnded},
		{"one of many creates wins", testConcurrentCreate},
		{"one of many replaces wins", testConcurrentReplace},
		{"one of many removes wins", testConcurrentRemove},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, dir{t, open(t)}) })
	}
}

const name = "shard-07.json"

// dir wraps Files with calls that must succeed.
type dir struct {
	t *testing.T
	cursorfile.Files
}

func (d dir) write(name, data, was string) string {
	d.t.Helper()
	version, err := d.Write(d.t.Context(), name, []byte(data), was)
	if err != nil {
		d.t.Fatalf("write %s: %v", name, err)
	}
	if version == "" {
		d.t.Fatalf("write %s: the version is empty", name)
	}
	return version
}

// holds checks the content and version of a file.
func (d dir) holds(name, data, version string) {
	d.t.Helper()
	got, gotVersion, err := d.Read(d.t.Context(), name)
	if err != nil {
		d.t.Fatalf("read %s: %v", name, err)
	}
	if string(got) != data {
		d.t.Fatalf("%s holds %.80q, want %.80q", name, got, data)
	}
	if gotVersion != version {
		d.t.Fatalf("%s has version %q, want %q", name, gotVersion, version)
	}
}

func (d dir) absent(name string) {
	d.t.Helper()
	data, version, err := d.Read(d.t.Context(), name)
	if !errors.Is(err, engine.ErrNotFound) || data != nil || version != "" {
		d.t.Fatalf("read %s = %q, %q, %v, want engine.ErrNotFound and nothing else", name, data, version, err)
	}
}

func (d dir) lists(want ...string) {
	d.t.Helper()
	got, err := d.List(d.t.Context())
	if err != nil || !slices.Equal(got, want) {
		d.t.Fatalf("list = %q, %v, want %q", got, err, want)
	}
}

func (d dir) refusesWrite(name, data, was string) {
	d.t.Helper()
	version, err := d.Write(d.t.Context(), name, []byte(data), was)
	if !errors.Is(err, cursorfile.ErrChanged) || version != "" {
		d.t.Fatalf("write %s over version %q = %q, %v, want ErrChanged", name, was, version, err)
	}
}

func (d dir) refusesRemove(name, was string) {
	d.t.Helper()
	if err := d.Remove(d.t.Context(), name, was); !errors.Is(err, cursorfile.ErrChanged) {
		d.t.Fatalf("remove %s with version %q = %v, want ErrChanged", name, was, err)
	}
}

func testAbsent(t *testing.T, d dir) {
	d.absent(name)
	d.lists()
}

func testCreate(t *testing.T, d dir) {
	version := d.write(name, "one", "")
	d.holds(name, "one", version)
	d.absent("shard-08.json")
}

func testCreateTaken(t *testing.T, d dir) {
	version := d.write(name, "one", "")
	d.refusesWrite(name, "two", "")
	d.holds(name, "one", version)
}

func testReplace(t *testing.T, d dir) {
	first := d.write(name, "one", "")
	second := d.write(name, "longer than one", first)
	if first == second {
		t.Fatalf("other bytes have the same version %q", first)
	}
	d.holds(name, "longer than one", second)
	d.holds(name, "1", d.write(name, "1", second))
}

func testReplaceStale(t *testing.T, d dir) {
	first := d.write(name, "one", "")
	second := d.write(name, "two", first)
	d.refusesWrite(name, "three", first)
	d.holds(name, "two", second)
}

func testReplaceGone(t *testing.T, d dir) {
	version := d.write(name, "one", "")
	if err := d.Remove(t.Context(), name, version); err != nil {
		t.Fatal(err)
	}
	d.refusesWrite(name, "two", version)
	d.absent(name)
}

func testSameBytes(t *testing.T, d dir) {
	first := d.write(name, "one", "")
	d.holds(name, "one", d.write(name, "one", first))
}

func testEmptyFile(t *testing.T, d dir) {
	empty := d.write(name, "", "")
	d.holds(name, "", empty)
	d.lists(name)
	d.refusesWrite(name, "one", "")
	full := d.write(name, "one", empty)
	if full == empty {
		t.Fatalf("other bytes have the same version %q", full)
	}
	d.holds(name, "", d.write(name, "", full))
}

func testAnyBytes(t *testing.T, d dir) {
	var all []byte
	for b := range 256 {
		all = append(all, byte(b))
	}
	d.holds(name, string(all), d.write(name, string(all), ""))
}

func testLarge(t *testing.T, d dir) {
	random := rand.New(rand.NewPCG(1, 2))
	large := make([]byte, 2<<20)
	for i := range large {
		large[i] = byte(random.Uint32())
	}
	version := d.write(name, string(large), "")
	d.holds(name, string(large), version)
	d.holds(name, "small", d.write(name, "small", version))
}

func testRemove(t *testing.T, d dir) {
	kept := d.write("shard-08.json", "kept", "")
	version := d.write(name, "one", "")
	if err := d.Remove(t.Context(), name, version); err != nil {
		t.Fatal(err)
	}
	d.absent(name)
	d.lists("shard-08.json")
	d.holds("shard-08.json", "kept", kept)
	d.holds(name, "again", d.write(name, "again", ""))
}

func testRemoveStale(t *testing.T, d dir) {
	first := d.write(name, "one", "")
	second := d.write(name, "two", first)
	d.refusesRemove(name, first)
	d.refusesRemove(name, "")
	d.holds(name, "two", second)
}

func testRemoveGone(t *testing.T, d dir) {
	d.refusesRemove(name, "gone")
	d.refusesRemove(name, "")
	version := d.write(name, "one", "")
	if err := d.Remove(t.Context(), name, version); err != nil {
		t.Fatal(err)
	}
	d.refusesRemove(name, version)
}

func testList(t *testing.T, d dir) {
	for _, name := range []string{"shard-10.json", "shard-02.weedlc.json", "shard-02.json", "shard-02.json.bak-20300615T120000Z"} {
		d.write(name, name, "")
	}
	d.lists("shard-02.json", "shard-02.json.bak-20300615T120000Z", "shard-02.weedlc.json", "shard-10.json")
}

func testBuffers(t *testing.T, d dir) {
	mine := []byte("one")
	version, err := d.Write(t.Context(), name, mine, "")
	if err != nil {
		t.Fatal(err)
	}
	mine[0] = 'X'
	d.holds(name, "one", version)
	read, _, err := d.Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	read[0] = 'X'
	d.holds(name, "one", version)
}

func testContextEnded(t *testing.T, d dir) {
	version := d.write(name, "one", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if data, _, err := d.Read(ctx, name); err == nil || data != nil {
		t.Errorf("read = %q, %v, want an error", data, err)
	}
	if _, err := d.Write(ctx, name, []byte("two"), version); err == nil {
		t.Error("write succeeded, want an error")
	}
	if err := d.Remove(ctx, name, version); err == nil {
		t.Error("remove succeeded, want an error")
	}
	if names, err := d.List(ctx); err == nil {
		t.Errorf("list = %q, want an error", names)
	}
	d.holds(name, "one", version)
}

// race runs a change many times at once and returns the winner, the only one
// that does not end with ErrChanged.
func race(t *testing.T, change func(n int) error) (winner int) {
	t.Helper()
	const runners = 8
	errs := make([]error, runners)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for n := range runners {
		wg.Go(func() {
			<-start
			errs[n] = change(n)
		})
	}
	close(start)
	wg.Wait()
	var winners []int
	for n, err := range errs {
		switch {
		case err == nil:
			winners = append(winners, n)
		case !errors.Is(err, cursorfile.ErrChanged):
			t.Errorf("runner %d: %v, want ErrChanged", n, err)
		}
	}
	if len(winners) != 1 {
		t.Fatalf("winners are %d, want one", winners)
	}
	return winners[0]
}

func testConcurrentCreate(t *testing.T, d dir) {
	versions := [8]string{}
	winner := race(t, func(n int) (err error) {
		versions[n], err = d.Write(t.Context(), name, fmt.Appendf(nil, "runner %d", n), "")
		return err
	})
	d.holds(name, fmt.Sprintf("runner %d", winner), versions[winner])
	d.lists(name)
}

func testConcurrentReplace(t *testing.T, d dir) {
	was := d.write(name, "one", "")
	for round := range 5 {
		versions := [8]string{}
		winner := race(t, func(n int) (err error) {
			versions[n], err = d.Write(t.Context(), name, fmt.Appendf(nil, "round %d runner %d", round, n), was)
			return err
		})
		was = versions[winner]
		d.holds(name, fmt.Sprintf("round %d runner %d", round, winner), was)
	}
	d.lists(name)
}

func testConcurrentRemove(t *testing.T, d dir) {
	version := d.write(name, string(bytes.Repeat([]byte("x"), 1000)), "")
	race(t, func(int) error { return d.Remove(t.Context(), name, version) })
	d.absent(name)
}
