package engine

import "hash/fnv"

// Foreign reports whether the side file belongs to another cursor than the one
// beside it, or is missing: somebody else moved the cursor, and the positions
// of the groups do not count on their own.
func (st *ShardState) Foreign() bool {
	return st.Found && (!st.SideFound || st.Side.TsNs != st.Cursor.TsNs || st.Side.RuleSetHash != st.Cursor.RuleSetHash)
}

// ReconcileAtNs is when a bucket that was last reconciled at lastNs is to be
// reconciled again: its next place in intervals of intervalNs. The places are
// spread by the bucket's name. An interval of 0 is never, and gives 0.
func ReconcileAtNs(bucket string, lastNs, intervalNs int64) int64 {
	if intervalNs == 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(bucket))
	place := int64(h.Sum64() % uint64(intervalNs))
	return place + ((lastNs-place)/intervalNs+1)*intervalNs
}
