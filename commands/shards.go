package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"weedlc/engine"
)

// shardOptions select shards, by --shard or by --shards.
type shardOptions struct{ one, set shardsValue }

func (o *shardOptions) AddFlags(flags *pflag.FlagSet) {
	o.one.single = true
	last := engine.ShardCount - 1
	flags.Var(&o.one, "shard", fmt.Sprintf("one shard, 0 to %d", last))
	flags.Var(&o.set, "shards", fmt.Sprintf("a range or set of shards: 0-%d or 0,3,7 (default all)", last))
	settings(flags, "shard", "shards")
}

// selected are the shards to work on, ascending. Of --shard and --shards the one set closer to the command line counts.
func (o *shardOptions) selected(layers map[string]layer) ([]int, error) {
	one, set := layers["shard"], layers["shards"]
	switch {
	case one == fromDefault && set == fromDefault:
		return allShards(), nil
	case one == set:
		return nil, hint(errors.New("--shard and --shards exclude each other"), "--shards %s,%s", &o.one, &o.set)
	case one > set:
		return o.one.shards, nil
	}
	return o.set.shards, nil
}

func allShards() []int {
	shards := make([]int, engine.ShardCount)
	for i := range shards {
		shards[i] = i
	}
	return shards
}

// shardsValue is a flag's set of shards.
type shardsValue struct {
	shards []int
	single bool
}

func (v *shardsValue) String() string { return engine.FormatShards(v.shards) }

func (v *shardsValue) Type() string {
	if v.single {
		return "shard"
	}
	return "shards"
}

func (v *shardsValue) Set(s string) error {
	shards, err := engine.ParseShards(s)
	if err != nil {
		return err
	}
	if v.single && (len(shards) != 1 || strings.ContainsAny(s, ",-")) {
		return fmt.Errorf("is not one shard; use --shards %s", s)
	}
	v.shards = shards
	return nil
}
