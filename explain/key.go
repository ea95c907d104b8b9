package explain

import (
	"time"

	"weedlc/engine"
)

// KeyInput is what is known of one key. Nothing of it is changed.
type KeyInput struct {
	Bucket engine.Bucket
	// Group is the object of a bucket without versions, or all versions of the
	// key. It is empty where there is nothing but uploads.
	Group engine.Group
	// Uploads are the unfinished uploads whose target is the key.
	Uploads []engine.Object
	// VersionID narrows the explanation to one version; empty is all of them,
	// and the uploads.
	VersionID string
	// Rules are all rules of the bucket, disabled ones too.
	Rules []*engine.Rule
	// Now is the time that the verdicts are for.
	Now      time.Time
	DayClock engine.DayClock
	// Retention is how far back the meta-log reaches; 0 is without end.
	Retention time.Duration
	// Schedule says where the shards stand; nil where that is not known, as for
	// a backup: then nothing is said of which pass does it.
	Schedule *Schedule
}

// KeyExplanation says of one key why each of its versions goes or stays.
type KeyExplanation struct {
	Bucket     string    `json:"bucket"`
	Key        string    `json:"key"`
	Versioning string    `json:"versioning"`
	Now        time.Time `json:"now"`
	// Unresolved says why it is not known which version is current; empty when
	// it is known.
	Unresolved string `json:"unresolved"`
	// Versions are newest first, unfinished uploads behind them.
	Versions []VersionExplanation `json:"versions"`
	// ExpirationHeader is what S3 would send for the current version; empty for
	// none. See the function of that name.
	ExpirationHeader string `json:"x_amz_expiration"`
}

// VersionExplanation is one version of a key, the object of a bucket without
// versions, or an unfinished upload.
type VersionExplanation struct {
	VersionID    string    `json:"version_id"`
	UploadID     string    `json:"upload_id"`
	Current      bool      `json:"current"`
	DeleteMarker bool      `json:"delete_marker"`
	ModTime      time.Time `json:"mod_time"`
	Size         int64     `json:"size"`
	// Shard is that of the entry itself: see ShardOf.
	Shard int `json:"shard"`

	// Verdict is what a pass over all rules at Now does, the whole key
	// considered, and Why says why, short enough for a table.
	Verdict Effect `json:"verdict"`
	Why     string `json:"why"`
	// Action, RuleID and RuleHash are those of the delete that a pass sends, or
	// of the match that is due first; empty when no rule matches.
	Action   string `json:"action"`
	RuleID   string `json:"rule_id"`
	RuleHash string `json:"rule_hash"`
	// Due is when that action is due, Goes when it can be carried out: the later
	// of Due and the end of a retention. Nil is never, or without a date.
	Due  *time.Time `json:"due"`
	Goes *time.Time `json:"goes"`
	// Lock is the object lock in words; empty for none. LockedUntil is nil when
	// it has no end.
	Lock        string     `json:"lock"`
	LockedUntil *time.Time `json:"locked_until"`
	// ServerTTL is set when a TTL is stamped on the entry.
	ServerTTL *ServerTTL `json:"server_ttl"`
	// Handling says who deals with it and when; nil when nobody has to.
	Handling *Handling     `json:"handling"`
	Rules    []RuleVerdict `json:"rules"`
}

// RuleVerdict is what one action of one rule says of one version.
type RuleVerdict struct {
	RuleID   string `json:"rule_id"`
	RuleHash string `json:"rule_hash"`
	Number   int    `json:"number"`
	// Action is empty for a rule without an action.
	Action string `json:"action"`
	// Matches is set when everything fits, except perhaps the time; Fires when
	// the time has come too.
	Matches bool       `json:"matches"`
	Fires   bool       `json:"fires"`
	Due     *time.Time `json:"due"`
	Clock   *time.Time `json:"clock"`
	// ClockFrom is mtime, demotion_stamp, successor_mtime, initiation or
	// rule_date; empty when there is no due time. ClockWords is a phrase.
	ClockFrom  string  `json:"clock_from"`
	ClockWords string  `json:"clock_words"`
	Checks     []Check `json:"checks"`
	// Words is one line: "r: matches, due in 4d", or the first check that failed
	// with both values.
	Words string `json:"words"`
	// ServedBy is how the action is served: see ActionExplanation.
	ServedBy string `json:"served_by"`
}

// ServerTTL is a TTL stamped on an entry. The server drops the entry by it,
// whatever the rules say.
type ServerTTL struct {
	TTLSeconds float64 `json:"ttl_seconds"`
	// Drops is when the server drops the entry; nil when it does not, as for a
	// folder or a version, of which only the data goes with its volume.
	Drops *time.Time `json:"drops"`
	// BeforeRule is set when that is sooner than any rule deletes it.
	BeforeRule bool   `json:"before_rule"`
	Words      string `json:"words"`
}

// Key explains one key.
func Key(in KeyInput) KeyExplanation {
	e := KeyExplanation{
		Bucket: in.Bucket.Name, Key: in.Group.Key, Versioning: in.Bucket.Versioning.String(),
		Now: in.Now.UTC(), Unresolved: in.Group.Unresolved, Versions: []VersionExplanation{},
	}
	if len(in.Group.Objects) > 0 {
		e.Key = in.Group.Objects[0].Key
	} else if e.Key == "" && len(in.Uploads) > 0 {
		e.Key = in.Uploads[0].Key
	}
	served := serving(in.Bucket, in.Rules, in.Retention)
	j := &keyJudge{in: in, served: served, rules: rulesOf(in.Rules, served.actions)}
	outcomes := rehearse(in, served.active)
	for i := range in.Group.Objects {
		o := &in.Group.Objects[i]
		if o.Latest {
			e.ExpirationHeader = ExpirationHeader(in.Rules, o)
		}
		if in.VersionID == "" || in.VersionID == o.VersionID {
			e.Versions = append(e.Versions, j.version(in.Group, i, outcomes[i]))
		}
	}
	for i := range in.Uploads {
		if in.VersionID != "" {
			break
		}
		alone := engine.Group{Bucket: in.Bucket.Name, Key: e.Key, Objects: in.Uploads[i : i+1]}
		e.Versions = append(e.Versions, j.version(alone, 0, rehearseOne(&in.Uploads[i], served.active, in)))
	}
	return e
}

// ShardOf is the shard of an object's own entry: that of the events that write
// it. A key's version folder and its other versions may have others.
func ShardOf(o *engine.Object) int { return engine.ShardOf(o.Bucket, entryPath(o)) }
