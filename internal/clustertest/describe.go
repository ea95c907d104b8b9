package clustertest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

// names replaces the ids that a cluster gives out by names of the case, so that
// cases can be written down.
type names struct{ known map[string]string }

func newNames() *names { return &names{known: map[string]string{}} }

// add gives an id a name; an empty one leaves it "new".
func (n *names) add(id, name string) {
	if id != "" && id != "null" && name != "" {
		n.known[id] = name
	}
}

// id is what a name stands for.
func (n *names) id(name string) string {
	for id, known := range n.known {
		if known == name {
			return id
		}
	}
	return ""
}

// idOr is what a name stands for, or the name itself where it is none.
func (n *names) idOr(name string) string {
	if id := n.id(name); id != "" {
		return id
	}
	return name
}

// out puts the id of a version file's name back into a path.
func (n *names) out(at string) string {
	folder, file := path.Split(at)
	if name, ok := strings.CutPrefix(file, "v_"); ok {
		return folder + "v_" + n.idOr(name)
	}
	return at
}

var (
	partName  = regexp.MustCompile(`(\d{4})_[0-9a-f-]+\.part`)
	versionID = regexp.MustCompile(`[0-9a-f]{32}`)
)

// in names the ids of a text. An id that the case does not know is "new", or
// "new-old-format" where its time counts up.
func (n *names) in(s string) string {
	s = partName.ReplaceAllString(s, "part$1")
	for _, id := range slices.Sorted(maps.Keys(n.known)) {
		s = strings.ReplaceAll(s, id, n.known[id])
	}
	return versionID.ReplaceAllStringFunc(s, func(id string) string {
		if t, err := strconv.ParseUint(id[:16], 16, 64); err == nil && t < 0x4000000000000000 {
			return "new-old-format"
		}
		return "new"
	})
}

// describe says what a case wants to know of an entry.
func describe(at string, e *engine.Entry) string {
	words := []string{at}
	switch e.Nature {
	case engine.Folder:
		words = append(words, "folder")
	case engine.FolderMarker:
		words = append(words, "folder-marker")
	case engine.PrefixObject:
		words = append(words, "prefix-object")
	}
	if e.Size > 0 {
		words = append(words, fmt.Sprintf("%dB", e.Size))
	}
	if !e.HasAttributes {
		words = append(words, "no-attributes")
	}
	if len(e.Chunks) != min(1, int(e.Size)) {
		words = append(words, fmt.Sprintf("chunks=%d", len(e.Chunks)))
	}
	ext := e.Extended
	if id := string(ext[s3_constants.ExtVersionIdKey]); id != "" {
		words = append(words, "id="+id)
	}
	if string(ext[s3_constants.ExtDeleteMarkerKey]) == "true" {
		words = append(words, "delete-marker")
	}
	if ns, err := strconv.ParseInt(string(ext[s3_constants.ExtNoncurrentSinceNsKey]), 10, 64); err == nil && ns > 0 {
		words = append(words, "demoted")
	}
	if latest := string(ext[s3_constants.ExtLatestVersionIdKey]); latest != "" {
		words = append(words, "latest="+latest)
		if file := string(ext[s3_constants.ExtLatestVersionFileNameKey]); file != "v_"+latest {
			words = append(words, "latest-file="+file)
		}
	}
	if string(ext[s3_constants.ExtNullVersionIsLatestKey]) == "true" {
		words = append(words, "null-is-latest")
	}
	for _, k := range slices.Sorted(maps.Keys(ext)) {
		if tag, ok := strings.CutPrefix(k, s3_constants.AmzObjectTagging+"-"); ok {
			words = append(words, fmt.Sprintf("tag:%s=%s", tag, ext[k]))
		}
	}
	if key := string(ext[s3_constants.ExtMultipartObjectKey]); key != "" {
		words = append(words, "upload-of="+key)
	}
	if id := string(ext[s3_constants.SeaweedFSUploadId]); id != "" {
		words = append(words, "uploaded-as="+id)
	}
	if mode := string(ext[s3_constants.ExtObjectLockModeKey]); mode != "" {
		words = append(words, mode)
	}
	if hold := string(ext[s3_constants.ExtLegalHoldKey]); hold != "" {
		words = append(words, "hold="+hold)
	}
	return strings.Join(words, " ")
}

// describeEvent says what an event did: "+" made an entry, "-" removed it, "~"
// changed it, ">" moved it.
func describeEvent(ev *engine.Event) string {
	switch {
	case ev.New == nil:
		return "- " + describe(ev.Path, ev.Old)
	case ev.Old == nil:
		return "+ " + describe(ev.Path, ev.New)
	case ev.OldPath != "":
		return "> " + ev.OldPath + " " + describe(ev.Path, ev.New)
	}
	return "~ " + describe(ev.Path, ev.New)
}

// tree describes everything in a bucket, in the order of the paths.
func (w *world) tree(bucket string) []string {
	w.Helper()
	var out []string
	var walk func(folder string)
	walk = func(folder string) {
		entries, err := w.Filer.List(w.ctx, engine.Page{Bucket: bucket, Folder: folder, Limit: 1000})
		w.check(err)
		for i := range entries {
			at := path.Join(folder, entries[i].Name)
			out = append(out, w.names.in(describe(at, &entries[i])))
			if entries[i].Nature.IsFolder() {
				walk(at)
			}
		}
	}
	walk("")
	slices.Sort(out)
	return out
}

// wantTree compares a bucket's tree with what a case expects, in any order.
func (w *world) wantTree(bucket string, want ...string) {
	w.Helper()
	slices.Sort(want)
	if got := w.tree(bucket); !slices.Equal(got, want) {
		w.Errorf("bucket holds\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
