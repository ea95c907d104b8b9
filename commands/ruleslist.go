package commands

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
)

type rulesListOptions struct {
	cursorOptions
	allowUnfiltered bool
	output          outputOptions
}

func (o *rulesListOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	addAllowUnfiltered(flags, &o.allowUnfiltered)
	o.output.AddFlags(flags, "tsv")
}

func newRulesList(a *app) *cobra.Command {
	var o rulesListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Every bucket with rules, and whether a pass has taken them up",
		Long: `List the buckets that have lifecycle rules: how many rules, how many of them are
enabled and how many refused, and whether the shards' cursors know the rules as
they are today. A bucket that no shard knows has never been processed; one whose
rules changed since is walked by the next pass.

What is wrong with rules is named below the table, and the exit code is 3 where
a rule is refused or a document cannot be read.

Columns with --output tsv: bucket, versioning, rules, enabled, refused, warnings,
processed (yes, partly, changed, never, or - where nothing is enabled), number of
shards that know the rules. A document that cannot be read has - for its rules.`,
		Example: `  weedlc rules list
  weedlc rules list --output json | jq -r '.buckets[] | select(.processed == "never") | .bucket'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

// processed says how far the shards have taken up a bucket's rules.
type processed string

const (
	processedYes     processed = "yes"
	processedPartly  processed = "partly"
	processedChanged processed = "changed"
	processedNever   processed = "never"
	processedNothing processed = "-"
)

// bucketRules is one bucket that has a lifecycle document.
type bucketRules struct {
	bucket    engine.Bucket
	findings  []engine.Finding
	tally     ruleTally
	processed processed
	// shards is how many shards know the rules as they are today.
	shards int
}

func (o *rulesListOptions) run(ctx context.Context, a *app) error {
	c, err := a.dialToRead(ctx, o.cluster, storeOptions{})
	if err != nil {
		return err
	}
	defer c.Close()
	list, snapshot, err := installedRules(ctx, c, o.allowUnfiltered)
	if err != nil {
		return err
	}
	end := exitDone
	if slices.ContainsFunc(list, func(b bucketRules) bool { return b.tally.errors > 0 }) {
		end = exitUndone
	}
	now := a.host.Now()
	views, err := o.shards(ctx, a, c, now)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].take(snapshot, views)
	}
	if err := o.write(a, list, now); err != nil {
		return err
	}
	if end != exitDone {
		return ending{end}
	}
	return nil
}

// installedRules are the buckets that have a lifecycle document, and their
// rules compiled.
func installedRules(ctx context.Context, c *Cluster, allowUnfiltered bool) ([]bucketRules, *engine.Snapshot, error) {
	buckets, err := c.Filer.Buckets(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list buckets: %w", err)
	}
	var list []bucketRules
	var sources []engine.Source
	for _, b := range buckets {
		if len(b.Rules) == 0 {
			continue
		}
		rules, findings := engine.ParseBucket(b, allowUnfiltered)
		list = append(list, bucketRules{bucket: b, findings: findings, tally: tallyRules(rules, findings)})
		sources = append(sources, engine.Source{Bucket: b, Rules: rules})
	}
	return list, engine.New().Compile(sources), nil
}

// shards loads every cursor. A damaged one is named and knows nothing.
func (o *rulesListOptions) shards(ctx context.Context, a *app, c *Cluster, now time.Time) ([]engine.ShardState, error) {
	store := o.store.open(a, c)
	var states []engine.ShardState
	for shard := range engine.ShardCount {
		st, err := store.Load(ctx, shard, now)
		if isCorrupt(err) {
			a.log.Warn(err.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		states = append(states, st)
	}
	return states, nil
}

// take counts the shards that know the bucket's rules as they are today. One
// with a cursor and no side file is the built-in worker's: it knows the rules of
// the hash in its cursor.
func (b *bucketRules) take(snapshot *engine.Snapshot, states []engine.ShardState) {
	hash := snapshot.BucketHash(b.bucket.Name)
	if hash.IsZero() {
		b.processed = processedNothing
		return
	}
	others := false
	for i := range states {
		st := &states[i]
		memory, known := st.Side.Buckets[b.bucket.Name]
		switch {
		case !st.Found:
		case !st.SideFound && st.Cursor.RuleSetHash == engine.ReplayContentHash(snapshot), known && memory.Rules == hash:
			b.shards++
		case known && !memory.Rules.IsZero():
			others = true
		}
	}
	switch {
	case b.shards == engine.ShardCount:
		b.processed = processedYes
	case others:
		b.processed = processedChanged
	case b.shards > 0:
		b.processed = processedPartly
	default:
		b.processed = processedNever
	}
}

func (o *rulesListOptions) write(a *app, list []bucketRules, now time.Time) error {
	form := o.output.chosen(a)
	if form == formJSON {
		return writeJSON(a.host.Out, newRuleListJSON(list, now))
	}
	if err := ruleListRows(list).write(a.host.Out, form); err != nil || form == formTSV {
		return err
	}
	never := 0
	for _, b := range list {
		if b.processed == processedNever {
			never++
		}
	}
	if _, err := fmt.Fprintf(a.host.Out, "\nbuckets with rules: %d, never processed: %d\n", len(list), never); err != nil {
		return err
	}
	for _, b := range list {
		for _, f := range b.findings {
			if err := writeLine(a.host.Out, findingLine(fmt.Sprintf("bucket %q", b.bucket.Name), f)); err != nil {
				return err
			}
		}
	}
	return nil
}

func ruleListRows(list []bucketRules) rows {
	table := rows{header: []string{"BUCKET", "VERSIONING", "RULES", "ENABLED", "REFUSED", "WARNINGS", "PROCESSED", "SHARDS"}}
	for _, b := range list {
		number := func(n int) cell {
			if b.tally.unreadable {
				return word("-")
			}
			return count(int64(n))
		}
		table.cells = append(table.cells, []cell{
			word(b.bucket.Name), word(b.bucket.Versioning.String()),
			number(b.tally.rules), number(b.tally.enabled), number(b.tally.refused), count(int64(b.tally.warnings)),
			word(string(b.processed)), count(int64(b.shards)),
		})
	}
	return table
}

// ruleListJSON is the documented form of rules list (docs/json-output.md).
type ruleListJSON struct {
	Now     time.Time         `json:"now"`
	Buckets []bucketRulesJSON `json:"buckets"`
}

type bucketRulesJSON struct {
	Bucket     string `json:"bucket"`
	Versioning string `json:"versioning"`
	ObjectLock bool   `json:"object_lock"`
	// Readable is false when the document as a whole is refused: nothing is
	// counted then.
	Readable        bool          `json:"readable"`
	Rules           int           `json:"rules"`
	Enabled         int           `json:"enabled"`
	Refused         int           `json:"refused"`
	Errors          int           `json:"errors"`
	Warnings        int           `json:"warnings"`
	Processed       processed     `json:"processed"`
	ShardsProcessed int           `json:"shards_processed"`
	Findings        []findingJSON `json:"findings"`
}

func newRuleListJSON(list []bucketRules, now time.Time) ruleListJSON {
	doc := ruleListJSON{Now: now.UTC(), Buckets: []bucketRulesJSON{}}
	for _, b := range list {
		doc.Buckets = append(doc.Buckets, bucketRulesJSON{
			Bucket: b.bucket.Name, Versioning: b.bucket.Versioning.String(), ObjectLock: b.bucket.ObjectLock,
			Readable: !b.tally.unreadable, Rules: b.tally.rules, Enabled: b.tally.enabled, Refused: b.tally.refused,
			Errors: b.tally.errors, Warnings: b.tally.warnings, Processed: b.processed, ShardsProcessed: b.shards,
			Findings: newFindingsJSON(b.findings),
		})
	}
	return doc
}
