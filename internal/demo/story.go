package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"weedlc/internal/cluster"
	"weedlc/internal/weedtest"
)

// tell starts a server, tells the story on it and takes everything down again.
// Its error says what was not as told.
func tell(ctx context.Context, binary string, out io.Writer) (err error) {
	start := time.Now()
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	if _, err := exec.LookPath(binary); err != nil {
		return fmt.Errorf("no weedlc to show: %w", err)
	}
	t := &teller{w: out, weedlc: binary}
	t.line("weedlc on a SeaweedFS of its own: four buckets, two passes.")
	t.line("Starting SeaweedFS %s on loopback; a fresh one takes about ten seconds.", weedtest.ServerVersion)
	server, err := weedtest.Start(ctx, weedtest.Config{ConventionalPorts: true})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("cannot clean up SeaweedFS: %w", closeErr))
		}
		if err == nil {
			t.line("The server has ended and its files are gone. All of it took %s.", time.Since(start).Round(time.Second))
			err = t.err
		}
	}()
	t.dir = server.Dir()

	c, err := cluster.Dial(ctx, cluster.Options{
		Masters: []string{server.Addr(weedtest.Master).String()}, SecurityDirs: []string{server.Dir()},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	return weedtest.Guarded(ctx, func(tb weedtest.TB) error {
		s := &story{
			teller: t, cluster: c, master: server.Addr(weedtest.Master).String(),
			stage: &stage{Client: server.Client(tb), now: start},
		}
		return s.tell(ctx)
	})
}

// story is the demo on a running server.
type story struct {
	*teller
	stage   *stage
	cluster *cluster.Cluster
	master  string
}

func (s *story) tell(ctx context.Context) error {
	if err := s.stage.set(ctx); err != nil {
		return err
	}
	before, err := readTree(ctx, s.cluster)
	if err != nil {
		return err
	}
	now := time.Now()

	s.chapter(1, "Buckets, rules, and what lies in them")
	s.showRules()
	s.line("")
	s.showItems(before, now)

	s.chapter(2, "Where the shards stand: nowhere yet")
	shown, err := s.run(ctx, "cursor", "show", "--master", s.master, "--shards", "0-3", "-o", "table")
	if err != nil {
		return err
	}
	if strings.Count(shown, "none yet") < 4 {
		return errors.New("cursor show knows positions before the first pass")
	}
	s.line("\nThe other twelve look the same.")

	s.chapter(3, "The first pass")
	if err := s.pass(ctx, sent(s.stage.items)); err != nil {
		return err
	}

	s.chapter(4, "What is gone, what stayed, and why")
	after, err := readTree(ctx, s.cluster)
	if err != nil {
		return err
	}
	list := outcomes(s.stage.items, before, after, now)
	s.showOutcomes(list, before, now)
	if err := check(list, before, after); err != nil {
		return err
	}
	s.line("\nEach met the fate that it was made for, and that the engine's verdict on it says.")

	s.chapter(5, "Where the shards stand now")
	shown, err = s.run(ctx, "cursor", "show", "--master", s.master, "-o", "table")
	if err != nil {
		return err
	}
	if strings.Contains(shown, "none yet") {
		return errors.New("a shard has no position after the first pass")
	}
	s.line("\nA shard that is up to date stands as far back as its longest rule, here 90 days")
	s.line("(less an hour): what was written since then may still come due.")

	s.chapter(6, "A second pass finds nothing to do")
	if err := s.pass(ctx, 0); err != nil {
		return err
	}
	again, err := readTree(ctx, s.cluster)
	if err != nil {
		return err
	}
	if err := same(after, again); err != nil {
		return err
	}
	s.line("\nNo delete was sent, and every bucket is as the first pass left it.")

	s.chapter(7, "Clean-up")
	return s.err
}

// pass runs one pass that must end well and send that many deletes.
func (s *story) pass(ctx context.Context, deletes int) error {
	shown, err := s.run(ctx, "run", "--master", s.master, "-o", "table")
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(" %d delete calls", deletes); !strings.Contains(shown, want) {
		return fmt.Errorf("the pass did not send exactly %d deletes", deletes)
	}
	return nil
}

func (s *story) showRules() {
	rows := [][]string{{"BUCKET", "KIND", "RULE", "EXPIRES"}}
	for _, b := range buckets() {
		for _, r := range b.rules {
			rows = append(rows, []string{b.name, b.words, r.id, r.words})
		}
	}
	s.table(rows)
}

func (s *story) showItems(t *tree, now time.Time) {
	rows := [][]string{{"BUCKET", "KEY", "WHAT", "AGE", "BESIDES"}}
	for _, it := range s.stage.items {
		o := t.objects[it.handle]
		var besides []string
		for key, value := range o.Tags {
			besides = append(besides, key+"="+value)
		}
		if !o.DemotedAt.IsZero() {
			besides = append(besides, "replaced "+days(now.Sub(o.DemotedAt))+" ago")
		}
		switch {
		case o.Lock.Locked(now):
			besides = append(besides, lockWords(o.Lock))
		case !o.Lock.RetainUntil.IsZero():
			besides = append(besides, "lock over since "+o.Lock.RetainUntil.UTC().Format(time.DateOnly))
		}
		rows = append(rows, []string{it.bucket, it.key, it.label, days(now.Sub(o.ModTime)), strings.Join(besides, ", ")})
	}
	s.table(rows)
}

func (s *story) showOutcomes(list []outcome, before *tree, now time.Time) {
	rows := [][]string{{"BUCKET", "KEY", "WHAT", "AGE", "IS", "WHY"}}
	for _, o := range list {
		age := days(now.Sub(before.objects[o.handle].ModTime))
		rows = append(rows, []string{o.bucket, o.key, o.label, age, string(o.got), o.why})
	}
	s.table(rows)
}
