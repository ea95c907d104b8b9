package commands

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weedlc/cursorfile"
)

type cursorEditOptions struct {
	cursorOptions
	locks lockOptions
	file  fileOptions
	yes   bool
}

func (o *cursorEditOptions) AddFlags(flags *pflag.FlagSet) {
	o.cursorOptions.AddFlags(flags)
	o.locks.AddFlags(flags)
	o.file.AddFlags(flags)
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

func newCursorEdit(a *app) *cobra.Command {
	var o cursorEditOptions
	cmd := &cobra.Command{
		Use:   "edit --shard N",
		Short: "Edit the file of a cursor",
		Long: `Open the file of a shard's cursor in $VISUAL or $EDITOR (vi when neither is
set), with the shard locked. A text that is not a valid cursor is opened again
with the error on top. Then the change is shown, what the next pass will do about
it, and a question. The old file is kept as a backup beside it. With --side the
side file.

To give up, leave the text as it is, or empty the file.`,
		Example: `  weedlc cursor edit --shard 3`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shard, err := o.file.chosen(cmd)
			if err == nil {
				err = o.locks.validate()
			}
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, shard)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (o *cursorEditOptions) run(ctx context.Context, a *app, shard int) error {
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
	old, version, err := files.Read(ctx, name)
	if err != nil {
		return o.file.absent(shard, err)
	}
	text, err := o.edited(ctx, a, shard, name, old)
	if err != nil {
		return err
	}
	if bytes.Equal(text, old) {
		a.notice("%v", errDeclined)
		return nil
	}

	fmt.Fprint(a.host.Out, diff(name, name+" (edited)", string(old), string(text)))
	for _, line := range o.effect(a, shard, old, text) {
		a.notice("%s", line)
	}
	if err := a.confirm(ctx, o.yes, "replace "+name+"?", a.commandLine("--yes")); err != nil {
		return err
	}
	return a.replace(ctx, o.store.open(a, c), files, replacement{shard, name, text, version, lock})
}

// edited lets a person change the text until it is valid. An unchanged or
// emptied text gives up: it comes back as it was.
func (o *cursorEditOptions) edited(ctx context.Context, a *app, shard int, name string, old []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "weedlc-cursor-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, name)
	editor := cmp.Or(a.host.getenv("VISUAL"), a.host.getenv("EDITOR"), "vi")

	text, defect := old, error(nil)
	for {
		shown := append(banner(defect), text...)
		if err := os.WriteFile(path, shown, 0o600); err != nil {
			return nil, err
		}
		if err := a.host.Edit(ctx, editor, path); err != nil {
			return nil, hint(fmt.Errorf("editor %q: %w", editor, err), "EDITOR=vi %s", a.commandLine())
		}
		back, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		edited := stripBanner(back)
		switch {
		case len(bytes.TrimSpace(edited)) == 0, bytes.Equal(edited, old):
			return old, nil
		case defect != nil && bytes.Equal(edited, text):
			return nil, fmt.Errorf("%w; %w", defect, errDeclined)
		}
		text = edited
		if defect = a.check(name, shard, o.file.side, text); defect == nil {
			return text, nil
		}
	}
}

const bannerMark = "# "

// banner tells what is wrong above a text that goes back to the editor.
func banner(defect error) []byte {
	if defect == nil {
		return nil
	}
	var b bytes.Buffer
	for line := range strings.SplitSeq(defect.Error(), "\n") {
		fmt.Fprintf(&b, "%s%s\n", bannerMark, escape(line))
	}
	fmt.Fprintf(&b, "%sthese lines are taken off; leave the rest unchanged to give up\n", bannerMark)
	return b.Bytes()
}

func stripBanner(text []byte) []byte {
	for bytes.HasPrefix(text, []byte(bannerMark)) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}

// effect is what the next pass will do about an edit.
func (o *cursorEditOptions) effect(a *app, shard int, old, text []byte) []string {
	if o.file.side {
		return []string{"the next pass takes the side file as it is; one whose ts_ns or rule_set_hash is not the cursor's loses its positions"}
	}
	next, err := cursorfile.DecodeCursor("", shard, text, a.host.Now(), true)
	if err != nil {
		return nil
	}
	was, err := cursorfile.DecodeCursor("", shard, old, a.host.Now(), false)
	if err != nil {
		return []string{fmt.Sprintf("the next pass starts every position of the shard at %s, less an hour; it walks every bucket unless the hashes are today's",
			instant(nanos(next.Cursor.TsNs), "none").text)}
	}
	var effects []string
	if next.Cursor.TsNs != was.Cursor.TsNs {
		effects = append(effects, moveEffect(was.Cursor.TsNs, next.Cursor.TsNs))
	}
	if next.Cursor.RuleSetHash != was.Cursor.RuleSetHash || next.Cursor.PromotedHash != was.Cursor.PromotedHash {
		effects = append(effects, "the next pass walks every bucket unless the hashes are today's")
	}
	if next.Cursor.LastWalkedNs != was.Cursor.LastWalkedNs {
		effects = append(effects, "the next walk for rules that need one counts from the new last_walked_ns")
	}
	return effects
}
