package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/protobuf/encoding/protojson"

	"weedlc/engine"
)

// PathTTL is a TTL that the filers stamp on new objects below a key prefix.
type PathTTL struct {
	Prefix string
	TTL    time.Duration
}

// Where the filers keep what they do by path (weed shell: fs.configure).
const (
	pathConfigDir  = "/etc/seaweedfs"
	pathConfigName = "filer.conf"
)

// PathTTLs returns the TTLs that the filers stamp on new objects of a bucket,
// in the order of their prefixes. A TTL for all buckets, or for more, has the
// empty prefix. Without a configuration there are none.
func (c *Cluster) PathTTLs(ctx context.Context, bucket string) ([]PathTTL, error) {
	data, _, err := c.Files(pathConfigDir).Read(ctx, pathConfigName)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	conf := &filer_pb.FilerConf{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, conf); err != nil {
		return nil, fmt.Errorf("%q is malformed: %w", pathConfigDir+"/"+pathConfigName, err)
	}
	dir := c.bucketsDir + "/" + bucket + "/"
	byPrefix := map[string]PathTTL{}
	closest := 0 // of the prefixes that hold the whole bucket, the longest counts
	for _, l := range conf.Locations {
		ttl, err := parseTTL(l.Ttl)
		if err != nil {
			return nil, fmt.Errorf("%q: location %q: ttl %q: %w", pathConfigDir+"/"+pathConfigName, l.LocationPrefix, l.Ttl, err)
		}
		prefix, inside := strings.CutPrefix(l.LocationPrefix, dir)
		switch {
		case ttl == 0:
		case inside && prefix != "":
			byPrefix[prefix] = PathTTL{prefix, ttl}
		case inside || strings.HasPrefix(dir, l.LocationPrefix):
			if len(l.LocationPrefix) >= closest {
				closest = len(l.LocationPrefix)
				byPrefix[""] = PathTTL{"", ttl}
			}
		}
	}
	var all []PathTTL
	for _, t := range byPrefix {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b PathTTL) int { return strings.Compare(a.Prefix, b.Prefix) })
	return all, nil
}

// parseTTL reads a TTL as SeaweedFS writes it: a number and one of m, h, d, w, M
// (30 days) and y (365 days); a bare number is minutes. Empty is 0.
func parseTTL(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	digits, unit := text, time.Minute
	if last := text[len(text)-1]; last < '0' || last > '9' {
		const day = 24 * time.Hour
		units := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': day, 'w': 7 * day, 'M': 30 * day, 'y': 365 * day}
		if unit = units[last]; unit == 0 {
			return 0, errors.New("must be a number and m, h, d, w, M or y")
		}
		digits = text[:len(text)-1]
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0, errors.New("must be a number and m, h, d, w, M or y")
	}
	return time.Duration(n) * unit, nil
}
