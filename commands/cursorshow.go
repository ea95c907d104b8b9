package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/cursorfile"
	"weedlc/engine"
)

type cursorShowOptions struct {
	cursorOptions
	shards shardOptions
	output outputOptions
	groups bool
}

func (o *cursorShowOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	o.shards.AddFlags(flags)
	o.output.AddFlags(flags, "tsv")
	flags.BoolVar(&o.groups, "groups", false, "also show the positions of the delay groups and of arrivals")
}

func newCursorShow(a *app) *cobra.Command {
	var o cursorShowOptions
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Where every shard stands, and what holds it up",
		Long: `Show the position of each shard and how far it is behind, when it was last
walked and its buckets were last reconciled, since when it is blocked and on
what, and how far each walk is that was cut and goes on in the next pass. A
damaged cursor is named beside the others, and the exit code is 10.

The position of a shard that is up to date lies as far back as its longest rule:
it waits at the oldest object that is not due yet. --groups shows each delay.

Columns with --output tsv: shard, state (none, ok, blocked, failed, damaged),
position, lag in seconds, last walk, oldest reconciliation, blocked object,
number of failed objects, note (with where walks go on). With --groups: shard, group, position, lag in
seconds.`,
		Example: `  weedlc cursor show
  weedlc cursor show --shard 3 --groups
  weedlc cursor show --output json | jq '.shards[] | select(.state != "ok")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// cursorState is the state of a shard's cursor in one word.
type cursorState string

const (
	stateNone    cursorState = "none"
	stateOK      cursorState = "ok"
	stateBlocked cursorState = "blocked"
	stateFailed  cursorState = "failed"
	stateDamaged cursorState = "damaged"
)

// shardView is one shard as loaded; damage is why it could not be.
type shardView struct {
	shard  int
	state  engine.ShardState
	damage error
}

func (v *shardView) word() cursorState {
	switch {
	case v.damage != nil:
		return stateDamaged
	case !v.state.Found:
		return stateNone
	case v.state.Side.Blocked != nil:
		return stateBlocked
	case len(v.state.Side.Failed) > 0:
		return stateFailed
	}
	return stateOK
}

// reconciledNs is when the bucket that was longest without was last walked over
// all its rules; 0 is never.
func reconciledNs(side engine.Side) int64 {
	oldest := int64(0)
	for _, m := range side.Buckets {
		if m.ReconciledNs != 0 && (oldest == 0 || m.ReconciledNs < oldest) {
			oldest = m.ReconciledNs
		}
	}
	return oldest
}

func (o *cursorShowOptions) run(ctx context.Context, a *app) error {
	shards, err := o.shards.selected(a.global.layers)
	if err != nil {
		return err
	}
	c, done, err := o.connect(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	now := a.host.Now()
	views, err := loadViews(ctx, o.store.open(a, c), shards, now)
	if err != nil {
		return err
	}
	if err := o.write(a, views, now); err != nil {
		return err
	}
	if slices.ContainsFunc(views, func(v shardView) bool { return v.damage != nil }) {
		return ending{exitCorrupt}
	}
	return nil
}

// loadViews loads shards, damaged ones too.
func loadViews(ctx context.Context, store *cursorfile.Store, shards []int, now time.Time) ([]shardView, error) {
	var views []shardView
	for _, shard := range shards {
		st, err := store.Load(ctx, shard, now)
		if err != nil && !isCorrupt(err) {
			return nil, err
		}
		views = append(views, shardView{shard: shard, state: st, damage: err})
	}
	return views, nil
}

func (o *cursorShowOptions) write(a *app, views []shardView, now time.Time) error {
	form := o.output.chosen(a)
	switch {
	case form == formJSON:
		return writeJSON(a.host.Out, newCursorsJSON(views, now))
	case form == formTSV && o.groups:
		return groupRows(views, now).write(a.host.Out, form)
	}
	if err := cursorRows(views, now).write(a.host.Out, form); err != nil || form == formTSV {
		return err
	}
	if o.groups {
		fmt.Fprintln(a.host.Out)
		if err := groupRows(views, now).write(a.host.Out, form); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(a.host.Out, cursorDetails(views))
	return err
}

// age is how long ago an instant was; nothing for the zero time.
func age(ns int64, now time.Time, none string) cell {
	if ns == 0 {
		return cell{text: none}
	}
	return span(max(0, now.Sub(nanos(ns))))
}

func cursorRows(views []shardView, now time.Time) rows {
	table := rows{header: []string{"SHARD", "STATE", "POSITION", "LAG", "LAST WALK", "RECONCILED", "BLOCKED", "FAILED", "NOTE"}}
	for _, v := range views {
		none := "none yet"
		if v.damage != nil {
			none = "-"
		}
		blocked := ""
		if b := v.state.Side.Blocked; b != nil {
			blocked = failureName(*b)
		}
		position := instant(nanos(v.state.Cursor.TsNs), none)
		if v.state.Found && v.state.Cursor.TsNs == 0 {
			position.text = "-"
		}
		table.cells = append(table.cells, []cell{
			count(int64(v.shard)), word(string(v.word())),
			position, age(v.state.Cursor.TsNs, now, "-"),
			instant(nanos(v.state.Cursor.LastWalkedNs), none),
			instant(nanos(reconciledNs(v.state.Side)), none),
			dash(blocked), count(int64(len(v.state.Side.Failed))), {text: note(&v), raw: noteWithWalks(&v)},
		})
	}
	return table
}

// note is what else there is to say of a shard, on one line.
func note(v *shardView) string {
	if v.damage != nil {
		return v.damage.Error()
	}
	var notes []string
	switch st := &v.state; {
	case st.Found && !st.SideFound:
		notes = append(notes, "no side file: the groups start from the position")
	case st.Foreign():
		notes = append(notes, "moved by another than weedlc: the groups start from the position")
	}
	return strings.Join(append(notes, v.state.Warnings...), "; ")
}

// noteWithWalks also tells where walks go on, which a person finds below the
// table.
func noteWithWalks(v *shardView) string {
	notes := []string{note(v)}
	for _, w := range cutWalks([]engine.ShardState{v.state}) {
		notes = append(notes, fmt.Sprintf("walk of %q goes on at %q", w.bucket, w.point.From))
	}
	return strings.TrimPrefix(strings.Join(notes, "; "), "; ")
}

// cursorDetails names what blocked or failed, since when and why, and tells how
// far walks are that were cut.
func cursorDetails(views []shardView) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		if b.Len() == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(escape(fmt.Sprintf(format, args...)) + "\n")
	}
	for _, v := range views {
		if f := v.state.Side.Blocked; f != nil {
			line("shard %d: blocked at %s", v.shard, failureLine(*f))
			if n := v.state.Side.BlockedMore; n > 0 {
				line("shard %d: %d more behind it", v.shard, n)
			}
		}
		for _, f := range v.state.Side.Failed {
			line("shard %d: failed on %s", v.shard, failureLine(f))
		}
	}
	for _, w := range cutWalks(readable(views)) {
		line("walk of %q %s", w.bucket, w)
	}
	return b.String()
}

func groupRows(views []shardView, now time.Time) rows {
	table := rows{header: []string{"SHARD", "GROUP", "POSITION", "LAG"}}
	add := func(shard int, group string, ns int64) {
		table.cells = append(table.cells, []cell{count(int64(shard)), word(group), instant(nanos(ns), "none yet"), age(ns, now, "-")})
	}
	for _, v := range views {
		if v.damage != nil || !v.state.SideFound {
			continue
		}
		for _, d := range slices.Sorted(maps.Keys(v.state.Side.Groups)) {
			add(v.shard, formatDuration(d), v.state.Side.Groups[d])
		}
		add(v.shard, "arrivals", v.state.Side.ArrivalsNs)
	}
	return table
}

// cursorsJSON is the documented form of cursor show (docs/json-output.md).
type cursorsJSON struct {
	Now    time.Time    `json:"now"`
	Shards []cursorJSON `json:"shards"`
}

type cursorJSON struct {
	Shard        int           `json:"shard"`
	State        cursorState   `json:"state"`
	TsNs         int64         `json:"ts_ns"`
	Position     *time.Time    `json:"position"`
	LagSeconds   *float64      `json:"lag_seconds"`
	LastWalked   *time.Time    `json:"last_walked"`
	Reconciled   *time.Time    `json:"reconciled"`
	RuleSetHash  string        `json:"rule_set_hash"`
	PromotedHash string        `json:"promoted_hash"`
	Foreign      bool          `json:"foreign"`
	Arrivals     *time.Time    `json:"arrivals"`
	Groups       []groupJSON   `json:"groups"`
	Blocked      *failureJSON  `json:"blocked"`
	BlockedMore  int           `json:"blocked_more"`
	Failed       []failureJSON `json:"failed"`
	Walks        []cutWalkJSON `json:"walks"`
	Warnings     []string      `json:"warnings"`
	// Damage says why the cursor could not be read; empty when it could.
	Damage string `json:"damage"`
}

type groupJSON struct {
	DelaySeconds float64    `json:"delay_seconds"`
	Position     *time.Time `json:"position"`
}

func newCursorsJSON(views []shardView, now time.Time) cursorsJSON {
	doc := cursorsJSON{Now: now.UTC(), Shards: []cursorJSON{}}
	for _, v := range views {
		st := &v.state
		row := cursorJSON{
			Shard: v.shard, State: v.word(), TsNs: st.Cursor.TsNs, Foreign: st.Foreign(),
			Position: timeJSON(st.Cursor.TsNs), LastWalked: timeJSON(st.Cursor.LastWalkedNs),
			Reconciled: timeJSON(reconciledNs(st.Side)), Arrivals: timeJSON(st.Side.ArrivalsNs),
			Groups: []groupJSON{}, Failed: []failureJSON{}, Warnings: append([]string{}, st.Warnings...),
			Blocked: newFailureJSON(st.Side.Blocked), BlockedMore: st.Side.BlockedMore,
			LagSeconds: lagSeconds(st.Cursor.TsNs, now), Walks: []cutWalkJSON{},
		}
		if st.Found {
			row.RuleSetHash, row.PromotedHash = st.Cursor.RuleSetHash.String(), st.Cursor.PromotedHash.String()
		}
		if v.damage != nil {
			row.Damage = v.damage.Error()
		}
		for _, d := range slices.Sorted(maps.Keys(st.Side.Groups)) {
			row.Groups = append(row.Groups, groupJSON{seconds(d), timeJSON(st.Side.Groups[d])})
		}
		for _, f := range st.Side.Failed {
			row.Failed = append(row.Failed, *newFailureJSON(&f))
		}
		for _, w := range cutWalks([]engine.ShardState{*st}) {
			row.Walks = append(row.Walks, newCutWalkJSON(w))
		}
		doc.Shards = append(doc.Shards, row)
	}
	return doc
}

// lagSeconds is how far a position is behind now; nil where there is none.
func lagSeconds(tsNs int64, now time.Time) *float64 {
	if tsNs == 0 {
		return nil
	}
	lag := seconds(max(0, now.Sub(nanos(tsNs))))
	return &lag
}
