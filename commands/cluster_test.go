package commands

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/seaweedfs/seaweedfs/weed/pb/s3_lifecycle_pb"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/weedtest"
)

// TestCluster runs the command lines that need a SeaweedFS, one script after
// the other: a pass sees every bucket.
func TestCluster(t *testing.T) {
	files, err := filepath.Glob("testdata/cluster/*.txtar")
	check(t, err)
	c := shared.Cluster(t)
	for _, file := range files {
		// Scripts run in parallel with those of the same test: each has its own.
		t.Run("script", func(t *testing.T) {
			shared.Client(t)
			testscript.Run(t, clusterScript(c, file))
		})
	}
}

// TestSecureCluster runs the command lines that need a SeaweedFS with TLS and a
// signing key. SECURITY is the directory of a client's security.toml.
func TestSecureCluster(t *testing.T) {
	c := weedtest.New(t, weedtest.Config{TLS: true, SigningKey: "the-signing-key"})
	p := clusterScript(c, "testdata/secure/secure.txtar")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("SECURITY", c.Dir())
		return setup(env)
	}
	testscript.Run(t, p)
	secureWorker(t, c)
}

func clusterScript(c *weedtest.Cluster, file string) testscript.Params {
	s := &scripts{cluster: c}
	return testscript.Params{
		Files:               []string{file},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("WEEDLC_MASTER", c.Addr(weedtest.Master).String())
			env.Setenv("FILER", c.Addr(weedtest.Filer).String())
			env.Setenv("FILER_GRPC", c.Addr(weedtest.Filer).GRPC())
			env.Setenv("S3", c.Addr(weedtest.Gateway).GRPC())
			env.Setenv("S3_HTTP", c.Addr(weedtest.Gateway).HTTP())
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run":       runScript,
			"bucket":    s.bucket,
			"put":       s.put,
			"rules":     s.rules,
			"has":       s.has,
			"backup":    s.backup,
			"proxy":     s.proxied,
			"block":     s.block,
			"noservice": s.noService,
			"clear":     s.clear,
			"calls":     s.calls,
			"corrupt":   s.corrupt,
			"hold":      s.hold,
			"release":   s.release,
		},
	}
}

// scripts are the commands by which a script fills a cluster.
type scripts struct {
	cluster *weedtest.Cluster
	proxy   *weedtest.Proxy
	held    *cluster.Held
}

// bucket is "bucket NAME RULES": a bucket with the rules in a file.
func (s *scripts) bucket(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, "bucket NAME RULES")
	s.client(ts).CreateBucket(args[0], weedtest.Plain, ts.ReadFile(args[1]))
}

// rules is "rules NAME RULES": the rules in a file, past S3's checks.
func (s *scripts) rules(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, "rules NAME RULES")
	s.client(ts).StoreRules(args[0], ts.ReadFile(args[1]))
}

// put is "put BUCKET KEY AGE": an object of that age.
func (s *scripts) put(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3, "put BUCKET KEY AGE")
	age, err := parseDuration(args[2])
	ts.Check(err)
	s.client(ts).Put(args[0], args[1], weedtest.Object{Body: "x", Age: age})
}

// has is "has BUCKET [KEY...]": the bucket has these keys and no others.
func (s *scripts) has(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: has BUCKET [KEY...]")
	}
	got, want := strings.Join(s.client(ts).Keys(args[0]), " "), strings.Join(args[1:], " ")
	if got != want {
		ts.Fatalf("bucket %s has %q, want %q", args[0], got, want)
	}
}

// backup is "backup FILE": the metadata of everything, as weed shell saves it.
func (s *scripts) backup(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "backup FILE")
	s.client(ts).SaveBackup(ts.MkAbs(args[0]), "/")
}

// proxied is "proxy": a proxy in front of the gateway, at $PROXY.
func (s *scripts) proxied(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "proxy")
	s.proxy = weedtest.NewProxy(scriptTB{ts}, s.cluster.Addr(weedtest.Gateway).GRPC())
	ts.Setenv("PROXY", s.proxy.Addr())
}

// block is "block BUCKET KEY": the proxy answers BLOCKED for the key.
func (s *scripts) block(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, "block BUCKET KEY")
	s.proxy.Add(weedtest.Rule{
		Method: weedtest.LifecycleDelete, Bucket: args[0], Path: args[1],
		Outcome: s3_lifecycle_pb.LifecycleDeleteOutcome_BLOCKED, Reason: "held by a test",
	})
}

// noService is "noservice": the proxy answers as a gateway without the lifecycle
// service.
func (s *scripts) noService(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "noservice")
	s.proxy.Add(weedtest.Rule{Method: weedtest.LifecycleDelete, Err: weedtest.NoService()})
}

func (s *scripts) clear(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "clear")
	s.proxy.Clear()
}

// calls is "calls N": so many deletes have reached the proxy.
func (s *scripts) calls(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "calls N")
	got := 0
	for _, c := range s.proxy.Calls(weedtest.LifecycleDelete) {
		// A call without a bucket is how weedlc asks whether a gateway is there.
		if c.Delete.GetBucket() != "" {
			got++
		}
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%d delete calls, want %s", got, args[0])
	}
}

// corrupt is "corrupt NAME FILE": a file beside the cursors, unchecked.
func (s *scripts) corrupt(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, "corrupt NAME FILE")
	s.client(ts).WriteFile(cursorfile.FilerDir+"/"+args[0], []byte(ts.ReadFile(args[1])))
}

// hold is "hold SHARD": another takes the lock of a shard, until "release".
func (s *scripts) hold(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "hold SHARD")
	shards, err := engine.ParseShards(args[0])
	ts.Check(err)
	c, err := cluster.Dial(context.Background(), cluster.Options{Masters: []string{s.cluster.Addr(weedtest.Master).String()}})
	ts.Check(err)
	ts.Defer(func() { ts.Check(c.Close()) })
	s.held, err = c.LockShards(context.Background(), shards, cluster.Owner{Host: "cron1", PID: 4711, Since: noon}, time.Minute)
	ts.Check(err)
}

func (s *scripts) release(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "release")
	s.held.Release()
}

func (s *scripts) client(ts *testscript.TestScript) *weedtest.Client {
	return s.cluster.Client(scriptTB{ts})
}

func arguments(ts *testscript.TestScript, neg bool, args []string, want int, usage string) {
	if neg || len(args) != want {
		ts.Fatalf("usage: %s", usage)
	}
}

// scriptTB lets a script stand for a test.
type scriptTB struct{ ts *testscript.TestScript }

func (s scriptTB) Helper()                           {}
func (s scriptTB) Logf(format string, args ...any)   { s.ts.Logf(format, args...) }
func (s scriptTB) Fatalf(format string, args ...any) { s.ts.Fatalf(format, args...) }
func (s scriptTB) Failed() bool                      { return false }
func (s scriptTB) Cleanup(fn func())                 { s.ts.Defer(fn) }
func (s scriptTB) Context() context.Context          { return context.Background() }
