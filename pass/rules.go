package pass

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// rulesMaxAge is how old the rules may be when something is sent for them.
const rulesMaxAge = 10 * time.Second

// ruleBook is what the buckets' rules say when the pass begins.
type ruleBook struct {
	sources  []engine.Source
	snapshot *engine.Snapshot
	findings []engine.Finding
	// unreadable are the buckets whose document as a whole was refused: they
	// are left alone, and what is remembered of them stays.
	unreadable map[string]bool
}

// LoadRules reads and compiles the rules of every bucket that has some, as a
// pass does. A bucket whose document as a whole is refused is not among the
// sources; a rule that is refused is not among its bucket's. The findings say
// so, warnings too. The sources do not hold the documents.
func LoadRules(ctx context.Context, f Filer, allowUnfiltered bool) ([]engine.Source, *engine.Snapshot, []engine.Finding, error) {
	book, err := loadRules(ctx, f, allowUnfiltered)
	if err != nil {
		return nil, nil, nil, err
	}
	return book.sources, book.snapshot, book.findings, nil
}

func loadRules(ctx context.Context, f Filer, allowUnfiltered bool) (*ruleBook, error) {
	buckets, err := f.Buckets(ctx)
	if err != nil {
		return nil, fmt.Errorf("list buckets: %w", err)
	}
	book := &ruleBook{unreadable: map[string]bool{}}
	for _, b := range buckets {
		if len(b.Rules) == 0 {
			continue
		}
		rules, findings := engine.ParseBucket(b, allowUnfiltered)
		book.findings = append(book.findings, findings...)
		if documentRefused(findings) {
			book.unreadable[b.Name] = true
			continue
		}
		// The document is read again from the bucket when it matters; a
		// snapshot of a thousand buckets need not hold a thousand of them.
		b.Rules = nil
		book.sources = append(book.sources, engine.Source{Bucket: b, Rules: rules})
	}
	book.snapshot = engine.New().Compile(book.sources)
	return book, nil
}

func documentRefused(findings []engine.Finding) bool {
	return slices.ContainsFunc(findings, engine.Finding.RefusesBucket)
}

// ruleGuard knows which actions still stand. An action that is gone, changed or
// disabled sends nothing more in a pass; a new one waits for the next.
type ruleGuard struct {
	filer           Filer
	allowUnfiltered bool
	clock           func() time.Time

	mu       sync.Mutex
	readAt   time.Time
	planned  map[string]map[actionKey]bool
	standing map[string]map[actionKey]bool
	// changed are the buckets in which an action of the plan was seen to be
	// gone: what the shards remember of them no longer holds.
	changed map[string]bool
}

type actionKey struct {
	hash engine.RuleHash
	kind engine.Kind
}

func newRuleGuard(f Filer, o Options, book *ruleBook) *ruleGuard {
	g := &ruleGuard{
		filer: f, allowUnfiltered: o.AllowUnfiltered, clock: o.Clock, readAt: o.Clock(),
		planned: map[string]map[actionKey]bool{}, changed: map[string]bool{},
	}
	for _, src := range book.sources {
		g.planned[src.Bucket.Name] = actionKeys(src.Rules)
	}
	g.standing = g.planned
	return g
}

func actionKeys(rules []*engine.Rule) map[actionKey]bool {
	keys := map[actionKey]bool{}
	for _, r := range rules {
		if !r.Enabled {
			continue
		}
		for _, k := range r.Kinds() {
			keys[actionKey{r.Hash(), k}] = true
		}
	}
	return keys
}

// allows reports whether the action still stands, reading the rules again when
// they are older than rulesMaxAge.
func (g *ruleGuard) allows(ctx context.Context, a *engine.Action) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clock().Sub(g.readAt) >= rulesMaxAge {
		buckets, err := g.filer.Buckets(ctx)
		if err != nil {
			return false, err
		}
		g.standing = map[string]map[actionKey]bool{}
		for _, b := range buckets {
			g.note(b)
		}
		for name := range g.planned {
			if g.standing[name] == nil {
				g.changed[name] = true
			}
		}
		g.readAt = g.clock()
	}
	return g.standing[a.Bucket][actionKey{a.Hash, a.Kind}], nil
}

// refresh reads one bucket's rules again, before it is walked. A bucket that is
// gone has none.
func (g *ruleGuard) refresh(ctx context.Context, bucket string) error {
	b, err := g.filer.Bucket(ctx, bucket)
	if isNotFound(err) {
		b, err = engine.Bucket{Name: bucket}, nil
	}
	if err != nil {
		return fmt.Errorf("read the rules of bucket %q again: %w", bucket, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	standing := make(map[string]map[actionKey]bool, len(g.standing))
	for name, keys := range g.standing {
		standing[name] = keys
	}
	g.standing = standing
	g.note(b)
	return nil
}

// note replaces what stands in one bucket. The caller holds the lock and owns
// the map.
func (g *ruleGuard) note(b engine.Bucket) {
	var keys map[actionKey]bool
	if len(b.Rules) > 0 {
		if rules, findings := engine.ParseBucket(b, g.allowUnfiltered); !documentRefused(findings) {
			keys = actionKeys(rules)
		}
	}
	for k := range g.planned[b.Name] {
		if !keys[k] {
			g.changed[b.Name] = true
		}
	}
	if keys == nil {
		keys = map[actionKey]bool{}
	}
	g.standing[b.Name] = keys
}

// hasChanged reports whether an action of the plan was seen to be gone.
func (g *ruleGuard) hasChanged(bucket string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed[bucket]
}
