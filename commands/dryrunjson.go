package commands

import (
	"time"

	"weedlc/explain"
	"weedlc/pass"
)

// dryRunJSON is the documented form of a dry run (docs/json-output.md), without
// its objects.
type dryRunJSON struct {
	Now      time.Time `json:"now"`
	DayClock string    `json:"day_clock"`
	// From is the backup that was read; empty for a cluster. RulesFile has the
	// rules that were judged by; empty for those installed.
	From      string                  `json:"from"`
	RulesFile string                  `json:"rules_file"`
	Totals    explain.Counts          `json:"totals"`
	Rules     []explain.TallyRow      `json:"rules"`
	Changes   []changeCount           `json:"changes"`
	Forecast  *explain.ForecastReport `json:"forecast"`
	Pass      *planJSON               `json:"pass"`
	Errors    []problemJSON           `json:"errors"`
	// Found counts the objects that are listed or would be without a limit.
	Found  int64 `json:"found"`
	Listed int64 `json:"listed"`
}

// planJSON is what the next run would do beside deleting.
type planJSON struct {
	Walks  []walkJSON      `json:"walks"`
	Shards []planShardJSON `json:"shards"`
}

type walkJSON struct {
	Bucket string   `json:"bucket"`
	Why    []string `json:"why"`
	// Shards walk every rule, BoundShards those that the log cannot serve.
	Shards      []int `json:"shards"`
	BoundShards []int `json:"bound_shards"`
}

type planShardJSON struct {
	Shard         int          `json:"shard"`
	Recovery      *string      `json:"recovery"`
	EventsScanned int64        `json:"events_scanned"`
	Windows       []windowJSON `json:"windows"`
}

type windowJSON struct {
	// DelaySeconds is null for arrivals.
	DelaySeconds *float64   `json:"delay_seconds"`
	After        *time.Time `json:"after"`
	Through      *time.Time `json:"through"`
}

func (r *dryRunResult) json() dryRunJSON {
	doc := dryRunJSON{
		Now: r.now, DayClock: r.o.rules.dayClock, From: r.o.from, RulesFile: r.o.candidate,
		Totals: r.total, Rules: r.rules, Changes: r.changes, Forecast: r.forecast,
		Errors: newPassJSON(r.report).Errors, Found: r.found, Listed: r.listed,
	}
	if r.o.nextPass {
		doc.Pass = newPlanJSON(r.report)
	}
	return doc
}

func newPlanJSON(rep *pass.Report) *planJSON {
	plan := &planJSON{Walks: []walkJSON{}, Shards: []planShardJSON{}}
	for _, w := range rep.Walks {
		plan.Walks = append(plan.Walks, walkJSON{w.Bucket, w.Why, append([]int{}, w.Full...), append([]int{}, w.Bound...)})
	}
	for _, s := range rep.Shards {
		shard := planShardJSON{Shard: s.Shard, EventsScanned: s.EventsScanned, Windows: []windowJSON{}}
		if s.Recovery != "" {
			shard.Recovery = &s.Recovery
		}
		for _, w := range s.Windows {
			window := windowJSON{After: timeJSON(w.AfterNs), Through: timeJSON(w.UntilNs)}
			if w.Delay != 0 {
				delay := w.Delay.Seconds()
				window.DelaySeconds = &delay
			}
			shard.Windows = append(shard.Windows, window)
		}
		plan.Shards = append(plan.Shards, shard)
	}
	return plan
}
