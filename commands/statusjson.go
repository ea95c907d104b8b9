package commands

import (
	"time"

	"weedlc/cursorfile"
)

// statusJSON is the documented form of status (docs/json-output.md).
type statusJSON struct {
	Now time.Time `json:"now"`
	// Attention says what needs a person, a text each; empty when nothing does.
	Attention []string          `json:"attention"`
	Pause     *pauseJSON        `json:"pause"`
	Buckets   statusBucketsJSON `json:"buckets"`
	LastPass  *time.Time        `json:"last_pass"`
	Shards    []statusShardJSON `json:"shards"`
	Walks     []cutWalkJSON     `json:"walks"`
	Queue     *statusQueueJSON  `json:"queue"`
	// Foreign are the shards whose cursor another than weedlc has written.
	Foreign []int `json:"foreign"`
}

// pauseJSON is a pause; by and since are empty where the file is damaged.
type pauseJSON struct {
	Reason string     `json:"reason"`
	By     string     `json:"by"`
	Since  *time.Time `json:"since"`
	Damage string     `json:"damage"`
}

func newPauseJSON(p *cursorfile.Pause) *pauseJSON {
	if p == nil {
		return nil
	}
	doc := &pauseJSON{Reason: p.Reason, By: p.By}
	if p.Damage != nil {
		doc.Damage = p.Damage.Error()
		return doc
	}
	doc.Since = timeJSON(p.Since.UnixNano())
	return doc
}

type statusBucketsJSON struct {
	WithRules      int `json:"with_rules"`
	NeverProcessed int `json:"never_processed"`
	Changed        int `json:"changed"`
	Refused        int `json:"refused"`
	Unreadable     int `json:"unreadable"`
}

type statusShardJSON struct {
	Shard int         `json:"shard"`
	State cursorState `json:"state"`
	// BehindSeconds and LagSeconds are null where they are not known.
	BehindSeconds *float64     `json:"behind_seconds"`
	LagSeconds    *float64     `json:"lag_seconds"`
	LastWalked    *time.Time   `json:"last_walked"`
	Blocked       *failureJSON `json:"blocked"`
	Failed        int          `json:"failed"`
	Damage        string       `json:"damage"`
}

type cutWalkJSON struct {
	Bucket  string     `json:"bucket"`
	Shards  []int      `json:"shards"`
	From    string     `json:"from"`
	Started *time.Time `json:"started"`
	// WalkBound marks a walk over the rules that only a walk serves.
	WalkBound bool `json:"walk_bound"`
}

func newStatusJSON(f *statusFacts, lines []statusLine) statusJSON {
	t := f.bucketTally()
	doc := statusJSON{
		Now: f.now.UTC(), Attention: attention(lines), Pause: newPauseJSON(f.pause), Queue: newStatusQueueJSON(f),
		Buckets:  statusBucketsJSON{t.withRules, t.never, t.changed, t.refused, t.unreadable},
		LastPass: timeJSON(f.lastPassNs()), Shards: []statusShardJSON{}, Walks: []cutWalkJSON{}, Foreign: append([]int{}, f.foreign()...),
	}
	for _, s := range f.shards {
		row := statusShardJSON{
			Shard: s.shard, State: s.word(), LastWalked: timeJSON(s.state.Cursor.LastWalkedNs),
			LagSeconds: lagSeconds(s.state.Cursor.TsNs, f.now),
			Blocked:    newFailureJSON(s.state.Side.Blocked), Failed: len(s.state.Side.Failed),
		}
		if s.behind != nil {
			behind := seconds(*s.behind)
			row.BehindSeconds = &behind
		}
		if s.damage != nil {
			row.Damage = s.damage.Error()
		}
		doc.Shards = append(doc.Shards, row)
	}
	for _, w := range cutWalks(f.states()) {
		doc.Walks = append(doc.Walks, newCutWalkJSON(w))
	}
	return doc
}

func newCutWalkJSON(w cutWalk) cutWalkJSON {
	return cutWalkJSON{w.bucket, w.shards, w.point.From, timeJSON(w.point.StartedNs), w.point.Bound}
}
