package commands

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"weedlc/cursorfile"
	"weedlc/explain"
	"weedlc/internal/cluster"
	"weedlc/pass"
)

// Cluster is what the commands use of a SeaweedFS cluster.
type Cluster struct {
	Filer   pass.Filer
	Gateway pass.Gateway // nil unless it was asked for
	Cursors cursorfile.Files
	// PathTTLs are the TTLs that the filers stamp on new objects of a bucket by
	// path; nil where that is not known.
	PathTTLs func(ctx context.Context, bucket string) ([]explain.Stamp, error)
	// LockShards takes the locks of shards, all or none.
	LockShards func(ctx context.Context, shards []int, wait time.Duration) (Lock, error)
	Close      func() error
}

// Lock holds shards.
type Lock interface {
	// Err returns an error once the lock of the shard is lost.
	Err(shard int) error
	Release()
}

// Dialer connects to a cluster. It returns within seconds when an address
// does not answer, with an error that names it.
type Dialer func(ctx context.Context, o DialOptions) (*Cluster, error)

// Surveyor asks each server of a cluster by itself, for at most limit. What
// fails is in the survey.
type Surveyor func(ctx context.Context, o DialOptions, limit time.Duration) cluster.Survey

// DialOptions say where a cluster is.
type DialOptions struct {
	Masters, Filers, Gateways []string
	FilerGroup                string
	// NeedGateway is set by the commands that delete.
	NeedGateway bool
	// AllowPlaintext lets connections without TLS leave this host.
	AllowPlaintext bool
	// SecurityDirs are searched for security.toml.
	SecurityDirs []string
	Log          *slog.Logger
	Now          func() time.Time
}

// clusterOptions are the flags of every command that talks to a cluster.
type clusterOptions struct {
	masters, filers, gateways []string
	filerGroup                string
	allowPlaintext            bool
}

func (o *clusterOptions) AddFlags(flags *pflag.FlagSet) {
	o.masters = []string{"localhost:9333"}
	flags.Var(newList(&o.masters), "master", "masters, which know the filers and gateways")
	flags.Var(newList(&o.filers), "filer", "filers to use, not those that the master knows")
	flags.Var(newList(&o.gateways), "s3", "S3 gateways' gRPC addresses to use, not those that the master knows")
	flags.StringVar(&o.filerGroup, "filer-group", "", "`group` of the filers to ask the master for")
	flags.BoolVar(&o.allowPlaintext, "allow-plaintext", false, "speak without TLS to other hosts too")
	settings(flags, "master", "filer", "s3", "filer-group", "allow-plaintext")
}

func (a *app) dial(ctx context.Context, o clusterOptions, needGateway bool) (*Cluster, error) {
	return a.host.Dial(ctx, a.dialOptions(o, needGateway))
}

// dialToRead connects for a command that only reads. A pause is told.
func (a *app) dialToRead(ctx context.Context, o clusterOptions, cursors storeOptions) (*Cluster, error) {
	c, err := a.dial(ctx, o, false)
	if err == nil {
		a.warnPaused(ctx, cursors.files(c))
	}
	return c, err
}

func (a *app) dialOptions(o clusterOptions, needGateway bool) DialOptions {
	return DialOptions{
		Masters: o.masters, Filers: o.filers, Gateways: o.gateways, FilerGroup: o.filerGroup,
		NeedGateway: needGateway, AllowPlaintext: o.allowPlaintext,
		SecurityDirs: a.host.configDirs(), Log: a.log, Now: a.host.Now,
	}
}
