package commands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
)

type rulesLintOptions struct {
	cluster         clusterOptions
	source          documentOptions
	versioning      string
	allowUnfiltered bool
	output          outputOptions
}

func (o *rulesLintOptions) AddFlags(flags *pflag.FlagSet) {
	o.source.AddFlags(flags)
	addBucketVersioning(flags, &o.versioning)
	addAllowUnfiltered(flags, &o.allowUnfiltered)
	o.cluster.AddFlags(flags)
	o.output.AddFlags(flags, "tsv")
}

func newRulesLint(a *app) *cobra.Command {
	var o rulesLintOptions
	cmd := &cobra.Command{
		Use:   "lint {--file FILE | --bucket BUCKET}",
		Short: "Check rules and name everything that is wrong with them",
		Long: `Check the rules in a file, or those that are installed in a bucket. Everything is
named at once: the rule's number and ID, the path of the element, the value that
is at fault and what is allowed.

An error refuses its rule, never a part of it, and an error of the document all
of them: the exit code is 1. A warning says that something has no effect or is
seldom meant so; warnings alone exit with 0. What an unversioned bucket has no
use for is only known with --bucket or --bucket-versioning.

Columns with --output tsv: severity, rule number (0 is the document), rule ID,
line, path, value, message, allowed.`,
		Example: `  weedlc rules lint --file rules.xml --bucket-versioning enabled
  weedlc rules lint --bucket logs
  aws s3api get-bucket-lifecycle-configuration --bucket logs | weedlc rules lint --file -`,
		Args: o.source.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *rulesLintOptions) validate(cmd *cobra.Command) error {
	if o.versioning != "" && o.source.bucket != "" {
		return errors.New("--bucket-versioning is for a --file, a bucket has its own")
	}
	return o.source.validate(cmd)
}

func (o *rulesLintOptions) run(ctx context.Context, a *app) error {
	doc, err := o.source.read(ctx, a, o.cluster)
	if err != nil {
		return err
	}
	if v, known := versionings()[o.versioning]; known {
		doc.bucket.Versioning, doc.known = v, true
	}
	rules, findings := doc.parse(o.allowUnfiltered)
	if err := o.write(a, doc, rules, findings); err != nil {
		return err
	}
	if tallyRules(rules, findings).errors > 0 {
		return ending{exitFailed}
	}
	return nil
}

// lintJSON is the documented form of rules lint (docs/json-output.md).
type lintJSON struct {
	File     string        `json:"file"`
	Bucket   string        `json:"bucket"`
	Readable bool          `json:"readable"`
	Rules    int           `json:"rules"`
	Refused  int           `json:"refused"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Findings []findingJSON `json:"findings"`
}

func (o *rulesLintOptions) write(a *app, doc document, rules []*engine.Rule, findings []engine.Finding) error {
	t := tallyRules(rules, findings)
	switch o.output.chosen(a) {
	case formJSON:
		return writeJSON(a.host.Out, lintJSON{
			File: doc.file, Bucket: doc.bucket.Name, Readable: !t.unreadable, Rules: t.rules, Refused: t.refused,
			Errors: t.errors, Warnings: t.warnings, Findings: newFindingsJSON(findings),
		})
	case formTSV:
		var table rows
		for _, f := range findings {
			table.cells = append(table.cells, []cell{
				word(severity(f)), count(int64(f.Rule)), word(f.RuleID), count(int64(f.Line)), word(f.Path),
				word(f.Value), word(f.Message), word(f.Allowed),
			})
		}
		return table.write(a.host.Out, formTSV)
	}
	for _, f := range findings {
		if err := writeLine(a.host.Out, findingLine(doc.name, f)); err != nil {
			return err
		}
	}
	return writeLine(a.host.Out, fmt.Sprintf("%s: %s", doc.name, lintSummary(t)))
}

func lintSummary(t ruleTally) string {
	switch found := plural(t.errors, "error") + ", " + plural(t.warnings, "warning"); {
	case t.unreadable:
		return found + "; the document is refused"
	case t.errors+t.warnings == 0:
		return plural(t.rules, "rule") + ", no findings"
	case t.refused > 0:
		return fmt.Sprintf("%s; %d of %s refused", found, t.refused, plural(t.rules, "rule"))
	default:
		return fmt.Sprintf("%s; %s accepted", found, plural(t.rules, "rule"))
	}
}

// writeLine writes one line of text for people.
func writeLine(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, escape(text))
	return err
}
