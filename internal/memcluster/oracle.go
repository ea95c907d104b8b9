package memcluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// Oracle says what rules make of what lies in a cluster. It reads the whole
// tree, all rules and nothing else: neither log nor cursors, and neither hooks
// nor counts see it. Which version is current and how versions rank it takes
// from the gateway's side, not from engine.NewGroup.
type Oracle struct {
	Cluster *Cluster
	// Clock is the day clock of the passes that are judged.
	Clock engine.DayClock
	// AllowUnfiltered accepts rules with neither Filter nor Prefix.
	AllowUnfiltered bool
}

// Live is one object, version or upload as it lies in a bucket.
type Live struct {
	engine.Object
	// Paths are those that an event about it can have.
	Paths []string
}

// Shards are those of the object's paths.
func (l *Live) Shards() []int {
	var shards []int
	for _, p := range l.Paths {
		shards = append(shards, engine.ShardOf(l.Bucket, p))
	}
	slices.Sort(shards)
	return slices.Compact(shards)
}

// Owed is a live object that an action makes due.
type Owed struct {
	Live
	Action  *engine.Action
	Verdict engine.Verdict
}

func (o *Owed) String() string {
	return fmt.Sprintf("%s/%s version %q: %s of %q was due at %s (clock %s, committed %s)",
		o.Bucket, o.Path, o.VersionID, o.Action.Kind, o.Action.Rule.Label(), o.Verdict.Due.Format(time.RFC3339),
		o.Verdict.Clock.Format(time.RFC3339), time.Unix(0, o.CommitNs).UTC().Format(time.RFC3339))
}

// Rules compiles the rules in force. A bucket whose document is refused as a
// whole has none.
func (o Oracle) Rules() *engine.Snapshot {
	c := o.Cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	var sources []engine.Source
	for _, name := range c.bucketNames() {
		b := c.buckets[name].info
		if len(b.Rules) == 0 {
			continue
		}
		rules, _ := engine.ParseXML(b.Name, b.Rules, engine.ParseOptions{
			AllowUnfiltered: o.AllowUnfiltered, Versioning: b.Versioning, KnownVersioning: true,
		})
		sources = append(sources, engine.Source{Bucket: b, Rules: rules})
	}
	return engine.New().Compile(sources)
}

// Live lists everything in a bucket that a rule can be about.
func (o Oracle) Live(bucketName string) []Live {
	c := o.Cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.buckets[bucketName]; b != nil {
		return b.live()
	}
	return nil
}

// Due lists what is due at now in every bucket, locked or not, in the order of
// buckets and paths.
func (o Oracle) Due(now time.Time) []Owed {
	rules := o.Rules()
	var owed []Owed
	for _, name := range rules.Buckets() {
		for _, l := range o.Live(name) {
			if a, v, fires := engine.FirstDue(rules.Matching(name, l.Key), &l.Object, now, o.Clock); fires {
				owed = append(owed, Owed{l, a, v})
			}
		}
	}
	return owed
}

// Justifies says why a delete must not be sent at now, or nothing: it names a
// live object with its present identity, and the rule and kind that it gives
// make that object due. A request that the gateway will not carry out because
// its identity is stale does no harm.
func (o Oracle) Justifies(req *engine.DeleteRequest, now time.Time) string {
	rules := o.Rules()
	for _, l := range o.Live(req.Bucket) {
		identity := l.Identity()
		if l.Path != req.Path || identity == nil || l.VersionID != req.VersionID {
			continue
		}
		if !sameWitness(identity, &req.Identity) {
			return ""
		}
		why := fmt.Sprintf("no rule in force has hash %s and kind %s", req.RuleHash, req.Kind)
		for _, a := range rules.Matching(req.Bucket, l.Key) {
			if a.Hash != req.RuleHash || a.Kind != req.Kind {
				continue
			}
			v := engine.Evaluate(a, &l.Object, now, o.Clock)
			if v.Fires {
				return ""
			}
			why = fmt.Sprintf("rule %q does not fire at %s: %+v", a.Rule.Label(), now.Format(time.RFC3339), v)
		}
		return fmt.Sprintf("%s/%s version %q: %s", req.Bucket, req.Path, req.VersionID, why)
	}
	return ""
}

func sameWitness(a, b *engine.Identity) bool {
	return a.MtimeNs == b.MtimeNs && a.Size == b.Size && a.HeadChunk == b.HeadChunk && string(a.ExtendedHash) == string(b.ExtendedHash)
}

// live lists the uploads, and then the objects or versions in the order of
// their paths.
func (b *bucket) live() []Live {
	var out []Live
	for _, id := range b.children(s3_constants.MultipartUploadsFolder) {
		path := uploadPath(id)
		if o, ok := engine.NewUpload(b.info.Name, b.get(path)); ok {
			out = append(out, Live{o, []string{path, o.Key}})
		}
	}
	var walk func(folder string)
	walk = func(folder string) {
		for _, name := range b.children(folder) {
			path := join(folder, name)
			if path == s3_constants.MultipartUploadsFolder {
				continue
			}
			e := b.get(path)
			out = append(out, b.liveAt(path, e)...)
			if e.Nature.IsFolder() && !(b.info.Versioned() && b.isContainer(path)) {
				walk(path)
			}
		}
	}
	walk("")
	return out
}

// isContainer reports whether a folder holds versions.
func (b *bucket) isContainer(path string) bool {
	if !strings.HasSuffix(path, s3_constants.VersionsFolder) {
		return false
	}
	return slices.ContainsFunc(b.children(path), func(name string) bool {
		return len(b.get(join(path, name)).Extended[s3_constants.ExtVersionIdKey]) > 0
	})
}

// liveAt lists what an entry stands for. Versions are listed where their
// container is, the null version too.
func (b *bucket) liveAt(path string, e *engine.Entry) []Live {
	if !b.info.Versioned() {
		if e.Nature == engine.Folder {
			return nil
		}
		return []Live{{engine.NewObject(b.info.Name, path, e), []string{path}}}
	}
	if b.isContainer(path) {
		return b.versions(strings.TrimSuffix(path, s3_constants.VersionsFolder))
	}
	key := path
	if e.Nature == engine.FolderMarker {
		key += "/"
	}
	if e.Nature == engine.Folder || b.isContainer(clean(versionFolder(key))) {
		return nil
	}
	return b.versions(key)
}

// versions lists a key's versions, newest first.
func (b *bucket) versions(key string) []Live {
	paths := []string{clean(key), versionFolder(key)}
	_, latest, _ := b.current(key)
	var members []*engine.Entry
	bare := b.get(key)
	if bare != nil && !isNullVersion(bare, key) {
		bare = nil
	}
	for _, name := range b.children(versionFolder(key)) {
		file := b.get(join(versionFolder(key), name))
		paths = append(paths, join(versionFolder(key), name))
		if versionIDOf(file) == nullVersion && bare != nil && file != latest {
			continue // a leftover marker: its id means the bare object
		}
		members = append(members, file)
	}
	if bare != nil {
		members = append(members, bare)
	}
	slices.SortStableFunc(members, func(x, y *engine.Entry) int { return newestFirst(x, y, latest) })
	var out []Live
	rank := 0
	for i, e := range members {
		o := engine.NewObject(b.info.Name, key, e)
		o.Key, o.Path, o.VersionID = key, key, versionIDOf(e)
		o.Latest, o.Versions, o.Rank = e == latest, len(members), engine.RankUnknown
		if !o.Latest {
			o.Rank = rank
			rank++
			if i > 0 {
				o.SuccessorAt = time.Unix(0, members[i-1].MtimeNs).UTC()
			}
		}
		out = append(out, Live{o, paths})
	}
	return out
}

// newestFirst orders two versions: by the time in their ids, and a null
// version, whose id has none, by whole seconds of mtime.
func newestFirst(x, y, latest *engine.Entry) int {
	xID, yID := versionIDOf(x), versionIDOf(y)
	before := false
	switch {
	case x == y:
		return 0
	case xID != nullVersion && yID != nullVersion:
		before = newerVersion(xID, yID)
	case xID == nullVersion:
		before = nullIsNewer(x, y, latest)
	default:
		before = !nullIsNewer(y, x, latest)
	}
	if before {
		return -1
	}
	return 1
}

func nullIsNewer(null, file, latest *engine.Entry) bool {
	a, b := null.MtimeNs/1e9, file.MtimeNs/1e9
	return a > b || a == b && null == latest
}
