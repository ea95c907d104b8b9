package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	// streamWindow is how much of a listing or of the log a server may send
	// ahead.
	streamWindow = 1 << 20
	// socketBuffer is how much is read from a connection at a time.
	socketBuffer = 128 << 10
)

// endpoint is one server and the connection to it.
type endpoint struct {
	role Role
	// name is the address as given or registered, grpc the one dialled.
	name, grpc string
	conn       *grpc.ClientConn
}

func (e *endpoint) callError(op string, err error) CallError {
	return CallError{Role: e.role, Address: e.name, Op: op, Err: err}
}

// dialer makes connections with one set of credentials.
type dialer struct {
	creds          *credentials
	allowPlaintext bool
	timeout        time.Duration
}

// open prepares a connection; the first call makes it. It refuses an address
// that has no port, and plain text to another host unless that is allowed.
func (d *dialer) open(ctx context.Context, role Role, name string) (*endpoint, error) {
	address, err := grpcAddress(role, name)
	if err != nil {
		return nil, &ConnectError{Role: role, Address: name, Reason: err.Error(), Err: err}
	}
	if !d.creds.tls && !d.allowPlaintext && !onThisHost(ctx, address) {
		return nil, &ConnectError{
			Role: role, Address: name,
			Reason: "is on another host, and plain text to another host is refused",
			Hint:   fmt.Sprintf("set cert and key under [%s], and grpc.ca, in security.toml, or allow plain text", d.creds.component),
		}
	}
	// passthrough leaves the name to the system's resolver, search domains
	// included.
	conn, err := grpc.NewClient("passthrough:///"+address, d.creds.dial,
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(pb.Max_Message_Size), grpc.MaxCallSendMsgSize(pb.Max_Message_Size), grpc.ForceCodecV2(newCodec())),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(4*streamWindow), grpc.WithReadBufferSize(socketBuffer),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: d.timeout,
		}))
	if err != nil {
		return nil, &ConnectError{Role: role, Address: name, Reason: "cannot be dialled: " + err.Error(), Err: err}
	}
	return &endpoint{role: role, name: name, grpc: address, conn: conn}, nil
}

// grpcAddress is the address to dial. Masters and filers are named by their
// HTTP port, with the gRPC port behind a dot where it is not 10000 above; an
// S3 gateway is named by its gRPC address.
func grpcAddress(role Role, name string) (string, error) {
	host, ports, err := net.SplitHostPort(name)
	if err != nil || host == "" {
		return "", errors.New("is not of the form host:port")
	}
	port, grpcPort, dotted := strings.Cut(ports, ".")
	for _, p := range []string{port, grpcPort} {
		if n, err := strconv.ParseUint(p, 10, 16); (err != nil || n == 0) && (dotted || p == port) {
			return "", fmt.Errorf("has no valid port: %q", ports)
		}
	}
	if role == Gateway && !dotted {
		return name, nil
	}
	return pb.ServerAddress(name).ToGrpcAddress(), nil
}

// onThisHost reports whether traffic to the address stays on this host: the
// address is a loopback one or one of the host's own. A name that does not
// resolve is left to the connection to fail on.
func onThisHost(ctx context.Context, address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	var ips []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		ips = []netip.Addr{ip}
	} else if ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		own = nil
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() && !isOneOf(ip.Unmap(), own) {
			return false
		}
	}
	return true
}

func isOneOf(ip netip.Addr, addrs []net.Addr) bool {
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr() == ip {
			return true
		}
	}
	return false
}

// probing bounds a probe so that its explanation ends within the timeout too.
func (d *dialer) probing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d.timeout*3/4)
}

// explain turns the error of a probe into what is wrong with the server.
func (d *dialer) explain(ctx context.Context, e *endpoint, err error) *ConnectError {
	out := &ConnectError{Role: e.role, Address: e.name, Err: err}
	switch status.Code(err) {
	case codes.Unimplemented:
		switch e.role {
		case Gateway:
			out.Reason = "has no lifecycle service"
			out.Hint = "SeaweedFS 4.53 has one, on the gateway's gRPC port"
		case AdminServer:
			out.Reason = "has no service for workers there"
		default:
			out.Reason = fmt.Sprintf("is not a %s", e.role)
		}
		return out
	case codes.Unauthenticated, codes.PermissionDenied:
		out.Reason = "refuses us: " + message(err)
		server := "gateway"
		if e.role == AdminServer {
			server = string(e.role)
		}
		out.Hint = fmt.Sprintf("jwt.filer_signing.key in %s must be the %s's", d.creds.source(), server)
		if len(d.creds.signingKey) == 0 {
			out.Hint = fmt.Sprintf("set jwt.filer_signing.key in security.toml, on the %ss and here, or run on the %s's host", server, server)
		}
		return out
	}
	switch spoken, wireErr := d.listen(ctx, e.grpc); {
	case spoken == wireNone:
		out.Reason = "cannot be reached: " + wireErr.Error()
	case spoken == wireHTTP:
		out.Reason = "speaks HTTP there, not gRPC"
		out.Hint = "the gRPC port is 10000 above the HTTP port unless set otherwise"
		if e.role != Gateway {
			out.Hint += "; name it behind a dot: host:port.grpcport"
		}
	case spoken == wirePlain && d.creds.tls:
		out.Reason = fmt.Sprintf("speaks plain text, and %s has this side speak TLS (%s)", d.creds.source(), d.creds.component)
		out.Hint = "give the server its certificate, or take the one of this side away"
	case spoken == wireTLS && !d.creds.tls:
		out.Reason = "speaks TLS, and this side plain text"
		out.Hint = fmt.Sprintf("set cert and key under [%s], and grpc.ca, in security.toml", d.creds.component)
	case spoken == wireTLS:
		out.Reason = "and this side do not agree on TLS: " + message(err)
		out.Hint = fmt.Sprintf("compare grpc.ca and the certificates in %s with the server's", d.creds.source())
	default:
		out.Reason = "does not answer: " + message(err)
	}
	return out
}

// wire is what a server was heard to speak.
type wire int

const (
	wireNone wire = iota // no connection
	wirePlain
	wireTLS
	wireHTTP
	wireUnknown
)

// listen offers a TLS handshake, whatever the credentials are, and hears what
// comes back. It sends nothing beyond the offer, and is given its own time: the
// context's is mostly over by then.
func (d *dialer) listen(ctx context.Context, address string) (wire, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.timeout/5)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return wireNone, err
	}
	defer conn.Close()
	// The peer is not trusted with anything: only the kind of its answer counts.
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}).HandshakeContext(ctx)
	var header tls.RecordHeaderError
	var alert tls.AlertError
	var refused *net.OpError
	switch {
	case err == nil, errors.As(err, &alert):
		return wireTLS, nil
	case errors.As(err, &header):
		if string(header.RecordHeader[:]) == "HTTP/" {
			return wireHTTP, nil
		}
		return wirePlain, nil
	case errors.As(err, &refused) && refused.Op == "remote error":
		return wireTLS, nil
	}
	return wireUnknown, nil
}
