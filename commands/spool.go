package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool keeps what is written until it is known to be all: in memory as long as
// it is small, then in a temporary file.
type spool struct {
	memory bytes.Buffer
	file   *os.File
}

// inMemory is how much a spool keeps in memory.
const inMemory = 4 << 20

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.memory.Len()+len(p) > inMemory {
		file, err := os.CreateTemp("", "weedlc-*")
		if err != nil {
			return 0, fmt.Errorf("keep the result: %w", err)
		}
		s.file = file
	}
	if s.memory.Len()+len(p) <= inMemory {
		return s.memory.Write(p)
	}
	if err := s.spill(); err != nil {
		return 0, err
	}
	return s.memory.Write(p)
}

// spill moves what is in memory to the file.
func (s *spool) spill() error {
	if _, err := s.memory.WriteTo(s.file); err != nil {
		return fmt.Errorf("keep the result: %w", err)
	}
	return nil
}

// copyTo writes everything to w.
func (s *spool) copyTo(w io.Writer) error {
	if s.file == nil {
		_, err := s.memory.WriteTo(w)
		return err
	}
	if err := s.spill(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the result back: %w", err)
	}
	_, err := io.Copy(w, s.file)
	return err
}

// Close removes the file.
func (s *spool) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
