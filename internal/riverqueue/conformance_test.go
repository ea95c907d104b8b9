package riverqueue

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"weedlc/internal/pgtest"
	"weedlc/sweep"
	"weedlc/sweep/queuetest"
)

var shared pgtest.Shared

func TestMain(m *testing.M) {
	// Most of these tests wait for timers, so more of them run at a time than
	// there are processors.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(shared.Main(m))
}

func TestConformanceSQLite(t *testing.T) {
	queuetest.Conformance(t, func(t testing.TB) queuetest.Backend {
		return backend("sqlite:" + filepath.Join(t.TempDir(), "queue.db"))
	})
}

func TestConformancePostgres(t *testing.T) {
	queuetest.Conformance(t, func(t testing.TB) queuetest.Backend {
		return backend(shared.Server(t).Database(t))
	})
}

func backend(location string) queuetest.Backend {
	return queuetest.Backend{
		Open: func(t testing.TB, clock func() time.Time) sweep.Queue { return open(t, location, clock) },
		LoseLease: func(t testing.TB, jobID int64) {
			q := open(t, location, time.Now)
			if err := q.do(t.Context(), func(tx tx) error { return loseLease(t.Context(), tx, jobID) }); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// loseLease does what the end of a lease does: River delivers the job anew,
// and the shard's lock is anybody's.
func loseLease(ctx context.Context, t statements, jobID int64) error {
	if _, err := t.exec(ctx, `UPDATE weedlc_shard SET until_at = 1 WHERE job_id = $1`, jobID); err != nil {
		return err
	}
	_, err := t.exec(ctx, `UPDATE river_job SET state = 'available', scheduled_at = CURRENT_TIMESTAMP WHERE id = $1`, jobID)
	return err
}

func open(t testing.TB, location string, clock func() time.Time) *Queue {
	t.Helper()
	q, err := Open(t.Context(), location, Options{
		Migrate: true, Clock: clock, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return q
}
