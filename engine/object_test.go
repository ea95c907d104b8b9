package engine_test

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

func TestNewObject(t *testing.T) {
	e := entry("x", scenarioNow.Add(7), size(42), tagged("a", "1"), retained("GOVERNANCE", scenarioNow), func(e *engine.Entry) {
		e.Chunks = []string{"3,01", "4,02"}
		e.TTL = time.Hour
		e.CommitNs = 9
	})
	o := engine.NewObject("b", "p/x", &e)
	if o.Bucket != "b" || o.Key != "p/x" || o.Path != "p/x" || o.VersionID != "" || o.UploadID != "" {
		t.Errorf("names are %+v", o)
	}
	if !o.ModTime.Equal(scenarioNow.Add(7)) || o.Size != 42 || o.TTL != time.Hour || o.CommitNs != 9 ||
		!maps.Equal(o.Tags, map[string]string{"a": "1"}) || !o.Lock.RetainUntil.Equal(scenarioNow) {
		t.Errorf("attributes are %+v", o)
	}
	if !o.Latest || o.Versions != 1 || o.Rank != engine.RankUnknown || o.DeleteMarker {
		t.Errorf("state is %+v, want the only version, current", o)
	}
	if id := o.Identity(); id == nil || id.HeadChunk != "3,01" || id.Size != 42 || id.MtimeNs != scenarioNow.UnixNano()+7 {
		t.Errorf("identity is %+v", id)
	}
	if got := o.RequestVersion(engine.ExpirationDays); got != "" {
		t.Errorf("request version is %q, want none in a bucket without versions", got)
	}
}

func TestNewObjectKeys(t *testing.T) {
	for _, tc := range []struct {
		nature engine.Nature
		key    string
		want   string
	}{
		{engine.File, "a", "a"},
		{engine.FolderMarker, "a", "a/"},
		{engine.FolderMarker, "a/", "a/"},
		{engine.PrefixObject, "a", "a"},
	} {
		e := entry("a", scenarioNow, nature(tc.nature))
		if o := engine.NewObject("b", tc.key, &e); o.Key != tc.want || o.Path != tc.want {
			t.Errorf("nature %d at %q: key %q, path %q, want %q", tc.nature, tc.key, o.Key, o.Path, tc.want)
		}
	}
}

func TestNewObjectWithoutAttributes(t *testing.T) {
	o := engine.NewObject("b", "a", &engine.Entry{Name: "a"})
	if o.Identity() != nil || !o.ModTime.IsZero() {
		t.Errorf("identity %v, mtime %v, want neither", o.Identity(), o.ModTime)
	}
	if _, ok := (&engine.Entry{Size: 1}).Identity(); ok {
		t.Error("an entry without attributes has an identity")
	}
}

func TestNewUpload(t *testing.T) {
	e := entry("id-1", aged(3), nature(engine.Folder), extended(s3_constants.ExtMultipartObjectKey, "p/x"))
	o, ok := engine.NewUpload("b", &e)
	want := engine.Object{
		Bucket: "b", Key: "p/x", Path: ".uploads/id-1", UploadID: "id-1",
		ModTime: aged(3), Rank: engine.RankUnknown, Entry: &e,
	}
	if !ok || !reflect.DeepEqual(o, want) || o.Identity() == nil {
		t.Errorf("upload is %+v, %v, want %+v", o, ok, want)
	}
	for name, e := range map[string]engine.Entry{
		"no target":    entry("id", aged(3), nature(engine.Folder)),
		"empty target": entry("id", aged(3), nature(engine.Folder), extended(s3_constants.ExtMultipartObjectKey, "")),
		"a file":       entry("id", aged(3), extended(s3_constants.ExtMultipartObjectKey, "p/x")),
	} {
		if o, ok := engine.NewUpload("b", &e); ok {
			t.Errorf("%s: upload %+v", name, o)
		}
	}
}

func TestEntryReadsItsAttributes(t *testing.T) {
	e := entry("x", scenarioNow,
		extended("X-Amz-Tagging-a", "1"), extended("X-Amz-Tagging-", "empty key"), extended("X-Amz-Tagging", "no key"),
		extended("x-amz-tagging-b", "2"), extended("X-Amz-Tagging-c d", "\xff"),
		extended(s3_constants.ExtVersionIdKey, "v1"), extended(s3_constants.SeaweedFSUploadId, "u1"),
		demoted(scenarioNow))
	if got, want := e.Tags(), map[string]string{"a": "1", "": "empty key", "c d": "\xff"}; !maps.Equal(got, want) {
		t.Errorf("tags are %q, want %q", got, want)
	}
	if e.VersionID() != "v1" || e.UploadID() != "u1" || e.DemotedNs() != scenarioNow.UnixNano() || e.IsDeleteMarker() {
		t.Errorf("version %q, upload %q, demoted %d, marker %v", e.VersionID(), e.UploadID(), e.DemotedNs(), e.IsDeleteMarker())
	}
	for value, want := range map[string]bool{"true": true, "false": false, "True": false, "": false} {
		e := entry("x", scenarioNow, extended(s3_constants.ExtDeleteMarkerKey, value))
		if e.IsDeleteMarker() != want {
			t.Errorf("marker %q: %v, want %v", value, e.IsDeleteMarker(), want)
		}
	}
	bare := engine.Entry{}
	if bare.Tags() != nil || bare.VersionID() != "" || bare.UploadID() != "" || bare.DemotedNs() != 0 || bare.IsDeleteMarker() || bare.Lock() != (engine.Lock{}) {
		t.Error("an entry without extended attributes has some")
	}
}

func TestIsVersionFolder(t *testing.T) {
	for name, want := range map[string]struct {
		key string
		ok  bool
	}{
		"a.versions":          {"a", true},
		".versions":           {"", true},
		"a.versions.versions": {"a.versions", true},
		"a.version":           {"", false},
		"versions":            {"", false},
		"a.versions.d":        {"", false},
	} {
		if key, ok := engine.IsVersionFolder(name); ok != want.ok || ok && key != want.key {
			t.Errorf("%q: %q, %v, want %q, %v", name, key, ok, want.key, want.ok)
		}
	}
}
