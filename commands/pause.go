package commands

import (
	"context"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"weedlc/cursorfile"
)

func newPause(a *app) *cobra.Command {
	var o cursorOptions
	var reason string
	cmd := &cobra.Command{
		Use:   "pause [--reason TEXT]",
		Short: "Stop every pass between two deletes, until resume",
		Long: `Put a file beside the cursors that stops every run and walk of weedlc on this
cluster: those under way end before their next delete, with their progress
saved, and new ones do nothing and exit 3. Every other command says so while it
lasts. The file is ` + cursorfile.FilerDir + `/` + cursorfile.PauseName + `;
with --cursor-dir it stops the passes that keep their cursors in that directory.

SeaweedFS's own lifecycle worker does not look at the file. Stop it in the admin
server.`,
		Example: `  weedlc pause --reason "incident 12: rule of bucket logs deletes too much"
  weedlc resume`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.pause(cmd.Context(), o, reason) },
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&reason, "reason", "", "what the others should know")
	return cmd
}

func newResume(a *app) *cobra.Command {
	var o cursorOptions
	cmd := &cobra.Command{
		Use:     "resume",
		Short:   "Lift the pause",
		Long:    `Remove the file that pause put beside the cursors, and say what it was.`,
		Example: `  weedlc resume`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.resume(cmd.Context(), o) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func (a *app) pause(ctx context.Context, o cursorOptions, reason string) error {
	c, done, err := o.dial(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	p := cursorfile.Pause{Reason: reason, By: a.host.Who(), Since: a.host.Now()}
	was, err := cursorfile.SetPause(ctx, o.store.files(c), p)
	if err != nil {
		return err
	}
	if was != nil {
		a.notice("weedlc was %s", was)
		a.notice("nothing was changed")
		return nil
	}
	a.notice("weedlc is %s", &p)
	a.notice("no run or walk deletes anything until weedlc resume; SeaweedFS's own lifecycle worker does not look at this")
	return nil
}

func (a *app) resume(ctx context.Context, o cursorOptions) error {
	c, done, err := o.dial(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	was, err := cursorfile.LiftPause(ctx, o.store.files(c))
	switch {
	case err != nil:
		return err
	case was == nil:
		a.notice("nothing was paused")
	default:
		a.notice("resumed; weedlc was %s", was)
	}
	return nil
}

// who is the user and the host of this process.
func who() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
