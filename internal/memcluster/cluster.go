package memcluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"weedlc/engine"
)

// Config describes a new cluster.
type Config struct {
	// Start is the simulated time at which it begins. Zero is 2030-06-15
	// 12:00 UTC.
	Start time.Time
	// The skews say how far ahead of simulated time each clock is.
	FilerSkew, GatewaySkew, HostSkew time.Duration
	// Late says how long after its position in the log an event can first be
	// read. It is asked once, when the event is logged. Nil: at once.
	Late func(*engine.Event) time.Duration
	// Tick passes before every write and again after it, so that each has a
	// time of its own. Zero: time stands still until it is moved.
	Tick time.Duration
}

// Cluster is the whole of it. It implements pass.Filer and pass.Gateway; its
// other methods are what clients of the S3 gateway and of the filer do. It is
// safe for concurrent use.
type Cluster struct {
	mu      sync.Mutex
	now     time.Time
	tick    time.Duration
	skews   skews
	late    func(*engine.Event) time.Duration
	buckets map[string]*bucket
	log     metaLog
	serial  int64

	hookMu  sync.Mutex
	hook    Hook
	faults  faults
	counts  Counts
	deletes []DeleteRecord
	lost    []string
}

type skews struct{ filer, gateway, host time.Duration }

// bucket is a bucket's own entry and the tree below it.
type bucket struct {
	info  engine.Bucket
	entry *engine.Entry
	tree
}

// New returns an empty cluster.
func New(cfg Config) *Cluster {
	if cfg.Start.IsZero() {
		cfg.Start = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)
	}
	return &Cluster{
		now:     cfg.Start.UTC(),
		tick:    cfg.Tick,
		skews:   skews{cfg.FilerSkew, cfg.GatewaySkew, cfg.HostSkew},
		late:    cfg.Late,
		buckets: map[string]*bucket{},
		faults:  newFaults(),
	}
}

// Time is the simulated time.
func (c *Cluster) Time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the simulated time forward.
func (c *Cluster) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("memcluster: time cannot go back by %v", -d))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// AdvanceTo moves the simulated time forward to t; it stays where it is when t
// is past.
func (c *Cluster) AdvanceTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t.UTC()
	}
}

// write locks the cluster for a write; what it returns ends it.
func (c *Cluster) write() (end func()) {
	c.mu.Lock()
	c.now = c.now.Add(c.tick)
	return func() {
		c.now = c.now.Add(c.tick)
		c.mu.Unlock()
	}
}

// SetSkews changes how far ahead of simulated time each clock is.
func (c *Cluster) SetSkews(filer, gateway, host time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skews = skews{filer, gateway, host}
}

// HostTime is the clock of the machine that runs weedlc.
func (c *Cluster) HostTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Add(c.skews.host)
}

// FilerTime is the clock that stamps positions in the log.
func (c *Cluster) FilerTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.filerNow()
}

// GatewayTime is the clock that stamps mtimes, demotions and version ids, and
// that locks are checked against.
func (c *Cluster) GatewayTime() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gatewayNow()
}

func (c *Cluster) filerNow() time.Time   { return c.now.Add(c.skews.filer) }
func (c *Cluster) gatewayNow() time.Time { return c.now.Add(c.skews.gateway) }

// gatewaySecondNs is the gateway's clock as it stamps mtimes: in whole seconds.
func (c *Cluster) gatewaySecondNs() int64 {
	return c.gatewayNow().Truncate(time.Second).UnixNano()
}

// next numbers things that a server would draw at random.
func (c *Cluster) next() int64 {
	c.serial++
	return c.serial
}

func (c *Cluster) find(name string) (*bucket, error) {
	b := c.buckets[name]
	if b == nil {
		return nil, fmt.Errorf("bucket %q: %w", name, engine.ErrNotFound)
	}
	return b, nil
}

// bucketNames lists the buckets in the order of their names.
func (c *Cluster) bucketNames() []string {
	names := make([]string, 0, len(c.buckets))
	for name := range c.buckets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
