package commands

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// serverVersion is the SeaweedFS release that the pinned module belongs to.
const serverVersion = "4.53"

const seaweedModule = "github.com/seaweedfs/seaweedfs"

// versionInfo is what a build knows of itself.
type versionInfo struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Go        string `json:"go"`
	SeaweedFS string `json:"seaweedfs"`
	// SeaweedFSModule is the module version that the wire contracts come from.
	SeaweedFSModule string `json:"seaweedfs_module"`
}

// newVersionInfo reads what the Go toolchain stamped into the binary. A
// version from the outside, set by a release, goes first.
func newVersionInfo(release string, build *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: release, SeaweedFS: serverVersion}
	if build == nil {
		return v
	}
	v.Go = build.GoVersion
	v.Version = cmp.Or(release, build.Main.Version, "(devel)")
	modified := false
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified {
		v.Commit += "-modified"
	}
	for _, dep := range build.Deps {
		if dep.Path == seaweedModule {
			v.SeaweedFSModule = dep.Version
		}
	}
	return v
}

func (v versionInfo) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "weedlc %s\n", v.Version)
	fmt.Fprintf(&b, "commit %s\n", cmp.Or(v.Commit, "unknown"))
	fmt.Fprintf(&b, "go %s\n", strings.TrimPrefix(v.Go, "go"))
	fmt.Fprintf(&b, "seaweedfs %s (%s)\n", v.SeaweedFS, cmp.Or(v.SeaweedFSModule, "unknown"))
	return b.String()
}

func newVersion(a *app) *cobra.Command {
	form := ""
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of weedlc, Go and the SeaweedFS it speaks to",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			build, _ := debug.ReadBuildInfo()
			v := newVersionInfo(a.host.Version, build)
			if form == formJSON {
				return writeJSON(a.host.Out, v)
			}
			_, err := fmt.Fprint(a.host.Out, v)
			return err
		},
	}
	cmd.Flags().VarP(choiceValue{&form, []string{formJSON}}, "output", "o", "form of the result (default text)")
	return cmd
}
