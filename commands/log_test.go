package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"weedlc/internal/memcluster"
)

// -q and -v are short for two levels. What was set nearer to the command line
// wins, and --log-level where it is as near.
func TestLogLevel(t *testing.T) {
	for _, c := range []struct {
		args, env []string
		want      slog.Level
	}{
		{nil, nil, slog.LevelInfo},
		{[]string{"-v"}, nil, slog.LevelDebug},
		{[]string{"-q"}, nil, slog.LevelWarn},
		{[]string{"--log-level", "error"}, nil, slog.LevelError},
		{[]string{"-q", "--log-level", "debug"}, nil, slog.LevelDebug},
		{[]string{"-v", "--log-level", "warn"}, nil, slog.LevelWarn},
		{[]string{"-v"}, []string{"WEEDLC_LOG_LEVEL=error"}, slog.LevelDebug},
		{[]string{"-q"}, []string{"WEEDLC_VERBOSE=true", "WEEDLC_LOG_LEVEL=debug"}, slog.LevelWarn},
		{[]string{"--log-level", "info"}, []string{"WEEDLC_QUIET=true"}, slog.LevelInfo},
		{nil, []string{"WEEDLC_QUIET=true"}, slog.LevelWarn},
		{nil, []string{"WEEDLC_QUIET=true", "WEEDLC_LOG_LEVEL=debug"}, slog.LevelDebug},
	} {
		h := newTestHost(t)
		h.Env = append(h.Env, c.env...)
		h.must(exitDone, append([]string{"run"}, c.args...)...)
		log := h.dialed[0].Log
		if !log.Enabled(t.Context(), c.want) || log.Enabled(t.Context(), c.want-1) {
			t.Errorf("run %q with %q does not log from %v on", c.args, c.env, c.want)
		}
	}
}

// Of a pass, each line on standard error but the heartbeat is a record.
func TestLogFormatJSON(t *testing.T) {
	h := newTestHost(t)
	h.bucket("logs", "a\x1b[31m")
	h.cluster.Advance(25 * time.Hour)
	h.cluster.SetHook(func(c memcluster.Call) error {
		if c.Op == memcluster.OpDelete {
			return errors.New("down")
		}
		return nil
	})
	h.must(exitUndone, "run", "--no-lock", "--log-format", "json", "--log-level", "debug")
	lines := strings.Split(strings.TrimSuffix(h.err.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "daily_run: status=partial ") {
		t.Errorf("the last line is %q, not the heartbeat", last)
	}
	if len(lines) < 3 {
		t.Errorf("only %q", lines)
	}
	for _, line := range lines[:len(lines)-1] {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, record.Time); err != nil || record.Level == "" || record.Msg == "" {
			t.Errorf("%q has no time, level and msg", line)
		}
	}
	contains(t, h.err.String(), `"level":"warn","msg":"running without locks"`, `"level":"info","msg":"first pass: walking 1 bucket`)

	h.must(exitUndone, "run", "--quiet", "--log-format", "json")
	if n := strings.Count(h.err.String(), "\n"); n != 1 {
		t.Errorf("with --quiet it says:\n%s", &h.err)
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://me:the-password@db:5432/queue?sslmode=off": "postgres://me:xxxxx@db:5432/queue?sslmode=off",
		`Post "http://:the-password@host/": refused`:           `Post "http://:xxxxx@host/": refused`,
		"host=db password=the-password user=me":                "host=db password=xxxxx user=me",
		"password = 'the password' user=me":                    "password = xxxxx user=me",
		"postgres://me@db:5432/queue":                          "postgres://me@db:5432/queue",
		"http://localhost:9091 is at mail@example.com":         "http://localhost:9091 is at mail@example.com",
		"key \"a@b:c\" in \"http://x:1/p\"":                    "key \"a@b:c\" in \"http://x:1/p\"",
	} {
		equal(t, "redacted", redact(text), want)
	}
}

// A password on the command line is in no form of output: not in errors, hints
// and logs, and not in the command to go on with.
func TestPasswordsAreNotRepeated(t *testing.T) {
	const password = "the-password"
	for _, format := range []string{logText, logJSON} {
		h := newTestHost(t)
		h.bucket("logs", "a")
		h.must(exitDone, "run")
		h.cluster.Advance(25 * time.Hour)
		h.must(exitCutShort, "run", "--events", "1", "--log-format", format, "--metrics-push", "http://me:"+password+"@127.0.0.1:1")
		contains(t, h.out.String(), "go on with weedlc run --events 1 --log-format "+format+" --metrics-push http://me:xxxxx@127.0.0.1:1")
		contains(t, h.err.String(), "the metrics are not pushed")
		said := h.out.String() + h.err.String()
		h.must(exitFailed, "run", "--log-format", format, "--metrics-push", "ftp://me:"+password+"@127.0.0.1:1")
		said += h.out.String() + h.err.String()
		if strings.Contains(said, password) {
			t.Errorf("the password is in:\n%s", said)
		}
	}
	var b bytes.Buffer
	log := newLogger(&b, false, logText, slog.LevelInfo)
	log.Info("postgres://me:"+password+"@db", "error", errors.New("postgres://me:"+password+"@db"), "url", "http://me:"+password+"@db")
	if strings.Contains(b.String(), password) {
		t.Errorf("the password is in:\n%s", &b)
	}
}
