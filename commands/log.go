package commands

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/pflag"
)

// The forms of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logOptions are the flags of the log.
type logOptions struct{ level, format string }

func (o *logOptions) AddFlags(flags *pflag.FlagSet) {
	o.level, o.format = "info", logText
	flags.Var(choiceValue{&o.level, []string{"debug", "info", "warn", "error"}}, "log-level", "log from this level on; -v is debug, -q is warn")
	flags.Var(choiceValue{&o.format, []string{logText, logJSON}}, "log-format", "form of the log; the heartbeat is a bare line in both")
	settings(flags, "log-level", "log-format")
}

// threshold is the level to log from. What was set nearer to the command line
// wins; where --log-level is as near as -q or -v, it does.
func (g *globalOptions) threshold(layers map[string]layer) slog.Level {
	word := g.log.level
	switch {
	case g.quiet && layers["quiet"] > layers["log-level"]:
		word = "warn"
	case g.verbose && layers["verbose"] > layers["log-level"]:
		word = "debug"
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(word)); err != nil {
		panic(err)
	}
	return level
}

// newLogger writes one line a record. Text is escaped, for names of buckets and
// keys are user data, and passwords are taken out.
func newLogger(w io.Writer, colour bool, format string, level slog.Level) *slog.Logger {
	if format == logJSON {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
			Level: level,
			ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
				if attr.Key == slog.LevelKey && len(groups) == 0 {
					attr.Value = slog.StringValue(strings.ToLower(attr.Value.String()))
				}
				return plain(attr, redact)
			},
		}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level:      level,
		NoColor:    !colour,
		TimeFormat: time.RFC3339,
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			return plain(attr, func(s string) string { return escape(redact(s)) })
		},
	}))
}

// plain makes an attribute's text what may be shown, and its time UTC.
func plain(attr slog.Attr, show func(string) string) slog.Attr {
	switch attr.Value.Kind() {
	case slog.KindString:
		attr.Value = slog.StringValue(show(attr.Value.String()))
	case slog.KindAny:
		if err, ok := attr.Value.Any().(error); ok {
			attr.Value = slog.StringValue(show(err.Error()))
		}
	case slog.KindTime:
		attr.Value = slog.TimeValue(attr.Value.Time().UTC())
	}
	return attr
}

// secrets finds the password in a URL or a connection string.
var secrets = regexp.MustCompile(`(://[^\s/:@]*:)[^\s/@]+(@)|(\bpassword\s*=\s*)(?:'[^']*'|[^\s'"]+)()`)

// redact takes passwords out of a text for people or a log.
func redact(s string) string { return secrets.ReplaceAllString(s, "${1}${3}xxxxx${2}") }
