package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configured runs cursor show with a configuration and returns the masters
// that were dialled.
func configured(t *testing.T, h *testHost, file string, env, args []string) string {
	t.Helper()
	if file != "" {
		check(t, os.WriteFile(configName, []byte(file), 0o600))
	}
	h.Env = append(h.Env, env...)
	h.must(exitDone, append([]string{"cursor", "show"}, args...)...)
	return strings.Join(h.dialed[len(h.dialed)-1].Masters, " ")
}

func TestConfigPrecedence(t *testing.T) {
	file := "master = \"file:1\"\n"
	env := []string{"WEEDLC_MASTER=env:1"}
	flag := []string{"--master", "flag:1"}
	for _, c := range []struct {
		name      string
		file      string
		env, args []string
		want      string
	}{
		{"default", "", nil, nil, "localhost:9333"},
		{"file over default", file, nil, nil, "file:1"},
		{"environment over default", "", env, nil, "env:1"},
		{"environment over file", file, env, nil, "env:1"},
		{"flag over default", "", nil, flag, "flag:1"},
		{"flag over file", file, nil, flag, "flag:1"},
		{"flag over environment", "", env, flag, "flag:1"},
		{"flag over all", file, env, flag, "flag:1"},
		{"list of a file", "master = [\"a:1\", \"b:1\"]\n", nil, nil, "a:1 b:1"},
		{"comma list of a file", "master = \"a:1,b:1\"\n", nil, nil, "a:1 b:1"},
		{"comma list of the environment", file, []string{"WEEDLC_MASTER=a:1,b:1"}, nil, "a:1 b:1"},
		{"repeated flag", file, env, []string{"--master", "a:1", "--master", "b:1,c:1"}, "a:1 b:1 c:1"},
		{"key of another command", file + "deletes-per-second = 100\n", nil, nil, "file:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			equal(t, "masters", configured(t, newTestHost(t), c.file, c.env, c.args), c.want)
		})
	}
}

func TestConfigPlaces(t *testing.T) {
	h := newTestHost(t)
	home := filepath.Join(h.getenv("HOME"), ".seaweedfs")
	check(t, os.MkdirAll(home, 0o700))
	check(t, os.WriteFile(filepath.Join(home, configName), []byte("master = \"home:1\"\n"), 0o600))
	equal(t, "masters", configured(t, h, "", nil, nil), "home:1")
	check(t, os.WriteFile("weedlc", []byte("\x7fELF: not ours"), 0o700))
	equal(t, "masters beside a file named weedlc", configured(t, h, "", nil, nil), "home:1")
	equal(t, "masters with a file here", configured(t, h, "master = \"here:1\"\n", nil, nil), "here:1")
	check(t, os.WriteFile("other.toml", []byte("master = \"other:1\"\n"), 0o600))
	equal(t, "masters with --config", configured(t, h, "", nil, []string{"--config", "other.toml"}), "other:1")
}

func TestConfigFaults(t *testing.T) {
	for _, c := range []struct {
		name, file string
		env, args  []string
		want       string
	}{
		{"unknown keys, all of them", "master = \"m:1\"\nmastre = \"m:1\"\nzzz = 1\n", nil, nil,
			"weedlc: weedlc.toml: unknown key \"mastre\"\nhint: the nearest key is \"master\"\nweedlc: weedlc.toml: unknown key \"zzz\"\n"},
		{"a table", "[run]\nevents = 5\n", nil, nil,
			"weedlc: weedlc.toml: unknown key \"run.events\"\nhint: keys are flag names and stand above any [table]: events\n"},
		{"a target is no setting", "bucket = \"b\"\nyes = true\n", nil, nil,
			"weedlc: weedlc.toml: unknown key \"bucket\"\nweedlc: weedlc.toml: unknown key \"yes\"\n"},
		{"a value of the file", "settle = \"-5m\"\n", nil, nil,
			"weedlc: weedlc.toml: settle \"-5m\": must not be negative\n"},
		{"a number without unit", "settle = 300\n", nil, nil,
			"weedlc: weedlc.toml: settle \"300\": needs a unit, as in 300s or 300d\n"},
		{"a negative number", "events = -5\n", nil, nil,
			"weedlc: weedlc.toml: events \"-5\": must be 0 or more\n"},
		{"a value of the environment", "", []string{"WEEDLC_SHARDS=9-3"}, nil,
			"weedlc: WEEDLC_SHARDS \"9-3\": range \"9-3\" is empty: 9 is after 3\n"},
		{"a switch", "no-lock = \"maybe\"\n", nil, nil,
			"weedlc: weedlc.toml: no-lock \"maybe\": must be true or false\n"},
		{"--shard and --shards at once", "shard = 1\nshards = \"2-3\"\n", nil, nil,
			"weedlc: --shard and --shards exclude each other\nhint: --shards 1,2,3\n"},
		{"a file that is missing", "", nil, []string{"--config", "nope.toml"},
			"weedlc: configuration file \"nope.toml\": open nope.toml: no such file or directory\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newTestHost(t)
			if c.file != "" {
				check(t, os.WriteFile(configName, []byte(c.file), 0o600))
			}
			h.Env = append(h.Env, c.env...)
			h.must(exitFailed, append([]string{"run"}, c.args...)...)
			equal(t, "stdout", h.out.String(), "")
			equal(t, "stderr", h.err.String(), c.want)
		})
	}
}

func TestConfigThatIsNoTOML(t *testing.T) {
	h := newTestHost(t)
	check(t, os.WriteFile(configName, []byte("master = \n"), 0o600))
	h.must(exitFailed, "run")
	contains(t, h.err.String(), `weedlc: configuration file "weedlc.toml": `)
	h.must(exitDone, "version")
}

func TestShardFlagsOverruleLowerLayers(t *testing.T) {
	h := newTestHost(t)
	check(t, os.WriteFile(configName, []byte("shards = \"0-7\"\n"), 0o600))
	for _, c := range []struct {
		env, args []string
		want      int
	}{
		{nil, nil, 8},
		{nil, []string{"--shard", "3"}, 1},
		{nil, []string{"--shards", "0-15"}, 16},
		{[]string{"WEEDLC_SHARD=3"}, nil, 1},
		{[]string{"WEEDLC_SHARD=3"}, []string{"--shards", "1,2"}, 2},
	} {
		env := h.Env
		h.Env = append(env, c.env...)
		h.must(exitDone, append([]string{"cursor", "show"}, c.args...)...)
		h.Env = env
		if got := strings.Count(h.out.String(), "\n"); got != c.want {
			t.Errorf("%v %v: %d shards, want %d", c.env, c.args, got, c.want)
		}
	}
}

func TestUnknownEnvironmentIsAWarning(t *testing.T) {
	h := newTestHost(t)
	h.Env = append(h.Env, "WEEDLC_SERVICE_HOST=10.0.0.1")
	h.must(exitDone, "cursor", "show")
	contains(t, h.err.String(), "WRN", "WEEDLC_SERVICE_HOST")
}

func TestQuietAndVerbose(t *testing.T) {
	h := newTestHost(t)
	h.must(exitFailed, "cursor", "show", "-q", "-v")
	equal(t, "stderr", h.err.String(), "weedlc: --quiet and --verbose exclude each other\n")
	check(t, os.WriteFile(configName, []byte("quiet = true\n"), 0o600))
	h.must(exitDone, "cursor", "show", "-v")
}
