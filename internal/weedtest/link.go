package weedtest

import (
	"net"
	"sync"
)

// Link forwards TCP connections to an address and can break them. It is safe
// for concurrent use.
type Link struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	state linkState
	// changed is closed, and replaced, when state changes.
	changed chan struct{}
	conns   map[net.Conn]struct{}
}

type linkState int

const (
	linkUp linkState = iota
	linkCut
	linkSilent
	linkClosed
)

// NewLink starts a link to a target (host:port). It ends with the test.
func NewLink(t TB, target string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		t.Fatalf("cannot start a link: %v", err)
	}
	l := &Link{listener: listener, target: target, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	l.wg.Go(l.accept)
	t.Cleanup(func() {
		l.set(linkClosed)
		_ = listener.Close()
		l.wg.Wait()
	})
	return l
}

// Addr is where the link listens, as host:port.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Port is the port of Addr.
func (l *Link) Port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// Cut closes every connection and each new one at once.
func (l *Link) Cut() { l.set(linkCut) }

// Silence keeps connections open and moves no more bytes.
func (l *Link) Silence() { l.set(linkSilent) }

// Restore ends a Cut or Silence. What a silent link held back flows on.
func (l *Link) Restore() { l.set(linkUp) }

func (l *Link) set(s linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	close(l.changed)
	l.changed = make(chan struct{})
	if s == linkCut || s == linkClosed {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

func (l *Link) accept() {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.wg.Go(func() { l.serve(in) })
	}
}

func (l *Link) serve(in net.Conn) {
	defer l.drop(in)
	if !l.keep(in) {
		return
	}
	out, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer l.drop(out)
	if !l.keep(out) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.copy(out, in) })
	both.Go(func() { l.copy(in, out) })
	both.Wait()
}

// copy moves bytes until either side ends, and then ends both.
func (l *Link) copy(dst, src net.Conn) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if !l.awaitUp() {
				return
			}
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// awaitUp waits while the link is silent; false means that it is cut.
func (l *Link) awaitUp() bool {
	for {
		l.mu.Lock()
		state, changed := l.state, l.changed
		l.mu.Unlock()
		if state != linkSilent {
			return state == linkUp
		}
		<-changed
	}
}

// keep notes a connection, so that Cut can close it; false means that there
// is to be none.
func (l *Link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == linkCut || l.state == linkClosed {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *Link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	_ = c.Close()
}
