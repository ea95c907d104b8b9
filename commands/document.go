package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
)

// documentOptions choose one lifecycle document: a file, or what is installed
// in a bucket.
type documentOptions struct{ file, bucket string }

func (o *documentOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.file, "file", "", "the rules in this `file`, S3's XML or the AWS CLI's JSON; - is standard input")
	flags.StringVar(&o.bucket, "bucket", "", "the rules that are installed in this `bucket`")
}

// args refuses positional arguments; one is most likely meant as the file.
func (o *documentOptions) args(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return hint(fmt.Errorf("unexpected argument %q", args[0]), "%s --file %s", cmd.CommandPath(), shellWord(args[0]))
}

func (o *documentOptions) validate(cmd *cobra.Command) error {
	if err := refuseEmpty(cmd, "file", "bucket"); err != nil {
		return err
	}
	switch {
	case o.file != "" && o.bucket != "":
		return errors.New("--file and --bucket exclude each other")
	case o.file == "" && o.bucket == "":
		return hint(errors.New("no rules given: neither --file nor --bucket"), "%s --bucket BUCKET", cmd.CommandPath())
	}
	return nil
}

// document is a lifecycle document as it is.
type document struct {
	// name is what messages call it, file the name of the file; empty for one
	// that is installed.
	name, file string
	text       []byte
	// bucket is what is known of the bucket: its versioning, where known is set.
	bucket engine.Bucket
	known  bool
}

func (d document) parse(allowUnfiltered bool) ([]*engine.Rule, []engine.Finding) {
	if d.file == "" {
		return engine.ParseBucket(d.bucket, allowUnfiltered)
	}
	return engine.ParseRules(d.bucket.Name, d.text, engine.ParseOptions{
		AllowUnfiltered: allowUnfiltered, Versioning: d.bucket.Versioning, KnownVersioning: d.known,
	})
}

func (o *documentOptions) read(ctx context.Context, a *app, at clusterOptions) (document, error) {
	if o.file != "" {
		text, err := a.readSource(o.file)
		return document{name: displayName(o.file), file: displayName(o.file), text: text}, err
	}
	c, err := a.dialToRead(ctx, at, storeOptions{})
	if err != nil {
		return document{}, err
	}
	defer c.Close()
	b, err := existingBucket(ctx, c, o.bucket)
	if err != nil {
		return document{}, err
	}
	if len(b.Rules) == 0 {
		return document{}, hint(fmt.Errorf("bucket %q has no lifecycle rules", o.bucket), "weedlc rules list")
	}
	return document{name: fmt.Sprintf("bucket %q", b.Name), text: b.Rules, bucket: b, known: true}, nil
}

// existingBucket is a bucket that has to be there.
func existingBucket(ctx context.Context, c *Cluster, name string) (engine.Bucket, error) {
	b, err := c.Filer.Bucket(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		all, listErr := c.Filer.Buckets(ctx)
		if listErr != nil {
			return b, fmt.Errorf("bucket %q does not exist", name)
		}
		return b, noSuchBucket(name, all)
	case err != nil:
		return b, fmt.Errorf("bucket %q: %w", name, err)
	}
	return b, nil
}

// noSuchBucket names the bucket that was most likely meant, or the few that there
// are.
func noSuchBucket(name string, all []engine.Bucket) error {
	var names, quoted []string
	for _, b := range all {
		names, quoted = append(names, b.Name), append(quoted, fmt.Sprintf("%q", b.Name))
	}
	err := fmt.Errorf("bucket %q does not exist", name)
	switch near := nearest(name, names); {
	case near != "":
		return hint(err, "the nearest name is %q", near)
	case len(names) > 0 && len(names) <= 10:
		return hint(err, "there is %s", strings.Join(quoted, ", "))
	}
	return err
}

// versionings maps the words for a bucket's versioning state to it.
func versionings() map[string]engine.Versioning {
	m := map[string]engine.Versioning{}
	for _, v := range []engine.Versioning{engine.Unversioned, engine.Enabled, engine.Suspended} {
		m[v.String()] = v
	}
	return m
}

// addBucketVersioning says what bucket the rules in a file are for; empty is
// not known.
func addBucketVersioning(flags *pflag.FlagSet, p *string) {
	flags.Var(choiceValue{p, sortedKeys(versionings())}, "bucket-versioning", "versioning of the bucket that the rules in the file are for")
}
