package weedtest

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
)

var shared Shared

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

const (
	day     = 24 * time.Hour
	oneDay  = `<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`
	abort   = `<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter><AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>`
	noRules = ""
)

func TestBuiltInPassSeesAgedObjects(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("aged", Plain, oneDay)
	cl.CreateBucket("aged-uploads", Plain, abort)
	cl.Put("aged", "young", Object{Body: "x"})
	cl.Put("aged", "old/tagged", Object{Body: "x", Tags: map[string]string{"a": "b c"}, Age: 2 * day})
	cl.Put("aged", "old/empty", Object{Age: 2 * day})
	cl.StartUpload("aged-uploads", "young", "part")
	cl.AgeUpload("aged-uploads", cl.StartUpload("aged-uploads", "old", "part"), 2*day)

	out := cl.RunBuiltIn()

	if got := cl.Keys("aged"); !slices.Equal(got, []string{"young"}) {
		t.Errorf("after the pass the bucket holds %q\n%s", got, out)
	}
	if got := cl.Uploads("aged-uploads"); !slices.Equal(got, []string{"young"}) {
		t.Errorf("after the pass the unfinished uploads are %q\n%s", got, out)
	}
	if cl.ReadFile("/etc/s3/lifecycle/daily-cursors/shard-00.json") == nil {
		t.Error("the pass left no cursor of shard 0")
	}
}

func TestVersionsAndTheirClocks(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("vers", Versioned, noRules)
	first := cl.Put("vers", "k", Object{Body: "one"})
	second := cl.Put("vers", "k", Object{Body: "two"})
	marker := cl.Delete("vers", "k")

	stamp := func(id string) int64 {
		t.Helper()
		e := cl.Lookup("/buckets/vers/" + cl.VersionPath("vers", "k", id))
		ns, err := strconv.ParseInt(string(e.GetExtended()[s3_constants.ExtNoncurrentSinceNsKey]), 10, 64)
		if err != nil {
			t.Fatalf("version %q has no noncurrent-since stamp: %v", id, err)
		}
		return ns
	}
	before := stamp(first)
	cl.AgeTree("vers", "", 3*day)
	cl.AgeVersion("vers", "k", marker, day)
	if got := before - stamp(first); got != (3 * day).Nanoseconds() {
		t.Errorf("AgeTree moved the stamp back by %v, want 72h", time.Duration(got))
	}

	list := cl.Versions("vers", "")
	if len(list) != 3 || !list[0].Marker || !list[0].Latest || list[0].ID != marker {
		t.Fatalf("the versions are %+v", list)
	}
	for id, want := range map[string]time.Duration{first: 3 * day, second: 3 * day, marker: 4 * day} {
		i := slices.IndexFunc(list, func(v Version) bool { return v.ID == id })
		if age := time.Since(list[i].Modified).Round(time.Hour); age != want {
			t.Errorf("version %q is %v old, want %v", id, age, want)
		}
	}

	at := time.Unix(1_700_000_000, 123_456_789)
	cl.SetVersionMtime("vers", "k", second, at)
	e := cl.Lookup("/buckets/vers/" + cl.VersionPath("vers", "k", second))
	if a := e.GetAttributes(); a.GetMtime() != at.Unix() || a.GetMtimeNs() != 123_456_789 {
		t.Errorf("the mtime is %d.%09d", a.GetMtime(), a.GetMtimeNs())
	}
	cl.SetDemoted("vers", "k", second, at)
	if got := stamp(second); got != at.UnixNano() {
		t.Errorf("the stamp is %d, want %d", got, at.UnixNano())
	}
	cl.DeleteVersion("vers", "k", marker)
	if body, ok := cl.Get("vers", "k"); !ok || body != "two" {
		t.Errorf("without the marker the key reads %q, %v", body, ok)
	}
}

func TestSuspendedAndLockedBuckets(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("susp", Suspended, noRules)
	if id := cl.Put("susp", "k", Object{Body: "x", Age: day}); id != "" {
		t.Errorf("a suspended bucket made version %q", id)
	}
	if got := cl.VersionPath("susp", "k", "null"); got != "k" {
		t.Errorf("the null version lies at %q", got)
	}
	if id := cl.Delete("susp", "k"); id != "null" {
		t.Errorf("a suspended bucket made delete marker %q", id)
	}
	if got := cl.VersionPath("susp", "k", "null"); got != "k.versions/v_null" {
		t.Errorf("the null delete marker lies at %q", got)
	}

	until := time.Now().Add(day)
	cl.CreateBucket("lock", Locked, noRules)
	id := cl.Put("lock", "k", Object{Body: "x", Governance: until})
	cl.SetHold("lock", "k", id, true)
	cl.SetTags("lock", "k", id, map[string]string{"t": "1"})
	path := "/buckets/lock/" + cl.VersionPath("lock", "k", id)
	ext := cl.Lookup(path).GetExtended()
	if string(ext[s3_constants.ExtLegalHoldKey]) != "ON" || string(ext[s3_constants.ExtObjectLockModeKey]) != "GOVERNANCE" ||
		string(ext[s3_constants.ExtRetentionUntilDateKey]) != strconv.FormatInt(until.Unix(), 10) {
		t.Errorf("the lock was stored as %q", ext)
	}
	past := time.Now().Add(-time.Hour)
	cl.SetRetention("lock", "k", id, "COMPLIANCE", past)
	cl.SetHold("lock", "k", id, false)
	if got := string(cl.Lookup(path).GetExtended()[s3_constants.ExtRetentionUntilDateKey]); got != strconv.FormatInt(past.Unix(), 10) {
		t.Errorf("the retention ends at %q", got)
	}
}

func TestUploadCompletes(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("upl", Plain, noRules)
	id := cl.StartUpload("upl", "k", strings.Repeat("x", 5<<20), "end")
	cl.CompleteUpload("upl", "k", id)
	if body, ok := cl.Get("upl", "k"); !ok || len(body) != 5<<20+3 {
		t.Errorf("the completed object has %d bytes, %v", len(body), ok)
	}
	if got := cl.Uploads("upl"); len(got) != 0 {
		t.Errorf("unfinished uploads are left: %q", got)
	}
}

func TestRulesPastS3(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("rules", Plain, oneDay)
	code, answer, err := cl.TryPutRules("rules", "<LifecycleConfiguration><Rule>")
	if err != nil || code != http.StatusBadRequest {
		t.Errorf("half a document was answered %d %s, %v", code, answer, err)
	}
	cl.StoreRules("rules", "<LifecycleConfiguration><Rule>")
	if got := string(cl.Lookup("/buckets/rules").GetExtended()[rulesKey]); got != "<LifecycleConfiguration><Rule>" {
		t.Errorf("the bucket holds %q", got)
	}
	cl.StoreRules("rules", "")
	if _, ok := cl.Lookup("/buckets/rules").GetExtended()[rulesKey]; ok {
		t.Error("the bucket still holds rules")
	}
}

// The gateway keeps what it knows of buckets, so a name that comes back after
// a Reset must not bring its versioning back.
func TestResetForgetsBuckets(t *testing.T) {
	cl := shared.Client(t)
	for _, kind := range []BucketKind{Versioned, Plain, Locked, Suspended, Plain} {
		cl.CreateBucket("again", kind, noRules)
		id := cl.Put("again", "k", Object{Body: "x"})
		want := map[BucketKind]bool{Versioned: true, Locked: true}[kind]
		if got := id != "" && id != "null"; got != want {
			t.Errorf("bucket kind %d made version %q", kind, id)
		}
		cl.WriteFile("/etc/s3/lifecycle/daily-cursors/shard-00.json", []byte("{}"))
		cl.Reset()
		if cl.Lookup("/buckets/again") != nil || cl.Lookup("/etc/s3/lifecycle") != nil {
			t.Fatal("Reset left something behind")
		}
	}
}

func TestListPagesThroughLargeFolders(t *testing.T) {
	cl := shared.Client(t)
	cl.CreateBucket("many", Plain, noRules)
	const n = listLimit + 1
	for i := range n {
		cl.Create("/buckets/many", &filer_pb.Entry{
			Name:       strconv.Itoa(i),
			Attributes: &filer_pb.FuseAttributes{Mtime: 1, FileMode: 0o644},
		})
	}
	seen := map[string]bool{}
	for _, e := range cl.List("/buckets/many") {
		seen[e.GetName()] = true
	}
	if len(seen) != n {
		t.Errorf("%d of %d entries were listed", len(seen), n)
	}
}
