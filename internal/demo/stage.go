package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weedlc/internal/weedtest"
)

const day = 24 * time.Hour

// fate is what a pass does to one thing in a bucket.
type fate string

const (
	// deleted is gone: an object, a version, a delete marker or an upload.
	deleted fate = "deleted"
	// hidden is a version that has a delete marker on top.
	hidden fate = "hidden"
	kept   fate = "kept"
)

// handle names one thing in a bucket.
type handle struct {
	bucket, key string
	// id is that of the version or upload; empty for an object of a bucket
	// without versions.
	id string
}

// where is the handle of the key alone.
func (h handle) where() handle { return handle{bucket: h.bucket, key: h.key} }

// item is one thing that the stage put into a bucket.
type item struct {
	handle
	label string
	want  fate
}

// rule is a lifecycle rule and what it means.
type rule struct {
	id, filter, action string
	words              string
}

type bucket struct {
	name, words string
	kind        weedtest.BucketKind
	rules       []rule
}

func buckets() []bucket {
	return []bucket{
		{"logs", "plain", weedtest.Plain, []rule{
			{"old-logs", "<Prefix>app/</Prefix>", "<Expiration><Days>30</Days></Expiration>",
				`below "app/", after 30 days`},
			{"scratch", "<Tag><Key>class</Key><Value>scratch</Value></Tag>", "<Expiration><Days>1</Days></Expiration>",
				"tagged class=scratch, after 1 day"},
		}},
		{"photos", "versioned", weedtest.Versioned, []rule{
			{"old-versions", "<Prefix></Prefix>",
				"<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>",
				"versions 30 days after they were replaced, but the newest of them"},
			{"drafts", "<Prefix>drafts/</Prefix>", "<Expiration><Days>7</Days></Expiration>",
				`below "drafts/", after 7 days: a delete marker goes on top`},
			{"lone-markers", "<Prefix>trash/</Prefix>", "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>",
				`delete markers below "trash/" with no version left below them`},
		}},
		{"videos", "plain", weedtest.Plain, []rule{
			{"abandoned", "<Prefix></Prefix>", "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>",
				"uploads that are not finished after 7 days"},
		}},
		{"ledger", "versioned, object lock", weedtest.Locked, []rule{
			{"closed-books", "<Prefix></Prefix>", "<Expiration><Days>90</Days></Expiration>",
				"everything, after 90 days"},
		}},
	}
}

// document is the bucket's lifecycle document.
func (b bucket) document() string {
	var d strings.Builder
	d.WriteString("<LifecycleConfiguration>")
	for _, r := range b.rules {
		fmt.Fprintf(&d, "<Rule><ID>%s</ID><Status>Enabled</Status><Filter>%s</Filter>%s</Rule>", r.id, r.filter, r.action)
	}
	d.WriteString("</LifecycleConfiguration>")
	return d.String()
}

// stage fills buckets and remembers what is to become of what it put there.
type stage struct {
	*weedtest.Client
	now   time.Time
	items []item
}

// set makes the buckets and fills them.
func (s *stage) set(ctx context.Context) error {
	for _, b := range buckets() {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.CreateBucket(b.name, b.kind, b.document())
	}
	for _, fill := range []func(){s.logs, s.photos, s.videos, s.ledger} {
		if err := ctx.Err(); err != nil {
			return err
		}
		fill()
	}
	return nil
}

func (s *stage) add(bucket, key, id, label string, want fate) {
	s.items = append(s.items, item{handle{bucket, key, id}, label, want})
}

func (s *stage) logs() {
	put := func(key string, age time.Duration, tags map[string]string, want fate) {
		s.Put("logs", key, weedtest.Object{Body: "text", Age: age, Tags: tags})
		s.add("logs", key, "", "object", want)
	}
	put("app/spring.log", 45*day, nil, deleted)
	put("app/today.log", 12*day, nil, kept)
	put("build.tar", 3*day, map[string]string{"class": "scratch"}, deleted)
	put("report.pdf", 400*day, nil, kept)
}

func (s *stage) photos() {
	const cat = "cat.jpg"
	ages := []time.Duration{120 * day, 80 * day, 40 * day}
	fates := []fate{deleted, kept, kept}
	labels := []string{"version 1", "version 2", "version 3, current"}
	ids := make([]string, len(ages))
	for i, age := range ages {
		ids[i] = s.Put("photos", cat, weedtest.Object{Body: "image", Age: age})
		s.add("photos", cat, ids[i], labels[i], fates[i])
	}
	for i, id := range ids[:len(ids)-1] {
		s.SetDemoted("photos", cat, id, s.now.Add(-ages[i+1]))
	}

	sketch := s.Put("photos", "drafts/sketch.png", weedtest.Object{Body: "image", Age: 20 * day})
	s.add("photos", "drafts/sketch.png", sketch, "version 1, current", hidden)

	const dog = "trash/dog.jpg"
	only := s.Put("photos", dog, weedtest.Object{Body: "image"})
	marker := s.Delete("photos", dog)
	s.DeleteVersion("photos", dog, only)
	s.AgeVersion("photos", dog, marker, 3*day)
	s.add("photos", dog, marker, "delete marker", deleted)
}

func (s *stage) videos() {
	for _, u := range []struct {
		key  string
		age  time.Duration
		want fate
	}{{"holiday.mp4", 10 * day, deleted}, {"wedding.mp4", 2 * day, kept}} {
		id := s.StartUpload("videos", u.key, "first part")
		s.AgeUpload("videos", id, u.age)
		s.add("videos", u.key, id, "unfinished upload", u.want)
	}
	s.Put("videos", "trailer.mp4", weedtest.Object{Body: "film", Age: 90 * day})
	s.add("videos", "trailer.mp4", "", "object", kept)
}

func (s *stage) ledger() {
	put := func(key string, o weedtest.Object, want fate) string {
		o.Body = "numbers"
		id := s.Put("ledger", key, o)
		s.add("ledger", key, id, "version 1, current", want)
		return id
	}
	over := put("2024.csv", weedtest.Object{Age: 700 * day}, hidden)
	s.SetRetention("ledger", "2024.csv", over, "COMPLIANCE", s.now.Add(-35*day))
	put("2025.csv", weedtest.Object{Age: 335 * day, Compliance: s.now.Add(395 * day)}, kept)
	put("contract.pdf", weedtest.Object{Age: 335 * day, LegalHold: true}, kept)
}
