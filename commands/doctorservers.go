package commands

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/cluster"
)

// clockTolerance is how far a filer's clock may be from this host's without a
// word: more is no accident of the network, and is found in every due time.
const clockTolerance = 10 * time.Second

// servers are the checks of a survey.
func (d *doctor) servers(s cluster.Survey) []diagnosis {
	list := []diagnosis{security(s.Security)}
	if s.Security.Err != nil {
		return append(list, diagnosis{name: "servers", tried: "connect", result: checkSkipped, found: "how to connect is not known"})
	}
	masters := d.masters(s.Masters)
	list = append(list, masters...)
	answered := countResults(masters, checkOK) > 0
	list = append(list, d.registered("filer", "--filer", len(s.Filers), answered)...)
	list = append(list, d.filers(s)...)
	list = append(list, stores(s.Filers)...)
	list = append(list, d.registered("gateway", "--s3", len(s.Gateways), answered)...)
	return append(list, d.gateways(s)...)
}

func security(s cluster.Security) diagnosis {
	d := diagnosis{name: "security", tried: "read security.toml"}
	if s.Err != nil {
		return d.fail("mend it; weed shell reads the same file", "%s", s.Err)
	}
	parts := []string{"plain text", "no signing key"}
	if s.TLS {
		parts[0] = "TLS with a client certificate"
	}
	if s.SigningKey {
		parts[1] = "a signing key for gateways"
	}
	return d.ok("%s: %s", cmp.Or(s.File, "there is none"), strings.Join(parts, ", "))
}

// masters checks each master. As long as one answers, the others are not
// needed.
func (d *doctor) masters(masters []cluster.MasterState) []diagnosis {
	if len(masters) == 0 {
		return []diagnosis{{name: "master", tried: "ask for filers and gateways", result: checkSkipped, found: "not needed: --filer and --s3 name them"}}
	}
	var list []diagnosis
	alive := false
	for _, m := range masters {
		alive = alive || m.Err == nil
	}
	for _, m := range masters {
		c := diagnosis{name: "master", target: m.Address, tried: "ask for filers and gateways"}
		if m.Err == nil {
			c = c.ok("knows %s and %s%s", plural(len(m.Filers), "filer"), plural(len(m.Gateways), "S3 gateway"), inGroup(d.cluster.filerGroup))
		} else {
			c = c.unusable(m.Err, "start it, or name the masters with --master", alive)
		}
		list = append(list, c)
	}
	return list
}

func inGroup(group string) string {
	if group == "" {
		return ""
	}
	return fmt.Sprintf(" in group %q", group)
}

// unusable is the check of a server that cannot be used: a warning where passes
// do without it.
func (d diagnosis) unusable(err error, todo string, dispensable bool) diagnosis {
	found := err.Error()
	if e, ok := errors.AsType[*cluster.ConnectError](err); ok {
		found, todo = e.Reason, cmp.Or(e.Hint, todo)
	}
	if dispensable {
		return d.warn(todo, "%s; passes go on without it", found)
	}
	return d.fail(todo, "%s", found)
}

// registered is the check that there are servers of a kind at all; none where
// there are.
func (d *doctor) registered(kind, flag string, n int, answered bool) []diagnosis {
	c := diagnosis{name: kind, tried: "find one"}
	switch {
	case n > 0:
		return nil
	case !answered:
		c.result, c.found = checkSkipped, "no master answers"
		return []diagnosis{c}
	}
	return []diagnosis{c.fail(
		"start one that knows the master, or name it with "+flag+"; a server registers some seconds after its start",
		"none is registered at the master%s", inGroup(d.cluster.filerGroup))}
}

// usableFilers are the filers that answered and share the store of the first of
// them.
func usableFilers(filers []cluster.FilerState) []string {
	var names []string
	var first int32
	for _, f := range filers {
		if f.Err != nil {
			continue
		}
		if len(names) == 0 {
			first = f.Signature
		}
		if f.Signature == first {
			names = append(names, f.Address)
		}
	}
	return names
}

func (d *doctor) filers(s cluster.Survey) []diagnosis {
	var list []diagnosis
	// Of filers that were given, a pass leaves out those that do not answer. One
	// that a master named may have a meta-log of its own.
	dispensable := len(d.cluster.filers) > 0 && len(usableFilers(s.Filers)) > 0
	for _, f := range s.Filers {
		c := diagnosis{name: "filer", target: f.Address, tried: "read its configuration"}
		if f.Err != nil {
			list = append(list, c.unusable(f.Err, "start it; a pass needs the meta-log of each filer that the master knows", dispensable))
			continue
		}
		list = append(list, c.versioned(f.Version, s.Security), filerClock(f), d.filerLocks(f), filerFolder(f))
		if f.HTTPErr != nil {
			c.tried = "read over its HTTP port"
			list = append(list, c.warn("compare [jwt.filer_signing.read] and [https.client] in security.toml with the filer's",
				"%s; a cursor that was uploaded in chunks could not be read", f.HTTPErr))
		}
	}
	return list
}

// versioned is the check of a server that works, with its version and the way
// to it.
func (d diagnosis) versioned(version string, s cluster.Security) diagnosis {
	way := "plain text"
	if s.TLS {
		way = "TLS"
	}
	text := fmt.Sprintf("SeaweedFS %s over %s", cmp.Or(version, "of unknown version"), way)
	if olderRelease(version, serverVersion) {
		return d.warn(fmt.Sprintf("weedlc is built for %s; try a dry-run first, and update the server", serverVersion), "%s", text)
	}
	return d.ok("%s", text)
}

// olderRelease compares versions such as "4.53"; one that is not known is not
// older.
func olderRelease(version, than string) bool {
	number := func(v string) (major, minor int) {
		a, b, _ := strings.Cut(v, ".")
		major, _ = strconv.Atoi(a)
		minor, _ = strconv.Atoi(b)
		return major, minor
	}
	if version == "" {
		return false
	}
	major, minor := number(version)
	thanMajor, thanMinor := number(than)
	return major < thanMajor || major == thanMajor && minor < thanMinor
}

// filerClock fails where a position by the one clock is damage by the other.
func filerClock(f cluster.FilerState) diagnosis {
	d := diagnosis{name: "clock", target: f.Address, tried: "compare its clock with this host's"}
	if f.ClockErr != nil {
		return d.fail("", "%s", f.ClockErr)
	}
	off, side := f.Ahead, "ahead of"
	if off < 0 {
		off, side = -off, "behind"
	}
	within := max(f.Within, time.Millisecond).Round(time.Millisecond)
	text := fmt.Sprintf("%s %s this host, to within %s", off.Round(time.Millisecond), side, within)
	if off < within {
		text = fmt.Sprintf("the same, to within %s", within)
	}
	const todo = "let NTP set the clocks of this host and of the filer"
	switch {
	case off > cursorfile.MaxAhead:
		return d.fail(todo, "%s: a cursor that is more than %s ahead of the clock that reads it counts as damaged", text, formatDuration(cursorfile.MaxAhead))
	case off > clockTolerance:
		return d.warn(todo, "%s: a pass goes by the earlier clock, so deletes come that much later", text)
	}
	return d.ok("%s", text)
}

func (d *doctor) filerLocks(f cluster.FilerState) diagnosis {
	c := diagnosis{name: "locks", target: f.Address, tried: "ask who holds the shards"}
	switch {
	case errors.Is(f.LocksErr, cluster.ErrNoLockServer):
		return c.fail("a filer joins the lock service some seconds after it has registered at the master; --no-lock works without, if nothing else is running", "%s", f.LocksErr)
	case f.LocksErr != nil:
		return c.fail("", "%s", f.LocksErr)
	case len(f.Held) > 0:
		more := ""
		if n := len(f.Held) - 1; n > 0 {
			more = fmt.Sprintf(", and %s more", plural(n, "shard"))
		}
		return c.warn("another pass is running; --wait 10m waits for it", "%s%s", f.Held[0], more)
	}
	return c.ok("every shard is free")
}

func filerFolder(f cluster.FilerState) diagnosis {
	d := diagnosis{name: "folder", target: f.Address, tried: fmt.Sprintf("look at the buckets' folder %q", f.BucketsDir)}
	const todo = "compare filer.options.buckets_folder in the filer's filer.toml with where the buckets are"
	switch {
	case errors.Is(f.BucketsErr, engine.ErrNotFound):
		return d.fail(todo, "it is not there: a pass would see no buckets")
	case f.BucketsErr != nil:
		return d.fail(todo, "%s", f.BucketsErr)
	}
	return d.ok("it is there")
}

// stores checks that the filers agree; there is nothing to check where there is
// one.
func stores(filers []cluster.FilerState) []diagnosis {
	d := diagnosis{name: "store", tried: "compare the filers' stores and folders"}
	var first *cluster.FilerState
	n := 0
	for _, f := range filers {
		switch {
		case f.Err != nil:
			continue
		case first == nil:
			first = &f
		case f.Signature != first.Signature:
			return []diagnosis{d.fail("let the filers share one store; deletes that only one log knows of would be missed",
				"filer %q does not share its store with filer %q: each keeps a meta-log of its own", f.Address, first.Address)}
		case f.BucketsDir != first.BucketsDir:
			return []diagnosis{d.fail("give them the same filer.options.buckets_folder",
				"filer %q has its buckets in %q, filer %q in %q", first.Address, first.BucketsDir, f.Address, f.BucketsDir)}
		}
		n++
	}
	if n < 2 {
		return nil
	}
	return []diagnosis{d.ok("%d filers share one", n)}
}

func (d *doctor) gateways(s cluster.Survey) []diagnosis {
	alive := false
	for _, g := range s.Gateways {
		alive = alive || g.Err == nil
	}
	var list []diagnosis
	for _, g := range s.Gateways {
		c := diagnosis{name: "gateway", target: g.Address, tried: "send a delete of nothing"}
		if g.Err != nil {
			list = append(list, c.unusable(g.Err, "start it, or name with --s3 those that are to be used", alive))
			continue
		}
		c = c.versioned(g.Version, s.Security)
		c.found = "it has the lifecycle service and admits us; " + c.found
		list = append(list, c)
	}
	return list
}
