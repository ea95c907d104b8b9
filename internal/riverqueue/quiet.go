package riverqueue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// quiet passes warnings and errors on, each message once in repeatAfter: in an
// outage River logs an error with every poll.
type quiet struct {
	slog.Handler
	seen *seenMessages
}

const repeatAfter = 30 * time.Second

type seenMessages struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newQuiet(h slog.Handler) slog.Handler {
	return quiet{h, &seenMessages{last: map[string]time.Time{}}}
}

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	q.seen.mu.Lock()
	last, known := q.seen.last[r.Message]
	tell := !known || r.Time.Sub(last) >= repeatAfter
	if tell {
		q.seen.last[r.Message] = r.Time
	}
	q.seen.mu.Unlock()
	if !tell {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.seen}
}

func (q quiet) WithGroup(name string) slog.Handler {
	return quiet{q.Handler.WithGroup(name), q.seen}
}
