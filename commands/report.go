package commands

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"weedlc/engine"
	"weedlc/pass"
)

// passJSON is the documented form of a pass's report (docs/json-output.md).
type passJSON struct {
	Status          pass.Status   `json:"status"`
	Now             time.Time     `json:"now"`
	DurationSeconds float64       `json:"duration_seconds"`
	Totals          totalsJSON    `json:"totals"`
	Shards          []shardJSON   `json:"shards"`
	Errors          []problemJSON `json:"errors"`
}

type totalsJSON struct {
	EventsScanned int64                  `json:"events_scanned"`
	EntriesWalked int64                  `json:"entries_walked"`
	DeleteCalls   int64                  `json:"delete_calls"`
	Outcomes      map[pass.Outcome]int64 `json:"outcomes"`
}

type shardJSON struct {
	Shard  int         `json:"shard"`
	Status pass.Status `json:"status"`
	TsNs   int64       `json:"ts_ns"`
	// LagSeconds is null while there is no position.
	LagSeconds    *float64     `json:"lag_seconds"`
	EventsScanned int64        `json:"events_scanned"`
	EntriesWalked int64        `json:"entries_walked"`
	DeleteCalls   int64        `json:"delete_calls"`
	Recovery      *string      `json:"recovery"`
	Blocked       *failureJSON `json:"blocked"`
}

// failureJSON is one delete or look-up that did not succeed.
type failureJSON struct {
	Bucket    string     `json:"bucket"`
	Key       string     `json:"key"`
	VersionID string     `json:"version_id"`
	Action    string     `json:"action"`
	RuleID    string     `json:"rule_id"`
	RuleHash  string     `json:"rule_hash"`
	Outcome   string     `json:"outcome"`
	Reason    string     `json:"reason"`
	Since     *time.Time `json:"since"`
	Attempts  int        `json:"attempts"`
}

type problemJSON struct {
	// Shard is null when the problem concerns no shard in particular.
	Shard    *int          `json:"shard"`
	Bucket   string        `json:"bucket"`
	RuleID   string        `json:"rule_id"`
	Category pass.Category `json:"category"`
	Message  string        `json:"message"`
}

func newPassJSON(r *pass.Report) passJSON {
	doc := passJSON{
		Status: r.Status, Now: r.Now.UTC(), DurationSeconds: seconds(r.Duration),
		Totals: totalsJSON{r.Totals.EventsScanned, r.Totals.EntriesWalked, r.Totals.DeleteCalls, r.Totals.Outcomes},
		Shards: []shardJSON{}, Errors: []problemJSON{},
	}
	if doc.Totals.Outcomes == nil {
		doc.Totals.Outcomes = map[pass.Outcome]int64{}
	}
	for _, s := range r.Shards {
		row := shardJSON{
			Shard: s.Shard, Status: s.Status, TsNs: s.TsNs,
			EventsScanned: s.EventsScanned, EntriesWalked: s.EntriesWalked, DeleteCalls: s.DeleteCalls,
			Blocked: newFailureJSON(s.Blocked),
		}
		if s.TsNs != 0 {
			lag := seconds(s.Lag)
			row.LagSeconds = &lag
		}
		if s.Recovery != "" {
			row.Recovery = &s.Recovery
		}
		doc.Shards = append(doc.Shards, row)
	}
	for _, p := range r.Errors {
		row := problemJSON{Bucket: p.Bucket, RuleID: p.RuleID, Category: p.Category, Message: p.Message}
		if p.Shard >= 0 {
			row.Shard = &p.Shard
		}
		doc.Errors = append(doc.Errors, row)
	}
	return doc
}

func newFailureJSON(f *engine.Failure) *failureJSON {
	if f == nil {
		return nil
	}
	return &failureJSON{
		Bucket: f.Bucket, Key: f.Key, VersionID: f.VersionID, Action: f.Action,
		RuleID: f.RuleID, RuleHash: f.RuleHash,
		Outcome: f.Outcome, Reason: f.Reason, Since: timeJSON(f.SinceNs), Attempts: f.Attempts,
	}
}

// heartbeat is the line that ends each pass, in the words of the built-in
// worker's.
func heartbeat(r *pass.Report) string {
	lag, walked := "cold", "cold"
	var maxLag, maxAge time.Duration
	for _, s := range r.Shards {
		if s.TsNs != 0 && s.Lag >= maxLag {
			maxLag, lag = s.Lag, s.Lag.Truncate(time.Second).String()
		}
		if s.LastWalkedNs == 0 {
			continue
		}
		if age := max(0, r.Now.Sub(nanos(s.LastWalkedNs))); age >= maxAge {
			maxAge, walked = age, age.Truncate(time.Second).String()
		}
	}
	return fmt.Sprintf("daily_run: status=%s shards=%d errors=%d duration=%s cursor_lag_max=%s walked_max_age=%s",
		r.Status, len(r.Shards), len(r.Errors), r.Duration.Round(time.Millisecond), lag, walked)
}

// writeReport renders a pass. Without a form it is a table on a terminal and
// on a pipe only what was left undone.
func (a *app) writeReport(r *pass.Report, form string) error {
	switch {
	case form == formJSON:
		return writeJSON(a.host.Out, newPassJSON(r))
	case form == formTSV:
		return passRows(r).write(a.host.Out, formTSV)
	case form == "" && !a.host.OutTTY:
		return writeUndone(a.host.Out, r, a.commandLine())
	}
	if err := passRows(r).write(a.host.Out, formTable); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.host.Out, "\n%s\n", summary(r)); err != nil {
		return err
	}
	return writeUndone(a.host.Out, r, a.commandLine())
}

func passRows(r *pass.Report) rows {
	table := rows{header: []string{"SHARD", "STATUS", "POSITION", "LAG", "EVENTS", "WALKED", "CALLS", "RECOVERY", "BLOCKED"}}
	for _, s := range r.Shards {
		lag := cell{text: "-"}
		if s.TsNs != 0 {
			lag = span(s.Lag)
		}
		blocked := ""
		if s.Blocked != nil {
			blocked = failureName(*s.Blocked)
		}
		table.cells = append(table.cells, []cell{
			count(int64(s.Shard)), word(string(s.Status)), instant(nanos(s.TsNs), "-"), lag,
			count(s.EventsScanned), count(s.EntriesWalked), count(s.DeleteCalls),
			dash(s.Recovery), dash(blocked),
		})
	}
	return table
}

// dash shows an empty word to a person as "-".
func dash(s string) cell { return cell{text: cmp.Or(s, "-"), raw: s} }

// summary is the pass in one line.
func summary(r *pass.Report) string {
	var outcomes []string
	for _, o := range sortedKeys(r.Totals.Outcomes) {
		outcomes = append(outcomes, fmt.Sprintf("%s %s", o, group(r.Totals.Outcomes[o])))
	}
	line := fmt.Sprintf("%s in %s: %s events, %s entries walked, %s delete calls",
		r.Status, r.Duration.Round(time.Millisecond), group(r.Totals.EventsScanned), group(r.Totals.EntriesWalked), group(r.Totals.DeleteCalls))
	if len(outcomes) > 0 {
		line += " (" + strings.Join(outcomes, ", ") + ")"
	}
	return line
}

// maxUndone is how many lines tell what was left undone.
const maxUndone = 100

// writeUndone tells what a pass left undone and how to go on; nothing when it
// left nothing. It goes to cron's mail.
func writeUndone(w io.Writer, r *pass.Report, again string) error {
	var b strings.Builder
	for i, p := range r.Errors {
		if i == maxUndone {
			fmt.Fprintf(&b, "and %d more\n", len(r.Errors)-i)
			break
		}
		fmt.Fprintln(&b, escape(problemLine(p)))
	}
	if next := goOn(r, again); next != "" {
		fmt.Fprintln(&b, "hint: "+next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// goOn says what to do about a pass that did not do everything.
func goOn(r *pass.Report, again string) string {
	switch {
	case r.Corrupt:
		return "weedlc cursor show names each damaged cursor; cursor edit or cursor reset mends it"
	case guardHint(r.Errors, again) != "":
		return guardHint(r.Errors, again)
	case r.Interrupted || r.CutShort || r.Status == pass.CutShort:
		return "progress is saved; go on with " + again
	case r.Status == pass.Partial:
		return "the next pass tries again; to do so now: " + again
	}
	return ""
}

func problemLine(p pass.Problem) string {
	where := ""
	if p.Shard >= 0 {
		where += fmt.Sprintf("shard %d: ", p.Shard)
	}
	if p.Bucket != "" && !strings.HasPrefix(p.Message, "bucket ") {
		where += fmt.Sprintf("bucket %q: ", p.Bucket)
	}
	return fmt.Sprintf("%s: %s%s", p.Category, where, p.Message)
}

// failureName is what a failure is about.
func failureName(f engine.Failure) string {
	name := f.Bucket + "/" + f.Key
	if f.VersionID != "" {
		name += " (version " + f.VersionID + ")"
	}
	return name
}

func failureLine(f engine.Failure) string {
	parts := []string{cmp.Or(f.Action, "look-up"), f.Outcome}
	if f.Reason != "" {
		parts = append(parts, f.Reason)
	}
	line := fmt.Sprintf("%q: %s", failureName(f), strings.Join(parts, ": "))
	if f.SinceNs != 0 {
		line += ", since " + nanos(f.SinceNs).Format(time.RFC3339)
	}
	if f.Attempts > 1 {
		line += fmt.Sprintf(", %d attempts", f.Attempts)
	}
	return line
}
