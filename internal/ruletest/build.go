package ruletest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"weedlc/engine"
	"weedlc/explain"
)

// builder turns what is written of one test into what rules judge.
type builder struct {
	bucket engine.Bucket
	rules  []*engine.Rule
	clock  clock
}

// build makes one key. Line tells where a version begins.
func (b builder) build(o object, line func(version int) int) (testCase, []error) {
	var errs []error
	fail := func(v int, format string, args ...any) {
		errs = append(errs, fmt.Errorf("line %d: %w", line(v), fmt.Errorf(format, args...)))
	}
	versions := o.Versions
	switch {
	case o.Key == "":
		fail(len(versions), "no key")
	case len(versions) > 0 && !o.version.isEmpty():
		fail(len(versions), "beside versions an object has a key and nothing else")
	case len(versions) > 0 && o.Upload != "":
		fail(len(versions), "an upload has no versions")
	case len(versions) > 0 && !b.bucket.Versioned():
		fail(len(versions), "versions in an unversioned bucket: set versioning")
	}
	if len(errs) > 0 {
		return testCase{}, errs
	}
	if len(versions) == 0 {
		versions = []version{o.version}
	}
	var c testCase
	var objects []engine.Object
	for i := range versions {
		v := &versions[i]
		made, err := b.object(o, v, len(versions)-i)
		if err != nil {
			errs = append(errs, prefixed(fmt.Sprintf("line %d: ", line(i)), err))
			continue
		}
		if n := len(objects); n > 0 && made.ModTime.After(objects[n-1].ModTime) {
			fail(i, "newer than the version above it: versions stand newest first")
		}
		if slices.ContainsFunc(objects, func(o engine.Object) bool { return made.VersionID != "" && o.VersionID == made.VersionID }) {
			fail(i, "second version_id %q", made.VersionID)
		}
		objects = append(objects, made)
		w, err := b.want(v)
		if err != nil {
			errs = append(errs, prefixed(fmt.Sprintf("line %d: ", line(i)), err))
		}
		w.line = line(i)
		c.wants = append(c.wants, w)
	}
	if o.Upload != "" {
		c.uploads = objects
		c.group = engine.Group{Bucket: b.bucket.Name, Key: o.Key}
	} else {
		c.group = engine.RankedGroup(b.bucket.Name, o.Key, objects)
	}
	return c, errs
}

// prefixed puts the same words in front of every error of a list.
func prefixed(words string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s%w", words, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, fmt.Errorf("%s%w", words, e))
	}
	return errors.Join(errs...)
}

// isEmpty reports whether nothing is said of a version.
func (v *version) isEmpty() bool {
	return v.VersionID.Kind == 0 && !v.DeleteMarker && v.Age == "" && v.ModTime == "" && v.NoncurrentSince == "" &&
		v.Size == 0 && v.Tags == nil && v.TTL == "" && v.Lock == nil &&
		v.Want == "" && v.WantRule == "" && v.WantAction == "" && v.WantDue == ""
}

// object makes one version; number is its place from the oldest, from 1.
func (b builder) object(o object, v *version, number int) (engine.Object, error) {
	out := engine.Object{
		Bucket: b.bucket.Name, Key: o.Key, Path: o.Key, UploadID: o.Upload,
		Size: v.Size, Tags: v.Tags, DeleteMarker: v.DeleteMarker, Rank: engine.RankUnknown,
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Upload != "" {
		out.Path = ".uploads/" + o.Upload
		if v.VersionID.Kind != 0 || v.DeleteMarker || v.NoncurrentSince != "" || v.Tags != nil || v.TTL != "" || v.Lock != nil {
			fail("an upload has a key, a size and the time at which it was begun, nothing else")
		}
	}
	if v.Size < 0 {
		fail("size %d: must not be negative", v.Size)
	}
	switch id := &v.VersionID; {
	case b.bucket.Versioned() && o.Upload == "":
		out.VersionID = fmt.Sprintf("v%d", number)
		if id.Kind == yaml.ScalarNode && id.Value != "" {
			out.VersionID = id.Value
		} else if id.Kind != 0 {
			fail("version_id: must be a name")
		}
	case id.Kind != 0 || v.DeleteMarker || v.NoncurrentSince != "":
		fail("version_id, delete_marker and noncurrent_since belong to a bucket with versions: set versioning")
	}
	var err error
	if out.ModTime, err = b.modTime(v); err != nil {
		errs = append(errs, err)
	}
	if v.NoncurrentSince != "" {
		if out.DemotedAt, err = b.clock.at(v.NoncurrentSince); err != nil {
			errs = append(errs, fieldError("noncurrent_since", v.NoncurrentSince, err))
		}
	}
	if v.TTL != "" {
		if out.TTL, err = b.clock.duration(v.TTL); err != nil {
			errs = append(errs, fieldError("ttl", v.TTL, err))
		}
	}
	if out.Lock, err = b.lock(v.Lock); err != nil {
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

func (b builder) modTime(v *version) (time.Time, error) {
	switch {
	case v.Age != "" && v.ModTime != "":
		return time.Time{}, errors.New("age and mod_time exclude each other")
	case v.ModTime != "":
		t, err := b.clock.at(v.ModTime)
		if err != nil {
			return t, fieldError("mod_time", v.ModTime, err)
		}
		return t, nil
	case v.Age != "":
		d, err := b.clock.duration(v.Age)
		if err != nil {
			return time.Time{}, fieldError("age", v.Age, err)
		}
		return b.clock.now.Add(-d), nil
	}
	return time.Time{}, errors.New("neither age nor mod_time")
}

func (b builder) lock(l *lock) (engine.Lock, error) {
	if l == nil {
		return engine.Lock{}, nil
	}
	out := engine.Lock{Mode: l.Mode, LegalHold: l.LegalHold}
	if l.Mode != "" && l.Mode != "GOVERNANCE" && l.Mode != "COMPLIANCE" {
		return out, fieldError("lock mode", l.Mode, errors.New("must be GOVERNANCE or COMPLIANCE"))
	}
	if l.RetainUntil == "" {
		if !l.LegalHold {
			return out, errors.New("lock: neither retain_until nor legal_hold")
		}
		return out, nil
	}
	t, err := b.clock.at(l.RetainUntil)
	if err != nil {
		return out, fieldError("lock retain_until", l.RetainUntil, err)
	}
	out.RetainUntil = t
	return out, nil
}

func (b builder) want(v *version) (want, error) {
	verdicts := map[string]bool{}
	for _, e := range []explain.Effect{
		explain.Keep, explain.Expire, explain.ExpireToMarker, explain.DeleteVersion, explain.DeleteMarker,
		explain.AbortMPU, explain.SkipLock,
	} {
		verdicts[string(e)] = true
	}
	w := want{verdict: explain.Effect(v.Want), rule: v.WantRule, action: v.WantAction}
	var errs []error
	switch {
	case v.Want == "":
		errs = append(errs, errors.New("no want: say what is expected"))
	case !verdicts[v.Want]:
		errs = append(errs, fieldError("want", v.Want, oneOf(verdicts)))
	}
	if w.rule != "" && !slices.ContainsFunc(b.rules, func(r *engine.Rule) bool { return r.Label() == w.rule }) {
		errs = append(errs, fieldError("want_rule", w.rule, errors.New("no such rule")))
	}
	actions := map[string]bool{}
	for _, k := range engine.Kinds() {
		actions[k.String()] = true
	}
	if w.action != "" && !actions[w.action] {
		errs = append(errs, fieldError("want_action", w.action, oneOf(actions)))
	}
	if v.WantDue != "" {
		var err error
		if w.due, err = b.clock.at(v.WantDue); err != nil {
			errs = append(errs, fieldError("want_due", v.WantDue, err))
		}
	}
	return w, errors.Join(errs...)
}
