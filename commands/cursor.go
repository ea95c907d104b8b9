package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/cursorfile"
	"weedlc/engine"
)

func newCursor(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cursor",
		Short: "Show, move and mend the shards' positions",
		Long: `A cursor is the position of one shard in the filer's meta-log. It lies on the
filer, in ` + cursorfile.FilerDir + `, in the file that SeaweedFS's
own worker uses; what only weedlc knows of the shard lies beside it in a side
file. See docs/cursor-format.md.`,
		Args:                  groupArgs,
		RunE:                  showHelp,
		DisableFlagsInUseLine: true,
	}
	cmd.AddCommand(newCursorShow(a), newCursorReset(a), newCursorEdit(a), newCursorGet(a), newCursorPut(a), newCursorValidate(a))
	return cmd
}

// fileOptions choose one of the two files of one shard.
type fileOptions struct {
	shard shardsValue
	side  bool
}

func (o *fileOptions) AddFlags(flags *pflag.FlagSet) {
	o.shard.single = true
	flags.Var(&o.shard, "shard", fmt.Sprintf("the shard, 0 to %d", engine.ShardCount-1))
	flags.BoolVar(&o.side, "side", false, "the side file, not the cursor")
}

// chosen is the shard; the command line must name it.
func (o *fileOptions) chosen(cmd *cobra.Command) (int, error) {
	if len(o.shard.shards) == 0 {
		return 0, hint(errors.New("no shard given"), "%s --shard 0", cmd.CommandPath())
	}
	return o.shard.shards[0], nil
}

func (o *fileOptions) name(shard int) string {
	if o.side {
		return cursorfile.SideName(shard)
	}
	return cursorfile.CursorName(shard)
}

// kind is what a person calls the file.
func (o *fileOptions) kind() string {
	if o.side {
		return "side file"
	}
	return "cursor"
}

// check decodes a text that a person wrote, without tolerance.
func (a *app) check(name string, shard int, side bool, text []byte) error {
	var err error
	if side {
		_, err = cursorfile.DecodeSide(name, shard, text, a.host.Now(), true)
	} else {
		_, err = cursorfile.DecodeCursor(name, shard, text, a.host.Now(), true)
	}
	return err
}

// errDeclined ends a command that asked and was not told to go on.
var errDeclined = errors.New("nothing was changed")

// confirm asks a person on a terminal to go on. Without a terminal only --yes
// goes on.
func (a *app) confirm(ctx context.Context, yes bool, question, withYes string) error {
	if yes {
		return nil
	}
	if !a.host.InTTY || !a.host.ErrTTY {
		return hint(errors.New("there is no terminal to ask on, and no --yes"), "%s", withYes)
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.host.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return ctx.Err()
	case line := <-answer:
		if line != "y" && line != "yes" {
			return errDeclined
		}
	}
	return nil
}

// isCorrupt reports whether an error is damage of a file, not a failure to
// read it.
func isCorrupt(err error) bool {
	_, ok := errors.AsType[*cursorfile.CorruptError](err)
	return ok
}
