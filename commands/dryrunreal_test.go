package commands

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/engine"
	"weedlc/internal/weedtest"
)

// realTree is a random tree on a real SeaweedFS: plain, versioned, suspended
// and locked buckets, uploads, tags, odd keys.
type realTree struct {
	*weedtest.Client
	t    *testing.T
	r    *rand.Rand
	keys []string
}

// treeRules have every kind of action. What they select overlaps.
const treeRules = `<LifecycleConfiguration>
<Rule><ID>seven</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><Expiration><Days>7</Days></Expiration><AbortIncompleteMultipartUpload><DaysAfterInitiation>3</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>
<Rule><ID>tagged</ID><Status>Enabled</Status><Filter><And><Prefix>a</Prefix><Tag><Key>t</Key><Value>1</Value></Tag></And></Filter><Expiration><Days>2</Days></Expiration></Rule>
<Rule><ID>large</ID><Status>Enabled</Status><Filter><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan></Filter><Expiration><Date>2020-01-01T00:00:00Z</Date></Expiration></Rule>
<Rule><ID>off</ID><Status>Disabled</Status><Filter><Prefix></Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>
</LifecycleConfiguration>`

const versionRules = `<LifecycleConfiguration>
<Rule><ID>seven</ID><Status>Enabled</Status><Filter><Prefix>a</Prefix></Filter><Expiration><Days>7</Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>4</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule>
<Rule><ID>old versions</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><NoncurrentVersionExpiration><NoncurrentDays>9</NoncurrentDays></NoncurrentVersionExpiration></Rule>
<Rule><ID>markers</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration></Rule>
</LifecycleConfiguration>`

func oddKeys() []string {
	return []string{
		"a", "a.txt", "a/b", "a/b/c", "ab", "a b +%20", "é/ü", "e\u0301", "x.versions/y", "dir/", "dir/f", "quote\"'<&>", "tab\there", "日本/語", "z/.uploads/readme",
	}
}

func (tr *realTree) grow() {
	tr.CreateBucket("plain", weedtest.Plain, treeRules)
	tr.CreateBucket("versioned", weedtest.Versioned, versionRules)
	tr.CreateBucket("suspended", weedtest.Versioned, versionRules)
	tr.CreateBucket("locked", weedtest.Locked, versionRules)
	tr.CreateBucket("norules", weedtest.Plain, "")
	for range 40 {
		tr.object("plain")
		tr.object("versioned")
	}
	for range 12 {
		tr.object("suspended")
	}
	tr.SetVersioning("suspended", false)
	for range 12 {
		tr.object("suspended")
		tr.object("locked")
	}
	tr.Put("norules", "k", weedtest.Object{Age: 99 * day})
	for _, key := range []string{"a/upload", "z"} {
		for _, age := range []time.Duration{time.Hour, 5 * day} {
			id := tr.StartUpload("plain", key, "part")
			tr.AgeUpload("plain", id, age)
		}
	}
}

// object writes a version of some key, or deletes one.
func (tr *realTree) object(bucket string) {
	key := tr.keys[tr.r.IntN(len(tr.keys))]
	age := time.Duration(tr.r.IntN(20*24)) * time.Hour
	if tr.r.IntN(5) == 0 && bucket != "plain" {
		if id := tr.Delete(bucket, key); id != "" && bucket != "suspended" {
			tr.AgeVersion(bucket, key, id, age)
		}
		return
	}
	o := weedtest.Object{Body: strings.Repeat("x", tr.r.IntN(9)), Age: age}
	if strings.HasSuffix(key, "/") {
		o.Body = ""
	}
	if tr.r.IntN(3) == 0 {
		o.Tags = map[string]string{"t": fmt.Sprint(tr.r.IntN(2))}
	}
	if bucket == "locked" && tr.r.IntN(2) == 0 && !strings.HasSuffix(key, "/") { // the gateway overwrites no locked folder
		o.Governance = time.Now().Add(time.Duration(1+tr.r.IntN(99)) * time.Hour)
	}
	tr.Put(bucket, key, o)
}

// state is every entry of the buckets and of what weedlc could write.
func (tr *realTree) state() string {
	var b strings.Builder
	for _, folder := range []string{"/buckets", "/etc"} {
		tr.Walk(folder, func(p string, e *filer_pb.Entry) { fmt.Fprintf(&b, "%s %v\n", p, e) })
	}
	return b.String()
}

// weedlc runs a command line on the cluster.
func (tr *realTree) weedlc(code int, args ...string) string {
	tr.t.Helper()
	var out, errs bytes.Buffer
	host := Host{
		In: strings.NewReader(""), Out: &out, Err: &errs, Now: time.Now, Sleep: sleep, Dial: dial,
		Env: []string{"WEEDLC_MASTER=" + tr.Cluster().Addr(weedtest.Master).String(), "HOME=" + tr.t.TempDir()},
	}
	if got := Main(context.Background(), args, host); got != code {
		tr.t.Fatalf("weedlc %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String()
}

// foreseen are the deletes that a dry run lists, one a line.
func (tr *realTree) foreseen(args ...string) []string {
	tr.t.Helper()
	var all []string
	for line := range strings.Lines(tr.weedlc(exitDone, append([]string{"dry-run", "--output", "jsonl"}, args...)...)) {
		l := object(tr.t, []byte(line))
		path := l["key"]
		if id, is := l["upload_id"]; is {
			path = ".uploads/" + id.(string)
		}
		all = append(all, fmt.Sprintf("%v %v %v %v", l["bucket"], path, l["version_id"], l["action"]))
	}
	slices.Sort(all)
	return all
}

// sent are the deletes that reached a proxy.
func sent(p *weedtest.Proxy) []string {
	var all []string
	for _, c := range p.Calls(weedtest.LifecycleDelete) {
		if c.Delete.GetBucket() != "" { // the question whether a gateway is there has none
			all = append(all, fmt.Sprintf("%v %v %v %v", c.Delete.GetBucket(), c.Delete.GetObjectPath(), c.Delete.GetVersionId(), engine.Kind(c.Delete.GetActionKind())))
		}
	}
	slices.Sort(all)
	return all
}

// TestDryRunOnARealTree lists exactly what run then deletes, live and from a
// backup, and changes nothing.
func TestDryRunOnARealTree(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tr := &realTree{Client: shared.Client(t), t: t, r: rand.New(rand.NewPCG(seed, 3)), keys: oddKeys()}
			tr.grow()
			proxy := weedtest.NewProxy(t, tr.Cluster().Addr(weedtest.Gateway).GRPC())
			before, stock := tr.state(), tr.stock()
			foreseen := tr.foreseen()
			nextPass := tr.foreseen("--pass")
			now := time.Now().UTC().Format(time.RFC3339Nano)
			live := tr.weedlc(exitDone, "dry-run", "--output", "jsonl", "--locked", "--at", now)
			if after := tr.state(); after != before {
				t.Fatalf("a dry run changed something:\n%s\nwas\n%s", after, before)
			}
			file := filepath.Join(t.TempDir(), []string{"all.meta", "all.meta.gz"}[seed])
			tr.SaveBackup(file, "/")
			equal(t, "what is due by a backup", tr.weedlc(exitDone, "dry-run", "--output", "jsonl", "--locked", "--at", now, "--from", file), live)
			tr.weedlc(exitDone, "run", "--no-lock", "--s3", proxy.Addr())
			// The delete markers that run itself puts in the suspended bucket are
			// foreseen by number only, and may wait for the next pass.
			its := func(d string) bool {
				name, is := strings.CutPrefix(d, "suspended ")
				name, is2 := strings.CutSuffix(name, " expired_delete_marker")
				i := strings.LastIndexByte(name, ' ')
				return is && is2 && !stock["suspended "+name[:i]+" version "+name[i+1:]] && !slices.Contains(foreseen, d)
			}
			got := slices.DeleteFunc(sent(proxy), its)
			sameLines(t, "what --pass lists and run sends", nextPass, got)
			// Where rules overlap, replay may send a delete for one that a walk
			// serves too and that is due later: the object is the same.
			sameLines(t, "the objects that are listed and that run deletes", objectsOf(foreseen), objectsOf(got))
			if len(got) < 10 {
				t.Errorf("%d deletes tell nothing", len(got))
			}
			before = tr.state()
			left := tr.foreseen()
			nextPass = tr.foreseen("--pass")
			if after := tr.state(); after != before {
				t.Errorf("a dry run beside cursors changed something:\n%s\nwas\n%s", after, before)
			}
			if other := slices.DeleteFunc(slices.Concat(left, nextPass), its); len(other) > 0 {
				t.Errorf("after run there is left\n%s", strings.Join(other, "\n"))
			}
			tr.weedlc(exitDone, "run", "--no-lock")
			if left := slices.Concat(tr.foreseen(), tr.foreseen("--pass")); len(left) > 0 {
				t.Errorf("after another run there is left\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// TestDryRunIsWhatTheBuiltInWorkerDoes compares what is listed with what becomes
// of the tree under SeaweedFS's own pass. Where the two differ there are no keys
// (docs/differences.md), and two passes: that of a delete marker which a pass has
// left alone is the next one.
func TestDryRunIsWhatTheBuiltInWorkerDoes(t *testing.T) {
	passedOver := func(key string) bool { // keys that are folders, and folders that look internal
		return key == "a" || key == "a/b" || strings.HasSuffix(key, "/") || strings.Contains(key, ".versions/") || strings.Contains(key, ".uploads/")
	}
	tr := &realTree{Client: shared.Client(t), t: t, r: rand.New(rand.NewPCG(7, 3)), keys: slices.DeleteFunc(oddKeys(), passedOver)}
	tr.grow()
	var foreseen []string
	for line := range strings.Lines(tr.weedlc(exitDone, "dry-run", "--output", "jsonl")) {
		l := object(t, []byte(line))
		name := fmt.Sprintf("%v %v", l["bucket"], l["key"])
		switch action := l["action"]; {
		case action == "abort_mpu":
			name += fmt.Sprintf(" upload %v", l["upload_id"])
		case l["bucket"] == "plain" || action != "expiration_days" && action != "expiration_date":
			name += fmt.Sprintf(" version %v", cmp.Or(l["version_id"].(string), "null"))
		default:
			name += " hidden"
		}
		foreseen = append(foreseen, name)
	}
	before := tr.stock()
	tr.RunBuiltIn()
	tr.RunBuiltIn()
	after := tr.stock()
	var became []string
	for name := range before {
		if !after[name] && !strings.HasSuffix(name, " hidden") {
			became = append(became, name)
		}
	}
	for name := range after {
		if !before[name] && strings.HasSuffix(name, " hidden") {
			became = append(became, name)
		}
	}
	slices.Sort(foreseen)
	slices.Sort(became)
	sameLines(t, "what is listed and what the built-in worker does", foreseen, became)
}

// stock names every version and upload, and every key that is hidden by a delete
// marker.
func (tr *realTree) stock() map[string]bool {
	all := map[string]bool{}
	for _, bucket := range []string{"plain", "versioned", "suspended", "locked"} {
		for _, v := range tr.Versions(bucket, "") {
			name := bucket + " " + v.Key
			if v.Latest && v.Marker {
				all[name+" hidden"] = true
			}
			// In a suspended bucket a marker takes the place of the null version.
			if bucket != "suspended" || v.ID != "null" {
				all[name+" version "+v.ID] = true
			}
		}
	}
	for _, e := range tr.List("/buckets/plain/.uploads") {
		all[fmt.Sprintf("plain %s upload %s", e.Extended["key"], e.Name)] = true
	}
	return all
}

// objectsOf are the objects of deletes, without the actions.
func objectsOf(deletes []string) []string {
	all := make([]string, len(deletes))
	for i, d := range deletes {
		all[i] = d[:strings.LastIndexByte(d, ' ')]
	}
	return all
}

// sameLines compares two sorted lists.
func sameLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	only := func(a, b []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) }), "\n")
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s differ: only the first has\n%s\nonly the second has\n%s", what, only(got, want), only(want, got))
	}
}
