package cursorfile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"weedlc/engine"
)

// PauseName is the file beside the cursors that stops every pass while it is
// there, whatever is in it.
const PauseName = "weedlc-paused.json"

// Pause says who stopped the passes, and why.
type Pause struct {
	// Reason is empty when none was given, By is "user@host".
	Reason, By string
	Since      time.Time
	// Damage says why the file could not be understood; nil when it could.
	Damage error
}

// String is the pause in one line that begins with "paused".
func (p *Pause) String() string {
	if p.Damage != nil {
		return fmt.Sprintf("paused, but who did it and why cannot be read: %v", p.Damage)
	}
	reason := p.Reason
	if reason == "" {
		reason = "no reason given"
	}
	return fmt.Sprintf("paused since %s by %s: %s", p.Since.UTC().Format(time.RFC3339), p.By, reason)
}

// ReadPause returns the pause, nil when there is none. What is in the file is
// no error.
func ReadPause(ctx context.Context, files Files) (*Pause, error) {
	p, _, err := readPause(ctx, files)
	return p, err
}

func readPause(ctx context.Context, files Files) (*Pause, string, error) {
	data, version, err := files.Read(ctx, PauseName)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", PauseName, err)
	}
	p := decodePause(data)
	return &p, version, nil
}

// SetPause stops the passes. A pause that is there already stays, and is
// returned.
func SetPause(ctx context.Context, files Files, p Pause) (was *Pause, err error) {
	data, err := document(ordered{
		{"version", version}, {"reason", p.Reason}, {"by", p.By}, {"since", p.Since.UTC().Format(time.RFC3339)},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the pause: %w", err)
	}
	// Between the write and the reading of what was in its way, that may go.
	for {
		_, err = files.Write(ctx, PauseName, data, "")
		if !errors.Is(err, ErrChanged) {
			return nil, err
		}
		if was, err = ReadPause(ctx, files); was != nil || err != nil {
			return was, err
		}
	}
}

// LiftPause lets the passes go on, and returns the pause that was there; nil
// when there was none.
func LiftPause(ctx context.Context, files Files) (was *Pause, err error) {
	was, version, err := readPause(ctx, files)
	if was == nil || err != nil {
		return nil, err
	}
	if err := files.Remove(ctx, PauseName, version); err != nil {
		return nil, fmt.Errorf("remove %s: %w", PauseName, err)
	}
	return was, nil
}

func decodePause(data []byte) Pause {
	d := &decoder{file: PauseName}
	o := d.document(data)
	if v := o.int("version"); v != version {
		d.fail("version", strconv.FormatInt(v, 10), "is not %d", version)
	}
	p := Pause{Reason: o.string("reason"), By: o.string("by")}
	since := o.string("since")
	var err error
	if p.Since, err = time.Parse(time.RFC3339, since); err != nil {
		d.fail("since", since, "is not a time such as %s", time.RFC3339)
	}
	if d.err != nil {
		return Pause{Damage: d.err}
	}
	return p
}
