package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weedlc/cursorfile"
	"weedlc/engine"
	"weedlc/internal/cluster"
)

// healthy is a cluster of one server of each kind.
func healthy() cluster.Survey {
	return cluster.Survey{
		Masters:  []cluster.MasterState{{Address: "m:9333", Filers: []string{"f:8888"}, Gateways: []string{"g:18333"}}},
		Filers:   []cluster.FilerState{goodFiler("f:8888")},
		Gateways: []cluster.GatewayState{{Address: "g:18333", Version: "4.53"}},
	}
}

func goodFiler(address string) cluster.FilerState {
	return cluster.FilerState{Address: address, Version: "4.53", Signature: 1, BucketsDir: "/buckets", Within: time.Millisecond}
}

// unreachable is what a server that is away comes to.
func unreachable(role cluster.Role, address string) error {
	return &cluster.ConnectError{Role: role, Address: address, Reason: "cannot be reached: connection refused"}
}

func newSurveyedHost(t *testing.T) *testHost {
	h := newTestHost(t)
	h.surveyed = healthy()
	return h
}

// unwell are the lines of doctor -o tsv whose result is not ok, with | between
// the columns.
func unwell(h *testHost) string {
	var b strings.Builder
	for line := range strings.Lines(h.out.String()) {
		if !strings.Contains(line, "\tok\t") {
			b.WriteString(strings.ReplaceAll(line, "\t", "|"))
		}
	}
	return b.String()
}

func TestDoctorOfAHealthyCluster(t *testing.T) {
	h := newSurveyedHost(t)
	h.bucket("logs", "a")
	h.cluster.Advance(3 * day)
	h.must(exitDone, "doctor", "-o", "table")
	equal(t, "stdout", h.out.String(), `RESULT  CHECK     TARGET   TRIED AND FOUND
ok      security  -        read security.toml: there is none: plain text, no signing key
ok      master    m:9333   ask for filers and gateways: knows 1 filer and 1 S3 gateway
ok      filer     f:8888   read its configuration: SeaweedFS 4.53 over plain text
ok      clock     f:8888   compare its clock with this host's: the same, to within 1ms
ok      locks     f:8888   ask who holds the shards: every shard is free
ok      folder    f:8888   look at the buckets' folder "/buckets": it is there
ok      gateway   g:18333  send a delete of nothing: it has the lifecycle service and admits us; SeaweedFS 4.53 over plain text
ok      meta-log  -        read its last second and find its start: readable, 0 events; it reaches back 3d, to 2026-11-30T12:00:00Z
ok      rules     -        read the rules of every bucket: 1 bucket with rules, 1 rule enabled
ok      cursors   -        read every shard's cursor: there is none yet: the first pass walks every bucket that has rules
ok      pause     -        look for one beside the cursors: there is none

nothing failed, 0 warnings: a pass can do its job from here
`)
	equal(t, "stderr", h.err.String(), "")
	if h.dialed[0].NeedGateway || fmt.Sprint(h.dialed[0].Filers) != "[f:8888]" || len(h.locked) != 0 {
		t.Errorf("dialed %+v, locked %v", h.dialed, h.locked)
	}
	h.must(exitDone, "run")
	h.must(exitDone, "doctor")
	contains(t, h.out.String(), "cursors\t\tok\tread every shard's cursor\t16 of 16 are there and good\t\n")
	equal(t, "unwell", unwell(h), "")
}

func TestDoctorJSON(t *testing.T) {
	h := newSurveyedHost(t)
	h.surveyed.Gateways[0].Err = unreachable(cluster.Gateway, "g:18333")
	h.must(exitUndone, "doctor", "-o", "json")
	doc := object(t, h.out.Bytes())
	equalFields(t, "document", doc, "now", "failed", "warnings", "checks")
	equalFields(t, "check", doc["checks"].([]any)[0], "check", "target", "result", "tried", "found", "to_do")
	if got := fmt.Sprint(doc["failed"], doc["warnings"]); got != "1 0" {
		t.Errorf("failed and warnings: %s", got)
	}
}

// One fault each: what doctor makes of it, and nothing else that is not ok.
func TestDoctorNamesTheFault(t *testing.T) {
	filer2 := func(s *cluster.Survey, change func(*cluster.FilerState)) {
		f := goodFiler("f2:8888")
		change(&f)
		s.Filers = append(s.Filers, f)
	}
	noFiler := `meta-log||skipped|read its last second and find its start|no filer can be asked|
rules||skipped|read the rules of every bucket|no filer can be asked|
cursors||skipped|read every shard's cursor|no filer can be asked|
pause||skipped|look for one beside the cursors|no filer can be asked|
`
	for _, c := range []struct {
		name  string
		args  []string
		spoil func(*cluster.Survey)
		code  int
		want  string
	}{
		{"security.toml", nil, func(s *cluster.Survey) {
			*s = cluster.Survey{Security: cluster.Security{Err: errors.New(`"security.toml" cannot be read: no`)}}
		}, exitUndone, `security||failed|read security.toml|"security.toml" cannot be read: no|mend it; weed shell reads the same file
servers||skipped|connect|how to connect is not known|
` + noFiler},
		{"no master", nil, func(s *cluster.Survey) {
			*s = cluster.Survey{Masters: []cluster.MasterState{{Address: "m:9333", Err: unreachable(cluster.Master, "m:9333")}}}
		}, exitUndone, `master|m:9333|failed|ask for filers and gateways|cannot be reached: connection refused|start it, or name the masters with --master
filer||skipped|find one|no master answers|
gateway||skipped|find one|no master answers|
` + noFiler},
		{"one master of two", nil, func(s *cluster.Survey) {
			s.Masters = append(s.Masters, cluster.MasterState{Address: "m2:9333", Err: unreachable(cluster.Master, "m2:9333")})
		}, exitDone, `master|m2:9333|warning|ask for filers and gateways|cannot be reached: connection refused; passes go on without it|start it, or name the masters with --master
`},
		{"masters not needed", []string{"--filer", "f:8888", "--s3", "g:18333"}, func(s *cluster.Survey) { s.Masters = nil }, exitDone,
			`master||skipped|ask for filers and gateways|not needed: --filer and --s3 name them|
`},
		{"no filer", []string{"--filer-group", "g1"}, func(s *cluster.Survey) { s.Filers, s.Masters[0].Filers = nil, nil }, exitUndone,
			`filer||failed|find one|none is registered at the master in group "g1"|start one that knows the master, or name it with --filer; a server registers some seconds after its start
` + noFiler},
		{"filer away", nil, func(s *cluster.Survey) {
			s.Filers = []cluster.FilerState{{Address: "f:8888", Err: unreachable(cluster.Filer, "f:8888")}}
		}, exitUndone, `filer|f:8888|failed|read its configuration|cannot be reached: connection refused|start it; a pass needs the meta-log of each filer that the master knows
` + noFiler},
		{"a filer of the master's away", nil, func(s *cluster.Survey) {
			filer2(s, func(f *cluster.FilerState) { f.Err = unreachable(cluster.Filer, "f2:8888") })
		}, exitUndone, `filer|f2:8888|failed|read its configuration|cannot be reached: connection refused|start it; a pass needs the meta-log of each filer that the master knows
`},
		{"a given filer away", []string{"--filer", "f:8888,f2:8888"}, func(s *cluster.Survey) {
			filer2(s, func(f *cluster.FilerState) { f.Err = unreachable(cluster.Filer, "f2:8888") })
		}, exitDone, `filer|f2:8888|warning|read its configuration|cannot be reached: connection refused; passes go on without it|start it; a pass needs the meta-log of each filer that the master knows
`},
		{"two stores", nil, func(s *cluster.Survey) { filer2(s, func(f *cluster.FilerState) { f.Signature = 2 }) }, exitUndone,
			`store||failed|compare the filers' stores and folders|filer "f2:8888" does not share its store with filer "f:8888": each keeps a meta-log of its own|let the filers share one store; deletes that only one log knows of would be missed
`},
		{"two folders", nil, func(s *cluster.Survey) { filer2(s, func(f *cluster.FilerState) { f.BucketsDir = "/b" }) }, exitUndone,
			`store||failed|compare the filers' stores and folders|filer "f:8888" has its buckets in "/buckets", filer "f2:8888" in "/b"|give them the same filer.options.buckets_folder
`},
		{"older filer", nil, func(s *cluster.Survey) { s.Filers[0].Version = "4.52" }, exitDone,
			`filer|f:8888|warning|read its configuration|SeaweedFS 4.52 over plain text|weedlc is built for 4.53; try a dry-run first, and update the server
`},
		{"folder missing", nil, func(s *cluster.Survey) { s.Filers[0].BucketsErr = engine.ErrNotFound }, exitUndone,
			`folder|f:8888|failed|look at the buckets' folder "/buckets"|it is not there: a pass would see no buckets|compare filer.options.buckets_folder in the filer's filer.toml with where the buckets are
`},
		{"no lock service", nil, func(s *cluster.Survey) { s.Filers[0].LocksErr = cluster.ErrNoLockServer }, exitUndone,
			`locks|f:8888|failed|ask who holds the shards|the filers have no lock service yet|a filer joins the lock service some seconds after it has registered at the master; --no-lock works without, if nothing else is running
`},
		{"shard held", nil, func(s *cluster.Survey) { s.Filers[0].Held = []*cluster.HeldError{heldByCron} }, exitDone,
			`locks|f:8888|warning|ask who holds the shards|shard 3 is held by process 4711 on host "cron1" since 2026-11-30T11:00:00Z|another pass is running; --wait 10m waits for it
`},
		{"shards held", nil, func(s *cluster.Survey) { s.Filers[0].Held = []*cluster.HeldError{heldByCron, heldByCron} }, exitDone,
			`locks|f:8888|warning|ask who holds the shards|shard 3 is held by process 4711 on host "cron1" since 2026-11-30T11:00:00Z, and 1 shard more|another pass is running; --wait 10m waits for it
`},
		{"HTTP", nil, func(s *cluster.Survey) { s.Filers[0].HTTPErr = errors.New(`answers "401 Unauthorized"`) }, exitDone,
			`filer|f:8888|warning|read over its HTTP port|answers "401 Unauthorized"; a cursor that was uploaded in chunks could not be read|compare [jwt.filer_signing.read] and [https.client] in security.toml with the filer's
`},
		{"no gateway", nil, func(s *cluster.Survey) { s.Gateways, s.Masters[0].Gateways = nil, nil }, exitUndone,
			`gateway||failed|find one|none is registered at the master|start one that knows the master, or name it with --s3; a server registers some seconds after its start
`},
		{"gateway without the service", nil, func(s *cluster.Survey) {
			s.Gateways[0].Err = &cluster.ConnectError{Reason: "has no lifecycle service", Hint: "SeaweedFS 4.53 has one"}
		}, exitUndone, `gateway|g:18333|failed|send a delete of nothing|has no lifecycle service|SeaweedFS 4.53 has one
`},
		{"second gateway away", nil, func(s *cluster.Survey) {
			s.Gateways = append(s.Gateways, cluster.GatewayState{Address: "g2:18333", Err: unreachable(cluster.Gateway, "g2:18333")})
		}, exitDone, `gateway|g2:18333|warning|send a delete of nothing|cannot be reached: connection refused; passes go on without it|start it, or name with --s3 those that are to be used
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newSurveyedHost(t)
			c.spoil(&h.surveyed)
			h.must(c.code, append([]string{"doctor"}, c.args...)...)
			equal(t, "unwell", unwell(h), c.want)
		})
	}
}

func TestDoctorOfTwoGoodFilers(t *testing.T) {
	h := newSurveyedHost(t)
	h.surveyed.Filers = append(h.surveyed.Filers, goodFiler("f2:8888"))
	h.must(exitDone, "doctor")
	contains(t, h.out.String(), "store\t\tok\tcompare the filers' stores and folders\t2 filers share one\t\n")
	if got := fmt.Sprint(h.dialed[0].Filers); got != "[f:8888 f2:8888]" {
		t.Errorf("looked at what is kept on filers %s", got)
	}
}

func TestDoctorLooksAtOneStore(t *testing.T) {
	h := newSurveyedHost(t)
	other := goodFiler("f2:8888")
	other.Signature = 2
	h.surveyed.Filers = append(h.surveyed.Filers, other)
	h.must(exitUndone, "doctor")
	if got := fmt.Sprint(h.dialed[0].Filers); got != "[f:8888]" {
		t.Errorf("looked at what is kept on filers %s", got)
	}
}

func TestDoctorOfAClock(t *testing.T) {
	for _, c := range []struct {
		ahead  time.Duration
		result checkResult
		found  string
	}{
		{0, checkOK, "the same, to within 1ms"},
		{2 * time.Millisecond, checkOK, "2ms ahead of this host, to within 1ms"},
		{10 * time.Second, checkOK, "10s ahead of this host, to within 1ms"},
		{-10 * time.Second, checkOK, "10s behind this host, to within 1ms"},
		{10*time.Second + 1, checkWarning, "10s ahead of this host, to within 1ms: a pass goes by the earlier clock, so deletes come that much later"},
		{-10*time.Second - 1, checkWarning, "10s behind this host, to within 1ms: a pass goes by the earlier clock, so deletes come that much later"},
		{cursorfile.MaxAhead, checkWarning, "5m0s ahead of this host, to within 1ms: a pass goes by the earlier clock, so deletes come that much later"},
		{cursorfile.MaxAhead + 1, checkFailed, "5m0s ahead of this host, to within 1ms: a cursor that is more than 5m ahead of the clock that reads it counts as damaged"},
		{-cursorfile.MaxAhead - 1, checkFailed, "5m0s behind this host, to within 1ms: a cursor that is more than 5m ahead of the clock that reads it counts as damaged"},
	} {
		f := goodFiler("f:8888")
		f.Ahead = c.ahead
		if got := filerClock(f); got.result != c.result || got.found != c.found {
			t.Errorf("%s ahead: %s, %s", c.ahead, got.result, got.found)
		}
	}
}

func TestOlderRelease(t *testing.T) {
	for version, want := range map[string]bool{"4.53": false, "4.54": false, "5.00": false, "5.1": false, "4.100": false, "": false, "4.52": true, "4.5": true, "3.99": true} {
		if got := olderRelease(version, "4.53"); got != want {
			t.Errorf("%q is older than 4.53: %v", version, got)
		}
	}
}

func TestDoctorOfCursors(t *testing.T) {
	h := newSurveyedHost(t)
	saved(t, h, 0, noon.Add(-time.Hour))
	h.write("shard-01.json", "{}")
	h.write("shard-02.json", cursorText(t, 2, noon.Add(-time.Hour)))
	h.write("shard-02.weedlc.json", "{}")
	before, err := h.cursors.List(t.Context())
	check(t, err)
	h.must(exitUndone, "doctor")
	equal(t, "unwell", unwell(h), `cursors|shard 1|failed|read every shard's cursor|shard-01.json: version is missing|weedlc cursor edit --shard 1, or cursor reset --to cold --shards 1; the other shards run
cursors|shard 2|warning|read every shard's cursor|shard-02.weedlc.json: version is missing: taken as missing|the next pass puts it right
`)
	contains(t, h.out.String(), "cursors\t\tok\tread every shard's cursor\t1 of 16 are there and good\t\n")
	after, err := h.cursors.List(t.Context())
	check(t, err)
	equal(t, "files", fmt.Sprint(after), fmt.Sprint(before))
}

func TestDoctorOfRules(t *testing.T) {
	h := newSurveyedHost(t)
	h.bucket("good")
	check(t, h.cluster.CreateBucket("bad", engine.Unversioned, false))
	check(t, h.cluster.SetRules("bad", faulty()))
	check(t, h.cluster.CreateBucket("torn", engine.Unversioned, false))
	check(t, h.cluster.SetRules("torn", "<LifecycleConfiguration><Rule>"))
	h.must(exitUndone, "doctor")
	equal(t, "unwell", unwell(h), `rules|bad|failed|read the rules of every bucket|rule 1 "a": Rule[1]/Expiration/Days "0": less than 1; allowed: a whole number from 1 to 2147483647 (and 2 more faults): its refused rules are not carried out|weedlc rules lint --bucket bad
rules|torn|failed|read the rules of every bucket|line 1: malformed XML: unexpected EOF: the bucket is left alone|weedlc rules lint --bucket torn
`)
	check(t, h.cluster.SetRules("bad", strings.ReplaceAll(oneDay, "<Filter><Prefix></Prefix></Filter>", "")))
	check(t, h.cluster.SetRules("torn", oneDay))
	h.must(exitDone, "doctor", "--allow-unfiltered-rules")
	contains(t, h.out.String(), "3 buckets with rules, 3 rules enabled")
	h.must(exitUndone, "doctor")
}

// failingLog is a filer whose meta-log cannot be read.
type failingLog struct {
	fakeable
	err error
}

type fakeable interface {
	Now(context.Context) (time.Time, error)
	Buckets(context.Context) ([]engine.Bucket, error)
	Bucket(context.Context, string) (engine.Bucket, error)
	List(context.Context, engine.Page) ([]engine.Entry, error)
	Lookup(context.Context, string, string) (engine.Entry, error)
	ReadLog(context.Context, engine.LogRange, func(*engine.Event) error) error
	LogHorizon(context.Context) (int64, error)
}

func (f failingLog) ReadLog(ctx context.Context, _ engine.LogRange, _ func(*engine.Event) error) error {
	if f.err == nil {
		select {} // heeds no context
	}
	return f.err
}

func TestDoctorOfAnUnreadableLog(t *testing.T) {
	h := newSurveyedHost(t)
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("silent for 30s"), "meta-log||failed|read its last second and find its start|silent for 30s|restart the filer if its log stays unreadable; walk --all-buckets works without the log\n"},
		{nil, "meta-log||failed|read its last second and find its start|no answer within 1ms|--check-timeout gives it more time\n"},
	} {
		h.Dial = func(context.Context, DialOptions) (*Cluster, error) {
			return &Cluster{Filer: failingLog{h.cluster, c.err}, Cursors: h.cursors, Close: func() error { return nil }}, nil
		}
		limit := "10s"
		if c.err == nil {
			limit = "1ms"
		}
		h.must(exitUndone, "doctor", "--check-timeout", limit)
		contains(t, unwell(h), c.want)
	}
}

// A cursor directory needs no filer.
func TestDoctorOfACursorDirectory(t *testing.T) {
	h := newSurveyedHost(t)
	h.surveyed.Filers[0].Err = unreachable(cluster.Filer, "f:8888")
	h.must(exitUndone, "doctor", "--cursor-dir", "here")
	contains(t, h.out.String(), "cursors\t\tok\tread every shard's cursor\tthere is none yet", "rules\t\tskipped\t")
}

func TestDoctorWhereThePassCannotConnect(t *testing.T) {
	h := newSurveyedHost(t)
	h.Dial = func(context.Context, DialOptions) (*Cluster, error) { return nil, unreachable(cluster.Filer, "f:8888") }
	h.must(exitUndone, "doctor")
	contains(t, unwell(h), `filer||failed|connect as a pass does|filer "f:8888" cannot be reached: connection refused|`)
}

func TestDoctorRefusesNoTime(t *testing.T) {
	h := newSurveyedHost(t)
	h.must(exitFailed, "doctor", "--check-timeout", "0")
	equal(t, "stderr", h.err.String(), "weedlc: --check-timeout \"0\": must be more than 0\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := h.runContext(ctx, "doctor"); got != exitInterrupted || h.out.Len() > 0 {
		t.Errorf("interrupted: exit %d, stdout %s", got, &h.out)
	}
}
