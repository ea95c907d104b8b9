package adminworker

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"

	"weedlc/engine"
)

// Job is a part of a pass as the admin server asks for it.
type Job struct {
	// Shards to work on, ascending.
	Shards []int
	// Masters are those of the cluster as the admin server knows them.
	Masters []string
	// DeletesPerSecond is this worker's share of the cluster's rate; 0 is no
	// limit. Burst 0 is twice the rate.
	DeletesPerSecond float64
	Burst            int64
	// MetaLogRetention is how far back the meta-log reaches; 0 is for ever.
	MetaLogRetention time.Duration
	// WalkerInterval is the least time between two walks of walk-bound rules; 0
	// is every pass.
	WalkerInterval time.Duration
	// MaxRuntime is how long the job may take.
	MaxRuntime time.Duration
}

// paramShards is the job's parameter that says which shards it covers. A job
// without it was not proposed here. Ours in turn lack the filer_grpc_address
// without which the built-in worker carries out nothing: given to one, a job
// fails and does not become a pass over all shards.
const paramShards = "shards"

// The metadata by which the admin server hands out shares of the rate.
const (
	metaDeletesPerSecond = JobType + ".deletes_per_second"
	metaDeletesBurst     = JobType + ".deletes_burst"
)

func parseJob(req *plugin_pb.ExecuteJobRequest) (Job, error) {
	spec := req.GetJob().GetParameters()[paramShards].GetStringValue()
	if spec == "" {
		return Job{}, fmt.Errorf("the job names no shards: a built-in worker has proposed it; "+
			"this admin server must have no other worker for %q than weedlc's", JobType)
	}
	shards, err := engine.ParseShards(spec)
	if err != nil {
		return Job{}, fmt.Errorf("job parameter %q: %w", paramShards, err)
	}
	j := Job{
		Shards:           shards,
		Masters:          req.GetClusterContext().GetMasterGrpcAddresses(),
		MetaLogRetention: setting(req.GetAdminConfigValues(), keyMetaLogRetention),
		WalkerInterval:   setting(req.GetAdminConfigValues(), keyWalkerInterval),
		MaxRuntime:       setting(req.GetWorkerConfigValues(), keyMaxRuntime),
	}
	meta := req.GetClusterContext().GetMetadata()
	if s := meta[metaDeletesPerSecond]; s != "" {
		if j.DeletesPerSecond, err = strconv.ParseFloat(s, 64); err != nil || !(j.DeletesPerSecond >= 0) {
			return Job{}, fmt.Errorf("%s %q: must be a number from 0", metaDeletesPerSecond, s)
		}
	}
	if s := meta[metaDeletesBurst]; s != "" {
		if j.Burst, err = strconv.ParseInt(s, 10, 32); err != nil || j.Burst < 0 {
			return Job{}, fmt.Errorf("%s %q: must be a whole number from 0", metaDeletesBurst, s)
		}
	}
	return j, nil
}

// split divides the shards into n ranges of about the same size.
func split(n int) []string {
	n = min(max(n, 1), engine.ShardCount)
	var ranges []string
	for i := range n {
		var shards []int
		for s := i * engine.ShardCount / n; s < (i+1)*engine.ShardCount/n; s++ {
			shards = append(shards, s)
		}
		ranges = append(ranges, engine.FormatShards(shards))
	}
	return ranges
}
