package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
	"weedlc/pass"
)

// untouchable is a gateway that must not be called.
type untouchable struct{ t *testing.T }

func (g untouchable) Delete(_ context.Context, req pass.DeleteRequest) (pass.DeleteResponse, error) {
	g.t.Errorf("a dry run sent %+v", req)
	return pass.DeleteResponse{}, errors.New("not in a dry run")
}

// state is everything that is stored on the cluster, and every file beside the
// cursors.
func (h *testHost) state() string {
	h.t.Helper()
	var b strings.Builder
	for _, bucket := range h.cluster.Stored() {
		fmt.Fprintf(&b, "%+v\n", bucket)
		tree := h.cluster.Tree(bucket.Name)
		for _, p := range slices.Sorted(maps.Keys(tree)) {
			fmt.Fprintf(&b, "%s %+v\n", p, tree[p])
		}
	}
	names, err := h.cursors.List(h.t.Context())
	check(h.t, err)
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\n", name, h.read(name))
	}
	fmt.Fprintf(&b, "%d events, %d deletes", len(h.cluster.Events()), len(h.cluster.Deletes()))
	return b.String()
}

// onlyLooking has a function run commands that must neither send a delete nor
// take a lock nor change anything that is stored, cursors included.
func (h *testHost) onlyLooking(look func()) {
	h.t.Helper()
	before, dial := h.state(), h.Host.Dial
	h.Dial = func(ctx context.Context, o DialOptions) (*Cluster, error) {
		if o.NeedGateway {
			h.t.Error("a gateway was asked for")
		}
		c, err := dial(ctx, o)
		c.Gateway = untouchable{h.t}
		c.LockShards = func(context.Context, []int, time.Duration) (Lock, error) {
			h.t.Error("a lock was taken")
			return nil, errors.New("not in a dry run")
		}
		return c, err
	}
	look()
	h.Dial = dial
	equal(h.t, "the state behind it", h.state(), before)
}

// deletesForeseen are the deletes that the lines of a dry run stand for, and how
// many of them are locked.
func (h *testHost) deletesForeseen() (all []string, locked int) {
	h.t.Helper()
	for line := range strings.Lines(h.out.String()) {
		l := object(h.t, []byte(line))
		if l["locked_until"] != nil {
			locked++
			continue
		}
		path := l["key"]
		if id, ok := l["upload_id"]; ok {
			path = ".uploads/" + id.(string)
		}
		all = append(all, fmt.Sprintln(l["bucket"], path, l["version_id"], l["action"], l["rule_hash"]))
	}
	slices.Sort(all)
	return all, locked
}

// deletesSent are those that reached the gateway.
func (h *testHost) deletesSent() (all []string) {
	for _, d := range h.cluster.Deletes() {
		r := d.Request
		all = append(all, fmt.Sprintln(r.Bucket, r.Path, r.VersionID, r.Kind, r.RuleHash))
	}
	slices.Sort(all)
	return all
}

// TestDryRunForeseesEveryKind compares what is listed of every kind of object
// with what run then deletes.
func TestDryRunForeseesEveryKind(t *testing.T) {
	for _, args := range [][]string{nil, {"--pass"}} {
		t.Run(strings.Join(args, ""), func(t *testing.T) {
			h := newDryRunHost(t)
			h.onlyLooking(func() {
				for _, form := range []string{"table", "tsv", "json", "markdown", "html"} {
					h.must(exitDone, append([]string{"dry-run", "--output", form}, args...)...)
				}
				h.must(exitDone, append([]string{"dry-run", "--output", "jsonl", "--locked"}, args...)...)
			})
			foreseen, locked := h.deletesForeseen()
			h.must(exitDone, "run")
			if sent := h.deletesSent(); !slices.Equal(foreseen, sent) || len(sent) != 9 || locked != 1 {
				t.Errorf("%d locked, foreseen and sent:\n%s\n%s", locked, foreseen, sent)
			}
			h.onlyLooking(func() { h.must(exitDone, append([]string{"dry-run", "--output", "jsonl"}, args...)...) })
			equal(t, "what is left to do", h.out.String(), "")
		})
	}
}

// samples makes buckets as in scenarios 13, 22 and 29, on a cluster whose passes
// go back to before there were objects, or on one that never had a pass.
func (h *testHost) samples(passed bool) {
	h.t.Helper()
	h.installed("overlap", engine.Unversioned,
		rule("R1", "", expireAfter(30)), rule("R2", prefix("logs/"), expireAfter(15)), rule("R3", prefix("logs/app/"), expireAfter(60)))
	h.installed("count", engine.Enabled, rule("R", "",
		"<NoncurrentVersionExpiration><NoncurrentDays>10</NoncurrentDays><NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration>"))
	h.installed("uploads", engine.Unversioned, rule("R", prefix("video/"),
		"<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>"))
	h.cluster.AdvanceTo(scenarioNow.Add(-50 * day))
	if passed {
		h.must(exitDone, "run")
	}
	upload := func(key string, age time.Duration) string {
		h.cluster.AdvanceTo(scenarioNow.Add(-age))
		id, err := h.cluster.CreateUpload("uploads", key, memcluster.Object{})
		check(h.t, err)
		return id
	}
	h.object("overlap", "misc/c", scenarioNow, 40*day, objectOfOneByte)
	h.object("count", "k", scenarioNow, 40*day, objectOfOneByte) // v2
	upload("docs/b", 30*day)
	nameless := upload("video/d", 30*day)
	check(h.t, h.cluster.Edit("uploads", ".uploads/"+nameless, func(e *engine.Entry) { delete(e.Extended, "key") }))
	h.object("count", "k", scenarioNow, 30*day, objectOfOneByte) // v3
	h.object("overlap", "logs/app/a", scenarioNow, 20*day, objectOfOneByte)
	h.object("overlap", "misc/b", scenarioNow, 20*day, objectOfOneByte)
	h.object("count", "k", scenarioNow, 20*day, objectOfOneByte) // v4
	h.object("count", "k", scenarioNow, 12*day, objectOfOneByte) // v5
	active := upload("video/a", 10*day)
	upload("video/c", 3*day)
	h.object("count", "k", scenarioNow, day, objectOfOneByte) // v6
	h.cluster.AdvanceTo(scenarioNow.Add(-time.Hour))
	check(h.t, h.cluster.UploadPart("uploads", active, 1, 5))
	h.cluster.AdvanceTo(scenarioNow)
}

// TestScenario50_DryRunTellsTheTruth: what a dry run lists of the samples is
// what run deletes, and before and after it everything is the same, cursors
// included.
func TestScenario50_DryRunTellsTheTruth(t *testing.T) {
	for name, passed := range map[string]bool{"without cursors": false, "with cursors": true} {
		t.Run(name, func(t *testing.T) {
			h := newHostBefore(t, scenarioNow)
			h.samples(passed)
			h.onlyLooking(func() {
				h.must(exitDone, "dry-run", "--output", "json")
				var listed []string
				for _, o := range object(t, h.out.Bytes())["objects"].([]any) {
					l := o.(map[string]any)
					listed = append(listed, fmt.Sprint(l["bucket"], " ", l["key"], " ", l["action"], " by ", l["rule_id"]))
				}
				equal(t, "what is listed", strings.Join(listed, "\n"), `count k noncurrent_days by R
count k noncurrent_days by R
overlap logs/app/a expiration_days by R2
overlap misc/c expiration_days by R1
uploads video/a abort_mpu by R`)
				h.must(exitDone, "dry-run", "--pass")
				h.must(exitDone, "dry-run", "--output", "jsonl")
			})
			foreseen, _ := h.deletesForeseen()
			if names, err := h.cursors.List(t.Context()); err != nil || passed != (len(names) > 0) {
				t.Errorf("files of cursors: %v, %v", names, err)
			}
			h.must(exitDone, "run")
			equal(t, "what was deleted", strings.Join(h.deletesSent(), ""), strings.Join(foreseen, ""))
			h.onlyLooking(func() {
				h.must(exitDone, "dry-run")
				equal(t, "what is left to do", h.out.String(), "")
			})
		})
	}
}

// TestDryRunOfASuspendedBucket: the delete marker that a pass puts itself cannot
// be listed; that a rule takes it is said.
func TestDryRunOfASuspendedBucket(t *testing.T) {
	markers := rule("markers", prefix("a"), "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>")
	week := rule("week", "", expireAfter(7))
	told := newMarkersText(1)
	h := newHostBefore(t, scenarioNow)
	h.installed("plain", engine.Unversioned, week)
	h.installed("versioned", engine.Enabled, week, markers)
	h.installed("suspended", engine.Enabled, week, markers)
	check(t, h.cluster.SetVersioning("suspended", engine.Suspended))
	h.file("week.xml", lifecycle(week))
	for _, bucket := range []string{"plain", "versioned", "suspended"} {
		h.object(bucket, "a", scenarioNow, 9*day, objectOfOneByte)
		h.object(bucket, "b", scenarioNow, 9*day, objectOfOneByte)
	}
	h.cluster.AdvanceTo(scenarioNow)
	h.must(exitDone, "dry-run", "--bucket", "plain,versioned")
	h.must(exitDone, "dry-run", "--bucket", "suspended", "--rules", "week.xml")
	if strings.Contains(h.err.String(), "suspended buckets") {
		t.Errorf("without the rule:\n%s", &h.err)
	}
	h.must(exitDone, "dry-run", "--bucket", "suspended", "--output", "jsonl")
	contains(t, h.err.String(), told)
	foreseen, _ := h.deletesForeseen()
	h.must(exitDone, "run")
	h.must(exitDone, "run")
	var sent, own []string
	for _, d := range h.deletesSent() {
		switch {
		case !strings.HasPrefix(d, "suspended"):
		case strings.Contains(d, engine.ExpiredDeleteMarker.String()):
			own = append(own, d)
		default:
			sent = append(sent, d)
		}
	}
	if !slices.Equal(foreseen, sent) || len(own) != 1 || !strings.HasPrefix(own[0], "suspended a ") {
		t.Errorf("foreseen %q, sent %q, and of markers that were made meanwhile %q", foreseen, sent, own)
	}
	h.must(exitDone, "dry-run")
	equal(t, "what is left to do", h.out.String(), "")
}

// TestDryRunLeavesABlockedShardAlone: neither a blocked shard nor a damaged
// cursor is touched by looking, and what is due is listed in spite of them.
func TestDryRunLeavesABlockedShardAlone(t *testing.T) {
	h := newHostBefore(t, scenarioNow)
	h.samples(true)
	busy := memcluster.Answer{Outcome: engine.Blocked, Reason: "busy"}
	h.cluster.AnswerDeletes("overlap", "misc/c", busy, busy) // by replay, and by the bucket's reconciliation
	h.must(exitUndone, "run")
	h.write(fmt.Sprintf("shard-%02d.json", (engine.ShardOf("overlap", "misc/c")+1)%engine.ShardCount), "{")
	h.onlyLooking(func() {
		h.must(exitCorrupt, "dry-run", "--pass")
		h.must(exitDone, "dry-run")
		equal(t, "what is left to do", tsvColumn(h.out.String(), 1), "misc/c")
	})
}
