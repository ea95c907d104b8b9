package adminworker

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"

	"weedlc/engine"
)

func TestSplitCoversEveryShardOnce(t *testing.T) {
	for n, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 3, 7: 7, 15: 15, 16: 16, 17: 16} {
		var all []int
		least, most := engine.ShardCount, 0
		ranges := split(n)
		for _, r := range ranges {
			shards, err := engine.ParseShards(r)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, shards...)
			least, most = min(least, len(shards)), max(most, len(shards))
		}
		if len(ranges) != want || most > least+1 || len(all) != engine.ShardCount || !slices.IsSorted(all) || len(slices.Compact(all)) != engine.ShardCount {
			t.Errorf("split(%d) is %v, want %d ranges", n, ranges, want)
		}
	}
}

// The keys and their defaults are those of the lifecycle document.
func TestDescriptorHasTheDocumentsKeys(t *testing.T) {
	d := descriptor()
	for _, f := range []struct {
		form *plugin_pb.ConfigForm
		want map[string]int64
	}{
		{d.GetAdminConfigForm(), map[string]int64{
			"cluster_deletes_per_second": 0, "cluster_deletes_burst": 0, "meta_log_retention_days": 0, "walker_interval_minutes": 0,
		}},
		{d.GetWorkerConfigForm(), map[string]int64{"max_runtime_minutes": 60}},
	} {
		got, fields := map[string]int64{}, 0
		for key, v := range f.form.GetDefaultValues() {
			got[key] = v.GetInt64Value()
		}
		for _, section := range f.form.GetSections() {
			for _, field := range section.GetFields() {
				fields++
				if _, ok := f.want[field.GetName()]; !ok || field.GetLabel() == "" || field.GetDescription() == "" || field.GetMinValue() == nil {
					t.Errorf("field %v", field)
				}
			}
		}
		if !reflect.DeepEqual(got, f.want) || fields != len(f.want) {
			t.Errorf("%s: %d fields with the defaults %v, want %v", f.form.GetFormId(), fields, got, f.want)
		}
	}
	if r := d.GetAdminRuntimeDefaults(); !r.GetEnabled() || r.GetDetectionIntervalMinutes() != 1440 || r.GetMaxJobsPerDetection() != 16 ||
		r.GetGlobalExecutionConcurrency() != 16 || r.GetPerWorkerExecutionConcurrency() != 1 || r.GetRetryLimit() != 0 {
		t.Errorf("the scheduling is %v", r)
	}
}

func TestSettings(t *testing.T) {
	const day = 24 * time.Hour
	double := func(f float64) *plugin_pb.ConfigValue {
		return &plugin_pb.ConfigValue{Kind: &plugin_pb.ConfigValue_DoubleValue{DoubleValue: f}}
	}
	for _, tc := range []struct {
		key   string
		value *plugin_pb.ConfigValue
		want  time.Duration
	}{
		{keyMaxRuntime, nil, time.Hour},
		{keyMaxRuntime, number(-1), time.Hour},
		{keyMaxRuntime, number(0), time.Hour},
		{keyMaxRuntime, number(1), time.Minute},
		{keyMaxRuntime, double(90), 90 * time.Minute},
		{keyMaxRuntime, text("90"), time.Hour},
		{keyMetaLogRetention, nil, 0},
		{keyMetaLogRetention, number(-1), 0},
		{keyMetaLogRetention, number(30), 30 * day},
		{keyMetaLogRetention, number(106751), 106751 * day},
		{keyMetaLogRetention, number(106752), 106751 * day},
		{keyMetaLogRetention, number(math.MaxInt64), 106751 * day},
		{keyMetaLogRetention, double(math.Inf(1)), 0},
		{keyWalkerInterval, number(0), 0},
		{keyWalkerInterval, number(360), 6 * time.Hour},
	} {
		values := map[string]*plugin_pb.ConfigValue{}
		if tc.value != nil {
			values[tc.key] = tc.value
		}
		if got := setting(values, tc.key); got != tc.want {
			t.Errorf("%s %v is %v, want %v", tc.key, tc.value, got, tc.want)
		}
	}
}

func TestParseJob(t *testing.T) {
	req := request("j", "3-5,9")
	req.ClusterContext = &plugin_pb.ClusterContext{
		MasterGrpcAddresses: []string{"m:9333"},
		Metadata:            map[string]string{"s3_lifecycle.deletes_per_second": "33.5", "s3_lifecycle.deletes_burst": "7"},
	}
	req.AdminConfigValues = map[string]*plugin_pb.ConfigValue{keyMetaLogRetention: number(2), keyWalkerInterval: number(3), keyDeletesPerSecond: number(67)}
	req.WorkerConfigValues = map[string]*plugin_pb.ConfigValue{keyMaxRuntime: number(4)}
	got, err := parseJob(req)
	want := Job{
		Shards: []int{3, 4, 5, 9}, Masters: []string{"m:9333"}, DeletesPerSecond: 33.5, Burst: 7,
		MetaLogRetention: 48 * time.Hour, WalkerInterval: 3 * time.Minute, MaxRuntime: 4 * time.Minute,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the job is %+v, %v, want %+v", got, err, want)
	}
	for _, tc := range []struct{ rate, burst, want string }{
		{"", "", ""},
		{"0", "0", ""},
		{"-0.1", "", "deletes_per_second"},
		{"NaN", "", "deletes_per_second"},
		{"fast", "", "deletes_per_second"},
		{"1", "-1", "deletes_burst"},
		{"1", "0.5", "deletes_burst"},
		{"1", "2147483647", ""},
		{"1", "2147483648", "deletes_burst"},
	} {
		req.ClusterContext.Metadata = map[string]string{metaDeletesPerSecond: tc.rate, metaDeletesBurst: tc.burst}
		_, err := parseJob(req)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("rate %q, burst %q: %v", tc.rate, tc.burst, err)
		}
	}
}
