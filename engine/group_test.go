package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"pgregory.net/rapid"

	"weedlc/engine"
)

// state says of each object of a group which version it is and its place.
func state(g engine.Group, names map[string]string) []string {
	var out []string
	for _, o := range g.Objects {
		name := names[o.VersionID]
		if name == "" {
			name = o.VersionID
		}
		if o.DeleteMarker {
			name = "marker " + name
		}
		switch {
		case o.Latest:
			name += " latest"
		case o.Rank == engine.RankUnknown:
			name += " ?"
		default:
			name += fmt.Sprintf(" %d", o.Rank)
		}
		out = append(out, name)
	}
	return out
}

func TestNewGroupResolvesTheCurrentVersion(t *testing.T) {
	v1, v2, v3 := version(aged(30)), version(aged(20)), version(aged(10))
	old1, old2 := named(rawVersionID(aged(31), 0), aged(31)), named(rawVersionID(aged(21), 0), aged(21))
	late1, late3 := named(versionID(aged(0.2), 0), aged(100)), named(versionID(aged(0.1), 0), aged(90))
	nullMarker := named("null", aged(5), isMarker)
	names := map[string]string{
		v1.VersionID(): "v1", v2.VersionID(): "v2", v3.VersionID(): "v3",
		late1.VersionID(): "late1", late3.VersionID(): "late3",
		old1.VersionID(): "old1", old2.VersionID(): "old2",
	}
	bare := func(age float64, changes ...func(*engine.Entry)) *engine.Entry {
		e := entry("k", aged(age), changes...)
		return &e
	}
	lost := version(aged(1))

	for _, tc := range []struct {
		name      string
		container *engine.Entry
		files     []engine.Entry
		bare      *engine.Entry
		want      []string
		why       string // a part of Unresolved
	}{
		{name: "nothing"},
		{name: "null version alone", bare: bare(9), want: []string{"null latest"}},
		{name: "empty folder", container: folder(), bare: bare(9), want: []string{"null latest"}},
		{name: "pointer to the newest", container: pointing(v3), files: []engine.Entry{v1, v3, v2},
			want: []string{"v3 latest", "v2 0", "v1 1"}},
		{name: "pointer to an older one", container: pointing(v2), files: []engine.Entry{v1, v2, v3},
			want: []string{"v3 0", "v2 latest", "v1 1"}},
		{name: "pointer outranks the signal", container: pointing(v3, nullIsLatest), files: []engine.Entry{v3}, bare: bare(1),
			want: []string{"null 0", "v3 latest"}},
		{name: "null version by its time", container: pointing(v3), files: []engine.Entry{v1, v2, v3}, bare: bare(25),
			want: []string{"v3 latest", "v2 0", "null 1", "v1 2"}},
		{name: "mtimes set back after the writes", container: pointing(late3),
			files: []engine.Entry{late1, late3}, bare: bare(95), want: []string{"late3 latest", "null 0", "late1 1"}},
		{name: "null version of one second with a file", container: pointing(v3), files: []engine.Entry{v3, v2}, bare: bare(20),
			want: []string{"v3 latest", "v2 0", "null 1"}},
		{name: "current null version of one second with a file", container: folder(nullIsLatest), files: []engine.Entry{v2}, bare: bare(20),
			want: []string{"null latest", "v2 0"}},
		{name: "IDs of both forms", container: pointing(v2), files: []engine.Entry{old1, old2, v1, v2},
			want: []string{"v2 latest", "old2 0", "v1 1", "old1 2"}},
		{name: "IDs of the older form", container: pointing(old2), files: []engine.Entry{old1, old2}, bare: bare(25),
			want: []string{"old2 latest", "null 0", "old1 1"}},
		{name: "stale pointer", container: pointing(lost), files: []engine.Entry{v1, v2},
			want: []string{"v2 latest", "v1 0"}},
		{name: "stale pointer beside a null version", container: pointing(lost), files: []engine.Entry{v1, v2}, bare: bare(1),
			want: []string{"null 0", "v2 latest", "v1 1"}},
		{name: "stale pointer, only the null version", container: pointing(lost), bare: bare(9),
			want: []string{"null latest"}},
		{name: "no pointer", container: folder(), files: []engine.Entry{v1, v2},
			want: []string{"v2 latest", "v1 0"}},
		{name: "half a pointer", container: folder(extended(s3_constants.ExtLatestVersionIdKey, v1.VersionID())), files: []engine.Entry{v1, v2},
			want: []string{"v2 latest", "v1 0"}},
		{name: "null version by the signal", container: folder(nullIsLatest), files: []engine.Entry{v1, v2}, bare: bare(25),
			want: []string{"v2 0", "null latest", "v1 1"}},
		{name: "signal without a null version", container: folder(nullIsLatest), files: []engine.Entry{v1, v2},
			want: []string{"v2 latest", "v1 0"}},
		{name: "null version a second newer than the files", container: folder(), files: []engine.Entry{v2},
			bare: bare(0, func(e *engine.Entry) { e.MtimeNs = aged(20).Add(time.Second).UnixNano() }),
			want: []string{"null latest", "v2 0"}},
		{name: "null version of the same second", container: folder(), files: []engine.Entry{v2},
			bare: bare(0, func(e *engine.Entry) { e.MtimeNs = aged(20).Add(time.Second - 1).UnixNano() }),
			want: []string{"v2 ?", "null ?"}, why: "no pointer"},
		{name: "null version older than the files", container: folder(), files: []engine.Entry{v1, v2}, bare: bare(25),
			want: []string{"v2 ?", "null ?", "v1 ?"}, why: "no pointer"},
		{name: "half a pointer beside a newer null version", container: folder(nullIsLatest, extended(s3_constants.ExtLatestVersionIdKey, v1.VersionID())),
			files: []engine.Entry{v1}, bare: bare(1), want: []string{"null ?", "v1 ?"}, why: "no pointer"},
		{name: "pointer at odds with its file", container: folder(
			extended(s3_constants.ExtLatestVersionIdKey, v1.VersionID()), extended(s3_constants.ExtLatestVersionFileNameKey, v2.Name)),
			files: []engine.Entry{v1, v2}, want: []string{"v2 ?", "v1 ?"}, why: "the pointer names version"},
		{name: "null marker", container: pointing(nullMarker), files: []engine.Entry{v1, nullMarker},
			want: []string{"marker null latest", "v1 0"}},
		{name: "null marker beside the null version", container: pointing(nullMarker), files: []engine.Entry{nullMarker}, bare: bare(9),
			want: []string{"marker null ?", "null ?"}, why: "null delete marker"},
		{name: "null marker left behind", container: folder(nullIsLatest), files: []engine.Entry{v1, nullMarker}, bare: bare(1),
			want: []string{"null latest", "v1 0"}},
		{name: "null marker, no pointer", container: folder(), files: []engine.Entry{v1, nullMarker},
			want: []string{"marker null 0", "v1 latest"}},
		{name: "marker", container: pointing(version(aged(1), isMarker)), files: []engine.Entry{v1, version(aged(1), isMarker)}, bare: bare(50),
			want: []string{"marker " + versionID(aged(1), 0) + " latest", "v1 0", "null 1"}},
		{name: "version folder not looked up", files: []engine.Entry{v1}, want: []string{"v1 ?"}, why: "own entry is missing"},
		{name: "version without attributes", container: pointing(v2), files: []engine.Entry{v2, version(aged(30), func(e *engine.Entry) { e.HasAttributes = false })},
			want: []string{"v2 ?", "v1 ?"}, why: "no attributes"},
		{name: "file without a version ID", container: pointing(v1), files: []engine.Entry{v1, entry("v_x", aged(1)), entry("notes", aged(1))},
			want: []string{"v1 latest"}},
		{name: "file without a version ID, no pointer", container: folder(), files: []engine.Entry{v1, entry("v_x", aged(1))},
			want: []string{"v1 ?"}, why: `"v_x" has no version ID`},
		{name: "stale pointer to a file without a version ID", container: pointing(lost), files: []engine.Entry{entry("v_x", aged(1))}, bare: bare(9),
			want: []string{"null ?"}, why: `"v_x" has no version ID`},
		{name: "other files only", container: folder(), files: []engine.Entry{entry("notes", aged(1))}, bare: bare(9),
			want: []string{"null latest"}},
		{name: "folder inside the version folder", container: pointing(v1),
			files: []engine.Entry{v1, version(aged(1), nature(engine.Folder))}, want: []string{"v1 latest"}},
		{name: "plain folder at the key", container: pointing(v1), files: []engine.Entry{v1}, bare: bare(9, nature(engine.Folder)),
			want: []string{"v1 latest"}},
		{name: "marker of the folder at the key", container: pointing(v1), files: []engine.Entry{v1}, bare: bare(9, nature(engine.FolderMarker)),
			want: []string{"v1 latest"}},
		{name: "object with keys below it", container: pointing(v1), files: []engine.Entry{v1}, bare: bare(50, nature(engine.PrefixObject)),
			want: []string{"v1 latest", "null 0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := engine.NewGroup("b", "k", tc.container, tc.files, tc.bare)
			if got := state(g, names); !slices.Equal(got, tc.want) {
				t.Errorf("group is %q, want %q", got, tc.want)
			}
			if (g.Unresolved == "") != (tc.why == "") || !strings.Contains(g.Unresolved, tc.why) {
				t.Errorf("unresolved is %q, want %q", g.Unresolved, tc.why)
			}
			for _, o := range g.Objects {
				if o.Bucket != "b" || o.Key != "k" || o.Path != "k" || o.VersionID == "" {
					t.Errorf("object is %+v, want key and path k with a version ID", o)
				}
			}
		})
	}
}

func TestNewGroupOfAFolderMarker(t *testing.T) {
	dir := entry("dir", aged(9), nature(engine.FolderMarker))
	g := engine.NewGroup("b", "p/dir/", nil, nil, &dir)
	if len(g.Objects) != 1 || g.Objects[0].Path != "p/dir/" || !g.Objects[0].Latest || g.Objects[0].VersionID != "null" {
		t.Errorf("group is %+v, want the marker as the current null version", g)
	}

	m := version(aged(1), isMarker)
	own := pointing(m, func(e *engine.Entry) { e.Name = ".versions" })
	g = engine.NewGroup("b", "p/dir/", own, []engine.Entry{m}, &dir)
	if got := state(g, nil); !slices.Equal(got, []string{"marker " + m.VersionID() + " latest", "null 0"}) {
		t.Errorf("group is %q, want the history inside the folder", got)
	}

	// "p/dir.versions" holds the versions of the key "p/dir", another one.
	other := pointing(m, func(e *engine.Entry) { e.Name = "dir.versions" })
	if g = engine.NewGroup("b", "p/dir/", other, []engine.Entry{m}, &dir); g.Unresolved == "" {
		t.Error("a folder marker was grouped with the versions of another key")
	}
	file := entry("dir", aged(9))
	if g = engine.NewGroup("b", "p/dir/", nil, nil, &file); len(g.Objects) != 0 {
		t.Errorf("a file stands for a key with a trailing slash: %+v", g.Objects)
	}
}

func TestNewGroupFillsInNeighbours(t *testing.T) {
	stamp := aged(11)
	g := versions(version(aged(10)), version(aged(20), demoted(stamp)), version(aged(30)))
	for i, want := range []struct {
		successor, demoted time.Time
	}{{}, {aged(10), stamp}, {aged(20), time.Time{}}} {
		o := g.Objects[i]
		if !o.SuccessorAt.Equal(want.successor) || !o.DemotedAt.Equal(want.demoted) || o.Versions != 3 {
			t.Errorf("version %d: successor %v, demoted %v, %d versions, want %v, %v, 3", i, o.SuccessorAt, o.DemotedAt, o.Versions, want.successor, want.demoted)
		}
	}
	m := version(aged(1), isMarker)
	g = engine.NewGroup("b", "k", pointing(m), []engine.Entry{m, entry("v_x", aged(1))}, nil)
	if g.Objects[0].Versions != 2 {
		t.Errorf("%d versions beside a file without an ID, want 2: the gateway counts it", g.Objects[0].Versions)
	}
	bare := entry("k", aged(1))
	g = engine.NewGroup("b", "k", folder(nullIsLatest), []engine.Entry{named("null", aged(5), isMarker)}, &bare)
	if len(g.Objects) != 1 || g.Objects[0].Versions != 2 {
		t.Errorf("null version beside a null marker left behind: %+v, want one object of 2 versions", g.Objects)
	}
}

func TestUnresolvedGroupIsKept(t *testing.T) {
	bare := entry("k", aged(300))
	g := engine.NewGroup("b", "k", folder(), []engine.Entry{version(aged(100)), version(aged(200))}, &bare)
	rules := []*engine.Rule{rule(expire(1), noncurrent(1), marker), rule(newer(1)), rule(date(aged(1)))}
	want(t, "unresolved", fires(g, rules...), []string{kept, kept, kept})
}

func TestRemoveRanksAgain(t *testing.T) {
	g := versions(version(aged(10)), version(aged(20)), version(aged(30)), version(aged(40)))
	g.Remove(1)
	for i, want := range []struct {
		rank      int
		successor time.Time
	}{{engine.RankUnknown, time.Time{}}, {0, aged(10)}, {1, aged(30)}} {
		if o := g.Objects[i]; o.Rank != want.rank || !o.SuccessorAt.Equal(want.successor) || o.Versions != 3 {
			t.Errorf("version %d: rank %d, successor %v, %d versions, want %d, %v, 3", i, o.Rank, o.SuccessorAt, o.Versions, want.rank, want.successor)
		}
	}

	// The rule keeps two: one delete less is due once another rule took one.
	keep := rule(newer(2))
	g = versions(version(aged(10)), version(aged(20)), version(aged(30)), version(aged(40)))
	want(t, "before", fires(g, keep), []string{kept, kept, kept, surplus})
	g.Remove(2)
	want(t, "after", fires(g, keep), []string{kept, kept, kept})
}

// Removing a version gives the group that its entry never was in.
func TestRemoveIsAbsence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []engine.Entry
		for i := range rapid.IntRange(1, 5).Draw(t, "files") {
			at := aged(float64(10 * (i + 1)))
			var changes []func(*engine.Entry)
			if rapid.Bool().Draw(t, "marker") {
				changes = append(changes, isMarker)
			}
			if rapid.Bool().Draw(t, "stamped") {
				changes = append(changes, demoted(at.Add(engine.Day())))
			}
			id := versionID(at, i)
			if rapid.IntRange(0, 3).Draw(t, "older form") == 0 {
				id = rawVersionID(at, i)
			}
			files = append(files, named(id, at, changes...))
		}
		var bare *engine.Entry
		if rapid.Bool().Draw(t, "bare") {
			e := entry("k", aged(float64(rapid.IntRange(1, 60).Draw(t, "age"))))
			bare = &e
		}
		group := func(files []engine.Entry, bare *engine.Entry) engine.Group {
			container := folder()
			if len(files) > 0 {
				container = pointing(files[0])
			}
			return engine.NewGroup("b", "k", container, files, bare)
		}
		g := group(files, bare)
		for len(g.Objects) > 0 {
			i := rapid.IntRange(0, len(g.Objects)-1).Draw(t, "remove")
			gone := g.Objects[i].VersionID
			g.Remove(i)
			if gone == "null" {
				bare = nil
			}
			files = slices.DeleteFunc(slices.Clone(files), func(e engine.Entry) bool { return e.VersionID() == gone })
			if want := group(files, bare); len(g.Objects)+len(want.Objects) > 0 && !reflect.DeepEqual(g.Objects, want.Objects) {
				t.Fatalf("without %q: %q, want %q", gone, state(g, nil), state(want, nil))
			}
		}
	})
}

func TestDemote(t *testing.T) {
	v1, v2 := version(aged(20)), version(aged(10))
	names := map[string]string{v1.VersionID(): "v1", v2.VersionID(): "v2"}
	null := func(age float64) *engine.Entry {
		e := entry("k", aged(age))
		return &e
	}
	for _, tc := range []struct {
		name     string
		group    engine.Group
		state    engine.Versioning
		want     []string
		versions int
	}{
		{"a version", versions(v2, v1), engine.Enabled, []string{"v2 0", "v1 1"}, 3},
		{"the bare null version", engine.NewGroup("b", "k", nil, nil, null(9)), engine.Enabled, []string{"null 0"}, 2},
		{"the null version over others", engine.NewGroup("b", "k", folder(nullIsLatest), []engine.Entry{v1, v2}, null(5)), engine.Enabled,
			[]string{"null 0", "v2 1", "v1 2"}, 4},
		{"suspended, the null version", engine.NewGroup("b", "k", folder(nullIsLatest), []engine.Entry{v1, v2}, null(5)), engine.Suspended,
			[]string{"v2 0", "v1 1"}, 3},
		{"suspended, a version over the null version", engine.NewGroup("b", "k", pointing(v2), []engine.Entry{v1, v2}, null(15)), engine.Suspended,
			[]string{"v2 0", "v1 1"}, 3},
		{"suspended, the null version alone", engine.NewGroup("b", "k", nil, nil, null(9)), engine.Suspended, nil, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := tc.group
			g.Demote(scenarioNow, tc.state)
			if got := state(g, names); !slices.Equal(got, tc.want) {
				t.Errorf("group is %q, want %q", got, tc.want)
			}
			for i, o := range g.Objects {
				if o.Versions != tc.versions {
					t.Errorf("version %d knows of %d, want %d", i, o.Versions, tc.versions)
				}
			}
			if len(g.Objects) == 0 {
				return
			}
			v := engine.Judge(only(t, rule(noncurrent(1))), &g.Objects[0], scenarioNow, engine.ExactClock)
			if !v.Clock.Equal(scenarioNow) || v.Fires {
				t.Errorf("the newest noncurrent version counts from %v, fires %v, want %v, false", v.Clock, v.Fires, scenarioNow)
			}
		})
	}

	// The pointer can name a version that is not the newest.
	g := engine.NewGroup("b", "k", pointing(v1), []engine.Entry{v2, v1}, nil)
	g.Demote(scenarioNow, engine.Enabled)
	if got := state(g, names); !slices.Equal(got, []string{"v2 0", "v1 1"}) || !g.Objects[1].DemotedAt.Equal(scenarioNow) {
		t.Errorf("group is %q, v1 demoted at %v, want v2 0, v1 1, %v", got, g.Objects[1].DemotedAt, scenarioNow)
	}

	g = versions(v2, v1)
	g.Demote(scenarioNow, engine.Enabled)
	g.Remove(1)
	if got := state(g, names); !slices.Equal(got, []string{"v2 0"}) || g.Objects[0].Versions != 2 {
		t.Errorf("after a removal under the marker: %q of %d versions, want v2 0 of 2", got, g.Objects[0].Versions)
	}
}
