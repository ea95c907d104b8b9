package weedtest

import (
	"cmp"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Object is what Put writes. The zero Object is empty, new and without tags
// or locks.
type Object struct {
	Body string
	Tags map[string]string
	// Age is how far back the object's clock is set after the write.
	Age time.Duration
	// Governance and Compliance are ends of retention; at most one is set. S3
	// refuses an end in the past: see SetRetention for one.
	Governance, Compliance time.Time
	LegalHold              bool
}

// Put writes an object and returns its version id as the gateway names it:
// empty in a suspended bucket and in one without versions.
func (cl *Client) Put(bucket, key string, o Object) string {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(o.Body)}
	if len(o.Tags) > 0 {
		in.Tagging = aws.String(tagQuery(o.Tags))
	}
	switch {
	case !o.Governance.IsZero():
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeGovernance, &o.Governance
	case !o.Compliance.IsZero():
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeCompliance, &o.Compliance
	}
	if o.LegalHold {
		in.ObjectLockLegalHoldStatus = types.ObjectLockLegalHoldStatusOn
	}
	out, err := cl.S3.PutObject(ctx, in)
	cl.check(err, "cannot put %s/%s", bucket, key)
	version := aws.ToString(out.VersionId)
	if o.Age > 0 {
		cl.AgeVersion(bucket, key, version, o.Age)
	}
	return version
}

func tagQuery(tags map[string]string) string {
	v := url.Values{}
	for key, value := range tags {
		v.Set(key, value)
	}
	return v.Encode()
}

// Get returns an object's body; ok is false when there is none.
func (cl *Client) Get(bucket, key string) (body string, ok bool) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	out, err := cl.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if isNotFound(err) {
		return "", false
	}
	cl.check(err, "cannot get %s/%s", bucket, key)
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	cl.check(err, "cannot read %s/%s", bucket, key)
	return string(data), true
}

// Delete deletes an object as S3 does: in a bucket with versions it writes a
// delete marker, whose version id it returns.
func (cl *Client) Delete(bucket, key string) string {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	out, err := cl.S3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key})
	cl.check(err, "cannot delete %s/%s", bucket, key)
	return aws.ToString(out.VersionId)
}

// DeleteVersion deletes one version.
func (cl *Client) DeleteVersion(bucket, key, version string) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	_, err := cl.S3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key, VersionId: &version})
	cl.check(err, "cannot delete %s/%s version %q", bucket, key, version)
}

// SetTags replaces an object's tags. An empty version is the current one.
func (cl *Client) SetTags(bucket, key, version string, tags map[string]string) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	set := []types.Tag{}
	for k, v := range tags {
		set = append(set, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	_, err := cl.S3.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{
		Bucket: &bucket, Key: &key, VersionId: optional(version), Tagging: &types.Tagging{TagSet: set},
	})
	cl.check(err, "cannot tag %s/%s", bucket, key)
}

// SetHold sets or lifts a legal hold. An empty version is the current one.
func (cl *Client) SetHold(bucket, key, version string, on bool) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	state := types.ObjectLockLegalHoldStatusOff
	if on {
		state = types.ObjectLockLegalHoldStatusOn
	}
	_, err := cl.S3.PutObjectLegalHold(ctx, &s3.PutObjectLegalHoldInput{
		Bucket: &bucket, Key: &key, VersionId: optional(version),
		LegalHold: &types.ObjectLockLegalHold{Status: state},
	})
	cl.check(err, "cannot set the hold of %s/%s", bucket, key)
}

// Version is one line of a version listing.
type Version struct {
	Key, ID  string
	Latest   bool
	Marker   bool
	Size     int64
	Modified time.Time // whole seconds
}

// Versions lists every version and delete marker below a prefix: by key, the
// latest one first, then by the time of their last change, newest first. A
// bucket without versions lists its objects with the id
// "null".
func (cl *Client) Versions(bucket, prefix string) []Version {
	cl.t.Helper()
	var list []Version
	pages := s3.NewListObjectVersionsPaginator(cl.S3, &s3.ListObjectVersionsInput{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		list = append(list, cl.versionPage(pages, bucket)...)
	}
	slices.SortStableFunc(list, func(a, b Version) int {
		switch {
		case a.Key != b.Key:
			return cmp.Compare(a.Key, b.Key)
		case a.Latest != b.Latest:
			if a.Latest {
				return -1
			}
			return 1
		}
		return b.Modified.Compare(a.Modified)
	})
	return list
}

func (cl *Client) versionPage(pages *s3.ListObjectVersionsPaginator, bucket string) []Version {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	page, err := pages.NextPage(ctx)
	cl.check(err, "cannot list versions of %q", bucket)
	var list []Version
	for _, v := range page.Versions {
		list = append(list, Version{
			Key: aws.ToString(v.Key), ID: aws.ToString(v.VersionId), Latest: aws.ToBool(v.IsLatest),
			Size: aws.ToInt64(v.Size), Modified: aws.ToTime(v.LastModified),
		})
	}
	for _, m := range page.DeleteMarkers {
		list = append(list, Version{
			Key: aws.ToString(m.Key), ID: aws.ToString(m.VersionId), Latest: aws.ToBool(m.IsLatest),
			Marker: true, Modified: aws.ToTime(m.LastModified),
		})
	}
	return list
}

// Keys lists the keys of a bucket's current objects.
func (cl *Client) Keys(bucket string) []string {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	keys := []string{}
	pages := s3.NewListObjectsV2Paginator(cl.S3, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		cl.check(err, "cannot list %q", bucket)
		for _, o := range page.Contents {
			keys = append(keys, aws.ToString(o.Key))
		}
	}
	return keys
}
