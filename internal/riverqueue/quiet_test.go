package riverqueue

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(newQuiet(slog.NewTextHandler(&out, nil))).With("k", "v")
		log.Info("told to nobody")
		log.Error("outage", "poll", 1)
		time.Sleep(repeatAfter - 1)
		log.Error("outage", "poll", 2)
		log.WithGroup("g").Warn("another", "n", 1)
		time.Sleep(time.Nanosecond)
		log.Error("outage", "poll", 3)
		if got := out.String(); strings.Count(got, "outage") != 2 || !strings.Contains(got, "poll=3") ||
			!strings.Contains(got, "another") || strings.Contains(got, "nobody") {
			t.Errorf("told:\n%s", got)
		}
	})
}
