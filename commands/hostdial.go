package commands

import (
	"context"
	"os"
	"time"

	"weedlc/cursorfile"
	"weedlc/explain"
	"weedlc/internal/cluster"
)

// survey asks the servers of a real cluster, each for at most limit.
func survey(ctx context.Context, o DialOptions, limit time.Duration) cluster.Survey {
	options := o.cluster()
	options.DialTimeout = limit
	return cluster.Probe(ctx, options)
}

func (o DialOptions) cluster() cluster.Options {
	return cluster.Options{
		Masters: o.Masters, Filers: o.Filers, Gateways: o.Gateways, FilerGroup: o.FilerGroup,
		NeedGateway: o.NeedGateway, AllowPlaintext: o.AllowPlaintext, SecurityDirs: o.SecurityDirs, Log: o.Log,
	}
}

// dial connects to a real cluster.
func dial(ctx context.Context, o DialOptions) (*Cluster, error) {
	c, err := cluster.Dial(ctx, o.cluster())
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
