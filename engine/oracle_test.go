package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle"
	builtin "github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/engine"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/router"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/scheduler"
	"pgregory.net/rapid"

	"weedlc/engine"
)

// The built-in worker is the oracle of this file.

// builtinRule is a rule in the built-in's form.
func builtinRule(r *engine.Rule) *s3lifecycle.Rule {
	b := &s3lifecycle.Rule{
		ID: r.ID, Status: s3lifecycle.StatusDisabled, Prefix: r.Prefix, FilterTags: r.Tags,
		ExpirationDays: r.ExpirationDays, ExpirationDate: r.ExpirationDate, ExpiredObjectDeleteMarker: r.ExpiredMarker,
		NoncurrentVersionExpirationDays: r.NoncurrentDays, NewerNoncurrentVersions: r.NewerNoncurrent,
		AbortMPUDaysAfterInitiation: r.AbortDays,
	}
	if r.Enabled {
		b.Status = s3lifecycle.StatusEnabled
	}
	if r.SizeGreaterThan != nil {
		b.FilterSizeGreaterThan = *r.SizeGreaterThan
	}
	if r.SizeLessThan != nil {
		b.FilterSizeLessThan = *r.SizeLessThan
	}
	return b
}

// builtinObject is an object in the built-in's form. Its one successor time is
// the later of the two that we keep.
func builtinObject(o *engine.Object) *s3lifecycle.ObjectInfo {
	info := &s3lifecycle.ObjectInfo{
		Key: o.Key, ModTime: o.ModTime, Size: o.Size, Tags: o.Tags, IsLatest: o.Latest,
		IsDeleteMarker: o.DeleteMarker, NumVersions: o.Versions, IsMPUInit: o.UploadID != "",
		SuccessorModTime: o.DemotedAt,
	}
	if o.SuccessorAt.After(o.DemotedAt) {
		info.SuccessorModTime = o.SuccessorAt
	}
	if o.Rank >= 0 {
		info.NoncurrentIndex = &o.Rank
	}
	return info
}

func drawRule(t *rapid.T) *engine.Rule {
	r := &engine.Rule{
		ID:      rapid.SampledFrom([]string{"", "r", "s"}).Draw(t, "id"),
		Enabled: rapid.IntRange(0, 5).Draw(t, "enabled") > 0,
		Prefix:  rapid.SampledFrom([]string{"", "", "a", "a/", "b"}).Draw(t, "prefix"),
	}
	if rapid.IntRange(0, 2).Draw(t, "tagged") == 0 {
		r.Tags = drawTags(t)
	}
	bound := rapid.Int64Range(1, 4)
	if rapid.IntRange(0, 3).Draw(t, "above") == 0 {
		n := bound.Draw(t, "size above")
		r.SizeGreaterThan = &n
	}
	if rapid.IntRange(0, 3).Draw(t, "below") == 0 {
		n := bound.Draw(t, "size below")
		r.SizeLessThan = &n
	}
	elements := rapid.IntRange(1, 31).Draw(t, "elements")
	days := rapid.IntRange(1, 4)
	if elements&1 != 0 {
		r.ExpirationDays = days.Draw(t, "days")
	}
	if elements&2 != 0 {
		r.ExpirationDate = aged(float64(rapid.IntRange(-3, 3).Draw(t, "date")))
	}
	if elements&4 != 0 {
		r.NoncurrentDays = rapid.IntRange(0, 4).Draw(t, "noncurrent")
		r.NewerNoncurrent = rapid.IntRange(0, 3).Draw(t, "newer")
	}
	if elements&8 != 0 {
		r.AbortDays = days.Draw(t, "abort")
	}
	r.ExpiredMarker = elements&16 != 0
	return r
}

func drawTags(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"", "1"}), 0, 2).Draw(t, "tags")
}

// drawTime is a time around scenarioNow, often exactly a day's multiple off.
func drawTime(t *rapid.T, label string) time.Time {
	off := rapid.SampledFrom([]time.Duration{0, 0, -1, 1, 5 * time.Hour, -time.Second}).Draw(t, label+" off")
	return aged(float64(rapid.IntRange(-2, 6).Draw(t, label))).Add(off)
}

func drawObject(t *rapid.T) *engine.Object {
	o := &engine.Object{
		Bucket:  "b",
		Key:     rapid.SampledFrom([]string{"a", "a/x", "ab", "b", "c"}).Draw(t, "key"),
		ModTime: drawTime(t, "mtime"),
		Size:    rapid.Int64Range(0, 5).Draw(t, "size"),
		Tags:    drawTags(t),
		Rank:    engine.RankUnknown,
	}
	switch rapid.SampledFrom([]string{"upload", "current", "current", "noncurrent", "noncurrent"}).Draw(t, "what") {
	case "upload":
		o.UploadID = "u"
		return o
	case "current":
		o.Latest = true
	case "noncurrent":
		o.Rank = rapid.IntRange(0, 4).Draw(t, "rank")
	}
	o.VersionID = "v"
	o.DeleteMarker = rapid.Bool().Draw(t, "marker")
	o.Versions = rapid.IntRange(0, 3).Draw(t, "versions")
	if rapid.Bool().Draw(t, "stamped") {
		o.DemotedAt = drawTime(t, "demoted")
	}
	if rapid.Bool().Draw(t, "succeeded") {
		o.SuccessorAt = drawTime(t, "successor")
	}
	return o
}

func TestOracleVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRule(t)
		for range 40 {
			o := drawObject(t)
			now := drawTime(t, "now")
			for _, a := range compile(source("b", r)).Actions() {
				compareVerdict(t, a, o, now)
			}
		}
	})
}

func compareVerdict(t *rapid.T, a *engine.Action, o *engine.Object, now time.Time) {
	t.Helper()
	theirs, info := builtinRule(a.Rule), builtinObject(o)
	v := engine.Judge(a, o, now, engine.ExactClock)
	fires := s3lifecycle.EvaluateAction(theirs, a.Kind, info, now).Action != s3lifecycle.ActionNone
	if v.Fires != fires {
		t.Fatalf("%v of %+v on %+v at %v: fires %v, the built-in says %v", a.Kind, a.Rule, o, now, v.Fires, fires)
	}

	due := s3lifecycle.ComputeDueAt(theirs, a.Kind, info)
	if o.UploadID != "" && a.Kind != engine.AbortMPU {
		due = time.Time{} // it has a time and never fires
	}
	if timed := a.IsReplayKind() || a.Kind == engine.ExpirationDate; !timed && due.After(now) {
		due = now // it fires all the same
	}
	if !v.Due.Equal(due) {
		t.Fatalf("%v of %+v on %+v at %v: due %v, the built-in says %v", a.Kind, a.Rule, o, now, v.Due, due)
	}

	// What is true of every verdict, whoever asks.
	full := engine.Evaluate(a, o, now, engine.ExactClock)
	all := len(full.Checks) > 0
	for _, c := range full.Checks {
		all = all && (c.OK || c.Name == "lock")
	}
	if all != full.Fires {
		t.Fatalf("%v on %+v: fires %v with checks %v", a.Kind, o, full.Fires, full.Checks)
	}
	full.Checks = nil
	if fmt.Sprint(full) != fmt.Sprint(v) {
		t.Fatalf("%v on %+v: Evaluate says %+v, Judge %+v", a.Kind, o, full, v)
	}
	if v.Fires && !v.Matches || v.Matches && !v.Fires && !now.Before(v.Due) {
		t.Fatalf("%v on %+v at %v: %+v", a.Kind, o, now, v)
	}
	midnight := engine.Judge(a, o, now, engine.MidnightClock)
	if midnight.Fires && !v.Fires || midnight.Matches != v.Matches || midnight.Due.Before(v.Due) || midnight.Due.Sub(v.Due) >= engine.Day() {
		t.Fatalf("%v on %+v: exact %+v, midnight %+v", a.Kind, o, v, midnight)
	}
}

// A written-out bound of zero is the one filter that the built-in cannot see.
func TestOracleExplicitZeroBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRule(t)
		zero := int64(0)
		r.SizeGreaterThan = &zero
		for range 20 {
			o := drawObject(t)
			now := drawTime(t, "now")
			for _, a := range compile(source("b", r)).Actions() {
				theirs := s3lifecycle.EvaluateAction(builtinRule(r), a.Kind, builtinObject(o), now).Action != s3lifecycle.ActionNone
				if got, want := engine.Judge(a, o, now, engine.ExactClock).Fires, theirs && o.Size > 0; got != want {
					t.Fatalf("%v, size %d: fires %v, want %v", a.Kind, o.Size, got, want)
				}
			}
		}
	})
}

// The built-in goes by a stamp alone, however stale; we never delete earlier
// than it would with the later of the two times, and never on an unknown rank.
func TestOracleLaterDemotionWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawObject(t)
		a := actions(rule(noncurrent(rapid.IntRange(1, 4).Draw(t, "days"))))[0]
		now := drawTime(t, "now")
		byStamp := builtinObject(o)
		byStamp.SuccessorModTime = o.DemotedAt
		if o.DemotedAt.IsZero() {
			byStamp.SuccessorModTime = o.SuccessorAt
		}
		theirs := s3lifecycle.EvaluateAction(builtinRule(a.Rule), a.Kind, byStamp, now).Action != s3lifecycle.ActionNone
		v := engine.Judge(a, o, now, engine.ExactClock)
		if v.Fires && !theirs {
			t.Fatalf("fires on %+v at %v, the built-in does not", o, now)
		}
		if theirs && !v.Fires && !o.SuccessorAt.After(o.DemotedAt) {
			t.Fatalf("does not fire on %+v at %v, though its stamp is the later time", o, now)
		}
		o.Rank = engine.RankUnknown
		if engine.Judge(a, o, now, engine.ExactClock).Fires {
			t.Fatalf("fires on a version of unknown rank")
		}
	})
}

// rulesets draws buckets with rules, some of them alike.
func rulesets(t *rapid.T) []engine.Source {
	var sources []engine.Source
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "buckets") {
		src := source(name)
		src.Bucket.Versioning = rapid.SampledFrom([]engine.Versioning{engine.Unversioned, engine.Enabled, engine.Suspended}).Draw(t, "versioning")
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			src.Rules = append(src.Rules, drawRule(t))
		}
		if len(src.Rules) > 0 && rapid.Bool().Draw(t, "a rule again") {
			again := *src.Rules[0]
			again.ID = "again"
			again.Enabled = rapid.Bool().Draw(t, "enabled again")
			src.Rules = append(src.Rules, &again)
		}
		sources = append(sources, src)
	}
	return sources
}

// builtinSnapshot compiles rules as the worker and the shell command do.
func builtinSnapshot(sources []engine.Source, keep func(*engine.Rule) bool) *builtin.Snapshot {
	var inputs []builtin.CompileInput
	for _, src := range sources {
		in := builtin.CompileInput{Bucket: src.Bucket.Name, Versioned: src.Bucket.Versioned()}
		for _, r := range src.Rules {
			if keep(r) {
				in.Rules = append(in.Rules, builtinRule(r))
			}
		}
		inputs = append(inputs, in)
	}
	return builtin.New().Compile(inputs, builtin.CompileOptions{PriorStates: scheduler.AllActivePriorStates(inputs)})
}

func all(*engine.Rule) bool { return true }

func TestOracleCursorHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			sources := rulesets(t)
			ours, theirs := compile(sources...), builtinSnapshot(sources, all)
			if got, want := engine.ReplayContentHash(ours), builtin.ReplayContentHash(theirs); got != want {
				t.Fatalf("replay content hash is %v, want %x", got, want)
			}
			longest := engine.MaxEffectiveTTL(ours)
			if want := builtin.MaxEffectiveTTL(theirs); longest != want {
				t.Fatalf("longest TTL is %v, want %v", longest, want)
			}
			for _, retention := range []time.Duration{0, 1, engine.Day(), 2*engine.Day() - 1, 2 * engine.Day(), longest} {
				if got, want := engine.PromotedHash(ours, retention), builtin.PromotedHash(theirs, retention); got != want {
					t.Fatalf("promoted hash for %v is %v, want %x", retention, got, want)
				}
			}
			if !engine.PromotedHash(ours, longest).IsZero() {
				t.Fatal("something is promoted from a log without a bound")
			}
			slices.Reverse(sources)
			for _, src := range sources {
				slices.Reverse(src.Rules)
			}
			if engine.ReplayContentHash(compile(sources...)) != engine.ReplayContentHash(ours) {
				t.Fatal("the order of rules and buckets changes the hash")
			}
		}
	})
}

// The built-in's views are those of the enabled rules: it compiles disabled
// ones along and finds out at evaluation.
func TestOracleViews(t *testing.T) {
	members := func(actions []*engine.Action) []string {
		var out []string
		for _, a := range actions {
			out = append(out, fmt.Sprintf("%s %v %v", a.Bucket, a.Hash, a.Kind))
		}
		return slices.Compact(out)
	}
	theirMembers := func(s *builtin.Snapshot) []string {
		if s == nil {
			return nil
		}
		var out []string
		for _, a := range s.AllActions() {
			out = append(out, fmt.Sprintf("%s %v %v", a.Bucket, engine.RuleHash(a.Key.RuleHash), a.Key.ActionKind))
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			sources := rulesets(t)
			ours := compile(sources...)
			theirs := builtinSnapshot(sources, func(r *engine.Rule) bool { return r.Enabled })
			for _, retention := range []time.Duration{0, engine.Day(), 2 * engine.Day(), engine.MaxEffectiveTTL(ours)} {
				replay, walk := ours.RulesForShard(3, retention)
				theirReplay, theirWalk := theirs.RulesForShard(3, retention)
				if got, want := members(replay.Actions()), theirMembers(theirReplay); !slices.Equal(got, want) {
					t.Fatalf("retention %v: replay has %q, want %q", retention, got, want)
				}
				if got, want := members(walk.Actions()), theirMembers(theirWalk); !slices.Equal(got, want) {
					t.Fatalf("retention %v: walk has %q, want %q", retention, got, want)
				}
			}
			if got, want := members(engine.RecoveryView(ours).Actions()), theirMembers(builtin.RecoveryView(theirs)); !slices.Equal(got, want) {
				t.Fatalf("recovery has %q, want %q", got, want)
			}
			for _, src := range sources {
				if got, want := ours.Prefixes(src.Bucket.Name), theirs.BucketPrefixes(src.Bucket.Name); !sameSet(got, want) {
					t.Fatalf("prefixes of %q are %q, want %q", src.Bucket.Name, got, want)
				}
			}
		}
	})
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestOracleIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pb := &filer_pb.Entry{
			Attributes: &filer_pb.FuseAttributes{
				Mtime:    rapid.Int64Range(0, 4e9).Draw(t, "mtime"),
				MtimeNs:  rapid.Int32Range(0, 999_999_999).Draw(t, "ns"),
				FileSize: rapid.Uint64Range(0, 1<<40).Draw(t, "size"),
			},
			Extended: map[string][]byte{},
		}
		ours := engine.Entry{
			HasAttributes: true,
			MtimeNs:       pb.Attributes.Mtime*1e9 + int64(pb.Attributes.MtimeNs),
			Size:          int64(pb.Attributes.FileSize),
			Extended:      pb.Extended,
		}
		for k, v := range rapid.MapOfN(rapid.String(), rapid.String(), 0, 4).Draw(t, "extended") {
			pb.Extended[k] = []byte(v)
		}
		for _, fid := range rapid.SliceOfN(rapid.StringMatching(`[1-9],[0-9a-f]{10}`), 0, 3).Draw(t, "chunks") {
			pb.Chunks = append(pb.Chunks, &filer_pb.FileChunk{FileId: fid})
			ours.Chunks = append(ours.Chunks, fid)
		}
		want := router.BuildIdentityFromEntry(pb)
		got, ok := ours.Identity()
		if !ok || got.MtimeNs != want.MtimeNs || got.Size != want.Size || got.HeadChunk != want.HeadFid ||
			!slices.Equal(got.ExtendedHash, want.ExtendedHash) {
			t.Fatalf("identity is %+v, want %+v", got, want)
		}
	})
}

func TestOracleDemotionStamp(t *testing.T) {
	for _, raw := range []string{"", "0", "1", "-1", "1900000000000000000", "+7", " 7", "7.0", "x", "99999999999999999999"} {
		e := entry("v", scenarioNow, extended("Seaweed-X-Amz-Noncurrent-Since-Ns", raw))
		theirs := s3lifecycle.SuccessorFromEntryStamp(&filer_pb.Entry{Extended: e.Extended})
		want := int64(0)
		if !theirs.IsZero() {
			want = theirs.UnixNano()
		}
		if got := e.DemotedNs(); got != want {
			t.Errorf("stamp %q is %d, want %d", raw, got, want)
		}
	}
}
