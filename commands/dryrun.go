package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
	"weedlc/pass"
)

// dryRunOptions are the flags of dry-run.
type dryRunOptions struct {
	cluster clusterOptions
	from    string
	shards  shardOptions
	rules   ruleOptions
	cursors storeOptions
	plan    planOptions

	nextPass        bool
	buckets         []string
	prefix          string
	at              at
	candidate       string
	compare         bool
	locked          bool
	summary         bool
	limit           int64
	listConcurrency int64
	forecast        time.Duration
	form            string
}

// The forms of a result that only a dry run has.
const (
	formJSONL    = "jsonl"
	formMarkdown = "markdown"
	formHTML     = "html"
)

func (o *dryRunOptions) AddFlags(flags *pflag.FlagSet) {
	o.cluster.AddFlags(flags)
	flags.StringVar(&o.from, "from", "", "read this metadata backup of weed shell's fs.meta.save, a `file`, and not a cluster")
	o.shards.AddFlags(flags)
	o.rules.AddFlags(flags)
	o.cursors.AddFlags(flags)
	o.plan.AddFlags(flags)
	o.listConcurrency = 4
	flags.BoolVar(&o.nextPass, "pass", false, "show what the next run would do from the present cursors")
	flags.Var(newList(&o.buckets), "bucket", "buckets to look at (default every bucket with rules)")
	flags.StringVar(&o.prefix, "prefix", "", "look at keys with this `prefix` only")
	flags.Var(atValue{&o.at}, "at", "judge as if it were this time: 2026-11-30T06:00:00Z, +7d or -2h")
	flags.StringVar(&o.candidate, "rules", "", "judge the bucket by the rules in this `file`, S3's XML or the AWS CLI's JSON, and not by those installed")
	flags.BoolVar(&o.compare, "compare", false, "show for which objects --rules differs from the installed rules")
	flags.BoolVar(&o.locked, "locked", false, "list what is due and skipped for an object lock too")
	flags.BoolVar(&o.summary, "summary", false, "list no objects")
	flags.VarP(countValue{&o.limit, 0}, "limit", "n", "objects to list at most; 0 is all (default 100 in table, markdown and html, else all)")
	flags.Var(countValue{&o.listConcurrency, 1}, "list-concurrency", "listings and look-ups in flight at most")
	flags.Var(durationValue{&o.forecast}, "forecast", "show how much goes on each of the days ahead, such as 90d")
	flags.VarP(choiceValue{&o.form, []string{formTable, formTSV, formJSON, formJSONL, formMarkdown, formHTML}}, "output", "o",
		"form of the result (default table on a terminal, tsv on a pipe)")
	settings(flags, "list-concurrency", "output")
}

func newDryRun(a *app) *cobra.Command {
	var o dryRunOptions
	cmd := &cobra.Command{
		Use:   "dry-run",
		Short: "What the rules would delete, without deleting",
		Long: `Show what a full evaluation of the rules would delete now: every object version
that is due, with the one action that run would send for it.

It is the code of run up to the last call. No delete is sent, no gateway is
spoken to, no lock is taken, no cursor is read or moved. The cursors do not
matter: what run would only come to later is listed too. With --pass it shows
instead what the next run would do from the cursors as they are: the parts of
the meta-log that it would read, the buckets that it would walk and why, and
the deletes of that one pass. --events, --walker-interval, --meta-log-retention,
--settle and --reconcile-interval matter only there.

--at moves the clock. --rules judges one bucket by rules that are not installed,
and --compare shows for which of its objects that makes a difference. --from
reads a metadata backup (weed shell: fs.meta.save) in place of a cluster.

An upload is listed under the key that it would make. What an object lock
protects would be skipped: it is counted, and listed with --locked. Bytes are
logical ones; how much of them disks get back is decided by SeaweedFS's
vacuuming. Bucket policies are not asked, neither here nor by run.

The result is complete or the exit code says that it is not: json, markdown and
html are written only when everything was looked at; tsv and jsonl are written
as it goes, and end with exit code 1 and an error when they break off. Nothing
due is exit code 0 like everything due.

Columns with --output tsv: bucket, key, version, action, rule, due, age in
seconds, size, end of the lock, upload. With --compare: change, bucket, key,
version, due, action and rule by the installed rules, the same three by --rules,
age in seconds, size, end of the lock, upload.`,
		Example: `  weedlc dry-run
  weedlc dry-run --bucket logs --at +7d --forecast 90d
  weedlc dry-run --bucket logs --rules new.json --compare
  weedlc dry-run --from filer.meta.gz --output html >report.html
  weedlc dry-run --output jsonl | jq -r 'select(.size > 1e9) | .key'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(refuseEmpty(cmd, "from", "rules"), o.validate()); err != nil {
				return err
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *dryRunOptions) validate() error {
	var errs []error
	refuse := func(is bool, text string) {
		if is {
			errs = append(errs, errors.New(text))
		}
	}
	for _, with := range []struct {
		set  bool
		flag string
	}{
		{o.from != "", "--from"}, {len(o.buckets) > 0, "--bucket"}, {o.prefix != "", "--prefix"}, {o.at.text != "", "--at"},
		{o.candidate != "", "--rules"}, {o.compare, "--compare"}, {o.forecast > 0, "--forecast"},
	} {
		refuse(o.nextPass && with.set, "--pass and "+with.flag+" exclude each other: a pass has one clock, its own cursors and every bucket")
	}
	if o.candidate != "" && len(o.bucketSet()) != 1 {
		errs = append(errs, hint(errors.New("--rules needs one --bucket: rules belong to a bucket"), "weedlc dry-run --rules %s --bucket BUCKET", shellWord(o.candidate)))
	}
	if o.compare && o.candidate == "" {
		errs = append(errs, hint(errors.New("--compare needs --rules: there is nothing to compare the installed rules with"), "weedlc dry-run --bucket BUCKET --rules FILE --compare"))
	}
	if o.summary && o.form == formJSONL {
		errs = append(errs, hint(errors.New("--summary leaves nothing for --output jsonl, which has objects only"), "weedlc dry-run --summary --output json"))
	}
	refuse(o.forecast > 0 && o.forecast < engine.Day(), fmt.Sprintf("--forecast %q: must be 1d or more", formatDuration(o.forecast)))
	refuse(o.forecast > longestForecast, fmt.Sprintf("--forecast %q: must be %s or less", formatDuration(o.forecast), formatDuration(longestForecast)))
	return errors.Join(errs...)
}

// longestForecast is ten years.
const longestForecast = 3650 * day

// bucketSet are the buckets asked for, each once.
func (o *dryRunOptions) bucketSet() []string {
	set := slices.Clone(o.buckets)
	slices.Sort(set)
	return slices.Compact(set)
}

// header names the columns of what is listed.
func (o *dryRunOptions) header() []string {
	if o.compare {
		return changeHeader()
	}
	return objectHeader()
}

// resolve fills in what depends on where the result goes.
func (o *dryRunOptions) resolve(a *app) {
	if o.form == "" {
		o.form = formTSV
		if a.host.OutTTY {
			o.form = formTable
		}
	}
	person := o.form == formTable || o.form == formMarkdown || o.form == formHTML
	if a.global.layers["limit"] == fromDefault && person {
		o.limit = 100
	}
}

func (o *dryRunOptions) run(ctx context.Context, a *app) error {
	shards, err := o.shards.selected(a.global.layers)
	if err != nil {
		return err
	}
	o.resolve(a)
	var candidate *candidate
	if o.candidate != "" {
		if candidate, err = readCandidate(ctx, a, o.candidate, o.rules.allowUnfiltered); err != nil {
			return err
		}
	}
	c, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	defer c.Close()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d, err := newDryRunState(ctx, a, o, c, stop)
	if err != nil {
		return err
	}
	defer d.sink.close()
	opts := pass.Options{
		Now: d.now, Shards: shards, ListConcurrency: int(o.listConcurrency), Clock: a.host.Now, Log: a.log, Progress: newDryRunProgress(a),
	}
	o.plan.apply(&opts)
	o.rules.apply(&opts)
	if o.nextPass {
		opts.Observe = d.observe
		return d.finish(ctx, pass.PreviewRun(ctx, opts, d.filer, o.cursors.open(a, c)))
	}
	preview := pass.PreviewOptions{
		WalkOptions: pass.WalkOptions{Options: opts, Buckets: o.buckets, Prefix: o.prefix},
		Compare:     o.compare, Later: o.forecast > 0, SideBySide: int(o.listConcurrency), Tell: d.tell,
	}
	if candidate != nil {
		b, err := existingBucket(ctx, c, o.buckets[0])
		if err != nil {
			return err
		}
		rules := candidate.rulesFor(a, b)
		preview.Rules = map[string][]*engine.Rule{b.Name: rules}
		d.markers.set(b, rules)
	}
	return d.finish(ctx, pass.Preview(ctx, preview, d.filer))
}
