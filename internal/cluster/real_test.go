package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/cursorfile/filestest"
	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

var shared weedtest.Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// dialShared connects to the shared server as a user does: by its master.
func dialShared(t *testing.T) *cluster.Cluster {
	t.Helper()
	server := shared.Cluster(t)
	o := options(t)
	o.SecurityDirs = []string{server.Dir()}
	o.RegisterTimeout = 10 * time.Second
	o.Masters, o.NeedGateway = []string{server.Addr(weedtest.Master).String()}, true
	return dial(t, o)
}

func TestFiles(t *testing.T) {
	cl, c := shared.Client(t), dialShared(t)
	n := 0
	filestest.Conformance(t, func(*testing.T) cursorfile.Files {
		cl.Remove("/etc/s3/lifecycle")
		n++
		return c.Files(fmt.Sprintf("/etc/s3/lifecycle/test-%d", n))
	})
}

// The built-in worker's files are read, and its way of writing one is a change
// like any other.
func TestFilesBesideTheBuiltIn(t *testing.T) {
	cl, c := shared.Client(t), dialShared(t)
	const path = cursorfile.FilerDir + "/shard-03.json"
	files := c.Files(cursorfile.FilerDir)
	cl.WriteFile(path, []byte("built-in"))
	data, version, err := files.Read(t.Context(), "shard-03.json")
	if err != nil || string(data) != "built-in" {
		t.Fatalf("read %q, %v", data, err)
	}
	if version, err = files.Write(t.Context(), "shard-03.json", []byte("ours"), version); err != nil {
		t.Fatal(err)
	}
	e := cl.Lookup(path)
	if string(e.GetContent()) != "ours" || len(e.GetChunks()) > 0 || e.GetAttributes().GetFileSize() != 4 || e.GetIsDirectory() {
		t.Errorf("the entry is %v", e)
	}
	cl.WriteFile(path, []byte("built-in again"))
	if _, err := files.Write(t.Context(), "shard-03.json", []byte("ours again"), version); !errors.Is(err, engine.ErrChanged) {
		t.Errorf("write over a change: %v", err)
	}
	if err := files.Remove(t.Context(), "shard-03.json", version); !errors.Is(err, engine.ErrChanged) {
		t.Errorf("removal of a change: %v", err)
	}
	if got := cl.ReadFile(path); string(got) != "built-in again" {
		t.Errorf("the file holds %q", got)
	}
}

// A file that a person uploads to the filer lies in chunks.
func TestFilesInChunks(t *testing.T) {
	cl, c := shared.Client(t), dialShared(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 6<<16) // 6 MB, two chunks
	url := "http://" + shared.Cluster(t).Addr(weedtest.Filer).HTTP() + cursorfile.FilerDir + "/a%20b.json"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("upload: %s %s %v", resp.Status, answer, err)
	}
	if e := cl.Lookup(cursorfile.FilerDir + "/a b.json"); len(e.GetChunks()) < 2 {
		t.Fatalf("the file has %d chunks", len(e.GetChunks()))
	}

	files := c.Files(cursorfile.FilerDir)
	data, version, err := files.Read(t.Context(), "a b.json")
	if err != nil || !bytes.Equal(data, content) {
		t.Fatalf("read %d bytes, %v", len(data), err)
	}
	if version, err = files.Write(t.Context(), "a b.json", []byte("small"), version); err != nil {
		t.Fatal(err)
	}
	if data, got, err := files.Read(t.Context(), "a b.json"); err != nil || string(data) != "small" || got != version {
		t.Errorf("read %q, version %q, %v", data, got, err)
	}
}

func TestFileThatIsADirectory(t *testing.T) {
	cl, c := shared.Client(t), dialShared(t)
	cl.WriteFile(cursorfile.FilerDir+"/shard-03.json/x", nil)
	files := c.Files(cursorfile.FilerDir)
	if _, _, err := files.Read(t.Context(), "shard-03.json"); err == nil || errors.Is(err, engine.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	if _, err := files.Write(t.Context(), "shard-03.json", []byte("x"), ""); err == nil {
		t.Error("a directory was overwritten")
	}
	if names, err := files.List(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("list %q, %v", names, err)
	}
}

func owner(pid int) cluster.Owner {
	return cluster.Owner{Host: "host.example", PID: pid, Since: time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)}
}

func TestLocks(t *testing.T) {
	shared.Client(t)
	c, other := dialShared(t), dialShared(t)
	held, err := c.LockShards(t.Context(), []int{5, 3, 4, 3}, owner(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range []int{3, 4, 5} {
		if err := held.Err(shard); err != nil {
			t.Errorf("shard %d: %v", shard, err)
		}
	}
	if held.Err(6) == nil {
		t.Error("shard 6 is held without a lock")
	}

	// All or none: shards 1 and 2 are free again after the refusal.
	_, err = other.LockShards(t.Context(), []int{1, 2, 3}, owner(2), 0)
	refused, ok := errors.AsType[*cluster.HeldError](err)
	if !ok || refused.Shard != 3 || refused.Owner != owner(1) {
		t.Fatalf("second lock: %v", err)
	}
	for _, word := range []string{"shard 3", "process 1", `"host.example"`, "2030-06-15T12:00:00Z"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not name %s", err, word)
		}
	}
	free, err := other.LockShards(t.Context(), []int{1, 2}, owner(2), 0)
	if err != nil {
		t.Fatal(err)
	}
	free.Release()

	held.Release()
	again, err := other.LockShards(t.Context(), []int{3, 4, 5}, owner(2), 0)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestLockWait(t *testing.T) {
	shared.Client(t)
	c, other := dialShared(t), dialShared(t)
	held, err := c.LockShards(t.Context(), []int{0}, owner(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	// Longer than the lock lives unless it is renewed.
	start := time.Now()
	if _, err := other.LockShards(t.Context(), []int{0}, owner(2), 1500*time.Millisecond); err == nil {
		t.Fatal("the lock was taken under its holder")
	}
	if took := time.Since(start); took < 1500*time.Millisecond {
		t.Errorf("waited for %s", took)
	}
	if err := held.Err(0); err != nil {
		t.Error(err)
	}
	go held.Release()
	got, err := other.LockShards(t.Context(), []int{0}, owner(2), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.LockShards(ctx, []int{0}, owner(1), time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled wait: %v", err)
	}
}

// A process that dies leaves its locks for no longer than they live.
func TestLockOfTheDead(t *testing.T) {
	shared.Client(t)
	server := shared.Cluster(t)
	link := weedtest.NewLink(t, server.Addr(weedtest.Filer).GRPC())
	o := options(t)
	o.CallTimeout = 200 * time.Millisecond
	o.SecurityDirs = []string{server.Dir()}
	o.Filers = []string{dotted(link.Addr())}
	c, other := dial(t, o), dialShared(t)
	held, err := c.LockShards(t.Context(), []int{7}, owner(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	link.Cut()
	got, err := other.LockShards(t.Context(), []int{7}, owner(2), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if err := held.Err(7); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("the first holder: %v", err)
	}
	link.Restore()
	held.Release()
	if err := got.Err(7); err != nil {
		t.Errorf("the second holder: %v", err)
	}
}

func TestDeleteOnARealGateway(t *testing.T) {
	cl, c := shared.Client(t), dialShared(t)
	cl.CreateBucket("plain", weedtest.Plain, "")
	cl.Put("plain", "k", weedtest.Object{Body: "x"})
	req := pass.DeleteRequest{Bucket: "plain", Path: "k", Kind: engine.ExpirationDays, Identity: engine.Identity{MtimeNs: 1}}
	resp, err := c.Delete(t.Context(), req)
	if err != nil || resp.Outcome != pass.NoopResolved || resp.Reason != "STALE_IDENTITY" {
		t.Errorf("delete of another: %v, %v", resp, err)
	}
	if keys := cl.Keys("plain"); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys %q", keys)
	}
}

// ignore is a reader of the log that is only interested in its end.
func ignore(*engine.Event) error { return nil }

func TestScenario42_QuietLogEnds(t *testing.T) {
	shared.Client(t)
	c := dialShared(t)
	now, err := c.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := c.ReadLog(t.Context(), engine.LogRange{AfterNs: now.Add(-time.Hour).UnixNano(), UntilNs: now.UnixNano()}, ignore); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("reading a quiet log took %s", took)
	}
}

// A filer that hangs, with its connections open, is one that answers nothing.
func TestSilentFiler(t *testing.T) {
	shared.Client(t)
	server := shared.Cluster(t)
	link := weedtest.NewLink(t, server.Addr(weedtest.Filer).GRPC())
	o := options(t)
	o.CallTimeout, o.Silence = time.Second, time.Second
	o.SecurityDirs = []string{server.Dir()}
	o.Filers = []string{dotted(link.Addr())}
	c := dial(t, o)
	link.Silence()
	for name, call := range calls(t, c) {
		start := time.Now()
		err := call()
		if took := time.Since(start); err == nil || took > 5*time.Second || !strings.Contains(err.Error(), o.Filers[0]) {
			t.Errorf("%s: %v after %s", name, err, took)
		}
	}
	link.Restore()
	for name, call := range calls(t, c) {
		if err := call(); err != nil {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
}

// calls are one of each kind of reading call.
func calls(t *testing.T, c *cluster.Cluster) map[string]func() error {
	return map[string]func() error{
		"now":     func() error { _, err := c.Now(t.Context()); return err },
		"buckets": func() error { _, err := c.Buckets(t.Context()); return err },
		"horizon": func() error { _, err := c.LogHorizon(t.Context()); return err },
		"log": func() error {
			until := time.Now().UnixNano()
			return c.ReadLog(t.Context(), pass.LogRange{AfterNs: until - 1e9, UntilNs: until}, ignore)
		},
	}
}
