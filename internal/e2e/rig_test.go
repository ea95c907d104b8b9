package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/cluster"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

var shared weedtest.Shared

func TestMain(m *testing.M) {
	asCommand()
	os.Exit(shared.Main(m))
}

const day = 24 * time.Hour

var allShards = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// rig is a cluster, its cursors, and what a pass over it needs.
type rig struct {
	*weedtest.Client
	t       *testing.T
	server  *weedtest.Cluster
	proxy   *weedtest.Proxy
	cluster *cluster.Cluster
	filer   *filer
	gateway gateway
	store   *cursorfile.Store
	// opts are those of the next pass; Now is set by the pass.
	opts pass.Options
}

// newRig is a rig on the shared cluster, which is emptied.
func newRig(t *testing.T) *rig {
	t.Helper()
	return rigOn(t, shared.Client(t))
}

func rigOn(t *testing.T, cl *weedtest.Client) *rig {
	t.Helper()
	r := &rig{Client: cl, t: t, server: cl.Cluster()}
	r.proxy = weedtest.NewProxy(t, r.server.Addr(weedtest.Gateway).GRPC())
	r.cluster = r.dial()
	r.proxy.Forget() // the probe
	r.filer = &filer{Filer: r.cluster, logged: time.Now().Truncate(time.Minute)}
	r.gateway = gateway{Gateway: r.cluster}
	r.store = cursorfile.NewStore(r.cluster.Files(cursorfile.FilerDir), func(line string) { t.Log(line) })
	r.opts = pass.Options{
		Shards: allShards, Concurrency: 8, Settle: 5 * time.Minute,
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	}
	return r
}

// dial connects once more to the filer and, through the proxy, to the gateway.
func (r *rig) dial() *cluster.Cluster {
	r.t.Helper()
	return r.dialVia(r.server.Addr(weedtest.Filer).String())
}

// dialVia is dial with another way to the filer.
func (r *rig) dialVia(filer string) *cluster.Cluster {
	r.t.Helper()
	c, err := cluster.Dial(r.t.Context(), cluster.Options{
		Filers: []string{filer}, Gateways: []string{r.proxy.Addr()},
		NeedGateway: true, SecurityDirs: []string{r.server.Dir()},
	})
	r.must(err)
	r.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			r.t.Errorf("close: %v", err)
		}
	})
	return c
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) deps() pass.Deps {
	return pass.Deps{Filer: r.filer, Gateway: &r.gateway, Store: r.store}
}

// run is one pass, at the filer's time or, where one is set, at the filer
// double's.
func (r *rig) run(ctx context.Context) *pass.Report {
	o := r.opts
	o.Now = time.Now()
	if !r.filer.at.IsZero() {
		o.Now = r.filer.at
	}
	return pass.Run(ctx, o, r.deps())
}

// way is how a pass is made to meet what a test puts into its buckets.
type way struct {
	name   string
	replay bool
}

// ways are a walk, for a first pass, and replay, for one that follows a first
// pass over the empty buckets.
var ways = []way{{"walk", false}, {"replay", true}}

// ready makes the way for what is put into the buckets from now on.
func (w way) ready(r *rig) {
	r.t.Helper()
	if w.replay {
		r.pass(pass.OK)
	} else {
		r.opts.Settle = 0 // no event has arrived
	}
}

// taken fails unless the pass went that way.
func (w way) taken(t *testing.T, rep *pass.Report) {
	t.Helper()
	if w.replay {
		wantQuiet(t, rep)
	} else if rep.Totals.EventsScanned > 0 {
		t.Errorf("the pass has read %d events, want none", rep.Totals.EventsScanned)
	}
}

// meanwhile runs a pass and does something in the middle of it: when the nth
// delete is about to be sent, which waits as those after it do.
func (r *rig) meanwhile(ctx context.Context, n int32, do func()) *pass.Report {
	r.t.Helper()
	reached, proceed, done := make(chan struct{}), make(chan struct{}), make(chan *pass.Report, 1)
	var calls atomic.Int32
	r.gateway.before = func() {
		c := calls.Add(1)
		if c == n {
			close(reached)
		}
		if c >= n {
			<-proceed
		}
	}
	go func() { done <- r.run(ctx) }()
	select {
	case <-reached:
		func() {
			defer close(proceed)
			do()
		}()
	case rep := <-done:
		r.t.Fatalf("the pass ended %q before delete %d: %+v", rep.Status, n, rep.Errors)
	}
	rep := <-done
	r.gateway.before = nil
	return rep
}

// pass runs one pass that must end with the status and must have sent exactly
// these deletes, in any order.
func (r *rig) pass(want pass.Status, deletes ...sent) *pass.Report {
	r.t.Helper()
	r.proxy.Forget()
	rep := r.run(r.t.Context())
	if rep.Status != want {
		r.t.Fatalf("the pass ended %q, want %q: %+v", rep.Status, want, rep.Errors)
	}
	r.wantSent(deletes...)
	if n := len(r.proxy.Calls(weedtest.LifecycleDelete)); rep.Totals.DeleteCalls != int64(n) {
		r.t.Errorf("the report counts %d delete calls, the gateway saw %d", rep.Totals.DeleteCalls, n)
	}
	return rep
}

// passAt is pass at a time of its own.
func (r *rig) passAt(at time.Time, want pass.Status, deletes ...sent) *pass.Report {
	r.t.Helper()
	r.filer.at = at
	return r.pass(want, deletes...)
}

// sent is one delete as the gateway sees it.
type sent struct {
	bucket, path, version string
	kind                  engine.Kind
}

func (s sent) String() string {
	return fmt.Sprintf("%s/%s version %q, %s", s.bucket, s.path, s.version, s.kind)
}

// deletes are the calls that reached the gateway since the proxy forgot.
func (r *rig) deletes() []sent {
	var list []sent
	for _, c := range r.proxy.Calls(weedtest.LifecycleDelete) {
		list = append(list, sent{c.Delete.GetBucket(), c.Delete.GetObjectPath(), c.Delete.GetVersionId(), engine.Kind(c.Delete.GetActionKind())})
	}
	return list
}

func (r *rig) wantSent(want ...sent) {
	r.t.Helper()
	same(r.t, "deletes sent", r.deletes(), want)
}

// same compares two lists in any order, element by element.
func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	count := map[T]int{}
	for _, v := range got {
		count[v]++
	}
	for _, v := range want {
		count[v]--
	}
	var lines []string
	for v, n := range count {
		switch {
		case n > 0:
			lines = append(lines, fmt.Sprintf("%d too many: %v", n, v))
		case n < 0:
			lines = append(lines, fmt.Sprintf("%d missing: %v", -n, v))
		}
	}
	if len(lines) > 0 {
		slices.Sort(lines)
		t.Errorf("%s: %d, want %d\n\t%s", what, len(got), len(want), strings.Join(lines, "\n\t"))
	}
}

// wantKeys compares the current objects of a bucket.
func (r *rig) wantKeys(bucket string, want ...string) {
	r.t.Helper()
	same(r.t, "keys of "+bucket, r.Keys(bucket), want)
}

// version is a line of a version listing, without what a pass does not change.
type version struct {
	key, id        string
	latest, marker bool
}

func (r *rig) versions(bucket string) []version {
	r.t.Helper()
	var list []version
	for _, v := range r.Versions(bucket, "") {
		list = append(list, version{v.Key, v.ID, v.Latest, v.Marker})
	}
	return list
}

// wantVersions compares the versions of a bucket.
func (r *rig) wantVersions(bucket string, want ...version) {
	r.t.Helper()
	same(r.t, "versions of "+bucket, r.versions(bucket), want)
}

// wantMarked compares the versions of a bucket in which one key has got a
// delete marker, whose id is not known before.
func (r *rig) wantMarked(bucket, key string, want ...version) {
	r.t.Helper()
	got := r.versions(bucket)
	i := slices.IndexFunc(got, func(v version) bool {
		return v.key == key && v.latest && v.marker && !slices.Contains(want, v)
	})
	if i < 0 {
		r.t.Errorf("key %q of %s has got no delete marker: %v", key, bucket, got)
		return
	}
	same(r.t, "versions of "+bucket+" beside the marker", slices.Delete(got, i, i+1), want)
}

// state is what is kept of one shard.
func (r *rig) state(shard int) engine.ShardState {
	r.t.Helper()
	at := time.Now()
	if r.filer.at.After(at) {
		at = r.filer.at
	}
	st, err := r.store.Load(r.t.Context(), shard, at)
	r.must(err)
	return st
}

// cursors are the cursor files as they lie on the filer, by shard.
func (r *rig) cursors() map[int]engine.Cursor {
	r.t.Helper()
	all := map[int]engine.Cursor{}
	for _, sh := range allShards {
		if st := r.state(sh); st.Found {
			all[sh] = st.Cursor
		}
	}
	return all
}

// shardReport is the part of a report that is about a shard.
func shardReport(t *testing.T, rep *pass.Report, shard int) pass.ShardReport {
	t.Helper()
	for _, s := range rep.Shards {
		if s.Shard == shard {
			return s
		}
	}
	t.Fatalf("the report has no shard %d", shard)
	return pass.ShardReport{}
}

// wantQuiet fails unless the pass walked nothing and none of its shards saw a
// reason to.
func wantQuiet(t *testing.T, rep *pass.Report) {
	t.Helper()
	if rep.Totals.EntriesWalked != 0 {
		t.Errorf("%d entries were walked, want none", rep.Totals.EntriesWalked)
	}
	wantRecovery(t, rep, "")
}

// wantRecovery fails unless every shard gives the reason.
func wantRecovery(t *testing.T, rep *pass.Report, want string) {
	t.Helper()
	for _, s := range rep.Shards {
		if s.Recovery != want {
			t.Errorf("shard %d walked because of %q, want %q", s.Shard, s.Recovery, want)
		}
	}
}

// keysInShard are n keys of one shard, ascending.
func keysInShard(bucket string, shard, n int) []string {
	var keys []string
	for i := 0; len(keys) < n; i++ {
		if key := fmt.Sprintf("k%04d", i); engine.ShardOf(bucket, key) == shard {
			keys = append(keys, key)
		}
	}
	return keys
}

func sorted[T cmp.Ordered](list []T) []T { return slices.Sorted(slices.Values(list)) }

// getVersion is the content of one version.
func (r *rig) getVersion(bucket, key, id string) string {
	r.t.Helper()
	out, err := r.S3.GetObject(r.t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key, VersionId: &id})
	r.must(err)
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	r.must(err)
	return string(data)
}

// containsQuoted reports whether a text names a key in quotes.
func containsQuoted(text, key string) bool { return strings.Contains(text, fmt.Sprintf("%q", key)) }
