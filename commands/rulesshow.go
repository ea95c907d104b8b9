package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
)

// The forms in which rules are shown.
const (
	showXML    = "xml"
	showJSON   = "json"
	showStored = "stored"
)

type rulesShowOptions struct {
	cluster         clusterOptions
	source          documentOptions
	form            string
	allowUnfiltered bool
}

func (o *rulesShowOptions) AddFlags(flags *pflag.FlagSet) {
	o.source.AddFlags(flags)
	o.form = showXML
	flags.Var(choiceValue{&o.form, []string{showXML, showJSON, showStored}}, "format", "canonical XML, the AWS CLI's JSON, or the document as it is stored")
	addAllowUnfiltered(flags, &o.allowUnfiltered)
	o.cluster.AddFlags(flags)
}

func newRulesShow(a *app) *cobra.Command {
	var o rulesShowOptions
	cmd := &cobra.Command{
		Use:   "show {--bucket BUCKET | --file FILE}",
		Short: "Print the rules of a bucket, or turn a file into the other form",
		Long: `Print the rules that are installed in a bucket: as canonical XML, the same for
equal rules, or as the JSON that aws s3api put-bucket-lifecycle-configuration
takes. What is printed reads back as the same rules, with the same hashes. With
--file, rules in a file are turned into either form.

What a pass would not carry out is left out and named on standard error: refused
rules, and transitions, which SeaweedFS does not do. After a refused rule the
exit code is 3, or 1 with --file. --format stored prints the document as it is,
whatever is in it.`,
		Example: `  weedlc rules show --bucket logs
  weedlc rules show --bucket logs --format json > rules.json
  weedlc rules show --file rules.json --format xml`,
		Args: o.source.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.source.validate(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), a)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *rulesShowOptions) run(ctx context.Context, a *app) error {
	doc, err := o.source.read(ctx, a, o.cluster)
	if err != nil {
		return err
	}
	if o.form == showStored {
		return a.writeDocument(doc.text)
	}
	rules, findings := doc.parse(o.allowUnfiltered)
	code := exitUndone
	if doc.file != "" {
		code = exitFailed
	}
	var end error
	for _, f := range findings {
		if !f.Warning {
			fmt.Fprintln(a.stderr, escape(findingLine(doc.name, f)))
			end = ending{code}
		}
	}
	if tallyRules(rules, findings).unreadable {
		if doc.file == "" {
			fmt.Fprintln(a.stderr, "hint: --format stored prints the document as it is")
		}
		return end
	}
	for _, r := range rules {
		if len(r.Unsupported) > 0 {
			a.log.Warn(fmt.Sprintf("%s: rule %d %q: left out: %s", doc.name, r.Number, r.ID, strings.Join(r.Unsupported, ", ")))
		}
	}
	if len(rules) == 0 {
		return end
	}
	write := engine.CanonicalXML
	if o.form == showJSON {
		write = engine.CanonicalJSON
	}
	if err := a.writeDocument(write(rules)); err != nil {
		return err
	}
	return end
}

// writeDocument writes a text as it is. On a terminal what does not print is
// escaped, line by line.
func (a *app) writeDocument(text []byte) error {
	if !a.host.OutTTY {
		_, err := a.host.Out.Write(text)
		return err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		var cells []string
		for cell := range strings.SplitSeq(line, "\t") {
			cells = append(cells, escape(cell))
		}
		if _, err := fmt.Fprintln(a.host.Out, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}
