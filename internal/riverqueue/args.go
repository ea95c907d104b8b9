package riverqueue

import "github.com/riverqueue/river"

// jobArgs is the payload: identifiers, policy version and a time.
type jobArgs struct {
	Sweep      string `json:"sweep"`
	Shard      int    `json:"shard"`
	Generation int    `json:"generation"`
	Policy     string `json:"policy"`
	RedriveOf  int64  `json:"redrive_of,omitempty"`
	AdmittedAt int64  `json:"admitted_at"`
}

// Kind names the jobs in River's table.
func (jobArgs) Kind() string { return "sweep_shard" }

type riverJob = river.Job[jobArgs]

// queueName is the one queue that jobs lie in.
const queueName = "sweep"

// deliveries is River's bound on a job, which it must not reach: sweep's
// budgets end a job, and only rescues count here.
const deliveries = 10_000
