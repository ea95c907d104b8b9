package adminworker

import (
	"math"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"

	"weedlc/engine"
)

// The keys of the configuration, as the lifecycle document has them.
const (
	keyDeletesPerSecond = "cluster_deletes_per_second"
	keyDeletesBurst     = "cluster_deletes_burst"
	keyMetaLogRetention = "meta_log_retention_days"
	keyWalkerInterval   = "walker_interval_minutes"
	keyMaxRuntime       = "max_runtime_minutes"
)

// field is one number that an operator may set on the admin server's page.
type field struct {
	key, label, description string
	// unit is what one is of; 0 where the number is a count.
	unit           time.Duration
	implied, least int64
}

func adminFields() []field {
	return []field{
		{key: keyDeletesPerSecond, label: "Deletes per second",
			description: "Lifecycle deletes per second that the cluster may see at most, shared by the workers. 0 is no limit."},
		{key: keyDeletesBurst, label: "Burst of deletes",
			description: "Deletes that may follow each other at once, shared by the workers. 0 is twice the rate."},
		{key: keyMetaLogRetention, label: "Reach of the meta-log (days)", unit: 24 * time.Hour,
			description: "How far back the meta-log reaches. Rules with a longer delay are walked for. 0 is for ever."},
		{key: keyWalkerInterval, label: "Time between walks (minutes)", unit: time.Minute,
			description: "Least time between two walks for rules that need one. 0 is every pass."},
	}
}

func workerFields() []field {
	return []field{
		{key: keyMaxRuntime, label: "Time for a job (minutes)", unit: time.Minute, implied: 60, least: 1,
			description: "A job that takes longer stops with its progress saved, is reported as such, and is gone on with in the next pass."},
	}
}

// setting is the span of time that a key stands for; what is not set, or below
// the least, is what the field implies.
func setting(values map[string]*plugin_pb.ConfigValue, key string) time.Duration {
	for _, f := range append(adminFields(), workerFields()...) {
		if f.key == key {
			n := f.implied
			if v := whole(values[key]); v >= max(f.least, 1) {
				n = min(v, math.MaxInt64/int64(f.unit))
			}
			return time.Duration(n) * f.unit
		}
	}
	return 0
}

// whole is a number as a form may have stored it.
func whole(v *plugin_pb.ConfigValue) int64 {
	if d := v.GetDoubleValue(); d >= 1 && d < math.MaxInt64 {
		return int64(d)
	}
	return v.GetInt64Value()
}

// descriptor tells the admin server what can be set, and how it is to
// schedule.
func descriptor() *plugin_pb.JobTypeDescriptor {
	worker := form("weedlc-worker", "Worker", "How long one job may take.", workerFields())
	return &plugin_pb.JobTypeDescriptor{
		JobType:           JobType,
		DisplayName:       displayName,
		Description:       description,
		Icon:              "fas fa-recycle",
		DescriptorVersion: 1,
		AdminConfigForm:   form("weedlc-admin", "Cluster", "What every pass over the cluster keeps to.", adminFields()),
		WorkerConfigForm:  worker,

		WorkerDefaultValues: worker.DefaultValues,
		AdminRuntimeDefaults: &plugin_pb.AdminRuntimeDefaults{
			Enabled:                  true,
			DetectionIntervalMinutes: 24 * 60,
			DetectionTimeoutSeconds:  60,
			// One job for each worker, at most one for each shard.
			MaxJobsPerDetection:           engine.ShardCount,
			GlobalExecutionConcurrency:    engine.ShardCount,
			PerWorkerExecutionConcurrency: 1,
			// max_runtime_minutes ends a job in good order; these would not.
			ExecutionTimeoutSeconds:  math.MaxInt32,
			JobTypeMaxRuntimeSeconds: math.MaxInt32,
		},
	}
}

const (
	displayName = "S3 Lifecycle (weedlc)"
	description = "Deletes what the buckets' lifecycle rules say is due. Each job covers a range of shards, so the workers share one pass."
)

func capability() *plugin_pb.JobTypeCapability {
	return &plugin_pb.JobTypeCapability{
		JobType: JobType, DisplayName: displayName, Description: description,
		CanDetect: true, CanExecute: true, MaxDetectionConcurrency: 1, MaxExecutionConcurrency: 1, Weight: 20,
	}
}

func form(id, title, about string, fields []field) *plugin_pb.ConfigForm {
	section := &plugin_pb.ConfigSection{SectionId: id, Title: title, Description: about}
	defaults := map[string]*plugin_pb.ConfigValue{}
	for _, f := range fields {
		defaults[f.key] = number(f.implied)
		section.Fields = append(section.Fields, &plugin_pb.ConfigField{
			Name: f.key, Label: f.label, Description: f.description,
			FieldType: plugin_pb.ConfigFieldType_CONFIG_FIELD_TYPE_INT64,
			Widget:    plugin_pb.ConfigWidget_CONFIG_WIDGET_NUMBER,
			MinValue:  number(f.least),
		})
	}
	return &plugin_pb.ConfigForm{
		FormId: id, Title: title, Description: about,
		Sections: []*plugin_pb.ConfigSection{section}, DefaultValues: defaults,
	}
}

func number(n int64) *plugin_pb.ConfigValue {
	return &plugin_pb.ConfigValue{Kind: &plugin_pb.ConfigValue_Int64Value{Int64Value: n}}
}

func text(s string) *plugin_pb.ConfigValue {
	return &plugin_pb.ConfigValue{Kind: &plugin_pb.ConfigValue_StringValue{StringValue: s}}
}
