package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// globalOptions are the flags of every command.
type globalOptions struct {
	config         string
	quiet, verbose bool
	log            logOptions
	profiles       profileOptions
	// layers tells for each flag where its value came from.
	layers map[string]layer
}

func (o *globalOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.config, "config", "", "read settings from this `file`, not from the usual places")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print warnings, errors and the heartbeat only")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "log more")
	settings(flags, "quiet", "verbose")
	o.log.AddFlags(flags)
	o.profiles.AddFlags(flags)
}

func newRoot(a *app) *cobra.Command {
	a.global.layers = map[string]layer{}
	root := &cobra.Command{
		Use:   "weedlc",
		Short: "Carry out S3 lifecycle rules on SeaweedFS, once, now",
		Long: `weedlc carries out the S3 lifecycle rules of a SeaweedFS cluster. It starts,
does today's work and stops: from cron, from a systemd timer, or by hand.

  weedlc dry-run       what the rules would delete, without deleting
  weedlc run           one pass: delete what is due, save the positions
  weedlc cursor show   where every shard stands, and what holds it up

Every flag that is no mere target of the command can also be set as an
environment variable (--deletes-per-second: WEEDLC_DELETES_PER_SECOND) or as a
key of weedlc.toml, which is looked for in ., $HOME/.seaweedfs,
/usr/local/etc/seaweedfs and /etc/seaweedfs. TLS and JWT keys come from
SeaweedFS's own security.toml in the same places.

Exit codes:

` + exitHelp(),
		Args:              groupArgs,
		RunE:              showHelp,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,

		DisableFlagsInUseLine: true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE:     func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
	}
	root.SetFlagErrorFunc(flagError)
	a.global.AddFlags(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: "work", Title: "Commands:"}, &cobra.Group{ID: "other", Title: "Also:"})
	root.SetHelpCommandGroupID("other")
	for _, cmd := range []*cobra.Command{newRun(a), newWalk(a), newDryRun(a), newExplainRule(a), newRules(a), newCursor(a), newPause(a), newResume(a), newStatus(a), newDoctor(a), newSweep(a), newWorker(a)} {
		cmd.GroupID = "work"
		root.AddCommand(cmd)
	}
	for _, cmd := range []*cobra.Command{newVersion(a), newCompletion(a)} {
		cmd.GroupID = "other"
		root.AddCommand(cmd)
	}
	completeChoices(root)
	return root
}

// completeChoices offers the words of each flag that takes one of a few.
func completeChoices(cmd *cobra.Command) {
	offer := func(f *pflag.Flag) {
		if choice, ok := f.Value.(choiceValue); ok {
			fixed := cobra.FixedCompletions(choice.words, cobra.ShellCompDirectiveNoFileComp)
			if err := cmd.RegisterFlagCompletionFunc(f.Name, fixed); err != nil {
				panic(err)
			}
		}
	}
	cmd.LocalFlags().VisitAll(offer)
	for _, c := range cmd.Commands() {
		completeChoices(c)
	}
}

// prepare reads the configuration and sets up the log before a command runs.
func (a *app) prepare(cmd *cobra.Command) error {
	a.log = newLogger(a.stderr, a.colour(), a.global.log.format, slog.LevelInfo)
	if hasSettings(cmd) {
		if err := a.configure(cmd); err != nil {
			return err
		}
	}
	g := &a.global
	if g.quiet && g.verbose {
		quiet, verbose := g.layers["quiet"], g.layers["verbose"]
		if quiet == verbose {
			return errors.New("--quiet and --verbose exclude each other")
		}
		g.quiet, g.verbose = quiet > verbose, verbose > quiet
	}
	layers := maps.Clone(g.layers)
	cmd.Flags().Visit(func(f *pflag.Flag) { layers[f.Name] = fromFlag })
	a.log = newLogger(a.stderr, a.colour(), g.log.format, g.threshold(layers))
	return g.profiles.start()
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// groupArgs refuses the name of a command that does not exist.
func groupArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", strings.TrimPrefix(cmd.CommandPath()+" "+args[0], "weedlc "))
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := nearest(args[0], names); near != "" {
		return hint(err, "%s %s", cmd.CommandPath(), near)
	}
	return hint(err, "%s --help", cmd.CommandPath())
}

// noArgs refuses positional arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return hint(fmt.Errorf("unexpected argument %q", args[0]), "%s --help", cmd.CommandPath())
}

// flagError words what pflag found, and adds the hint that a near miss calls
// for.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		name := e.GetFlag().Name
		if long := singleDash(cmd, e.GetFlag().Shorthand+e.GetValue()); long != "" {
			return hint(fmt.Errorf("unknown flag %q", "-"+long), "%s --%s", cmd.CommandPath(), long)
		}
		return fmt.Errorf("--%s %q: %s", name, e.GetValue(), cause(err))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return hint(fmt.Errorf("--%s needs a value", e.GetFlag().Name), "%s --help", cmd.CommandPath())
	}
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return hint(err, "%s --help", cmd.CommandPath())
	}
	if short := e.GetSpecifiedShortnames(); short != "" {
		if long := singleDash(cmd, short); long != "" {
			return hint(fmt.Errorf("unknown flag %q", "-"+long), "%s --%s", cmd.CommandPath(), long)
		}
		return hint(fmt.Errorf("unknown flag %q", "-"+e.GetSpecifiedName()), "%s --help", cmd.CommandPath())
	}
	name := e.GetSpecifiedName()
	err = fmt.Errorf("unknown flag %q", "--"+name)
	if narrows(name) && cmd.Name() == "run" {
		err = fmt.Errorf("run takes no --%s: a position covers every bucket, so a pass over some would move past what is due in the others", name)
	}
	if elsewhere := misplaced(cmd, name); elsewhere != "" {
		return hint(err, "%s", elsewhere)
	}
	if near := nearest(name, flagNames(cmd)); near != "" {
		return hint(err, "%s --%s", cmd.CommandPath(), near)
	}
	return hint(err, "%s --help", cmd.CommandPath())
}

// cause is what a flag's value had to say, without pflag's words around it.
func cause(err error) string {
	if errors.Is(err, strconv.ErrSyntax) {
		return "must be true or false"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

// singleDash is the long flag that was meant by one dash and its name; empty
// when there is none.
func singleDash(cmd *cobra.Command, word string) string {
	name, _, _ := strings.Cut(word, "=")
	if len(name) > 1 && slices.Contains(flagNames(cmd), name) {
		return name
	}
	return ""
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// misplaced is the command to use when a flag belongs to another one; empty
// when there is none.
func misplaced(cmd *cobra.Command, flag string) string {
	meant := map[string]string{
		"bucket":      "walk --bucket BUCKET",
		"all-buckets": "walk --all-buckets",
		"prefix":      "walk --bucket BUCKET --prefix PREFIX",

		"exclude-bucket": "walk --all-buckets --exclude-bucket BUCKET",
		"exclude-prefix": "walk --bucket BUCKET --exclude-prefix PREFIX",

		"at":      "dry-run --at TIME",
		"dry-run": "dry-run",
	}[flag]
	name, _, _ := strings.Cut(meant, " ")
	other, _, err := cmd.Root().Find([]string{name})
	if meant == "" || err != nil || other == cmd || other == cmd.Root() {
		return ""
	}
	return "weedlc " + meant
}
