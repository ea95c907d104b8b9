package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/engine"
)

type cursorGetOptions struct {
	cursorOptions
	file fileOptions
}

func newCursorGet(a *app) *cobra.Command {
	var o cursorGetOptions
	cmd := &cobra.Command{
		Use:   "get --shard N",
		Short: "Print the file of a cursor as it is",
		Long: `Print the file of a shard's cursor, byte for byte, whatever is in it. With
--side the side file.`,
		Example: `  weedlc cursor get --shard 3 > shard-03.json`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shard, err := o.file.chosen(cmd)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, shard)
		},
	}
	o.AddFlags(cmd.Flags())
	o.file.AddFlags(cmd.Flags())
	return cmd
}

func (o *cursorGetOptions) run(ctx context.Context, a *app, shard int) error {
	c, done, err := o.connect(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	data, _, err := o.store.files(c).Read(ctx, o.file.name(shard))
	if err != nil {
		return o.file.absent(shard, err)
	}
	_, err = a.host.Out.Write(data)
	return err
}

// absent words a read that found no file.
func (o *fileOptions) absent(shard int, err error) error {
	if errors.Is(err, engine.ErrNotFound) {
		return hint(fmt.Errorf("shard %d has no %s yet", shard, o.kind()), "weedlc cursor show --shard %d", shard)
	}
	return fmt.Errorf("read %s: %w", o.name(shard), err)
}

type cursorPutOptions struct {
	cursorOptions
	locks lockOptions
	file  fileOptions
}

func (o *cursorPutOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	o.locks.AddFlags(flags)
	o.file.AddFlags(flags)
}

func newCursorPut(a *app) *cobra.Command {
	var o cursorPutOptions
	cmd := &cobra.Command{
		Use:   "put --shard N FILE|-",
		Short: "Replace the file of a cursor",
		Long: `Replace the file of a shard's cursor by a local file, or by standard input. The
text is checked first, more strictly than when a pass reads it: unknown fields
are refused. The file that is there is kept as a backup beside it. With --side
the side file.`,
		Example: `  weedlc cursor put --shard 3 shard-03.json
  weedlc cursor get --shard 3 | jq '.ts_ns -= 86400000000000' | weedlc cursor put --shard 3 -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return hint(errors.New("expects one FILE, or - for standard input"), "weedlc cursor put --shard 0 shard-00.json")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := o.file.chosen(cmd)
			if err == nil {
				err = o.locks.validate()
			}
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, shard, args[0])
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *cursorPutOptions) run(ctx context.Context, a *app, shard int, source string) error {
	text, err := a.readSource(source)
	if err != nil {
		return err
	}
	if err := a.check(displayName(source), shard, o.file.side, text); err != nil {
		return err
	}
	c, done, err := o.connect(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	lock, err := o.lock(ctx, a, c, o.locks, []int{shard})
	if err != nil {
		return err
	}
	defer lock.Release()
	name, files := o.file.name(shard), o.store.files(c)
	_, version, err := files.Read(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return o.file.absent(shard, err)
	}
	return a.replace(ctx, o.store.open(a, c), files, replacement{shard, name, text, version, lock})
}

// readSource reads a file, or standard input for "-".
func (a *app) readSource(source string) ([]byte, error) {
	if source == "-" {
		return io.ReadAll(a.host.In)
	}
	return os.ReadFile(source)
}

// displayName is what messages call a source.
func displayName(source string) string {
	if source == "-" {
		return "standard input"
	}
	return source
}

type cursorValidateOptions struct{ file fileOptions }

func newCursorValidate(a *app) *cobra.Command {
	var o cursorValidateOptions
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check the files of cursors, without a cluster",
		Long: `Check local files as cursor put would. Files named as on the filer (shard-03.json,
shard-03.weedlc.json) tell their shard by their name; for others give --shard,
and --side for side files. A defect is named on standard error, and the exit code
is 1.`,
		Example: `  weedlc cursor validate shard-*.json
  weedlc cursor validate --shard 3 /tmp/mended.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return hint(errors.New("no file given"), "weedlc cursor validate shard-00.json")
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.run(a, args) },
	}
	o.file.AddFlags(cmd.Flags())
	return cmd
}

var cursorFileName = regexp.MustCompile(`^shard-([0-9]{2})(\.weedlc)?\.json$`)

func (o *cursorValidateOptions) run(a *app, args []string) error {
	var errs []error
	for _, name := range args {
		if err := o.one(a, name); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(a.host.Out, "%s: ok\n", escape(displayName(name)))
	}
	return errors.Join(errs...)
}

func (o *cursorValidateOptions) one(a *app, source string) error {
	shard, side := -1, o.file.side
	if len(o.file.shard.shards) > 0 {
		shard = o.file.shard.shards[0]
	} else if m := cursorFileName.FindStringSubmatch(filepath.Base(source)); m != nil {
		shard, _ = strconv.Atoi(m[1]) // two digits
		side = side || m[2] != ""
	}
	if shard < 0 || shard >= engine.ShardCount {
		return hint(fmt.Errorf("%s: its name tells no shard", displayName(source)), "weedlc cursor validate --shard 0 %s", shellWord(source))
	}
	text, err := a.readSource(source)
	if err != nil {
		return err
	}
	return a.check(displayName(source), shard, side, text)
}
