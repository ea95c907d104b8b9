package weedtest

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Client drives a cluster for one test: whatever fails ends the test. Paths
// are inside a bucket where a bucket is given, absolute on the filer
// otherwise.
type Client struct {
	// S3 speaks to the first gateway, Filer to the first filer; both are for
	// what the methods do not cover.
	S3    *s3.Client
	Filer filer_pb.SeaweedFilerClient

	t       TB
	cluster *Cluster
}

// callTimeout bounds each call.
const callTimeout = 30 * time.Second

// Client returns a client for one test; its connections end with the test.
func (c *Cluster) Client(t TB) *Client {
	t.Helper()
	conn, err := c.Dial(c.Addr(Filer).GRPC())
	if err != nil {
		t.Fatalf("cannot dial the filer: %v", err)
	}
	// Clean-ups run last in, first out: the connection outlives those that
	// the caller registers.
	t.Cleanup(func() { _ = conn.Close() })
	return c.client(t, conn)
}

func (c *Cluster) client(t TB, conn *grpc.ClientConn) *Client {
	cr := c.credentials()
	return &Client{
		S3: s3.New(s3.Options{
			BaseEndpoint:               aws.String(c.S3URL()),
			Region:                     region,
			UsePathStyle:               true,
			Credentials:                credentials.NewStaticCredentialsProvider(cr.AccessKey, cr.SecretKey, ""),
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
			ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		}),
		Filer:   filer_pb.NewSeaweedFilerClient(conn),
		t:       t,
		cluster: c,
	}
}

const region = "us-east-1"

// credentials are the configured ones; an open gateway takes any.
func (c *Cluster) credentials() Credentials {
	if c.config.Credentials.isZero() {
		return Credentials{AccessKey: "any", SecretKey: "any"}
	}
	return c.config.Credentials
}

// Cluster returns the cluster that the client drives.
func (cl *Client) Cluster() *Cluster { return cl.cluster }

// context bounds one call. It does not end with the test's context, because
// clean-ups call too.
func (cl *Client) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(cl.t.Context()), callTimeout)
}

// check ends the test when err is set.
func (cl *Client) check(err error, format string, args ...any) {
	cl.t.Helper()
	if err != nil {
		cl.t.Fatalf(format+": %v", append(args, err)...)
	}
}

// Reset removes every bucket and everything below /etc/s3/lifecycle. The
// meta-log stays.
func (cl *Client) Reset() {
	cl.t.Helper()
	for _, bucket := range cl.List(bucketsFolder) {
		cl.Remove(bucketsFolder + "/" + bucket.GetName())
		cl.awaitForgotten(bucket.GetName())
	}
	cl.Remove("/etc/s3/lifecycle")
}

// awaitForgotten waits until the gateway has learnt that a bucket is gone: it
// keeps what it knows of one, and a bucket of the same name made before that
// has the versioning of the old one. A gateway that does not answer knows
// nothing.
func (cl *Client) awaitForgotten(bucket string) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if _, err := cl.S3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &bucket}); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			cl.t.Fatalf("the gateway still knows bucket %q %s after it was removed", bucket, callTimeout)
		}
	}
}

// Remove deletes a filer entry and everything below it; a missing one is no
// failure.
func (cl *Client) Remove(path string) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	folder, name := split(path)
	resp, err := cl.Filer.DeleteEntry(ctx, &filer_pb.DeleteEntryRequest{
		Directory: folder, Name: name, IsDeleteData: true, IsRecursive: true, IgnoreRecursiveError: true,
	})
	if err == nil && resp.GetError() != "" {
		err = errors.New(resp.GetError())
	}
	if status.Code(err) != codes.NotFound && !isNotFound(err) {
		cl.check(err, "cannot remove %q", path)
	}
}
