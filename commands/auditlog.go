package commands

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"weedlc/pass"
)

// auditLog appends to a file of JSON lines (docs/guard-rails.md). It implements
// pass.AuditLog. Each line is one write to the end of the file, so that lines
// of several processes do not mix.
type auditLog struct {
	run string
	now func() time.Time

	mu   sync.Mutex
	file *os.File
	// err is the first failure: after one nothing more is written, because
	// nobody knows what is in the file.
	err error
}

// auditLine is one object that was due and what came of it.
type auditLine struct {
	Time     time.Time      `json:"time"`
	RunID    string         `json:"run_id"`
	Bucket   string         `json:"bucket"`
	Key      string         `json:"key"`
	Version  string         `json:"version_id"`
	UploadID string         `json:"upload_id,omitempty"`
	Action   string         `json:"action"`
	RuleID   string         `json:"rule_id"`
	RuleHash string         `json:"rule_hash"`
	Due      time.Time      `json:"due"`
	Identity *auditIdentity `json:"identity"`
	Outcome  pass.Outcome   `json:"outcome"`
	Reason   string         `json:"reason,omitempty"`
}

// auditIdentity is what the gateway was to find.
type auditIdentity struct {
	MtimeNs      int64  `json:"mtime_ns"`
	Size         int64  `json:"size"`
	HeadChunk    string `json:"head_chunk"`
	ExtendedHash string `json:"extended_hash"` // hex
}

// openAuditLog opens the file for one pass, and makes it if there is none.
func openAuditLog(path, run string, now func() time.Time) (_ *auditLog, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("audit log: %w", err)
		}
	}()
	_, err = os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return nil, err
	}
	// Reading tells how the last line ends.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	l := &auditLog{run: run, now: now, file: file}
	if err := l.begin(isNew); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// begin makes a new file outlive the machine, and ends a line that a crash or
// a full disk left without its end.
func (l *auditLog) begin(isNew bool) error {
	if isNew {
		dir, err := os.Open(filepath.Dir(l.file.Name()))
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	}
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a regular file", l.file.Name())
	}
	if info.Size() == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := l.file.ReadAt(last, info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = l.file.Write([]byte{'\n'})
	return err
}

// Append implements pass.AuditLog.
func (l *auditLog) Append(d pass.Deletion) error {
	line := auditLine{
		Time: l.now().UTC(), RunID: l.run,
		Bucket: d.Object.Bucket, Key: d.Object.Key, Version: d.Object.VersionID, UploadID: d.Object.UploadID,
		Action: d.Action.Kind.String(), RuleID: d.Action.Rule.Label(), RuleHash: d.Action.Hash.String(),
		Due: d.Due.UTC(), Outcome: d.Outcome, Reason: d.Reason,
	}
	if id := d.Object.Identity(); id != nil {
		line.Identity = &auditIdentity{id.MtimeNs, id.Size, id.HeadChunk, hex.EncodeToString(id.ExtendedHash)}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(line)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && err == nil {
		_, err = l.file.Write(text.Bytes())
	}
	return l.keep(err)
}

// Sync implements pass.AuditLog.
func (l *auditLog) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return l.keep(l.file.Sync())
}

// keep returns the first failure. The caller holds the lock.
func (l *auditLog) keep(err error) error {
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("audit log: %w", err)
	}
	return l.err
}

// close ends the use of the file, of which everything that counts was synced.
func (l *auditLog) close() { _ = l.file.Close() }
