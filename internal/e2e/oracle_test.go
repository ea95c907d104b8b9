package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/bootstrap"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/dailyrun"
	builtin "github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/engine"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/scheduler"

	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// verdict is that an object is due, for an action of a rule.
type verdict struct {
	bucket, path, version string
	kind                  engine.Kind
	rule                  engine.RuleHash
}

func (v verdict) object() [3]string { return [3]string{v.bucket, v.path, v.version} }

// builtInWalk is what SeaweedFS's own walker would delete at an instant.
func (r *rig) builtInWalk(at time.Time) []verdict {
	r.t.Helper()
	inputs, refused, err := scheduler.LoadCompileInputs(r.t.Context(), r.Filer, "/buckets")
	r.must(err)
	if len(refused) > 0 {
		r.t.Fatalf("the built-in refuses rules: %v", refused)
	}
	compiler := builtin.New()
	compiler.Compile(inputs, builtin.CompileOptions{PriorStates: scheduler.AllActivePriorStates(inputs)})
	view := builtin.RecoveryView(compiler.Snapshot())
	list := dailyrun.FilerListFunc(r.Filer, "/buckets", view)
	rec := &builtInRecorder{versioned: map[string]bool{}}
	for _, in := range inputs {
		rec.versioned[in.Bucket] = in.Versioned
		_, err := bootstrap.Walk(r.t.Context(), view, in.Bucket, list, rec, bootstrap.WalkOptions{Now: at})
		r.must(err)
	}
	return rec.verdicts
}

type builtInRecorder struct {
	versioned map[string]bool
	verdicts  []verdict
}

// Delete takes a verdict down. A bare object of a bucket with versions goes
// without an id here and as "null" in our requests.
func (rec *builtInRecorder) Delete(_ context.Context, a *builtin.CompiledAction, e *bootstrap.Entry) error {
	v := verdict{a.Bucket, e.Path, e.VersionID, a.Key.ActionKind, engine.RuleHash(a.Key.RuleHash)}
	if rec.versioned[a.Bucket] && !e.IsMPUInit && v.version == "" {
		v.version = "null"
	}
	rec.verdicts = append(rec.verdicts, v)
	return nil
}

// ourWalk is what our walk finds due at an instant, locked or not. The gateway
// answers that something changed: then the walk looks again and goes on to what
// it has not sent, up to four objects of a key, with none of them removed.
func (r *rig) ourWalk(at time.Time) ([]verdict, *pass.Report) {
	r.t.Helper()
	var mu sync.Mutex
	var list []verdict
	r.filer.at = at
	o := r.opts
	o.Now = at
	o.Observe = func(d pass.Deletion) {
		mu.Lock()
		defer mu.Unlock()
		v := verdict{d.Object.Bucket, d.Object.Path, d.Object.VersionID, d.Action.Kind, d.Action.Hash}
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	rep := pass.Walk(r.t.Context(), pass.WalkOptions{Options: o}, pass.Deps{Filer: r.filer, Gateway: changing{}, Store: r.store})
	return list, rep
}

// changing is a gateway that finds everything changed.
type changing struct{}

func (changing) Delete(context.Context, pass.DeleteRequest) (pass.DeleteResponse, error) {
	return pass.DeleteResponse{Outcome: pass.NoopResolved, Reason: "STALE_IDENTITY"}, nil
}

// compare takes apart what two walks found: objects that one of them alone
// finds due, and objects that we send for an action that the other does not
// have. The built-in sends a call for every action that fires, we for one.
func compare(ours, theirs []verdict) (onlyOurs, onlyTheirs []verdict) {
	byObject := map[[3]string]bool{}
	for _, v := range ours {
		byObject[v.object()] = true
		if !slices.Contains(theirs, v) {
			onlyOurs = append(onlyOurs, v)
		}
	}
	for _, v := range theirs {
		if !byObject[v.object()] {
			onlyTheirs = append(onlyTheirs, v)
		}
	}
	return onlyOurs, onlyTheirs
}

// On random trees that S3 clients could have made, our walk and SeaweedFS's own
// find the same objects due. E2E_SEED repeats a tree.
func TestOracleWalks(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("E2E_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t)
	g := &grower{rig: r, Rand: rand.New(rand.NewPCG(seed, 0)), now: time.Now()}
	const keys = 40
	g.plain("oracle-plain", 2*keys)
	g.versions("oracle-versioned", keys, weedtest.Versioned)
	g.versions("oracle-history", keys, weedtest.Plain, weedtest.Versioned)
	g.versions("oracle-suspended", keys, weedtest.Versioned, weedtest.Suspended)
	g.versions("oracle-resumed", keys, weedtest.Plain, weedtest.Versioned, weedtest.Suspended, weedtest.Versioned)
	g.versions("oracle-locked", keys, weedtest.Locked)

	total, due := 0, map[engine.Kind]int{}
	for _, at := range []time.Duration{0, step, day, 3 * day} {
		theirs := r.builtInWalk(g.now.Add(at))
		ours, rep := r.ourWalk(g.now.Add(at))
		if rep.Status != pass.OK {
			t.Errorf("our walk ended %q: %+v", rep.Status, rep.Errors)
		}
		onlyOurs, onlyTheirs := compare(ours, theirs)
		for _, v := range onlyOurs {
			t.Errorf("at %v only ours: %+v%s", at, v, r.describe(v))
		}
		for _, v := range onlyTheirs {
			t.Errorf("at %v only theirs: %+v%s", at, v, r.describe(v))
		}
		for _, v := range ours {
			due[v.kind]++
		}
		total += len(ours)
	}
	t.Logf("seed %d: verdicts by kind %v", seed, due)
	if total < 50 || len(due) < 3 {
		t.Error("the tree says too little")
	}
	if t.Failed() {
		t.Logf("repeat with E2E_SEED=%d", seed)
	}
}

// describe shows what lies at a key, for a person.
func (r *rig) describe(v verdict) string {
	if strings.HasPrefix(v.path, ".uploads/") {
		return ""
	}
	text := ""
	for _, o := range r.Versions(v.bucket, v.path) {
		if o.Key == v.path {
			text += fmt.Sprintf("\n\t%+v", o)
		}
	}
	return text
}
