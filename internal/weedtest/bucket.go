package weedtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
)

// BucketKind is how a bucket keeps versions.
type BucketKind int

// Locked is versioned with object lock, without a default retention.
const (
	Plain BucketKind = iota
	Versioned
	Suspended
	Locked
)

// CreateBucket creates a bucket and installs lifecycle rules, unless rules is
// empty.
func (cl *Client) CreateBucket(name string, kind BucketKind, rules string) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	_, err := cl.S3.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket:                     &name,
		ObjectLockEnabledForBucket: aws.Bool(kind == Locked),
	})
	cl.check(err, "cannot create bucket %q", name)
	switch kind {
	case Versioned:
		cl.SetVersioning(name, true)
	case Suspended:
		cl.SetVersioning(name, false)
	}
	if rules != "" {
		cl.PutRules(name, rules)
	}
}

// SetVersioning enables or suspends versioning.
func (cl *Client) SetVersioning(bucket string, enabled bool) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	state := types.BucketVersioningStatusSuspended
	if enabled {
		state = types.BucketVersioningStatusEnabled
	}
	_, err := cl.S3.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket:                  &bucket,
		VersioningConfiguration: &types.VersioningConfiguration{Status: state},
	})
	cl.check(err, "cannot set versioning of %q", bucket)
}

// PutRules installs a lifecycle document through S3, byte for byte.
func (cl *Client) PutRules(bucket, document string) {
	cl.t.Helper()
	code, answer, err := cl.TryPutRules(bucket, document)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("status %d: %s", code, answer)
	}
	cl.check(err, "cannot install rules on %q", bucket)
}

// TryPutRules is PutRules for a document that S3 may refuse: it returns the
// answer's status code and body. The SDK's call takes no document, so the
// request is signed here.
func (cl *Client) TryPutRules(bucket, document string) (code int, answer string, err error) {
	ctx, cancel := cl.context()
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut,
		cl.cluster.S3URL()+"/"+bucket+"?lifecycle=", bytes.NewReader([]byte(document)))
	if err != nil {
		return 0, "", err
	}
	sum := sha256.Sum256([]byte(document))
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	cr := cl.cluster.credentials()
	signing := aws.Credentials{AccessKeyID: cr.AccessKey, SecretAccessKey: cr.SecretKey}
	if err := v4.NewSigner().SignHTTP(ctx, signing, req, hash, "s3", region, time.Now()); err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// rulesKey is where a bucket's entry keeps its lifecycle document.
const rulesKey = "s3-bucket-lifecycle-configuration-xml"

// StoreRules writes a lifecycle document into the bucket's entry, past S3's
// checks; an empty one takes the rules away.
func (cl *Client) StoreRules(bucket, document string) {
	cl.t.Helper()
	cl.Update(bucketsFolder+"/"+bucket, func(e *filer_pb.Entry) {
		if document == "" {
			delete(e.Extended, rulesKey)
			return
		}
		setExtended(e, rulesKey, document)
	})
}
