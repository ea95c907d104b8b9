package explain

import (
	"slices"

	"weedlc/engine"
)

// outcome is what a pass over all rules does with one version.
type outcome struct {
	effect  Effect
	action  *engine.Action
	verdict engine.Verdict
	// changed is set when what the pass does to other versions of the key
	// decided it: on its own it would go the other way.
	changed bool
	// null is set for a null delete marker that a rule would remove: there is no
	// call for that.
	null bool
	// replaced is set for a null version whose place a delete marker takes.
	replaced bool
}

// rehearse goes through the versions of a key as a pass does: newest first, each
// ranked anew after what was done before it. The outcomes are in the order of
// the group.
func rehearse(in KeyInput, actions []*engine.Action) []outcome {
	outcomes := make([]outcome, len(in.Group.Objects))
	for i := range outcomes {
		outcomes[i].effect = Keep
	}
	seen := make([]*engine.Object, len(outcomes))
	g := in.Group
	g.Objects = slices.Clone(g.Objects)
	places := make([]int, len(g.Objects)) // where the versions left are in outcomes
	for i := range places {
		places[i] = i
	}
	drop := func(i int) { places = slices.Delete(places, i, i+1) }
	removed := false
	for i := 0; ; {
		if i == len(g.Objects) {
			if !removed || i != 1 || !g.Objects[0].DeleteMarker {
				break
			}
			removed, i = false, 0 // a delete marker that is alone by now
		}
		o := &g.Objects[i]
		out := rehearseOne(o, actions, in)
		now := *o
		outcomes[places[i]], seen[places[i]] = out, &now
		switch {
		case out.effect == Keep, out.effect == SkipLock:
			i++
		case out.effect == ExpireToMarker:
			id := o.VersionID
			before := len(g.Objects)
			g.Demote(in.Now, in.Bucket.Versioning)
			if len(g.Objects) < before { // the marker takes the place of the null version
				at := slices.IndexFunc(places, func(p int) bool { return in.Group.Objects[p].VersionID == nullVersion })
				if places[at] != places[i] {
					outcomes[places[at]] = outcome{effect: DeleteVersion, action: out.action, verdict: out.verdict, replaced: true}
				}
				drop(at)
			}
			if i < len(g.Objects) && g.Objects[i].VersionID == id {
				i++
			}
		default:
			g.Remove(i)
			drop(i)
			removed = true
		}
	}
	for i := range outcomes {
		outcomes[i].compare(rehearseOne(&in.Group.Objects[i], actions, in), seen[i], in)
	}
	return outcomes
}

// compare sets an outcome beside what it would be if nothing were done to the
// other versions. seen is the version as the pass found it.
func (out *outcome) compare(alone outcome, seen *engine.Object, in KeyInput) {
	if out.replaced {
		return
	}
	out.changed = (alone.effect == Keep) != (out.effect == Keep)
	if alone.action != nil && out.action == alone.action {
		out.verdict = alone.verdict // as it stands, not as it is re-ranked
	}
	if out.changed && out.effect == Keep {
		out.action = alone.action
		out.verdict = engine.Judge(alone.action, seen, in.Now, in.DayClock)
	}
}

// rehearseOne is what a pass does with an object as it stands.
func rehearseOne(o *engine.Object, actions []*engine.Action, in KeyInput) outcome {
	a, v, fires := engine.FirstDue(actions, o, in.Now, in.DayClock)
	switch {
	case !fires:
		return outcome{effect: Keep}
	case v.Locked:
		return outcome{effect: SkipLock, action: a, verdict: v}
	case o.DeleteMarker && o.VersionID == nullVersion:
		return outcome{effect: Keep, action: a, verdict: v, null: true}
	}
	return outcome{effect: EffectOf(a.Kind, in.Bucket.Versioning), action: a, verdict: v}
}
