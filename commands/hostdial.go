package commands

import (
	"context"
	"os"
	"time"

	"weedlc/cursorfile"
	"weedlc/explain"
	"weedlc/internal/cluster"
)

// dial connects to a real cluster.
func dial(ctx context.Context, o DialOptions) (*Cluster, error) {
	c, err := cluster.Dial(ctx, cluster.Options{
		Masters: o.Masters, Filers: o.Filers, Gateways: o.Gateways, FilerGroup: o.FilerGroup,
		NeedGateway: o.NeedGateway, AllowPlaintext: o.AllowPlaintext, SecurityDirs: o.SecurityDirs, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Filer: c, Gateway: c, Cursors: c.Files(cursorfile.FilerDir), Close: c.Close,
		LockShards: func(ctx context.Context, shards []int, wait time.Duration) (Lock, error) {
			host, err := os.Hostname()
			if err != nil {
				return nil, err
			}
			held, err := c.LockShards(ctx, shards, cluster.Owner{Host: host, PID: os.Getpid(), Since: o.Now()}, wait)
			if err != nil {
				return nil, err
			}
			return held, nil
		},
		PathTTLs: func(ctx context.Context, bucket string) ([]explain.Stamp, error) {
			ttls, err := c.PathTTLs(ctx, bucket)
			var stamps []explain.Stamp
			for _, t := range ttls {
				stamps = append(stamps, explain.Stamp(t))
			}
			return stamps, err
		},
	}, nil
}
