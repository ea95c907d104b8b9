// Command weedlc carries out S3 lifecycle rules on SeaweedFS.
package main

import (
	"context"
	"os"

	"weedlc/commands"
)

// version is set by the linker of a release.
var version string

func main() {
	host := commands.OSHost()
	host.Version = version
	os.Exit(commands.Main(context.Background(), os.Args[1:], host))
}
