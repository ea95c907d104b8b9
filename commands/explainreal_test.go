package commands

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weedlc/explain"
)

// TestExplainOnARealTree: key by key, explain-rule says what dry-run lists, of
// every version and upload, live and from a backup, and changes nothing.
func TestExplainOnARealTree(t *testing.T) {
	tr := &realTree{Client: shared.Client(t), t: t, r: rand.New(rand.NewPCG(7, 3)), keys: oddKeys()}
	tr.grow()
	before := tr.state()
	now := time.Now().UTC().Format(time.RFC3339Nano)
	backup := filepath.Join(t.TempDir(), "all.meta.gz")
	tr.SaveBackup(backup, "/")

	listed := map[string]string{}
	for line := range strings.Lines(tr.weedlc(exitDone, "dry-run", "--output", "jsonl", "--at", now)) {
		l := object(t, []byte(line))
		upload, _ := l["upload_id"].(string)
		listed[fmt.Sprintf("%v %q %v %v", l["bucket"], l["key"], l["version_id"], upload)] = fmt.Sprint(l["action"], l["rule_id"], l["due"])
	}
	explained, kept := 0, 0
	for _, bucket := range []string{"plain", "versioned", "suspended", "locked", "norules"} {
		for i, key := range append(tr.keys, "a/upload", "z", "k", "nothing here") {
			args := []string{"explain-rule", "--output", "json", "--bucket", bucket, "--key", key, "--at", now}
			live := parseExplained(t, tr.weedlc(exitDone, args...))
			for _, v := range live.Versions {
				name := fmt.Sprintf("%s %q %s %s", bucket, key, v.VersionID, v.UploadID)
				want, is := listed[name]
				delete(listed, name)
				explained++
				switch v.Verdict {
				case explain.Keep, explain.SkipLock:
					kept++
					if is {
						t.Errorf("%s: %s (%s), but dry-run lists %s", name, v.Verdict, v.Why, want)
					}
				default:
					if got := fmt.Sprint(v.Action, v.RuleID, v.Due.Format(time.RFC3339Nano)); got != want {
						t.Errorf("%s: %s, dry-run lists %q", name, got, want)
					}
				}
			}
			if i%4 != 0 {
				continue
			}
			saved := parseExplained(t, tr.weedlc(exitDone, append(args, "--from", backup)...))
			if a, b := withoutHandling(t, live), withoutHandling(t, saved); a != b {
				t.Errorf("%s/%s: live\n%s\nby the backup\n%s", bucket, key, a, b)
			}
			if len(saved.Versions) > 0 && saved.CursorsKnown {
				t.Errorf("%s/%s: a backup has cursors", bucket, key)
			}
		}
	}
	for name, what := range listed {
		t.Errorf("dry-run lists %s: %s, which explain-rule does not know", name, what)
	}
	if explained < 60 || kept < 10 || explained-kept < 10 {
		t.Errorf("%d versions, %d kept: this tells little", explained, kept)
	}
	if after := tr.state(); after != before {
		t.Errorf("something was changed:\n%s\nwas\n%s", after, before)
	}
}

func parseExplained(t *testing.T, text string) explainKeyJSON {
	t.Helper()
	var doc struct{ Key explainKeyJSON }
	check(t, json.Unmarshal([]byte(text), &doc))
	return doc.Key
}

// withoutHandling is what there is to say of a key where no cursors are known.
func withoutHandling(t *testing.T, k explainKeyJSON) string {
	t.Helper()
	k.CursorsKnown = false
	for i := range k.Versions {
		k.Versions[i].Handling = nil
	}
	text, err := json.MarshalIndent(k, "", " ")
	check(t, err)
	return string(text)
}
