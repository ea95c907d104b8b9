package engine

import (
	"bytes"
	"slices"
	"strings"
)

// prefixTree finds the actions whose prefix a key has. A step goes down one
// branch of the tree, so what it costs to find them grows with the prefixes
// that share the key's beginning, and not with the rules of the bucket.
type prefixTree struct {
	// label is what the branch to this node adds to the prefix.
	label string
	// actions are those of every prefix from the root down to this node, in the
	// order of the snapshot.
	actions []*Action
	// first holds the first byte of each child's label.
	first    []byte
	children []*prefixTree
}

// newPrefixTree arranges actions by their prefixes.
func newPrefixTree(actions []*Action) *prefixTree {
	byPrefix := map[string][]int{}
	for i, a := range actions {
		byPrefix[a.Rule.Prefix] = append(byPrefix[a.Rule.Prefix], i)
	}
	prefixes := make([]string, 0, len(byPrefix))
	for p := range byPrefix {
		prefixes = append(prefixes, p)
	}
	slices.Sort(prefixes)
	return growTree(actions, byPrefix, prefixes, 0, nil)
}

// growTree makes the node at the longest beginning that sorted prefixes share.
// The first at bytes of them belong to the nodes above, whose actions are
// inherited.
func growTree(actions []*Action, byPrefix map[string][]int, prefixes []string, at int, inherited []int) *prefixTree {
	if len(prefixes) == 0 {
		return &prefixTree{}
	}
	shared := sharedLength(prefixes[0], prefixes[len(prefixes)-1])
	n := &prefixTree{label: prefixes[0][at:shared]}
	if len(prefixes[0]) == shared {
		inherited = slices.Concat(inherited, byPrefix[prefixes[0]])
		slices.Sort(inherited)
		prefixes = prefixes[1:]
	}
	switch {
	case len(inherited) == len(actions):
		n.actions = actions
	case len(inherited) > 0:
		n.actions = make([]*Action, len(inherited))
		for i, of := range inherited {
			n.actions[i] = actions[of]
		}
	}
	for len(prefixes) > 0 {
		b := prefixes[0][shared]
		end := slices.IndexFunc(prefixes, func(p string) bool { return p[shared] != b })
		if end < 0 {
			end = len(prefixes)
		}
		n.first = append(n.first, b)
		n.children = append(n.children, growTree(actions, byPrefix, prefixes[:end], shared, inherited))
		prefixes = prefixes[end:]
	}
	return n
}

// sharedLength is how many bytes two texts have in common at their beginning.
func sharedLength(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// matching returns the actions of every prefix that the key has. The caller
// must not change the slice.
func (n *prefixTree) matching(key string) []*Action {
	var found []*Action
	for {
		rest, ok := strings.CutPrefix(key, n.label)
		if !ok {
			return found
		}
		found, key = n.actions, rest
		if key == "" {
			return found
		}
		child := n.child(key[0])
		if child == nil {
			return found
		}
		n = child
	}
}

func (n *prefixTree) child(b byte) *prefixTree {
	if i := bytes.IndexByte(n.first, b); i >= 0 {
		return n.children[i]
	}
	return nil
}
