package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
	"weedlc/explain"
	"weedlc/pass"
)

type explainOptions struct {
	cluster clusterOptions
	from    string
	rules   ruleOptions
	cursors storeOptions

	bucket     string
	candidate  string
	versioning string
	key        string
	version    string
	at         at
	form       string

	metaLogRetention  time.Duration
	walkerInterval    time.Duration
	reconcileInterval time.Duration
}

// formText is for people.
const formText = "text"

func (o *explainOptions) AddFlags(flags *pflag.FlagSet) {
	o.cluster.AddFlags(flags)
	flags.StringVar(&o.from, "from", "", "read this metadata backup of weed shell's fs.meta.save, a `file`, and not a cluster")
	o.rules.AddFlags(flags)
	o.cursors.AddFlags(flags)
	flags.StringVar(&o.bucket, "bucket", "", "the `bucket` whose rules to explain")
	flags.StringVar(&o.candidate, "rules", "", "explain the rules in this `file`, S3's XML or the AWS CLI's JSON, and not those installed; - is standard input")
	addBucketVersioning(flags, &o.versioning)
	flags.StringVar(&o.key, "key", "", "explain what becomes of this `key`, all its versions and uploads")
	flags.StringVar(&o.version, "version", "", "of the key this version `id` only; null is the one without an id")
	flags.Var(atValue{&o.at}, "at", "judge as if it were this time: 2026-11-30T06:00:00Z, +7d or -2h")
	addMetaLogRetention(flags, &o.metaLogRetention)
	addWalkerInterval(flags, &o.walkerInterval)
	addReconcileInterval(flags, &o.reconcileInterval)
	o.form = formText
	flags.VarP(choiceValue{&o.form, []string{formText, formJSON}}, "output", "o", "form of the result")
}

func newExplainRule(a *app) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain-rule {--bucket BUCKET | --rules FILE} [--key KEY [--version ID]]",
		Short: "What a rule does, and why an object does or does not expire",
		Long: `Say in plain words what each rule of a bucket does, what it compiles to, what it
can never do there, which other rules act on the same objects and which of them
wins, and whether storage comes back. --rules explains a file instead.

With --key: every version of the key and every upload of it, and for each rule
every check with both values, the clock and where it comes from, when it is due,
the lock, and who will handle it when: which shard, by replay or by a walk, from
the cursors as they are. Cursors are only read; a missing or damaged one is said.
--at moves the clock. --from reads a metadata backup (weed shell: fs.meta.save)
in place of a cluster; it has no cursors.

No gateway is spoken to, no lock is taken, nothing is changed. Where a rule that
is installed is refused, it is named, and the exit code is 3.`,
		Example: `  weedlc explain-rule --bucket logs
  weedlc explain-rule --rules new.json --bucket-versioning enabled
  weedlc explain-rule --bucket logs --key app/2026-11-30.gz
  weedlc explain-rule --bucket logs --key app/2026-11-30.gz --at +30d --output json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseEmpty(cmd, "from", "bucket", "rules", "key", "version"); err != nil {
				return err
			}
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *explainOptions) validate() error {
	var errs []error
	refuse := func(is bool, text, example string) {
		if is {
			errs = append(errs, hint(errors.New(text), "weedlc explain-rule %s", example))
		}
	}
	switch {
	case o.bucket == "" && o.candidate == "":
		refuse(true, "no rules given: neither --bucket nor --rules", "--bucket BUCKET")
	case o.bucket == "":
		refuse(o.key != "", "--key needs --bucket", "--bucket BUCKET --rules "+shellWord(o.candidate)+" --key "+shellWord(o.key))
		refuse(o.from != "", "--from needs --bucket", "--bucket BUCKET --from "+shellWord(o.from))
	}
	refuse(o.version != "" && o.key == "", "--version needs --key", "--bucket BUCKET --key KEY --version "+shellWord(o.version))
	if o.versioning != "" && o.bucket != "" {
		errs = append(errs, errors.New("--bucket-versioning is for --rules without --bucket, a bucket has its own"))
	}
	return errors.Join(errs...)
}

// explained is what there is to explain, and by what.
type explained struct {
	bucket   engine.Bucket
	rules    []*engine.Rule
	findings []engine.Finding
	// candidate is the file that the rules come from; empty for installed ones.
	candidate string
	now       time.Time
	ctx       explain.RuleContext
}

func (o *explainOptions) run(ctx context.Context, a *app) error {
	var c *candidate
	if o.candidate != "" {
		var err error
		if c, err = readCandidate(ctx, a, o.candidate, o.rules.allowUnfiltered); err != nil {
			return err
		}
	}
	if o.bucket == "" {
		return o.file(a, c)
	}
	source, err := o.open(ctx, a)
	if err != nil {
		return err
	}
	defer source.Close()
	x := explained{candidate: o.candidate}
	if x.bucket, err = existingBucket(ctx, source, o.bucket); err != nil {
		return err
	}
	if x.now, err = o.now(ctx, a, source.Filer); err != nil {
		return err
	}
	switch {
	case c != nil:
		x.take(c)
	case len(x.bucket.Rules) > 0:
		x.rules, x.findings = engine.ParseBucket(x.bucket, o.rules.allowUnfiltered)
	case o.key == "":
		return hint(fmt.Errorf("bucket %q has no lifecycle rules", o.bucket), "weedlc rules list")
	}
	if x.ctx, err = o.context(ctx, a, source, &x); err != nil {
		return err
	}
	if o.key == "" {
		return o.write(a, &x, nil)
	}
	k, err := o.keyOf(ctx, a, source, &x)
	if err != nil {
		return err
	}
	return o.write(a, &x, k)
}

// file explains rules that belong to no bucket.
func (o *explainOptions) file(a *app, c *candidate) error {
	now, err := o.at.resolve(a.host.Now().UTC())
	if err != nil {
		return fmt.Errorf("--at %q: %w", o.at.text, err)
	}
	x := explained{candidate: o.candidate, now: now, bucket: engine.Bucket{Versioning: versionings()[o.versioning]}}
	x.take(c)
	x.ctx = o.ruleContext(&x)
	return o.write(a, &x, nil)
}

// take reads a candidate's rules as those of the bucket.
func (x *explained) take(c *candidate) {
	c.doc.bucket, c.doc.known = x.bucket, true
	x.rules, x.findings = c.doc.parse(c.allowUnfiltered)
}

// open connects to the cluster, without a gateway, or opens the backup.
func (o *explainOptions) open(ctx context.Context, a *app) (*Cluster, error) {
	if o.from != "" {
		return openBackup(ctx, a, o.from)
	}
	return a.dialToRead(ctx, o.cluster, o.cursors)
}

// now is the clock of the explanation: that of a pass, unless another was asked
// for.
func (o *explainOptions) now(ctx context.Context, a *app, f pass.Filer) (time.Time, error) {
	now, err := passClock(ctx, a, f)
	if err != nil {
		return now, err
	}
	if now, err = o.at.resolve(now); err != nil {
		return now, fmt.Errorf("--at %q: %w", o.at.text, err)
	}
	return now, nil
}

func (o *explainOptions) ruleContext(x *explained) explain.RuleContext {
	return explain.RuleContext{
		Rules: x.rules, Retention: o.metaLogRetention, WalkerInterval: o.walkerInterval,
		DayClock: o.rules.clock(), Now: x.now,
	}
}

// context is what surrounds each rule of a bucket. The TTLs that the filers
// stamp are said only where they are known.
func (o *explainOptions) context(ctx context.Context, a *app, c *Cluster, x *explained) (explain.RuleContext, error) {
	rc := o.ruleContext(x)
	if c.PathTTLs == nil {
		return rc, nil
	}
	stamps, err := c.PathTTLs(ctx, x.bucket.Name)
	if err != nil && ctx.Err() == nil {
		a.log.Warn(fmt.Sprintf("the TTLs that the filers stamp by path are not known: %s", err))
		return rc, nil
	}
	rc.Stamps = stamps
	return rc, err
}

// explainedKey is what there is to say of a key.
type explainedKey struct {
	explain.KeyExplanation
	// leftovers are uploads that were completed and left behind.
	leftovers []string
	// schedule is false where no cursors are known.
	schedule bool
}

func (o *explainOptions) keyOf(ctx context.Context, a *app, c *Cluster, x *explained) (*explainedKey, error) {
	group, err := pass.ReadKey(ctx, c.Filer, x.bucket, o.key)
	if err != nil {
		return nil, err
	}
	in := explain.KeyInput{
		Bucket: x.bucket, Group: group, VersionID: o.version, Rules: x.rules,
		Now: x.now, DayClock: o.rules.clock(), Retention: o.metaLogRetention,
	}
	k := &explainedKey{}
	if o.version == "" {
		if in.Uploads, k.leftovers, err = pass.ReadUploads(ctx, c.Filer, x.bucket, o.key); err != nil {
			return nil, err
		}
	}
	if in.Schedule, err = o.schedule(ctx, a, c, x); err != nil {
		return nil, err
	}
	k.schedule = in.Schedule != nil
	k.KeyExplanation = explain.Key(in)
	if o.version != "" && len(k.Versions) == 0 {
		var ids []string
		for _, v := range group.Objects {
			ids = append(ids, v.VersionID)
		}
		err := fmt.Errorf("key %q has no version %q", o.key, o.version)
		if len(ids) > 0 {
			return nil, hint(err, "its versions are %s", strings.Join(ids, ", "))
		}
		return nil, err
	}
	return k, nil
}

// schedule is where the shards stand; nil where there are no cursors to read. A
// damaged cursor is part of the answer, not an error.
func (o *explainOptions) schedule(ctx context.Context, a *app, c *Cluster, x *explained) (*explain.Schedule, error) {
	if c.Cursors == nil && o.cursors.dir == "" {
		return nil, nil
	}
	sources, _, _, err := pass.LoadRules(ctx, c.Filer, o.rules.allowUnfiltered)
	if err != nil {
		return nil, err
	}
	if x.candidate != "" {
		sources = replaced(sources, engine.Source{Bucket: x.bucket, Rules: x.rules})
	}
	snapshot := engine.New().Compile(sources)
	retention := o.metaLogRetention
	if retention == 0 {
		retention = engine.MaxEffectiveTTL(snapshot)
	}
	s := &explain.Schedule{
		Shards: map[int]engine.ShardState{}, Damaged: map[int]string{},
		RuleSetHash:  engine.ReplayContentHash(snapshot),
		PromotedHash: engine.PromotedHash(snapshot, retention), WalkerInterval: o.walkerInterval,
		ReconcileInterval: o.reconcileInterval,
	}
	// A position is judged by the clock of today, whatever --at says.
	store, today := o.cursors.open(a, c), a.host.Now()
	for shard := range engine.ShardCount {
		st, err := store.Load(ctx, shard, today)
		switch {
		case isCorrupt(err):
			s.Damaged[shard] = err.Error()
		case err != nil:
			return nil, err
		default:
			s.Shards[shard] = st
		}
	}
	if s.HorizonNs, err = c.Filer.LogHorizon(ctx); err != nil {
		return nil, fmt.Errorf("read the start of the meta-log: %w", err)
	}
	return s, nil
}

// replaced has one bucket's rules in place of those that are there.
func replaced(sources []engine.Source, with engine.Source) []engine.Source {
	out := []engine.Source{with}
	for _, s := range sources {
		if s.Bucket.Name != with.Bucket.Name {
			out = append(out, s)
		}
	}
	return out
}
