package cluster_test

import (
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"

	"weedlc/internal/weedtest"
)

// fixtureNow is the instant that the tree below is made for.
var fixtureNow = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func ago(days int) time.Time { return fixtureNow.AddDate(0, 0, -days) }

func on(year int, month time.Month) time.Time { return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC) }

// treeOfAllKinds makes a small tree with a bucket of each kind and something due
// under each kind of action, at fixtureNow and already at the end of 2026.
type treeOfAllKinds struct{ *weedtest.Client }

func (tr treeOfAllKinds) make() {
	tr.logs()
	tr.photos()
	tr.archive()
	tr.videos()
	tr.ledger()
	tr.CreateBucket("quiet", weedtest.Plain, "")
	tr.put("quiet", "old.txt", 10, on(2024, 1))
}

func document(rules ...string) string {
	return "<LifecycleConfiguration>" + strings.Join(rules, "") + "</LifecycleConfiguration>"
}

func rule(id, filter, action string) string {
	return "<Rule><ID>" + id + "</ID><Status>Enabled</Status><Filter>" + filter + "</Filter>" + action + "</Rule>"
}

const (
	noncurrent30 = "<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays></NoncurrentVersionExpiration>"
	everything   = "<Prefix></Prefix>"
)

func days(n string) string { return "<Expiration><Days>" + n + "</Days></Expiration>" }

// put writes an object that was last modified at a time.
func (tr treeOfAllKinds) put(bucket, key string, size int, modified time.Time) (version string) {
	version = tr.Put(bucket, key, weedtest.Object{Body: strings.Repeat("x", size)})
	tr.SetVersionMtime(bucket, key, version, modified)
	return version
}

// versions writes versions of a key, the oldest first, each demoted when the
// next came.
func (tr treeOfAllKinds) versions(bucket, key string, size int, modified ...time.Time) (ids []string) {
	for _, at := range modified {
		ids = append(ids, tr.put(bucket, key, size, at))
	}
	for i, id := range ids[:len(ids)-1] {
		tr.SetDemoted(bucket, key, id, modified[i+1])
	}
	return ids
}

func (tr treeOfAllKinds) logs() {
	const b = "logs"
	tr.CreateBucket(b, weedtest.Plain, document(
		rule("old-logs", "<Prefix>app/</Prefix>", days("30")),
		rule("scratch", "<Tag><Key>class</Key><Value>scratch</Value></Tag>", days("1")),
		rule("campaign", "<Prefix>campaign/</Prefix>", "<Expiration><Date>2026-01-01T00:00:00Z</Date></Expiration>"),
		rule("large", "<And><Prefix>dump/</Prefix><ObjectSizeGreaterThan>1000</ObjectSizeGreaterThan></And>", days("10")),
		rule("images", "<Prefix>img/</Prefix>", days("30")),
	))
	tr.put(b, "app/2024.log", 50, on(2024, 3))
	tr.put(b, "app/spring.log", 100, ago(45))
	tr.put(b, "app/edge-due.log", 10, ago(30))
	tr.put(b, "app/edge-kept.log", 10, ago(30).Add(1))
	tr.put(b, "app/today.log", 70, fixtureNow.Add(-time.Hour))
	tr.put(b, "app/a&b <c> é日.log", 20, ago(40))
	tr.put(b, "app/tab\there.log", 20, ago(41))
	tr.put(b, "app/nest", 30, ago(50))
	tr.put(b, "app/nest/below", 30, ago(51))
	tr.SetMtime(b, "app/nest", ago(50)) // which became a folder meanwhile
	tr.Put(b, "app/archive/", weedtest.Object{})
	tr.put(b, "app/archive/fresh.log", 10, ago(1))
	tr.SetMtime(b, "app/archive", ago(60))

	tr.put(b, "build/old.tar", 500, ago(3))
	tr.SetTags(b, "build/old.tar", "", map[string]string{"class": "scratch", "team": "blue"})
	tr.put(b, "build/notes.txt", 10, ago(400))
	tr.SetTags(b, "build/notes.txt", "", map[string]string{"class": "keep"})
	tr.put(b, "campaign/spring.html", 40, on(2025, 3))
	tr.put(b, "campaign/summer.html", 40, on(2026, 7))
	tr.put(b, "dump/big.sql", 1001, ago(20))
	tr.put(b, "dump/small.sql", 1000, ago(20))
	tr.stamped(b, "img/left-to-ttl.png", 300, ago(40), 60*day)
	tr.stamped(b, "img/ttl-first.png", 300, ago(2), 3*day)
	tr.put(b, "report.pdf", 900, on(2024, 1))
}

// stamped writes an object with a time to live.
func (tr treeOfAllKinds) stamped(bucket, key string, size int, modified time.Time, ttl time.Duration) {
	tr.put(bucket, key, size, modified)
	tr.Update("/buckets/"+bucket+"/"+key, func(e *filer_pb.Entry) { e.Attributes.TtlSec = int32(ttl / time.Second) })
}

func (tr treeOfAllKinds) photos() {
	const b = "photos"
	tr.CreateBucket(b, weedtest.Plain, document(
		rule("old-versions", "<Prefix>albums/</Prefix>",
			"<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>"),
		rule("two-thumbs", "<Prefix>thumbs/</Prefix>",
			"<NoncurrentVersionExpiration><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>"),
		rule("drafts", "<Prefix>drafts/</Prefix>", days("7")),
		rule("lone-markers", "<Prefix>trash/</Prefix>", "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"),
	))
	tr.put(b, "albums/bare.jpg", 60, on(2024, 1)) // becomes the null version
	tr.SetVersioning(b, true)
	tr.versions(b, "albums/bare.jpg", 61, on(2025, 1), on(2025, 6))
	tr.versions(b, "albums/cat.jpg", 80, ago(120), ago(80), ago(40))
	tr.versions(b, "thumbs/cat.jpg", 8, on(2025, 1), on(2025, 2), on(2026, 9), on(2026, 10))
	tr.put(b, "drafts/2024.png", 90, on(2024, 6))
	tr.put(b, "drafts/sketch.png", 90, ago(20))
	tr.put(b, "drafts/new.png", 90, ago(2))
	for key, at := range map[string]time.Time{"trash/2024.jpg": on(2024, 8), "trash/dog.jpg": on(2026, 10)} {
		only := tr.put(b, key, 5, at)
		marker := tr.Delete(b, key)
		tr.DeleteVersion(b, key, only)
		tr.SetVersionMtime(b, key, marker, at)
	}
	only := tr.put(b, "trash/not-alone.jpg", 5, ago(9))
	marker := tr.Delete(b, "trash/not-alone.jpg")
	tr.SetVersionMtime(b, "trash/not-alone.jpg", marker, ago(5))
	tr.SetDemoted(b, "trash/not-alone.jpg", only, ago(5))
}

func (tr treeOfAllKinds) archive() {
	const b = "archive"
	tr.CreateBucket(b, weedtest.Versioned, document(
		rule("two-months", everything, days("60")), rule("old-versions", everything, noncurrent30)))
	tr.put(b, "with-id.txt", 15, ago(70))
	expiring, kept := tr.put(b, "null-due.txt", 15, on(2024, 2)), tr.put(b, "null-young.txt", 15, on(2024, 2))
	tr.SetVersioning(b, false)
	tr.put(b, "null-due.txt", 16, on(2026, 2))
	tr.SetDemoted(b, "null-due.txt", expiring, on(2026, 2))
	tr.put(b, "null-young.txt", 16, ago(40))
	tr.SetDemoted(b, "null-young.txt", kept, ago(40))
	tr.put(b, "new.txt", 15, ago(10))
}

func (tr treeOfAllKinds) videos() {
	const b = "videos"
	tr.CreateBucket(b, weedtest.Plain, document(
		rule("abandoned", everything, "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>")))
	for _, u := range []struct {
		key     string
		started time.Time
		parts   []string
	}{
		{"2025.mp4", on(2025, 9), []string{"part 1", "part 2"}},
		{"holiday.mp4", ago(10), []string{"part 1"}},
		{"no-part.mp4", ago(8), nil},
		{"wedding.mp4", ago(2), []string{"part 1"}},
	} {
		tr.SetMtime(b, ".uploads/"+tr.StartUpload(b, u.key, u.parts...), u.started)
	}
	tr.put(b, "trailer.mp4", 200, on(2024, 4))
}

func (tr treeOfAllKinds) ledger() {
	const b = "ledger"
	tr.CreateBucket(b, weedtest.Locked, document(
		rule("closed-books", everything, days("90")), rule("old-versions", everything, noncurrent30)))
	lock := func(key, mode string, modified, until time.Time) {
		tr.SetRetention(b, key, tr.put(b, key, 100, modified), mode, until)
	}
	lock("2024.csv", "COMPLIANCE", on(2024, 2), ago(35))
	lock("2025.csv", "COMPLIANCE", on(2025, 7), fixtureNow.AddDate(1, 0, 0))
	lock("edge-locked.csv", "GOVERNANCE", ago(100), fixtureNow.Add(time.Second))
	lock("edge-open.csv", "GOVERNANCE", ago(100), fixtureNow)
	held := tr.put(b, "contract.pdf", 100, on(2025, 7))
	tr.SetHold(b, "contract.pdf", held, true)
	tr.put(b, "draft.csv", 100, ago(30))
	ids := tr.versions(b, "prices.csv", 100, on(2025, 1), on(2025, 2), ago(40))
	tr.SetRetention(b, "prices.csv", ids[1], "GOVERNANCE", fixtureNow.AddDate(0, 0, 1))
}
