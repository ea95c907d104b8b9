package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"
)

// Group is all versions of one key in a bucket that has or had versioning.
type Group struct {
	Bucket, Key string
	// Objects are the versions, newest first, delete markers and the null
	// version too. Latest, Rank, SuccessorAt and Versions are filled in.
	Objects []Object
	// Unresolved says why it is not known which version is the current one;
	// empty when it is known. No object is Latest then and no rank is known, so
	// that no action fires on any of them.
	Unresolved string

	// hidden counts versions that are not among Objects: files of the version
	// folder that cannot be addressed, and markers put on top.
	hidden int
	// markedAt is when a delete marker was put on top; zero is never.
	markedAt time.Time
}

// NewGroup gathers what lies at a key. The container is the key's version
// folder and files are its children; only files with a version ID are versions.
// The bare entry lies at the key itself and is the null version, unless it
// stands for another key: a plain folder for none, a folder marker for the key
// with a trailing slash. Both may be nil.
//
// The current version is the one that the gateway resolves: the file that the
// container's pointer names; the newest file when that one is gone; without a
// pointer the null version, if the container says so, or if the null version
// is newer than every file, and else the newest file. Where the gateway's reads
// and its listings would disagree, the group is unresolved.
func NewGroup(bucket, key string, container *Entry, files []Entry, bare *Entry) Group {
	g := Group{Bucket: bucket, Key: key}
	f := gather(key, container, files, bare)
	latest, why := f.latest()
	g.Unresolved = why
	g.hidden = len(files) + f.bareCount() - len(f.members)
	if latest >= 0 {
		f.members[latest].latest = true
	}
	if why == "" && f.bare >= 0 {
		// A null marker beside the null version is a leftover: it is neither
		// read nor listed, and its ID means the other one.
		before := len(f.members)
		f.members = slices.DeleteFunc(f.members, func(m member) bool { return m.id == nullVersion && !m.bare })
		g.hidden += before - len(f.members)
	}
	for _, m := range f.newestFirst() {
		o := newObject(bucket, key, m.entry)
		o.VersionID = m.id
		o.Latest = m.latest
		g.Objects = append(g.Objects, o)
	}
	g.rank()
	return g
}

// RankedGroup is a group of versions whose order is known: newest first, the
// first one current. Latest, Rank, SuccessorAt and Versions are filled in.
func RankedGroup(bucket, key string, newestFirst []Object) Group {
	g := Group{Bucket: bucket, Key: key, Objects: newestFirst}
	for i := range g.Objects {
		g.Objects[i].Latest = i == 0
	}
	g.rank()
	return g
}

// rank fills in what depends on the other versions.
func (g *Group) rank() {
	noncurrent := 0
	for i := range g.Objects {
		o := &g.Objects[i]
		o.Versions = len(g.Objects) + g.hidden
		o.Rank, o.SuccessorAt = RankUnknown, time.Time{}
		if o.Latest {
			continue
		}
		if i > 0 {
			o.SuccessorAt = g.Objects[i-1].ModTime
		} else {
			o.SuccessorAt = g.markedAt
		}
		if g.Unresolved == "" {
			o.Rank = noncurrent
			noncurrent++
		}
	}
}

// Remove takes a version out as if it had never been: the others are ranked
// again, and when it was the current one, the newest file or else the null
// version becomes current, as the gateway does it.
func (g *Group) Remove(i int) {
	wasLatest := g.Objects[i].Latest
	g.Objects = slices.Delete(g.Objects, i, i+1)
	if wasLatest && len(g.Objects) > 0 {
		next := slices.IndexFunc(g.Objects, func(o Object) bool { return o.VersionID != nullVersion })
		g.Objects[max(next, 0)].Latest = true
	}
	g.rank()
}

// Demote is what an expiration at now does to the group in a bucket of that
// versioning state: a delete marker, which is not among Objects, becomes
// current, and the version that was current becomes the newest noncurrent one.
// In a suspended bucket the marker replaces the null version, current or not,
// which leaves Objects. The identity of a version that was demoted no longer
// holds: the gateway stamps the entry.
func (g *Group) Demote(now time.Time, state Versioning) {
	if state == Suspended {
		g.Objects = slices.DeleteFunc(g.Objects, func(o Object) bool { return o.VersionID == nullVersion })
	}
	for i := range g.Objects {
		if g.Objects[i].Latest {
			g.Objects[i].Latest = false
			g.Objects[i].DemotedAt = now
		}
	}
	g.markedAt = now
	g.hidden++
	g.rank()
}

// member is an entry that is a version.
type member struct {
	entry  *Entry
	id     string
	bare   bool
	latest bool
}

// isNewerThan places a null version beside a file by the gateway's measure,
// whole seconds of mtime. Of one second the file is the newer, unless the null
// version is known to be current.
func (m member) isNewerThan(file member) bool {
	ours, theirs := seconds(m.entry), seconds(file.entry)
	return ours > theirs || ours == theirs && m.latest
}

func seconds(e *Entry) int64 { return time.Unix(0, e.MtimeNs).Unix() }

// family is what lies at a key, before the current version is resolved.
type family struct {
	key       string
	container *Entry
	members   []member
	// bare is the index of the null version at the key itself; -1 is none.
	bare int
	// nameless is a version file without a version ID: the gateway may take it
	// for the newest, but a version without an ID is not to be touched.
	nameless string
}

func gather(key string, container *Entry, files []Entry, bare *Entry) family {
	f := family{key: key, container: container, bare: -1}
	for i := range files {
		e := &files[i]
		if e.Nature != File {
			continue
		}
		if id := e.VersionID(); id != "" {
			f.members = append(f.members, member{entry: e, id: id})
		} else if strings.HasPrefix(e.Name, versionFilePrefix) {
			f.nameless = e.Name
		}
	}
	if bare != nil && standsFor(bare, key) {
		f.bare = len(f.members)
		f.members = append(f.members, member{entry: bare, id: nullVersion, bare: true})
	}
	return f
}

// versionFilePrefix begins the name of every version file; the version ID
// follows.
const versionFilePrefix = "v_"

// standsFor reports whether an entry at the place of a key is that key's object.
func standsFor(e *Entry, key string) bool {
	if strings.HasSuffix(key, "/") {
		return e.Nature == FolderMarker
	}
	return e.Nature == File || e.Nature == PrefixObject
}

func (f *family) bareCount() int {
	if f.bare < 0 {
		return 0
	}
	return 1
}

// latest is the index of the current version; -1 when there is no version, or
// with a reason when it cannot be told.
func (f *family) latest() (int, string) {
	if len(f.members) == 0 {
		return -1, ""
	}
	if i := slices.IndexFunc(f.members, func(m member) bool { return !m.entry.HasAttributes }); i >= 0 {
		return -1, fmt.Sprintf("version %q has no attributes", f.members[i].id)
	}
	if f.container == nil {
		if len(f.members) > f.bareCount() {
			return -1, "the version folder's own entry is missing"
		}
		return f.bare, ""
	}
	if want := versionFolderOf(f.key); f.container.Name != want {
		return -1, fmt.Sprintf("folder %q does not hold the versions of this key, %q does", f.container.Name, want)
	}
	i, why := f.resolve()
	if why == "" && f.bare >= 0 && i != f.bare && f.members[i].id == nullVersion {
		return -1, "both a null version and a null delete marker, which is the current one"
	}
	if why != "" {
		return -1, why
	}
	return i, ""
}

func versionFolderOf(key string) string {
	return key[strings.LastIndexByte(key, '/')+1:] + s3_constants.VersionsFolder
}

// resolve follows the container's pointer, or does without one.
func (f *family) resolve() (int, string) {
	ext := f.container.Extended
	id := string(ext[s3_constants.ExtLatestVersionIdKey])
	file := string(ext[s3_constants.ExtLatestVersionFileNameKey])
	newest := f.newestFile()
	if id != "" && file != "" {
		if i := slices.IndexFunc(f.members, func(m member) bool { return !m.bare && m.entry.Name == file }); i >= 0 {
			if f.members[i].id != id {
				return -1, fmt.Sprintf("the pointer names version %q, but its file %q is version %q", id, file, f.members[i].id)
			}
			return i, ""
		}
		if newest < 0 && f.nameless == "" {
			return f.bare, ""
		}
		return f.newestKnown(newest)
	}
	if f.bare < 0 {
		return f.newestKnown(newest)
	}
	nullIsLatest := string(ext[s3_constants.ExtNullVersionIsLatestKey]) == "true"
	if id == "" && (nullIsLatest || newest < 0 && f.nameless == "" || f.bareIsNewer(newest)) {
		return f.bare, ""
	}
	return -1, "no pointer to the current version, which may be the null version or the newest file"
}

// newestKnown is the newest file, unless one without an ID may be newer.
func (f *family) newestKnown(newest int) (int, string) {
	if f.nameless != "" {
		return -1, fmt.Sprintf("no pointer to the current version, and file %q has no version ID", f.nameless)
	}
	return newest, ""
}

// newestFile is the index of the newest version file; -1 when there is none.
// Like the gateway, it takes a null marker only when there is nothing else.
func (f *family) newestFile() int {
	newest := -1
	for i, m := range f.members {
		if !m.bare && (newest < 0 || s3lifecycle.CompareVersionIds(m.id, f.members[newest].id) < 0) {
			newest = i
		}
	}
	return newest
}

// bareIsNewer reports whether the null version is newer than every file.
func (f *family) bareIsNewer(newest int) bool {
	return newest >= 0 && f.nameless == "" && f.members[f.bare].isNewerThan(f.members[newest])
}

// newestFirst orders the files by their IDs, which tell the time of the write,
// and places null versions, whose ID tells nothing, among them.
func (f *family) newestFirst() []member {
	var files, nulls []member
	for _, m := range f.members {
		if m.id == nullVersion {
			nulls = append(nulls, m)
		} else {
			files = append(files, m)
		}
	}
	slices.SortStableFunc(files, func(a, b member) int { return s3lifecycle.CompareVersionIds(a.id, b.id) })
	for _, m := range nulls {
		i := slices.IndexFunc(files, m.isNewerThan)
		if i < 0 {
			i = len(files)
		}
		files = slices.Insert(files, i, m)
	}
	return files
}
