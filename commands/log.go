package commands

import (
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"
)

// newLogger writes one line a record. Text is escaped: names of buckets and
// keys are user data.
func newLogger(w io.Writer, colour bool, level slog.Level) *slog.Logger {
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level:      level,
		NoColor:    !colour,
		TimeFormat: time.RFC3339,
		ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
			switch attr.Value.Kind() {
			case slog.KindString:
				attr.Value = slog.StringValue(escape(attr.Value.String()))
			case slog.KindAny:
				if err, ok := attr.Value.Any().(error); ok {
					attr.Value = slog.StringValue(escape(err.Error()))
				}
			case slog.KindTime:
				attr.Value = slog.TimeValue(attr.Value.Time().UTC())
			}
			return attr
		},
	}))
}
