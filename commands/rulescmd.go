package commands

import (
	"github.com/spf13/cobra"
)

func newRules(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List, show, check and test lifecycle rules",
		Long: `Look at the lifecycle rules that are installed on the cluster, and check and test
rules before they are. Rules are read as a pass reads them: strictly. A rule that
S3 would not accept is refused as a whole, and a bucket whose document cannot be
read is left alone.

A file holds S3's XML, or the JSON of aws s3api put-bucket-lifecycle-configuration;
which of the two is told from its content.`,
		Args:                  groupArgs,
		RunE:                  showHelp,
		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(newRulesList(a), newRulesShow(a), newRulesLint(a), newRulesTest(a))
	return cmd
}
