package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Role is what a server is to us.
type Role string

// The kinds of server.
const (
	Master      Role = "master"
	Filer       Role = "filer"
	Gateway     Role = "S3 gateway"
	AdminServer Role = "admin server"
)

// ConnectError says why a server cannot be used.
type ConnectError struct {
	Role Role
	// Address is the server's as it was given or registered.
	Address string
	// Reason is what is wrong, as the rest of a sentence about the server.
	Reason string
	// Hint is what to try; empty when nothing comes to mind.
	Hint string
	// Err is the cause; nil when there is none beneath.
	Err error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("%s %q %s", e.Role, e.Address, e.Reason)
}

func (e *ConnectError) Unwrap() error { return e.Err }

// CallError is a call that failed on the way or in the server.
type CallError struct {
	Role    Role
	Address string
	Op      string
	Err     error
}

func (e *CallError) Error() string {
	return fmt.Sprintf("%s %q: %s: %s", e.Role, e.Address, e.Op, message(e.Err))
}

func (e *CallError) Unwrap() error { return e.Err }

// RetryError is a CallError whose server asks for a pause.
type RetryError struct {
	CallError
	After time.Duration
}

// RetryAfter is how long to wait before the next attempt.
func (e *RetryError) RetryAfter() time.Duration { return e.After }

// PermanentError is a CallError that another attempt cannot mend.
type PermanentError struct{ CallError }

// Permanent reports true.
func (e *PermanentError) Permanent() bool { return true }

// classify gives a gateway's error the type that tells what to do about it.
func classify(e CallError) error {
	s, _ := status.FromError(e.Err)
	switch s.Code() {
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
		return &PermanentError{e}
	case codes.Unavailable:
		if strings.Contains(s.Message(), "authentication handshake failed") {
			return &PermanentError{e}
		}
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return &RetryError{CallError: e, After: info.GetRetryDelay().AsDuration()}
		}
	}
	return &e
}

// message is an error's text without gRPC's wrapping.
func message(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
		if text == "" {
			text = s.Code().String()
		}
	}
	if i := strings.Index(text, `desc = "transport: `); i >= 0 {
		text = strings.TrimSuffix(text[i+len(`desc = "transport: `):], `"`)
	}
	return strings.TrimPrefix(text, "Error while dialing: ")
}

// errSilent ends a call whose server has not sent anything for too long.
type errSilent struct{ after time.Duration }

func (e errSilent) Error() string { return fmt.Sprintf("silent for %s", e.after) }

// cause replaces the error of a call that our own context ended by the reason
// for which it did.
func cause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded:
		// The server knows the deadline too, and may be first to notice it.
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < 100*time.Millisecond {
			<-ctx.Done()
		}
	default:
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// unreached reports whether a call's error says nothing of what was asked: the
// server or the way to it is at fault, and another server may do better.
func unreached(err error) bool {
	var own callerError
	var off brokenOff
	if errors.As(err, &own) || errors.As(err, &off) {
		return false
	}
	var silent errSilent
	if errors.As(err, &silent) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}
