package weedtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// A slot is a set of ports and a directory that one cluster at a time owns.
// The lock on the directory's lock file ends with the process, so what a
// killed test left behind is removed by the next owner of its slot.
//
// All ports lie below the range that Linux hands out for outgoing
// connections: a port stays free between a kill and a restart.
type slot struct {
	dir  string
	lock *os.File
	base int
	// grpcOffset is how far a gRPC port is above its HTTP port.
	grpcOffset int
}

const (
	slotCount      = 500
	slotWidth      = 10
	slotFirstPort  = 12000
	weedGRPCOffset = 10000 // weed's convention
	oddGRPCOffset  = weedGRPCOffset + slotCount*slotWidth
)

// acquireSlot takes a free slot. The directory is empty.
func acquireSlot(conventional bool) (*slot, error) {
	root := filepath.Join(os.TempDir(), "weedtest-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	var last error
	for _, n := range rand.Perm(slotCount) {
		s, err := trySlot(root, n, conventional)
		if err == nil {
			return s, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free ports on loopback: %w", last)
}

func trySlot(root string, n int, conventional bool) (_ *slot, err error) {
	lock, err := os.OpenFile(filepath.Join(root, strconv.Itoa(n)+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := lockFile(lock); err != nil {
		return nil, err
	}
	s := &slot{
		dir:        filepath.Join(root, strconv.Itoa(n)),
		lock:       lock,
		base:       slotFirstPort + n*slotWidth,
		grpcOffset: oddGRPCOffset,
	}
	if conventional {
		s.grpcOffset = weedGRPCOffset
	}
	for i := range slotWidth {
		for _, port := range []int{s.base + i, s.base + i + weedGRPCOffset, s.base + i + oddGRPCOffset} {
			l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
			if err != nil {
				return nil, err
			}
			if err := l.Close(); err != nil {
				return nil, err
			}
		}
	}
	if err := s.clear(); err != nil {
		return nil, err
	}
	return s, os.Mkdir(s.dir, 0o700)
}

// clear removes the slot's files. weed puts the sockets of its gRPC ports into
// /tmp whatever TMPDIR says and leaves them there when it is killed.
func (s *slot) clear() error {
	for i := range slotWidth {
		for _, offset := range []int{weedGRPCOffset, oddGRPCOffset} {
			sockets, err := filepath.Glob(fmt.Sprintf("/tmp/seaweedfs-*-grpc-%d.sock", s.base+i+offset))
			if err != nil {
				return err
			}
			for _, socket := range sockets {
				if err := os.Remove(socket); err != nil {
					return err
				}
			}
		}
	}
	return os.RemoveAll(s.dir)
}

// release gives the slot back.
func (s *slot) release() error {
	return errors.Join(s.clear(), s.lock.Close())
}

func (s *slot) address(role Role) Address {
	i := role.portIndex()
	return Address{Port: s.base + i, GRPCPort: s.base + i + s.grpcOffset}
}

const loopback = "127.0.0.1"

// Address is where one server listens on loopback.
type Address struct {
	Port, GRPCPort int
}

// String is the address in the form that weed and weedlc take: host:port, with
// the gRPC port behind a dot where it is not the port plus 10000.
func (a Address) String() string {
	if a.GRPCPort == a.Port+weedGRPCOffset {
		return a.HTTP()
	}
	return a.HTTP() + "." + strconv.Itoa(a.GRPCPort)
}

// HTTP is host:port of the HTTP listener.
func (a Address) HTTP() string { return net.JoinHostPort(loopback, strconv.Itoa(a.Port)) }

// GRPC is host:port of the gRPC listener.
func (a Address) GRPC() string { return net.JoinHostPort(loopback, strconv.Itoa(a.GRPCPort)) }
