package memcluster

import (
	"fmt"
	"maps"

	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"

	"weedlc/engine"
)

func uploadPath(id string) string { return s3_constants.MultipartUploadsFolder + "/" + id }

// CreateUpload begins an upload of a key and returns its id. Tags and locks of
// o become the object's.
func (c *Cluster) CreateUpload(bucketName, key string, o Object) (string, error) {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return "", err
	}
	id := fmt.Sprintf("%040x_%032x", len(key), c.next())
	e := c.markerEntry(o)
	e.Nature = engine.Folder
	delete(e.Extended, s3_constants.ExtETagKey)
	e.Extended[s3_constants.ExtMultipartObjectKey] = []byte(key)
	return id, c.create(b, uploadPath(id), e)
}

// UploadPart adds a part to an upload.
func (c *Cluster) UploadPart(bucketName, id string, number int, size int64) error {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return err
	}
	if b.get(uploadPath(id)) == nil {
		return fmt.Errorf("upload %q: %w", id, engine.ErrNotFound)
	}
	name := fmt.Sprintf("%04d_%032x.part", number, c.next())
	return c.create(b, uploadPath(id)+"/"+name, c.objectEntry(Object{Size: size}))
}

// CompleteUpload makes an upload's parts its object and returns the version id.
// The folder goes in the same step; leaveFolder keeps it, as a gateway does that
// dies in between, and its parts then share their chunks with the object.
func (c *Cluster) CompleteUpload(bucketName, id string, leaveFolder bool) (string, error) {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return "", err
	}
	folder := b.get(uploadPath(id))
	if folder == nil {
		return "", fmt.Errorf("upload %q: %w", id, engine.ErrNotFound)
	}
	e := c.objectEntry(Object{})
	delete(e.Extended, s3_constants.SeaweedFSWriteId)
	for _, name := range b.children(uploadPath(id)) {
		part := b.get(join(uploadPath(id), name))
		e.Chunks = append(e.Chunks, part.Chunks...)
		e.Size += part.Size
	}
	ext := maps.Clone(folder.Extended)
	delete(ext, s3_constants.ExtMultipartObjectKey)
	maps.Copy(e.Extended, ext)
	e.Extended[s3_constants.SeaweedFSUploadId] = []byte(id)
	key := string(folder.Extended[s3_constants.ExtMultipartObjectKey])
	return c.putEntry(b, key, e, func() error {
		if leaveFolder {
			return nil
		}
		return c.remove(b, uploadPath(id), true)
	})
}

// AbortUpload ends an upload and frees its parts.
func (c *Cluster) AbortUpload(bucketName, id string) error {
	defer c.write()()
	b, err := c.find(bucketName)
	if err != nil {
		return err
	}
	if b.get(uploadPath(id)) == nil {
		return fmt.Errorf("upload %q: %w", id, engine.ErrNotFound)
	}
	return c.removeUpload(b, id)
}

// removeUpload removes an upload's folder and frees the chunks of its parts,
// unless its target key or one of that key's versions carries its id. What else
// refers to a freed chunk has lost data: LostData tells.
func (c *Cluster) removeUpload(b *bucket, id string) error {
	folder := b.get(uploadPath(id))
	if !c.completed(b, id, string(folder.Extended[s3_constants.ExtMultipartObjectKey])) {
		freed := map[string]bool{}
		for _, name := range b.children(uploadPath(id)) {
			for _, chunk := range b.get(join(uploadPath(id), name)).Chunks {
				freed[chunk] = true
			}
		}
		for path, e := range b.entries {
			inside, _ := split(path)
			for _, chunk := range e.Chunks {
				if freed[chunk] && inside != uploadPath(id) {
					c.lost = append(c.lost, b.info.Name+"/"+path)
				}
			}
		}
	}
	return c.remove(b, uploadPath(id), true)
}

func (c *Cluster) completed(b *bucket, id, key string) bool {
	if key == "" {
		return false
	}
	if e := b.get(key); e != nil && string(e.Extended[s3_constants.SeaweedFSUploadId]) == id {
		return true
	}
	for _, name := range b.children(versionFolder(key)) {
		e := b.get(join(versionFolder(key), name))
		if string(e.Extended[s3_constants.SeaweedFSUploadId]) == id {
			return true
		}
	}
	return false
}

// LostData lists the objects whose data was freed by the end of an upload that
// shared it.
func (c *Cluster) LostData() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.lost...)
}
