package commands

import (
	"runtime/debug"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/util/version"
)

func TestVersionIsThatOfTheServerWeImport(t *testing.T) {
	equal(t, "version", serverVersion, version.VERSION_NUMBER)
}

func TestVersionInfo(t *testing.T) {
	build := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Version: "v0.0.0-20261130120000-0123456789ab"},
		Settings:  []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "0123456789abcdef"}},
		Deps:      []*debug.Module{{Path: "example.com/other", Version: "v1.0.0"}, {Path: seaweedModule, Version: "v0.0.0-20261109003541-7506e5f91cd6"}},
	}
	equal(t, "build", newVersionInfo("", build).String(), `weedlc v0.0.0-20261130120000-0123456789ab
commit 0123456789abcdef-modified
go 1.26.8
seaweedfs 4.53 (v0.0.0-20261109003541-7506e5f91cd6)
`)
	build.Settings = nil
	equal(t, "release", newVersionInfo("v1.2.3", build).String(), `weedlc v1.2.3
commit unknown
go 1.26.8
seaweedfs 4.53 (v0.0.0-20261109003541-7506e5f91cd6)
`)
}
