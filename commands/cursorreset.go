package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/cursorfile"
	"weedlc/engine"
)

type cursorResetOptions struct {
	cursorOptions
	locks            lockOptions
	rules            ruleOptions
	metaLogRetention time.Duration
	set              shardsValue
	to               string
	yes              bool
}

func (o *cursorResetOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	o.locks.AddFlags(flags)
	o.rules.AddFlags(flags)
	addMetaLogRetention(flags, &o.metaLogRetention)
	flags.StringVar(&o.to, "to", "", `where to: "cold", "now", a time, or how far back, such as 2d`)
	flags.Var(&o.set, "shards", fmt.Sprintf("the shards: 0-%d for all", engine.ShardCount-1))
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

func newCursorReset(a *app) *cobra.Command {
	var o cursorResetOptions
	cmd := &cobra.Command{
		Use:   "reset --to cold|now|TIME|AGO --shards SHARDS",
		Short: "Move the positions of shards",
		Long: `Move the positions of shards, with the shards locked and after a backup of both
files. It says what the next pass will do and what it will not, and asks.

  cold    remove the files: the next pass walks every bucket that has rules
  now     read the log from now on; objects already due are left to the next walk
  TIME    start from there: 2026-11-30, 2026-11-30T06:00:00Z
  AGO     start from so long ago: 2d, 36h

A blocked shard needs no reset: the next pass tries again.`,
		Example: `  weedlc cursor reset --to 2d --shards 3
  weedlc cursor reset --to cold --shards 0-15 --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *cursorResetOptions) validate(now time.Time) (moment, error) {
	if o.to == "" {
		return moment{}, hint(errors.New("--to is missing"), "weedlc cursor reset --to cold --shards 0")
	}
	to, err := parseMoment(o.to)
	if err != nil {
		return moment{}, fmt.Errorf("--to %q: %w", o.to, err)
	}
	if len(o.set.shards) == 0 {
		return moment{}, hint(errors.New("--shards is missing: a reset names its shards"), "weedlc cursor reset --to %s --shards 0-%d", shellWord(o.to), engine.ShardCount-1)
	}
	if at := to.resolve(now); !to.cold && at.After(now) {
		return moment{}, fmt.Errorf("--to %q: is after now, %s", o.to, now.UTC().Format(time.RFC3339))
	} else if !to.cold && at.UnixNano() <= 0 {
		return moment{}, fmt.Errorf("--to %q: is before 1970", o.to)
	}
	return to, o.locks.validate()
}

func (o *cursorResetOptions) run(ctx context.Context, a *app) error {
	now := a.host.Now()
	to, err := o.validate(now)
	if err != nil {
		return err
	}
	if to.now && o.store.dir != "" {
		return hint(errors.New("--to now needs the rules of the cluster, and --cursor-dir works without one"), "weedlc cursor reset --to %s --cursor-dir %s --shards %s", now.UTC().Format(time.RFC3339), shellWord(o.store.dir), &o.set)
	}
	c, done, err := o.connect(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	lock, err := o.lock(ctx, a, c, o.locks, o.set.shards)
	if err != nil {
		return err
	}
	defer lock.Release()

	r := resetter{to: to, now: now, store: o.store.open(a, c), files: o.store.files(c)}
	if to.now {
		if r.rules, err = o.rules.load(ctx, c, o.metaLogRetention); err != nil {
			return err
		}
	}
	var plans []shardReset
	for _, shard := range o.set.shards {
		p, err := r.plan(ctx, shard)
		if err != nil {
			return err
		}
		plans = append(plans, p)
		fmt.Fprintf(a.host.Out, "shard %d: %s -> %s\n", shard, escape(p.from), p.target)
	}
	for _, line := range r.effect(plans) {
		a.notice("%s", line)
	}
	question := fmt.Sprintf("reset %d of %d shards?", len(plans), engine.ShardCount)
	if err := a.confirm(ctx, o.yes, question, a.commandLine("--yes")); err != nil {
		return err
	}
	for _, p := range plans {
		if err := lock.Err(p.shard); err != nil {
			return err
		}
		backups, err := r.carryOut(ctx, p)
		a.tellBackups(backups)
		if err != nil {
			return err
		}
	}
	return nil
}

// resetter moves the positions of shards.
type resetter struct {
	to    moment
	now   time.Time
	store *cursorfile.Store
	files cursorfile.Files
	// rules are today's; set for a reset to now.
	rules todaysRules
}

// shardReset is what is to be done to one shard.
type shardReset struct {
	shard int
	// from and target are what a person reads.
	from, target string
	state        engine.ShardState
	damaged      bool
}

func (r *resetter) plan(ctx context.Context, shard int) (shardReset, error) {
	p := shardReset{shard: shard, target: "cold", from: "none yet"}
	st, err := r.store.Load(ctx, shard, r.now)
	switch {
	case isCorrupt(err):
		p.damaged, p.from = true, "damaged: "+err.Error()
		if st, err = r.besideDamage(ctx, shard); err != nil {
			return p, err
		}
	case err != nil:
		return p, err
	case st.Found:
		p.from = instant(nanos(st.Cursor.TsNs), "no position").text
	}
	p.state = st
	switch {
	case r.to.now:
		r.rules.moveToNow(&p.state, r.now)
		p.target = instant(nanos(p.state.Cursor.TsNs), "no position").text
	case !r.to.cold:
		moveTo(&p.state, r.to.resolve(r.now).UnixNano())
		p.target = instant(nanos(p.state.Cursor.TsNs), "").text
	}
	return p, nil
}

// besideDamage is the state of a shard whose cursor is damaged: as if it had
// none, with what the side file remembers, and with the versions of both files
// so that they can be replaced.
func (r *resetter) besideDamage(ctx context.Context, shard int) (engine.ShardState, error) {
	st := engine.ShardState{Shard: shard}
	var err error
	if _, st.CursorVersion, err = r.files.Read(ctx, cursorfile.CursorName(shard)); err != nil {
		return st, err
	}
	name := cursorfile.SideName(shard)
	data, version, err := r.files.Read(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return st, nil
	}
	if err != nil {
		return st, err
	}
	st.SideVersion = version
	if side, err := cursorfile.DecodeSide(name, shard, data, r.now, false); err == nil {
		st.SideFound, st.Side, st.SideExtra = true, side.Side, side.Extra
	}
	return st, nil
}

// moveTo puts the cursor and every position beside it at a time, forward too.
func moveTo(st *engine.ShardState, ns int64) {
	st.Cursor.TsNs = ns
	if !st.SideFound {
		return
	}
	st.Side.ArrivalsNs = ns
	st.Side.Groups = maps.Clone(st.Side.Groups)
	for delay := range st.Side.Groups {
		st.Side.Groups[delay] = ns
	}
}

func (r *resetter) carryOut(ctx context.Context, p shardReset) ([]string, error) {
	if r.to.cold {
		return r.store.Reset(ctx, p.shard, r.now)
	}
	backups, err := r.store.Backup(ctx, p.shard, r.now)
	if err != nil {
		return backups, err
	}
	if r.to.now || p.state.SideFound {
		return backups, r.store.Save(ctx, &p.state)
	}
	text, err := cursorfile.EncodeCursor(p.shard, p.state.Cursor, p.state.CursorExtra)
	if err != nil {
		return backups, err
	}
	name := cursorfile.CursorName(p.shard)
	if _, err := r.files.Write(ctx, name, text, p.state.CursorVersion); err != nil {
		return backups, fmt.Errorf("write %s: %w", name, err)
	}
	return backups, nil
}

// effect says what the next pass will do and what it will not.
func (r *resetter) effect(plans []shardReset) []string {
	switch {
	case r.to.cold:
		return []string{
			"the next pass will walk every bucket that has rules and take new positions; nothing that is due is passed over",
			"it will not know what failed before, nor when the buckets were last reconciled",
		}
	case r.to.now:
		return []string{
			"the next pass will read the log from now on, and for objects that come due from now on",
			"it will not delete objects that are already due: they are left to the next walk of their bucket",
		}
	}
	lines := []string{}
	forth, back, anew := false, false, false
	for _, p := range plans {
		if p.damaged || !p.state.Found {
			anew = true
			continue
		}
		moved := p.from < p.target
		forth, back = forth || moved, back || !moved
	}
	if back {
		lines = append(lines, "the next pass will read the log again from the new position, and send a delete only for what is still due")
	}
	if forth {
		lines = append(lines, "it will not read the log before that: what came due there is left to the next walk of its bucket")
	}
	if anew {
		lines = append(lines, "a shard without a valid cursor knows no rules: the next pass will walk every bucket for it")
	}
	return lines
}

// moveEffect says what a pass does about a position that a person moved.
func moveEffect(oldNs, newNs int64) string {
	switch {
	case newNs == 0:
		return "the next pass has no position to read the log from: it starts each delay group anew"
	case newNs < oldNs:
		return fmt.Sprintf("the next pass reads the log again from %s, less an hour: %s more", nanos(newNs).Format(time.RFC3339), formatDuration((time.Duration(oldNs-newNs) * time.Nanosecond).Truncate(time.Second)))
	}
	return "the next pass goes on from the positions beside the cursor, which stay where they are: weedlc cursor reset --to TIME moves them too"
}
