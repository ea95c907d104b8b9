package e2e_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/weedtest"
	"weedlc/pass"
)

// A damaged cursor stops its shard, by name, and no other; only an absent one
// is a first start. The files stay as they are.
func TestScenario47_DamagedCursors(t *testing.T) {
	r := newRig(t)
	const b = "damaged"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	r.opts.Shards = []int{0}
	r.pass(pass.OK)
	r.opts.Shards = allShards

	hash := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	damaged := map[int]string{
		1: "",
		2: fmt.Sprintf(`{"version":1,"shard_id":7,"ts_ns":0,"rule_set_hash":%q,"promoted_hash":%q}`, hash(32), hash(32)),
		3: fmt.Sprintf(`{"version":1,"shard_id":3,"ts_ns":0,"rule_set_hash":%q,"promoted_hash":%q}`, hash(31), hash(32)),
		4: fmt.Sprintf(`{"version":99,"shard_id":4,"ts_ns":0,"rule_set_hash":%q,"promoted_hash":%q}`, hash(32), hash(32)),
	}
	file := func(sh int) string { return cursorfile.FilerDir + "/" + cursorfile.CursorName(sh) }
	for sh, content := range damaged {
		r.WriteFile(file(sh), []byte(content))
	}
	var due []sent
	var kept []string
	for sh := range allShards {
		key := keysInShard(b, sh, 1)[0]
		r.Put(b, key, weedtest.Object{Age: 2 * day})
		if _, bad := damaged[sh]; bad {
			kept = append(kept, key)
		} else {
			due = append(due, sent{b, key, "", engine.ExpirationDays})
		}
	}

	rep := r.pass(pass.Failed, due...)
	r.wantKeys(b, kept...)
	if !rep.Corrupt {
		t.Error("the report does not say that a cursor is corrupt")
	}
	var named []int
	for _, p := range rep.Errors {
		if p.Category != pass.CategoryCursor || !strings.Contains(p.Message, cursorfile.CursorName(p.Shard)) {
			t.Errorf("the error %+v names no cursor", p)
		}
		named = append(named, p.Shard)
	}
	if slices.Sort(named); !slices.Equal(named, []int{1, 2, 3, 4}) {
		t.Errorf("the errors are about the shards %v", named)
	}
	for sh, content := range damaged {
		if got := r.ReadFile(file(sh)); string(got) != content {
			t.Errorf("the damaged cursor of shard %d became %q", sh, got)
		}
		if s := shardReport(t, rep, sh); s.Status != pass.Failed {
			t.Errorf("shard %d ended %q", sh, s.Status)
		}
	}
	if s := shardReport(t, rep, 0); s.Status != pass.OK || s.Recovery != "" {
		t.Errorf("shard 0 ended %q, recovery %q", s.Status, s.Recovery)
	}
	if s := shardReport(t, rep, 5); s.Status != pass.OK || s.Recovery != "cold_start" {
		t.Errorf("shard 5 ended %q, recovery %q", s.Status, s.Recovery)
	}

	// Taken away, they are first starts.
	for sh := range damaged {
		r.Remove(file(sh))
	}
	rest := []sent{}
	for _, key := range kept {
		rest = append(rest, sent{b, key, "", engine.ExpirationDays})
	}
	r.pass(pass.OK, rest...)
	r.wantKeys(b)
}

// A cursor that another writer has moved meanwhile is not overwritten.
func TestCursorThatChangedMeanwhile(t *testing.T) {
	r := newRig(t)
	const b = "changed-cursor"
	r.CreateBucket(b, weedtest.Plain, document(rule("days", prefix(""), expire(1))))
	r.pass(pass.OK)
	key := keysInShard(b, 8, 1)[0]
	r.Put(b, key, weedtest.Object{Age: 2 * day})
	file := cursorfile.FilerDir + "/" + cursorfile.CursorName(8)
	theirs := []byte(strings.Replace(string(r.ReadFile(file)), `"version": 1,`, `"version": 1, "note": "another writer",`, 1))
	rep := r.meanwhile(t.Context(), 1, func() { r.WriteFile(file, theirs) })
	if rep.Status != pass.Failed || len(rep.Errors) != 1 || rep.Errors[0].Category != pass.CategorySave || rep.Errors[0].Shard != 8 {
		t.Errorf("the pass ended %q: %+v", rep.Status, rep.Errors)
	}
	if got := r.ReadFile(file); string(got) != string(theirs) {
		t.Errorf("the other writer's cursor became %s", got)
	}
	r.pass(pass.OK)
	if got := string(r.ReadFile(file)); !strings.Contains(got, "another writer") {
		t.Errorf("the other writer's field is gone: %s", got)
	}
}
