package commands

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// refuseEmpty refuses flags that were given without a value: what a shell has no
// value for must not turn into another source, or into other rules.
func refuseEmpty(cmd *cobra.Command, flags ...string) error {
	var errs []error
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s \"\": must not be empty", name))
		}
	}
	return errors.Join(errs...)
}
