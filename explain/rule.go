package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weedlc/engine"
)

// RuleContext is what surrounds the rule that is explained.
type RuleContext struct {
	// Rules are all rules of the bucket, the explained one and the disabled ones
	// too. Without them nothing is said of overlaps or of what frees storage.
	Rules []*engine.Rule
	// Retention is how far back the meta-log reaches; 0 is without end.
	Retention time.Duration
	// WalkerInterval is the least time between two walks of walk-bound rules; 0
	// is every pass.
	WalkerInterval time.Duration
	DayClock       engine.DayClock
	// Now decides whether a date has come; the zero time says nothing of it.
	Now time.Time
	// Stamps are the TTLs that the store puts on new objects of the bucket.
	Stamps []Stamp
}

// Stamp is a TTL that the store puts on new objects below a key prefix.
type Stamp struct {
	Prefix string
	TTL    time.Duration
}

// RuleExplanation is one rule in plain words.
type RuleExplanation struct {
	// RuleID is the rule's label: its ID, or a name made of its hash.
	RuleID   string `json:"rule_id"`
	Number   int    `json:"number"`
	Enabled  bool   `json:"enabled"`
	RuleHash string `json:"rule_hash"`
	Title    string `json:"title"`
	Selects  string `json:"selects"`
	// Words are whole sentences: what the rule does.
	Words []string `json:"words"`
	// XML is a document with this rule alone, in canonical form, without what
	// SeaweedFS does not carry out.
	XML     string              `json:"xml"`
	Actions []ActionExplanation `json:"actions"`
	// Never lists what the rule can not do, or not in this bucket.
	Never []string `json:"never"`
	// Overlaps are the first overlaps with enabled rules, of a disabled rule those
	// that it would have; OverlapsMore counts the others.
	Overlaps     []Overlap `json:"overlaps"`
	OverlapsMore int       `json:"overlaps_more"`
	Notes        []string  `json:"notes"`
}

// ActionExplanation is one action that a rule compiles to.
type ActionExplanation struct {
	Action string `json:"action"`
	// DelaySeconds is the time between an object's clock and its due time; 0 for
	// an action without a delay.
	DelaySeconds float64    `json:"delay_seconds"`
	Date         *time.Time `json:"date"`
	// ServedBy is "replay" or "walk": of a disabled rule what it would be.
	ServedBy string `json:"served_by"`
	Why      string `json:"why"`
	// RuleHash is sent with every delete and is in every report.
	RuleHash string `json:"rule_hash"`
	// Frees is set when what the action deletes gives storage back by itself;
	// Storage says so, or what would.
	Frees   bool     `json:"frees"`
	Storage []string `json:"storage"`

	delay time.Duration
}

// Replay and Walk are the two ways in which an object is found and dealt with.
const (
	Replay = "replay"
	Walk   = "walk"
)

// maxRuleOverlaps is how many overlaps of one rule are spelled out.
const maxRuleOverlaps = 20

// Rule explains one rule of a bucket.
func Rule(r *engine.Rule, b engine.Bucket, ctx RuleContext) RuleExplanation {
	e := RuleExplanation{
		RuleID: r.Label(), Number: r.Number, Enabled: r.Enabled, RuleHash: r.Hash().String(),
		Title: title(r), Selects: Selects(r), Words: Words(r, b.Versioning),
		XML:     string(engine.CanonicalXML([]*engine.Rule{r})),
		Actions: []ActionExplanation{}, Overlaps: []Overlap{}, Notes: notes(r, b, ctx),
	}
	var warnings []string
	e.Never, warnings = never(r, b)
	e.Notes = append(e.Notes, warnings...)
	served := serving(b, []*engine.Rule{r}, ctx.Retention)
	for _, a := range served.actions {
		x := ActionExplanation{
			Action: a.Kind.String(), DelaySeconds: a.Delay.Seconds(), delay: a.Delay,
			ServedBy: served.by(a), Why: whyServed(a, served.by(a), ctx), RuleHash: a.Hash.String(),
		}
		if a.Kind == engine.ExpirationDate {
			x.Date = moment(r.ExpirationDate)
		}
		x.Frees, x.Storage = storage(a.Kind, r, b, ctx.Rules)
		e.Actions = append(e.Actions, x)
	}
	if found, more := overlapsOf(r, ctx.Rules, maxRuleOverlaps); len(found) > 0 {
		e.Overlaps, e.OverlapsMore = found, more
	}
	return e
}

// Lines is the explanation as plain text, without the XML.
func (e RuleExplanation) Lines() []string {
	lines := append([]string{e.Title}, indent(e.Words)...)
	section := func(name string, items []string) {
		if len(items) > 0 {
			lines = append(append(lines, "  "+name), indent(indent(items))...)
		}
	}
	var actions []string
	for _, a := range e.Actions {
		actions = append(actions, a.line())
		actions = append(actions, indent(a.Storage)...)
	}
	section("compiles to", actions)
	section("never here", e.Never)
	var overlaps []string
	for _, o := range e.Overlaps {
		overlaps = append(overlaps, o.Words)
	}
	if e.OverlapsMore > 0 {
		overlaps = append(overlaps, fmt.Sprintf("%s more.", counted(int64(e.OverlapsMore), "overlap")))
	}
	section("overlaps", overlaps)
	section("notes", e.Notes)
	return lines
}

func (a ActionExplanation) line() string {
	when := ""
	switch {
	case a.delay > 0:
		when = " after " + Duration(a.delay)
	case a.Date != nil:
		when = " from " + stamp(*a.Date) + " on"
	}
	return fmt.Sprintf("%s%s: by %s, as %s; rule hash %s", a.Action, when, a.ServedBy, a.Why, a.RuleHash)
}

func title(r *engine.Rule) string {
	state := "disabled"
	if r.Enabled {
		state = "enabled"
	}
	if r.ID == "" {
		return fmt.Sprintf("rule %d, without an ID (%s): %s", r.Number, r.Label(), state)
	}
	return fmt.Sprintf("%s: %s", ref(r), state)
}

// service is how the actions of a bucket's rules are served.
type service struct {
	// actions are those of every rule, disabled ones too, in the order of rule
	// number and kind; active are the enabled ones in the order of a pass.
	actions, active []*engine.Action
	// replay holds what replay serves: of disabled rules what it would.
	replay map[actionName]bool
	// delays are those of the replay actions of enabled rules, ascending.
	delays []time.Duration
	// hash identifies the bucket's enabled rules.
	hash engine.Hash
}

type actionName struct {
	rule *engine.Rule
	kind engine.Kind
}

// serving compiles rules and parts them into replay and walk. A retention of 0
// is without end.
func serving(b engine.Bucket, rules []*engine.Rule, retention time.Duration) service {
	compile := func(rules []*engine.Rule) *engine.Snapshot {
		return engine.New().Compile([]engine.Source{{Bucket: b, Rules: rules}})
	}
	written := make(map[*engine.Rule]*engine.Rule, len(rules))
	enabled := make([]*engine.Rule, len(rules))
	for i, r := range rules {
		on := *r
		on.Enabled = true
		enabled[i], written[&on] = &on, r
	}
	today := compile(rules)
	if retention == 0 {
		retention = engine.MaxEffectiveTTL(today)
	}
	s := service{
		actions: slices.Clone(today.Actions()), active: today.BucketActions(b.Name),
		replay: map[actionName]bool{}, hash: today.BucketHash(b.Name),
	}
	slices.SortStableFunc(s.actions, func(a, b *engine.Action) int {
		return cmp.Or(cmp.Compare(a.Rule.Number, b.Rule.Number), cmp.Compare(a.Kind, b.Kind))
	})
	possible, _ := compile(enabled).RulesForShard(0, retention)
	for _, a := range possible.BucketActions(b.Name) {
		s.replay[actionName{written[a.Rule], a.Kind}] = true
	}
	actual, _ := today.RulesForShard(0, retention)
	s.delays = actual.Delays(b.Name)
	return s
}

func (s service) by(a *engine.Action) string {
	if s.replay[actionName{a.Rule, a.Kind}] {
		return Replay
	}
	return Walk
}

func whyServed(a *engine.Action, by string, ctx RuleContext) string {
	if by == Replay {
		if ctx.Retention == 0 {
			return "the meta-log is taken to reach back without end"
		}
		return fmt.Sprintf("its delay is within the %s that the meta-log reaches back", Duration(ctx.Retention))
	}
	why := ""
	switch {
	case a.Kind == engine.ExpirationDate:
		why = "a date comes without an event in the meta-log"
	case a.IsReplayKind():
		why = fmt.Sprintf("its delay is longer than the %s that the meta-log reaches back", Duration(ctx.Retention))
	default:
		why = "it depends on what else lies at a key, not on time"
	}
	if ctx.WalkerInterval == 0 {
		return why + " (walked in every pass)"
	}
	return fmt.Sprintf("%s (walked at most once in %s)", why, Duration(ctx.WalkerInterval))
}

// uploadsFolder holds a bucket's unfinished uploads.
const uploadsFolder = ".uploads/"

// never lists what a rule cannot do, warnings what the parser says beyond that.
func never(r *engine.Rule, b engine.Bucket) (out, warnings []string) {
	out = []string{}
	for _, f := range findings(r, b) {
		text := strings.TrimPrefix(f.Path, "Rule[1]/")
		if f.Value != "" {
			text += " " + quote(f.Value)
		}
		text += ": " + f.Message
		if strings.HasSuffix(f.Path, "/NewerNoncurrentVersions") {
			warnings = append(warnings, text)
			continue
		}
		out = append(out, text)
	}
	forObjects := slices.ContainsFunc(r.Kinds(), func(k engine.Kind) bool { return k != engine.AbortMPU })
	if strings.HasPrefix(r.Prefix, uploadsFolder) && forObjects {
		out = append(out, fmt.Sprintf("Filter/Prefix %s: %q holds unfinished uploads, its entries are no objects", quote(r.Prefix), uploadsFolder))
	}
	if r.ExpiredMarker && b.Versioned() {
		out = append(out, "Expiration/ExpiredObjectDeleteMarker: a null delete marker stays, the gateway has no call that removes it")
	}
	for _, name := range r.Unsupported {
		out = append(out, name+": no effect: SeaweedFS does not carry it out")
	}
	return out, warnings
}

// findings are what the parser says of a rule in a bucket, found by parsing the
// rule's canonical form.
func findings(r *engine.Rule, b engine.Bucket) []engine.Finding {
	_, found := engine.ParseXML(b.Name, engine.CanonicalXML([]*engine.Rule{r}), engine.ParseOptions{
		Versioning: b.Versioning, KnownVersioning: true,
	})
	return found
}

// notes says what people expect otherwise.
func notes(r *engine.Rule, b engine.Bucket, ctx RuleContext) []string {
	out := []string{}
	if b.Versioned() && r.ExpirationDays > 0 {
		out = append(out, loneMarkers(ctx.Rules))
	}
	if b.Versioning == engine.Suspended && slices.ContainsFunc(r.Kinds(), isCurrentExpiry) {
		out = append(out, "A key that is written and expires again gathers one delete marker each time, until a rule for noncurrent versions takes them: the bucket's versioning is suspended.")
	}
	if b.Versioned() && r.NewerNoncurrent > 0 {
		out = append(out, "Delete markers among the noncurrent versions count as versions.")
	}
	if d := r.ExpirationDate; !d.IsZero() && !ctx.Now.IsZero() && !d.After(ctx.Now) {
		out = append(out, "The date has come: what the rule selects is due at once, objects that are still to be written too.")
	}
	if r.ExpirationDays > 0 || r.NoncurrentDays > 0 || r.AbortDays > 0 {
		if ctx.DayClock == engine.MidnightClock {
			out = append(out, "Due times are rounded up to the next 00:00 UTC, as AWS does; SeaweedFS's own worker does not.")
		} else {
			out = append(out, "A day is 24 hours exactly. AWS rounds due times up to the next 00:00 UTC, and so does --day-clock midnight.")
		}
	}
	if b.ObjectLock && slices.ContainsFunc(r.Kinds(), func(k engine.Kind) bool { return k != engine.AbortMPU }) {
		out = append(out, "What is under retention or legal hold is skipped, and looked at again when the retention ends. No lock is bypassed; a locked current version gets no delete marker either.")
	}
	for _, s := range ctx.Stamps {
		if text := stampNote(r, s); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// loneMarkers says who removes delete markers that nothing is left below.
func loneMarkers(rules []*engine.Rule) string {
	const text = "AWS also removes lone delete markers under Days; SeaweedFS and weedlc do not. A rule with ExpiredObjectDeleteMarker does"
	var names []string
	for _, r := range rules {
		if r.Enabled && r.ExpiredMarker {
			names = append(names, ref(r))
		}
	}
	switch n := len(names); {
	case n == 0:
		return text + "; this bucket has none."
	case n > maxNamed:
		return text + ", here " + strings.Join(names[:maxNamed], ", ") + " and " + strconv.Itoa(n-maxNamed) + " more."
	default:
		return text + ", here " + list(names) + "."
	}
}

// maxNamed is how many rules a sentence names.
const maxNamed = 3

// stampNote warns of a TTL that ends sooner than the rule deletes; empty when
// it does not, or meets nothing that the rule selects.
func stampNote(r *engine.Rule, s Stamp) string {
	delay := time.Duration(r.ExpirationDays) * engine.Day()
	if r.ExpirationDays == 0 || s.TTL <= 0 || s.TTL >= delay || !meet(r, &engine.Rule{Prefix: s.Prefix}) {
		return ""
	}
	where := "All objects"
	if s.Prefix != "" {
		where = "Objects whose key begins with " + quote(s.Prefix)
	}
	return fmt.Sprintf("%s are stamped with a TTL of %s when they are written. The server drops them then, before this rule's %s, and whatever it says.",
		where, Duration(s.TTL), days(r.ExpirationDays))
}
