package weedtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/grpc"
)

func TestSeparateFilerIsKilledFrozenAndRestarted(t *testing.T) {
	t.Parallel()
	c := New(t, Config{Separate: true, SecondFiler: true, ConventionalPorts: true})
	cl := c.Client(t)
	cl.CreateBucket("bkt", Plain, noRules)
	cl.Put("bkt", "k", Object{Body: "x"})

	if err := c.Freeze(Filer); err != nil {
		t.Fatal(err)
	}
	if err := pingFiler(t.Context(), c, Filer, time.Second); err == nil {
		t.Error("a frozen filer answered")
	}
	if err := c.Thaw(Filer); err != nil {
		t.Fatal(err)
	}
	if err := pingFiler(t.Context(), c, Filer, 30*time.Second); err != nil {
		t.Errorf("a thawed filer does not answer: %v", err)
	}
	if err := c.Kill(Filer); err != nil {
		t.Fatal(err)
	}
	if err := pingFiler(t.Context(), c, Filer, time.Second); err == nil {
		t.Error("a killed filer answered")
	}
	if err := pingFiler(t.Context(), c, Filer2, 10*time.Second); err != nil {
		t.Errorf("the second filer went with the first: %v", err)
	}
	if err := c.Restart(t.Context(), Filer); err != nil {
		t.Fatal(err)
	}
	if body, ok := cl.Get("bkt", "k"); !ok || body != "x" {
		t.Errorf("after the restart the key reads %q, %v", body, ok)
	}
	if err := c.Kill(Server); err == nil || !strings.Contains(err.Error(), `no process "server"`) {
		t.Errorf("killing a process that the cluster does not have: %v", err)
	}
}

func TestSecuredClusterServes(t *testing.T) {
	t.Parallel()
	c := New(t, Config{
		TLS: true, SigningKey: "secret", SecondGateway: true,
		Credentials: Credentials{AccessKey: "key", SecretKey: "secret"},
	})
	cl := c.Client(t)
	cl.CreateBucket("bkt", Versioned, oneDay)
	cl.Put("bkt", "k", Object{Body: "x"})

	plain, err := (&Cluster{}).Dial(c.Addr(Filer).GRPC())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := ping(t.Context(), plain, 5*time.Second); err == nil {
		t.Error("the filer answered without TLS")
	}
	if _, err := c.Shell(t.Context(), "fs.ls /buckets"); err != nil {
		t.Errorf("the shell does not reach the cluster: %v", err)
	}
	cr := c.config.Credentials
	c.config.Credentials = Credentials{AccessKey: "key", SecretKey: "wrong"}
	code, answer, err := c.Client(t).TryPutRules("bkt", oneDay)
	c.config.Credentials = cr
	if err != nil || code != 403 {
		t.Errorf("a wrong secret was answered %d %s, %v", code, answer, err)
	}
}

func TestShellReportsTheLastFailure(t *testing.T) {
	out, err := shared.Cluster(t).Shell(t.Context(), "s3.lifecycle.run-shard -shards 0-15")
	if err == nil || !strings.Contains(err.Error(), "-s3 required") {
		t.Errorf("the shell said %v\n%s", err, out)
	}
}

func pingFiler(ctx context.Context, c *Cluster, role Role, within time.Duration) error {
	conn, err := c.Dial(c.Addr(role).GRPC())
	if err != nil {
		return err
	}
	defer conn.Close()
	return ping(ctx, conn, within)
}

func ping(ctx context.Context, conn *grpc.ClientConn, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := filer_pb.NewSeaweedFilerClient(conn).GetFilerConfiguration(ctx,
		&filer_pb.GetFilerConfigurationRequest{}, grpc.WaitForReady(true))
	return err
}

func TestSlotsAreDisjointAndSwept(t *testing.T) {
	a, err := acquireSlot(false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := acquireSlot(true)
	if err != nil {
		t.Fatal(err)
	}
	if a.dir == b.dir || a.base == b.base {
		t.Errorf("two clusters share slot %q", a.dir)
	}
	if got := a.address(Master); got.String() != got.HTTP()+"."+strings.TrimPrefix(got.GRPC(), "127.0.0.1:") {
		t.Errorf("an unconventional address is %q", got)
	}
	if got := b.address(Master); got.String() != got.HTTP() {
		t.Errorf("a conventional address is %q", got)
	}
	for _, s := range []*slot{a, b} {
		if err := s.release(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
			t.Errorf("%q is left: %v", s.dir, err)
		}
	}
}

func TestBinaryNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	weed := filepath.Join(dir, "weed")
	script := func(version string) {
		t.Helper()
		text := "#!/bin/sh\necho 'version 30GB " + version + "  linux amd64'\n"
		if err := os.WriteFile(weed, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	script(ServerVersion)
	if got, err := Binary(t.Context()); err != nil || got != weed {
		t.Errorf("a fitting weed on PATH gives %q, %v", got, err)
	}
	script("3.99")
	if got, err := Binary(t.Context()); err == nil && got == weed {
		t.Error("weed 3.99 on PATH was taken")
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.tool.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	_, err := Binary(t.Context())
	if err == nil || !strings.Contains(err.Error(), `is version "3.99"`) || !strings.Contains(err.Error(), "make -C "+root+" weed") {
		t.Errorf("without a weed the error is %v", err)
	}
}
