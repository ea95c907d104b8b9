package weedtest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// StartUpload begins a multipart upload, uploads parts and returns its id. S3
// takes parts below 5 MiB only as the last one when the upload is completed.
func (cl *Client) StartUpload(bucket, key string, parts ...string) string {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	out, err := cl.S3.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &key})
	cl.check(err, "cannot start an upload of %s/%s", bucket, key)
	for i, body := range parts {
		_, err := cl.S3.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &bucket, Key: &key, UploadId: out.UploadId,
			PartNumber: aws.Int32(int32(i + 1)), Body: strings.NewReader(body),
		})
		cl.check(err, "cannot upload part %d of %s/%s", i+1, bucket, key)
	}
	return aws.ToString(out.UploadId)
}

// CompleteUpload completes an upload with all its parts.
func (cl *Client) CompleteUpload(bucket, key, id string) {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	listed, err := cl.S3.ListParts(ctx, &s3.ListPartsInput{Bucket: &bucket, Key: &key, UploadId: &id})
	cl.check(err, "cannot list the parts of %s/%s", bucket, key)
	done := &types.CompletedMultipartUpload{}
	for _, p := range listed.Parts {
		done.Parts = append(done.Parts, types.CompletedPart{ETag: p.ETag, PartNumber: p.PartNumber})
	}
	_, err = cl.S3.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &bucket, Key: &key, UploadId: &id, MultipartUpload: done,
	})
	cl.check(err, "cannot complete the upload of %s/%s", bucket, key)
}

// Uploads lists the keys of a bucket's unfinished uploads, sorted.
func (cl *Client) Uploads(bucket string) []string {
	cl.t.Helper()
	ctx, cancel := cl.context()
	defer cancel()
	keys := []string{}
	pages := s3.NewListMultipartUploadsPaginator(cl.S3, &s3.ListMultipartUploadsInput{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		cl.check(err, "cannot list uploads of %q", bucket)
		for _, u := range page.Uploads {
			keys = append(keys, aws.ToString(u.Key))
		}
	}
	slices.Sort(keys)
	return keys
}
