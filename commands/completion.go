package commands

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// shell is one that completions can be written for.
type shell struct {
	name, install string
	write         func(*cobra.Command, io.Writer) error
}

func shells() []shell {
	return []shell{
		{"bash", "weedlc completion bash > /etc/bash_completion.d/weedlc",
			func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) }},
		{"zsh", `weedlc completion zsh > "${fpath[1]}/_weedlc"`,
			func(c *cobra.Command, w io.Writer) error { return c.GenZshCompletion(w) }},
		{"fish", "weedlc completion fish > ~/.config/fish/completions/weedlc.fish",
			func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) }},
		{"powershell", "weedlc completion powershell | Out-String | Invoke-Expression",
			func(c *cobra.Command, w io.Writer) error { return c.GenPowerShellCompletionWithDesc(w) }},
	}
}

func newCompletion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a completion script for a shell",
	}
	long, names := "Print a script that completes weedlc's commands and flags. To install it:\n\n", []string{}
	for _, s := range shells() {
		long += fmt.Sprintf("  %s\n", s.install)
		names = append(names, s.name)
	}
	cmd.Long, cmd.ValidArgs = long, names
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return hint(fmt.Errorf("expects one shell: %s", alternatives(names)), "%s", shells()[0].install)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, s := range shells() {
			if s.name == args[0] {
				return s.write(cmd.Root(), a.host.Out)
			}
		}
		return fmt.Errorf("no completion for shell %q: it is %s", args[0], alternatives(names))
	}
	return cmd
}
