package pass

import (
	"context"
	"maps"
	"slices"
	"time"

	"weedlc/engine"
)

// report completes a pass's report. ctx is the caller's: when it is done, the
// pass was interrupted.
func (w *work) report(ctx context.Context, rep *Report, saved map[int]engine.ShardState, unloaded map[int]unread) *Report {
	if w.exec != nil {
		if err := w.exec.err(); err != nil {
			w.problem(Problem{Shard: -1, Category: categoryOf(err), Message: err.Error()})
			w.markFailed()
		}
	}
	rep.Now = w.now
	rep.Duration = w.o.Clock().Sub(w.begun)
	rep.Totals = w.totals()
	rep.Walks = w.walkReports()
	if w.plan != nil {
		rep.WalkBound = len(w.plan.walk.Buckets())
	}
	rep.Interrupted = ctx.Err() != nil
	for _, u := range unloaded {
		rep.Corrupt = rep.Corrupt || u.corrupt
		w.failed = w.failed || !u.corrupt
	}
	rep.Failed = w.failed
	rep.CutShort = w.cut && !rep.Interrupted && !w.failed && !w.held
	partial := false
	for _, sh := range w.o.Shards {
		if u, is := unloaded[sh]; is {
			category := CategoryTransport
			if u.corrupt {
				category = CategoryCursor
			}
			w.problem(Problem{Shard: sh, Category: category, Message: u.err.Error()})
			rep.Shards = append(rep.Shards, ShardReport{Shard: sh, Status: Failed})
			continue
		}
		r := w.runs[sh]
		if r == nil {
			continue
		}
		s := w.shardReport(r, saved)
		partial = partial || s.Status == Partial
		rep.Shards = append(rep.Shards, s)
	}
	rep.Errors = w.problems
	switch {
	case w.failed || rep.Corrupt:
		rep.Status = Failed
	case partial || len(rep.Errors) > 0:
		rep.Status = Partial
	case w.cut || rep.Interrupted:
		rep.Status = CutShort
	default:
		rep.Status = OK
	}
	w.o.Meter.Ended(rep)
	return rep
}

func (w *work) shardReport(r *shardRun, saved map[int]engine.ShardState) ShardReport {
	st, ok := saved[r.id]
	if !ok {
		st = r.state
	}
	s := ShardReport{
		Shard: r.id, Status: OK, TsNs: st.Cursor.TsNs, LastWalkedNs: st.Cursor.LastWalkedNs,
		EventsScanned: r.events, EntriesWalked: r.walked, DeleteCalls: r.calls,
		Recovery: r.recovery, Blocked: st.Side.Blocked, Failed: st.Side.Failed,
		Windows: r.windows(),
	}
	if s.TsNs > 0 {
		s.Lag = w.now.Sub(time.Unix(0, s.TsNs))
	}
	switch {
	case r.lost != nil:
		s.Status = Failed
	case s.Blocked != nil || len(s.Failed) > 0 || r.overflowed:
		s.Status = Partial
	case w.cut:
		s.Status = CutShort
	}
	for _, f := range append([]engine.Failure{}, s.Failed...) {
		w.problem(failedProblem(r.id, f))
	}
	if s.Blocked != nil {
		w.problem(failedProblem(r.id, *s.Blocked))
	}
	return s
}

func failedProblem(shard int, f engine.Failure) Problem {
	text := f.Outcome + ": " + f.Reason
	what := "key \"" + f.Key + "\""
	if f.VersionID != "" {
		what += " version " + f.VersionID
	}
	if f.Action != "" {
		what += ", " + f.Action
	}
	return Problem{Shard: shard, Bucket: f.Bucket, RuleID: f.RuleID, Category: CategoryBlocked, Message: what + ": " + text}
}

// walkReports are the walks that the pass set out to make.
func (w *work) walkReports() []WalkReport {
	if w.plan == nil {
		return nil
	}
	var walks []WalkReport
	for _, bw := range w.plan.walks {
		walks = append(walks, WalkReport{
			Bucket: bw.bucket.Name, Why: sortedKeys(bw.why),
			Full: slices.Sorted(maps.Keys(bw.full)), Bound: slices.Sorted(maps.Keys(bw.steady)),
		})
	}
	return walks
}

// windows are the parts of the log that are read for the shard.
func (r *shardRun) windows() []Window {
	var windows []Window
	if r.arrivalsEnd > r.arrivals {
		windows = append(windows, Window{AfterNs: r.arrivals, UntilNs: r.arrivalsEnd})
	}
	for _, d := range slices.Sorted(maps.Keys(r.groups)) {
		if r.groupEnds[d] > r.groups[d] {
			windows = append(windows, Window{Delay: d, AfterNs: r.groups[d], UntilNs: r.groupEnds[d]})
		}
	}
	return windows
}
