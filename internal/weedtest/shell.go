package weedtest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Shell runs commands in a weed shell and returns what it printed. The shell
// goes on after a command that fails; the error is the last one's.
func (c *Cluster) Shell(ctx context.Context, commands ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, shellTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.processes[0].binary, "shell",
		"-master="+c.Addr(Master).String(), "-filer="+c.Addr(Filer).String())
	cmd.Dir = c.Dir()
	cmd.Env = environment(c.Dir())
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("weed shell %q: %w\n%s", commands, err, out.String())
	}
	return out.String(), nil
}

const shellTimeout = 2 * time.Minute

// RunBuiltIn makes one lifecycle pass of SeaweedFS's own over all shards and
// returns what it printed. The command has to be told not to stop after
// a thousand events. It exits 0 whatever happens to its objects.
func (cl *Client) RunBuiltIn() string {
	cl.t.Helper()
	out, err := cl.cluster.Shell(cl.t.Context(),
		"s3.lifecycle.run-shard -shards 0-15 -events 0 -s3 "+cl.cluster.Addr(Gateway).GRPC())
	cl.check(err, "cannot run the built-in pass")
	return out
}
