package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// keptCheck is a check of what is kept on the cluster. It may come to several
// lines, each made of asked.
type keptCheck struct {
	name, tried string
	// onFiler is set where a filer is needed.
	onFiler bool
	make    func(ctx context.Context, c *Cluster, asked diagnosis) []diagnosis
}

func (d *doctor) kept() []keptCheck {
	onFiler := d.store.dir == ""
	list := []keptCheck{
		{"meta-log", "read its last second and find its start", true, d.metaLog},
		{"rules", "read the rules of every bucket", true, d.rules},
		{"cursors", "read every shard's cursor", onFiler, d.cursors},
		{"pause", "look for one beside the cursors", onFiler, d.pause},
	}
	if d.queue.exists(d.app) {
		list = append(list, keptCheck{"queue", "open it and count its jobs", false, d.sweepQueue})
	}
	return list
}

// logProbe is the stretch of the meta-log that is read.
const logProbe = time.Second

// metaLog reads a stretch that has passed by the filer's own clock: one to come
// would be waited for.
func (d *doctor) metaLog(ctx context.Context, c *Cluster, asked diagnosis) []diagnosis {
	now, err := c.Filer.Now(ctx)
	if err != nil {
		return []diagnosis{asked.fail("", "%s", err)}
	}
	until := now.Add(-logProbe).UnixNano()
	events := 0
	err = c.Filer.ReadLog(ctx, engine.LogRange{AfterNs: until - int64(logProbe), UntilNs: until}, func(*engine.Event) error {
		events++
		return nil
	})
	if err != nil {
		return []diagnosis{asked.fail("restart the filer if its log stays unreadable; walk --all-buckets works without the log", "%s", err)}
	}
	horizon, err := c.Filer.LogHorizon(ctx)
	if err != nil {
		return []diagnosis{asked.fail("", "%s", err)}
	}
	if horizon == 0 {
		return []diagnosis{asked.ok("readable, %s; no file of it yet: a filer writes one within a minute of a change", plural(events, "event"))}
	}
	start := nanos(horizon)
	return []diagnosis{asked.ok("readable, %s; it reaches back %s, to %s", plural(events, "event"),
		formatDuration(max(0, now.Sub(start)).Truncate(time.Minute)), start.Format(time.RFC3339))}
}

// rules has a line for each bucket whose rules are not all taken.
func (d *doctor) rules(ctx context.Context, c *Cluster, asked diagnosis) []diagnosis {
	list, _, err := installedRules(ctx, c, d.allowUnfiltered)
	if err != nil {
		return []diagnosis{asked.fail("", "%s", err)}
	}
	if len(list) == 0 {
		return []diagnosis{asked.ok("no bucket has rules: there is nothing to do")}
	}
	var faults []diagnosis
	enabled := 0
	for _, b := range list {
		enabled += b.tally.enabled
		if b.tally.errors == 0 {
			continue
		}
		i := slices.IndexFunc(b.findings, func(f engine.Finding) bool { return !f.Warning })
		first := b.findings[i]
		first.Bucket = ""
		more := ""
		if n := b.tally.errors - 1; n > 0 {
			more = fmt.Sprintf(" (and %s)", plural(n, "more fault"))
		}
		fault := asked
		fault.target = b.bucket.Name
		left := "its refused rules are not carried out"
		if b.tally.unreadable {
			left = "the bucket is left alone"
		}
		faults = append(faults, fault.fail("weedlc rules lint --bucket "+shellWord(b.bucket.Name), "%s%s: %s", first, more, left))
	}
	if len(faults) > 0 {
		return faults
	}
	return []diagnosis{asked.ok("%s with rules, %s enabled", plural(len(list), "bucket"), plural(enabled, "rule"))}
}

// cursors has a line for each cursor that is damaged or waits for a person.
func (d *doctor) cursors(ctx context.Context, c *Cluster, asked diagnosis) []diagnosis {
	store := d.store.open(d.app, c)
	views, err := loadViews(ctx, store, allShards(), d.app.host.Now())
	if err != nil {
		return []diagnosis{asked.fail("", "%s", err)}
	}
	var list []diagnosis
	found, none := 0, 0
	for _, v := range views {
		line := asked
		line.target = fmt.Sprintf("shard %d", v.shard)
		switch state := v.word(); {
		case state == stateDamaged:
			list = append(list, line.fail(fmt.Sprintf("weedlc cursor edit --shard %d, or cursor reset --to cold --shards %d; the other shards run", v.shard, v.shard), "%s", v.damage))
		case state == stateNone:
			none++
		case len(v.state.Warnings) > 0:
			list = append(list, line.warn("the next pass puts it right", "%s", v.state.Warnings[0]))
		default:
			found++
		}
	}
	switch {
	case none == engine.ShardCount:
		list = append(list, asked.ok("there is none yet: the first pass walks every bucket that has rules"))
	case found > 0:
		list = append(list, asked.ok("%d of %d are there and good", found, engine.ShardCount))
	}
	return list
}

func (d *doctor) pause(ctx context.Context, c *Cluster, asked diagnosis) []diagnosis {
	p, err := cursorfile.ReadPause(ctx, d.store.files(c))
	switch {
	case err != nil:
		return []diagnosis{asked.fail("", "%s", err)}
	case p != nil:
		return []diagnosis{asked.fail("weedlc resume, once the reason is gone", "weedlc is %s", p)}
	}
	return []diagnosis{asked.ok("there is none")}
}

func (d *doctor) sweepQueue(ctx context.Context, _ *Cluster, asked diagnosis) []diagnosis {
	f, err := d.queue.figures(ctx, d.app)
	if err != nil {
		todo := ""
		if h, ok := errors.AsType[hinted](err); ok {
			todo = h.hint
		}
		return []diagnosis{asked.fail(todo, "%s", err)}
	}
	return []diagnosis{asked.ok("%s", queueText(f))}
}
