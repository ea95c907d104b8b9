package weedtest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echoServer sends back what it gets.
func echoServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func TestLinkIsCutSilencedAndRestored(t *testing.T) {
	l := NewLink(t, echoServer(t))
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	// echo reports what comes back for one byte within the time.
	echo := func(c net.Conn, within time.Duration) error {
		t.Helper()
		if err := c.SetDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}

	c := dial()
	if err := echo(c, 10*time.Second); err != nil {
		t.Fatalf("an untouched link: %v", err)
	}
	l.Silence()
	if err := echo(c, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a silent link gave %v, want a time-out", err)
	}
	l.Restore()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("a restored link kept what it held back: %v", err)
	}
	l.Cut()
	if err := echo(c, 10*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a cut connection gave %v, want its end", err)
	}
	if err := echo(dial(), 10*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a new connection over a cut link gave %v, want its end", err)
	}
	l.Restore()
	if err := echo(dial(), 10*time.Second); err != nil {
		t.Errorf("a new connection over a restored link: %v", err)
	}
}
