package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/master_pb"
)

// The names under which servers register at a master (weed/cluster).
const (
	filerType   = "filer"
	gatewayType = "s3"
)

// ErrNoServers is returned when the masters know of no filer or no gateway.
var ErrNoServers = errors.New("none registered")

// discover names the filers and the gateways to use: the given ones, else
// those that the masters know.
func (c *Cluster) discover(ctx context.Context) (filers, gateways []string, err error) {
	filers, gateways = slices.Clone(c.options.Filers), slices.Clone(c.options.Gateways)
	if !c.options.NeedGateway {
		gateways = nil
	}
	askFilers := len(filers) == 0
	askGateways := c.options.NeedGateway && len(gateways) == 0
	if !askFilers && !askGateways {
		return filers, gateways, nil
	}

	deadline := time.Now().Add(c.options.RegisterTimeout)
	for {
		if askFilers {
			if filers, err = c.registered(ctx, filerType); err != nil {
				return nil, nil, err
			}
		}
		if askGateways {
			if gateways, err = c.registered(ctx, gatewayType); err != nil {
				return nil, nil, err
			}
		}
		lacking := ""
		switch {
		case askFilers && len(filers) == 0:
			lacking = "filers"
		case askGateways && len(gateways) == 0:
			lacking = "S3 gateways"
		default:
			return filers, gateways, nil
		}
		if time.Now().After(deadline) {
			return nil, nil, fmt.Errorf("%s of group %q at master %s: %w after %s",
				lacking, c.options.FilerGroup, quoted(c.options.Masters), ErrNoServers, c.options.RegisterTimeout)
		}
		// A server registers some seconds after it answers.
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return nil, nil, err
		}
	}
}

// registered lists the servers of a type that the leading master knows, in
// the order of their addresses. The first master that answers is believed.
func (c *Cluster) registered(ctx context.Context, kind string) ([]string, error) {
	if len(c.options.Masters) == 0 {
		return nil, errors.New("no master is given")
	}
	ctx, cancel := c.dialer.probing(ctx)
	defer cancel()
	type answer struct {
		nodes []node
		err   error
	}
	answers := make(chan answer, len(c.options.Masters))
	for _, master := range c.options.Masters {
		go func() {
			nodes, err := c.ask(ctx, master, kind)
			answers <- answer{nodes, err}
		}()
	}
	var errs []error
	for range c.options.Masters {
		a := <-answers
		if a.err == nil {
			return addresses(a.nodes), nil
		}
		errs = append(errs, a.err)
	}
	return nil, errors.Join(errs...)
}

// ask lists the servers of a type that the master knows; when it knows none,
// those of the master that it names as the leader.
func (c *Cluster) ask(ctx context.Context, master, kind string) ([]node, error) {
	e, err := c.dialer.open(ctx, Master, master)
	if err != nil {
		return nil, err
	}
	defer e.conn.Close()
	client := master_pb.NewSeaweedClient(e.conn)
	conf, err := client.GetMasterConfiguration(ctx, &master_pb.GetMasterConfigurationRequest{})
	if err != nil {
		return nil, c.dialer.explain(ctx, e, cause(ctx, err))
	}
	nodes, err := list(ctx, client, kind, c.options.FilerGroup)
	if err != nil {
		return nil, c.dialer.explain(ctx, e, cause(ctx, err))
	}
	if len(nodes) > 0 || conf.Leader == "" || conf.Leader == master {
		return nodes, nil
	}
	l, err := c.dialer.open(ctx, Master, conf.Leader)
	if err != nil {
		return nil, err
	}
	defer l.conn.Close()
	if l.grpc == e.grpc {
		return nil, nil
	}
	if nodes, err = list(ctx, master_pb.NewSeaweedClient(l.conn), kind, c.options.FilerGroup); err != nil {
		return nil, c.dialer.explain(ctx, l, cause(ctx, err))
	}
	return nodes, nil
}

// node is a server as it is registered at a master.
type node = *master_pb.ListClusterNodesResponse_ClusterNode

func list(ctx context.Context, client master_pb.SeaweedClient, kind, group string) ([]node, error) {
	resp, err := client.ListClusterNodes(ctx, &master_pb.ListClusterNodesRequest{ClientType: kind, FilerGroup: group})
	if err != nil {
		return nil, err
	}
	return resp.ClusterNodes, nil
}

// addresses are those of nodes, in order.
func addresses(nodes []node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Address)
	}
	slices.Sort(names)
	return names
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(out, ", ")
}
