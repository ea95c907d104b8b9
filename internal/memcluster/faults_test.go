package memcluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"weedlc/engine"
	"weedlc/internal/memcluster"
)

func TestKillAfter(t *testing.T) {
	for n := range 4 {
		c := newCluster(t, engine.Unversioned, false)
		put(t, c, "k", memcluster.Object{})
		req := request(t, c, "k", "", engine.ExpirationDays)
		reached := false
		c.SetHook(memcluster.KillAfter(n, &reached))
		_, nowErr := c.Now(t.Context())
		_, deleteErr := c.Delete(t.Context(), req)
		c.SetHook(nil)
		_, err := c.Lookup(t.Context(), "b", "k")

		// Two calls of the hook are the clock's, two the delete's.
		if got, want := nowErr != nil, n < 2; got != want {
			t.Errorf("after %d: clock failed: %v", n, nowErr)
		}
		if !errors.Is(deleteErr, context.Canceled) || !reached {
			t.Errorf("after %d: delete got %v, reached %v", n, deleteErr, reached)
		}
		if gone := errors.Is(err, engine.ErrNotFound); gone != (n == 3) {
			t.Errorf("after %d: object gone: %v", n, gone)
		}
	}
}

func TestScriptedAnswers(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "k", memcluster.Object{})
	put(t, c, "other", memcluster.Object{})
	req := request(t, c, "k", "", engine.ExpirationDays)
	down := memcluster.Unavailable{What: "gateway", Pause: time.Minute}
	c.AnswerDeletes("b", "k",
		memcluster.Answer{Outcome: engine.RetryLater, Reason: "busy"},
		memcluster.Answer{Err: down},
		memcluster.Answer{Err: down, Applied: true},
	)
	want := func(req engine.DeleteRequest, outcome engine.Outcome, reason string, err error) {
		t.Helper()
		resp, got := c.Delete(t.Context(), req)
		if resp != (engine.DeleteResponse{Outcome: outcome, Reason: reason}) || !errors.Is(got, err) {
			t.Errorf("got %+v, %v", resp, got)
		}
	}
	want(request(t, c, "other", "", engine.ExpirationDays), engine.Done, "", nil)
	want(req, engine.RetryLater, "busy", nil)
	want(req, "", "", down)
	lookup(t, c, "k")
	want(req, "", "", down)
	want(req, engine.NoopResolved, "NOT_FOUND", nil)
	if n := c.Counts().Deletes; n != 5 {
		t.Errorf("%d deletes counted", n)
	}
	if records := c.Deletes(); len(records) != 5 || records[4].Response.Outcome != engine.NoopResolved || !records[4].At.Equal(c.Time()) {
		t.Errorf("records %+v", records)
	}
}

func TestFailingReads(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "d/k", memcluster.Object{})
	c.FailLookups("b", "d/k", 2)
	c.FailLists("b", "d", -1)
	for i, fails := range []bool{true, true, false} {
		if _, err := c.Lookup(t.Context(), "b", "d/k"); (err != nil) != fails || errors.Is(err, engine.ErrNotFound) {
			t.Errorf("look-up %d: %v", i, err)
		}
	}
	page := engine.Page{Bucket: "b", Folder: "d", Limit: 5}
	for range 3 {
		if _, err := c.List(t.Context(), page); err == nil {
			t.Error("listed")
		}
	}
	c.ClearFaults()
	if entries, err := c.List(t.Context(), page); err != nil || len(entries) != 1 {
		t.Errorf("got %+v, %v", entries, err)
	}
	want := memcluster.Counts{Pages: 4, Folders: 4, Entries: 1, Lookups: 3}
	if got := c.TakeCounts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if got := c.Counts(); got != (memcluster.Counts{}) {
		t.Errorf("counts %+v after they were taken", got)
	}
}

func TestHookSeesEveryCall(t *testing.T) {
	c := newCluster(t, engine.Unversioned, false)
	put(t, c, "k", memcluster.Object{})
	store := memcluster.NewStore(c)
	seen := map[memcluster.Op]int{}
	c.SetHook(func(call memcluster.Call) error {
		seen[call.Op]++
		c.Time() // a hook may use the cluster
		return nil
	})
	ctx := t.Context()
	_, err := c.Now(ctx)
	must(t, err)
	_, err = c.Buckets(ctx)
	must(t, err)
	_, err = c.Bucket(ctx, "b")
	must(t, err)
	_, err = c.List(ctx, engine.Page{Bucket: "b", Limit: 1})
	must(t, err)
	_, err = c.LogHorizon(ctx)
	must(t, err)
	readLog(t, c, engine.LogRange{UntilNs: c.FilerTime().UnixNano()})
	_, err = c.Delete(ctx, request(t, c, "k", "", engine.ExpirationDays))
	must(t, err)
	st, err := store.Load(ctx, 3, c.HostTime())
	must(t, err)
	must(t, store.Save(ctx, &st))
	for _, op := range []memcluster.Op{
		memcluster.OpNow, memcluster.OpBuckets, memcluster.OpBucket, memcluster.OpList, memcluster.OpLookup, memcluster.OpReadLog,
		memcluster.OpEvent, memcluster.OpHorizon, memcluster.OpDelete, memcluster.OpLoad, memcluster.OpSaveSide, memcluster.OpSaveCursor,
	} {
		if seen[op] != 2 {
			t.Errorf("%s: hook asked %d times, want 2", op, seen[op])
		}
	}
}
