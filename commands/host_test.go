package commands

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/cursorfile/filestest"
	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/memcluster"
)

// noon is when the tests of commands happen.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// testHost is a host whose streams are buffers, and whose cluster is in
// memory.
type testHost struct {
	Host
	t        *testing.T
	out, err bytes.Buffer

	cluster *memcluster.Cluster
	cursors *filestest.Memory
	// heldBy makes the shards' locks unavailable.
	heldBy *cluster.HeldError
	locked []int
	dialed []DialOptions
	// surveyed is what there is to know of the servers.
	surveyed cluster.Survey
	// lost is the answer to whether a lock still holds.
	lost error
}

func newTestHost(t *testing.T) *testHost {
	h := &testHost{t: t, cluster: memcluster.New(memcluster.Config{Start: noon}), cursors: filestest.NewMemory()}
	h.Host = Host{
		In: strings.NewReader(""), Out: &h.out, Err: &h.err,
		Env: []string{"HOME=" + t.TempDir()},
		Now: h.cluster.HostTime,
		Sleep: func(ctx context.Context, d time.Duration) error {
			h.cluster.Advance(d)
			return ctx.Err()
		},
		Who:  func() string { return "ann@ops1" },
		Edit: func(context.Context, string, string) error { return errors.New("no editor in this test") },
		Dial: h.dial,

		Survey: func(context.Context, DialOptions, time.Duration) cluster.Survey { return h.surveyed },
	}
	t.Chdir(t.TempDir())
	return h
}

func (h *testHost) dial(_ context.Context, o DialOptions) (*Cluster, error) {
	h.dialed = append(h.dialed, o)
	return &Cluster{
		Filer: h.cluster, Gateway: h.cluster, Cursors: h.cursors,
		Close: func() error { return nil },
		LockShards: func(_ context.Context, shards []int, _ time.Duration) (Lock, error) {
			if h.heldBy != nil {
				return nil, h.heldBy
			}
			h.locked = shards
			return testLock{h}, nil
		},
	}, nil
}

type testLock struct{ h *testHost }

func (l testLock) Err(int) error { return l.h.lost }
func (l testLock) Release()      { l.h.locked = nil }

// run runs a command line and returns the exit code.
func (h *testHost) run(args ...string) int {
	h.t.Helper()
	return h.runContext(h.t.Context(), args...)
}

func (h *testHost) runContext(ctx context.Context, args ...string) int {
	h.out.Reset()
	h.err.Reset()
	return Main(ctx, args, h.Host)
}

// must runs a command line that has to exit with a code.
func (h *testHost) must(code int, args ...string) {
	h.t.Helper()
	if got := h.run(args...); got != code {
		h.t.Fatalf("weedlc %s: exit %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), got, code, &h.out, &h.err)
	}
}

// terminal makes every stream a terminal, with answers typed on it.
func (h *testHost) terminal(answers string) {
	h.InTTY, h.OutTTY, h.ErrTTY = true, true, true
	h.In = strings.NewReader(answers)
}

// oneDay is a lifecycle document.
const oneDay = `<LifecycleConfiguration><Rule><ID>old</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`

var (
	objectOfOneByte = memcluster.Object{Size: 1}
	heldByCron      = &cluster.HeldError{Shard: 3, Owner: cluster.Owner{Host: "cron1", PID: 4711, Since: noon.Add(-time.Hour)}}
)

// bucket makes a bucket with the one-day rule and objects of one byte, written
// now.
func (h *testHost) bucket(name string, keys ...string) {
	h.t.Helper()
	check(h.t, h.cluster.CreateBucket(name, engine.Unversioned, false))
	check(h.t, h.cluster.SetRules(name, oneDay))
	for _, key := range keys {
		_, err := h.cluster.PutObject(name, key, objectOfOneByte)
		check(h.t, err)
	}
}

// write puts a file beside the cursors.
func (h *testHost) write(name, text string) {
	h.t.Helper()
	_, version, err := h.cursors.Read(h.t.Context(), name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		h.t.Fatal(err)
	}
	_, err = h.cursors.Write(h.t.Context(), name, []byte(text), version)
	check(h.t, err)
}

// read is a file beside the cursors; empty when there is none.
func (h *testHost) read(name string) string {
	data, _, err := h.cursors.Read(h.t.Context(), name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		h.t.Fatal(err)
	}
	return string(data)
}

// cursorText is a cursor file with a position.
func cursorText(t *testing.T, shard int, at time.Time) string {
	t.Helper()
	data, err := cursorfile.EncodeCursor(shard, engine.Cursor{TsNs: at.UnixNano()}, nil)
	check(t, err)
	return string(data)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains fails when a text lacks one of some parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is\n%s\nwant\n%s", what, got, want)
	}
}
