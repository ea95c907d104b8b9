package cursorfile_test

import (
	"context"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3lifecycle/dailyrun"
	"pgregory.net/rapid"

	"weedlc/cursorfile"
	"weedlc/engine"
)

// builtin is the store of the built-in worker's persister: one file.
type builtin struct {
	dir, name string
	data      []byte
}

func (b *builtin) Read(_ context.Context, dir, name string) ([]byte, error) {
	if b.data == nil || dir != b.dir || name != b.name {
		return nil, filer_pb.ErrNotFound
	}
	return b.data, nil
}

func (b *builtin) Save(_ context.Context, dir, name string, data []byte) error {
	*b = builtin{dir, name, data}
	return nil
}

// builtinCursor reads a cursor file as the built-in worker does.
func builtinCursor(ctx context.Context, shard int, data []byte) (engine.Cursor, error) {
	store := &builtin{cursorfile.FilerDir, cursorfile.CursorName(shard), data}
	c, found, err := (&dailyrun.FilerCursorPersister{Store: store}).Load(ctx, shard)
	if err == nil && !found {
		err = engine.ErrNotFound
	}
	return engine.Cursor{TsNs: c.TsNs, RuleSetHash: c.RuleSetHash, PromotedHash: c.PromotedHash, LastWalkedNs: c.LastWalkedNs}, err
}

func TestOracleCursorBytes(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		shard := rapid.IntRange(0, engine.ShardCount-1).Draw(t, "shard")
		cursor := drawCursor(t)
		ours, err := cursorfile.EncodeCursor(shard, cursor, nil)
		if err != nil {
			t.Fatal(err)
		}
		var theirs builtin
		err = (&dailyrun.FilerCursorPersister{Store: &theirs}).Save(ctx, shard, dailyrun.Cursor{
			TsNs: cursor.TsNs, RuleSetHash: cursor.RuleSetHash, PromotedHash: cursor.PromotedHash, LastWalkedNs: cursor.LastWalkedNs,
		})
		if err != nil {
			t.Fatal(err)
		}
		if theirs.dir != cursorfile.FilerDir || theirs.name != cursorfile.CursorName(shard) {
			t.Fatalf("the built-in saves %s/%s, we %s/%s", theirs.dir, theirs.name, cursorfile.FilerDir, cursorfile.CursorName(shard))
		}
		if string(theirs.data) != string(ours) {
			t.Fatalf("the built-in writes\n%s\nwe\n%s", theirs.data, ours)
		}
		f, err := cursorfile.DecodeCursor("f", shard, theirs.data, now, true)
		if err != nil || f.Cursor != cursor {
			t.Fatalf("the built-in's file decodes as %+v, %v, want %+v", f, err, cursor)
		}
	})
}

func TestOracleReadsOurCursor(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		shard := rapid.IntRange(0, engine.ShardCount-1).Draw(t, "shard")
		cursor := drawCursor(t)
		data, err := cursorfile.EncodeCursor(shard, cursor, drawExtra(t, "extra"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := builtinCursor(ctx, shard, data); err != nil || got != cursor {
			t.Fatalf("the built-in reads %s as %+v, %v, want %+v", data, got, err, cursor)
		}
	})
}
