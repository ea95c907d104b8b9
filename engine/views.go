package engine

import "time"

// RulesForShard parts the enabled actions by how they are served: replay has
// the replay kinds whose delay is at most retention, walk has all others. A
// retention of 0 leaves nothing to replay; for a log without a bound it is
// MaxEffectiveTTL.
//
// Views have their own actions, all active, and share the rules. The replay
// view's actions have ModeEventDriven, the others keep their mode. A view
// without actions is empty, not nil. Shards part the keys, not the rules: every
// shard has the same views.
func (s *Snapshot) RulesForShard(_ int, retention time.Duration) (replay, walk *Snapshot) {
	replay = s.view(ModeEventDriven, func(a *Action) bool {
		return a.IsReplayKind() && !isPromoted(a, retention)
	})
	walk = s.view(0, func(a *Action) bool {
		return !a.IsReplayKind() || isPromoted(a, retention)
	})
	return replay, walk
}

// RecoveryView has every enabled action, however it is served.
func RecoveryView(s *Snapshot) *Snapshot {
	return s.view(0, func(*Action) bool { return true })
}

// view clones the enabled actions that keep selects and activates them. A mode
// of 0 leaves theirs.
func (s *Snapshot) view(mode Mode, keep func(*Action) bool) *Snapshot {
	var actions []*Action
	for _, a := range s.actions {
		if a.Mode == ModeDisabled || !keep(a) {
			continue
		}
		clone := *a
		clone.active = true
		if mode != 0 {
			clone.Mode = mode
		}
		actions = append(actions, &clone)
	}
	return newSnapshot(actions, s.buckets)
}

// isPromoted reports whether the log is too short for a replay kind, so that a
// walk serves it.
func isPromoted(a *Action, retention time.Duration) bool {
	return a.Delay <= 0 || a.Delay > retention
}
