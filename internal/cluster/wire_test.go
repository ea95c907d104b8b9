package cluster

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/seaweedfs/seaweedfs/weed/pb/filer_pb"
	"github.com/seaweedfs/seaweedfs/weed/s3api/s3_constants"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"weedlc/engine"
)

// fill sets fields of a message at random, nested ones too.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	list := m.Descriptor().Fields()
	for i := range list.Len() {
		f := list.Get(i)
		if r.IntN(3) == 0 || f.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case f.IsMap():
			for range r.IntN(4) {
				value := protoreflect.ValueOfBytes([]byte{byte(r.IntN(3))}[:r.IntN(2)])
				m.Mutable(f).Map().Set(protoreflect.ValueOfString(pick(r, "", "a", "b", s3_constants.SeaweedFSPrefixObject)).MapKey(), value)
			}
		case f.IsList() && f.Message() != nil:
			for range r.IntN(3) {
				fill(r, m.Mutable(f).List().AppendMutable().Message(), depth-1)
			}
		case f.IsList():
			for range r.IntN(3) {
				m.Mutable(f).List().Append(scalar(r, f))
			}
		case f.Message() != nil:
			fill(r, m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, scalar(r, f))
		}
	}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func scalar(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	n := pick(r, 0, 1, -1, r.Int64(), -r.Int64(), r.Int64N(1<<40))
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(4) == 0)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(pick(r, "", "k", "d/e", "3,1f0000002a", "é"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(pick(r, "", "x")))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(4)))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	}
	panic(f.Kind())
}

// wireSeeds are messages in the wire's form: whole, two in one, and damaged.
func wireSeeds(tb testing.TB, of proto.Message, n int) [][]byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var seeds [][]byte
	for range n {
		m := of.ProtoReflect().New()
		fill(r, m, 4)
		data, err := proto.Marshal(m.Interface())
		if err != nil {
			tb.Fatal(err)
		}
		seeds = append(seeds, data)
		if k := len(seeds); r.IntN(4) == 0 {
			seeds = append(seeds, slices.Concat(data, seeds[r.IntN(k)]))
		}
		if len(data) > 0 && r.IntN(4) == 0 {
			damaged := bytes.Clone(data)
			damaged[r.IntN(len(damaged))] ^= byte(1 << r.IntN(8))
			seeds = append(seeds, damaged[:r.IntN(len(damaged)+1)])
		}
	}
	return seeds
}

func sameWireEntry(a, b *engine.Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	// Nil and empty are the same.
	if !slices.Equal(a.Chunks, b.Chunks) || len(a.Extended) != len(b.Extended) {
		return false
	}
	for name, value := range a.Extended {
		if other, ok := b.Extended[name]; !ok || !bytes.Equal(value, other) {
			return false
		}
	}
	x, y := *a, *b
	x.Chunks, x.Extended, y.Chunks, y.Extended = nil, nil, nil, nil
	return reflect.DeepEqual(x, y)
}

// decodable decodes a message into an empty one. SeaweedFS's decoder takes more
// than protobuf's own, such as numbers of more than 64 bits.
func decodable(data []byte, into interface {
	proto.Message
	UnmarshalVT([]byte) error
}) bool {
	return proto.Unmarshal(data, into.ProtoReflect().New().Interface()) == nil && into.UnmarshalVT(data) == nil
}

// checkListed compares what is read of a listing's answer with what SeaweedFS's
// own decoder makes of it.
func checkListed(t *testing.T, data []byte) {
	var want filer_pb.ListEntriesResponse
	if !decodable(data, &want) {
		return
	}
	var got listedEntry
	got.entry.Name = "of the answer before"
	if err := got.UnmarshalVT(data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
	if got.none != (want.Entry == nil) {
		t.Fatalf("%x: none is %v, want %v", data, got.none, want.Entry)
	}
	if want.Entry == nil {
		return
	}
	if e := entryOf(want.Entry); !sameWireEntry(&got.entry, &e) {
		t.Fatalf("%x:\ngot  %+v\nwant %+v", data, got.entry, e)
	}
}

// checkLogged does so with a message of the log.
func checkLogged(t *testing.T, m *logMessage, data []byte) {
	var want filer_pb.SubscribeMetadataResponse
	if !decodable(data, &want) {
		return
	}
	if err := m.UnmarshalVT(data); err != nil {
		t.Fatalf("%x: %v", data, err)
	}
	if len(m.more) != len(want.Events) {
		t.Fatalf("%x: %d more messages, want %d", data, len(m.more), len(want.Events))
	}
	sameLogged(t, data, m, &want)
	for i := range m.more {
		sameLogged(t, data, &m.more[i], want.Events[i])
	}
}

func sameLogged(t *testing.T, data []byte, got *logMessage, want *filer_pb.SubscribeMetadataResponse) {
	n := want.EventNotification
	if got.tsNs != want.TsNs || got.folder != want.Directory || got.newFolder != n.GetNewParentPath() {
		t.Fatalf("%x: %d %q %q, want %v", data, got.tsNs, got.folder, got.newFolder, want)
	}
	if !sameWireEntry(got.old, loggedEntry(n.GetOldEntry())) || !sameWireEntry(got.new, loggedEntry(n.GetNewEntry())) {
		t.Fatalf("%x:\ngot  %+v\n     %+v\nwant %v", data, got.old, got.new, n)
	}
}

func TestWire(t *testing.T) {
	for _, data := range wireSeeds(t, &filer_pb.ListEntriesResponse{}, 20_000) {
		checkListed(t, data)
	}
	m := &logMessage{wireReader: &wireReader{}}
	for _, data := range wireSeeds(t, &filer_pb.SubscribeMetadataResponse{}, 20_000) {
		checkLogged(t, m, data)
	}
}

// What is no message is an error, and not an entry that is half read.
func TestMalformedWire(t *testing.T) {
	entry := &filer_pb.Entry{Name: "k", Attributes: &filer_pb.FuseAttributes{Mtime: 1, FileSize: 300}, Chunks: []*filer_pb.FileChunk{{FileId: "1,02"}}}
	listed, err := proto.Marshal(&filer_pb.ListEntriesResponse{Entry: entry})
	if err != nil {
		t.Fatal(err)
	}
	event := &filer_pb.SubscribeMetadataResponse{Directory: "/buckets/b", TsNs: 300, EventNotification: &filer_pb.EventNotification{NewEntry: entry}}
	event.Events = []*filer_pb.SubscribeMetadataResponse{proto.CloneOf(event)}
	logged, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(listed); cut++ {
		if err := new(listedEntry).UnmarshalVT(listed[:cut]); err == nil {
			t.Errorf("an answer without its last %d bytes was read", len(listed)-cut)
		}
	}
	for cut := 1; cut < len(logged); cut++ {
		short := logged[:cut]
		if new(filer_pb.SubscribeMetadataResponse).UnmarshalVT(short) == nil {
			continue // cut between two fields
		}
		if err := (&logMessage{wireReader: &wireReader{}}).UnmarshalVT(short); err == nil {
			t.Errorf("a message without its last %d bytes was read", len(logged)-cut)
		}
	}
}

// A name need not be UTF-8, which protobuf's own decoder insists on.
func TestWireName(t *testing.T) {
	const name = "a\xffb"
	data, err := (&filer_pb.ListEntriesResponse{Entry: &filer_pb.Entry{Name: name}}).MarshalVT()
	if err != nil {
		t.Fatal(err)
	}
	var l listedEntry
	if err := l.UnmarshalVT(data); err != nil || l.entry.Name != name {
		t.Errorf("name %q, %v, want %q", l.entry.Name, err, name)
	}
}

// A reader keeps no more texts than it should, and goes on.
func TestWireTexts(t *testing.T) {
	var r wireReader
	for i := range 3 * mostTexts {
		b := []byte{byte(i), byte(i >> 8)}
		if got := r.text(b); got != string(b) {
			t.Fatalf("text %q, want %q", got, b)
		}
		if len(r.texts) > mostTexts {
			t.Fatalf("%d texts", len(r.texts))
		}
	}
}

func FuzzWire(f *testing.F) {
	for _, data := range wireSeeds(f, &filer_pb.ListEntriesResponse{}, 100) {
		f.Add(data)
	}
	for _, data := range wireSeeds(f, &filer_pb.SubscribeMetadataResponse{}, 100) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkListed(t, data)
		checkLogged(t, &logMessage{wireReader: &wireReader{}}, data)
	})
}

// benchMessages are one as listings have it and a batch as the log has it.
func benchMessages(b *testing.B) (listed, logged []byte) {
	entry := &filer_pb.Entry{
		Name: "object-000123", Attributes: &filer_pb.FuseAttributes{Mtime: 1_700_000_000, MtimeNs: 4, Crtime: 1_700_000_000, FileSize: 1000, FileMode: 0o660, Md5: make([]byte, 16), Mime: "text/plain", Inode: 1 << 40},
		Chunks: []*filer_pb.FileChunk{{
			Fid: &filer_pb.FileId{VolumeId: 1, FileKey: 2, Cookie: 3}, Size: 1000, ETag: "a3cca2b2aa1e3b5b3b5aad99a8529074", ModifiedTsNs: 1 << 60,
		}},
		Extended: map[string][]byte{"Seaweed-X-Amz-Owner": []byte("admin"), "X-Amz-Etag": []byte("a3cca2b2aa1e3b5b3b5aad99a8529074")}, CommitTsNs: 1 << 60,
	}
	event := func(n *filer_pb.EventNotification) *filer_pb.SubscribeMetadataResponse {
		n.NewParentPath = "/buckets/bench/folder"
		return &filer_pb.SubscribeMetadataResponse{Directory: "/buckets/bench/folder", TsNs: 1 << 60, EventNotification: n}
	}
	batch := event(&filer_pb.EventNotification{NewEntry: entry})
	for range 50 {
		batch.Events = append(batch.Events, event(&filer_pb.EventNotification{NewEntry: entry}), event(&filer_pb.EventNotification{OldEntry: entry}))
	}
	var err error
	if listed, err = proto.Marshal(&filer_pb.ListEntriesResponse{Entry: entry}); err != nil {
		b.Fatal(err)
	}
	if logged, err = proto.Marshal(batch); err != nil {
		b.Fatal(err)
	}
	return listed, logged
}

func BenchmarkWire(b *testing.B) {
	listed, logged := benchMessages(b)
	for _, bm := range []struct {
		name string
		data []byte
		read func([]byte) error
	}{
		{"listed", listed, new(listedEntry).UnmarshalVT},
		{"listed by SeaweedFS", listed, func(data []byte) error {
			var m filer_pb.ListEntriesResponse
			err := m.UnmarshalVT(data)
			_ = entryOf(m.Entry)
			return err
		}},
		{"101 events", logged, (&logMessage{wireReader: &wireReader{}}).UnmarshalVT},
		{"101 events by SeaweedFS", logged, func(data []byte) error {
			var m filer_pb.SubscribeMetadataResponse
			err := m.UnmarshalVT(data)
			for _, e := range m.Events {
				_, _ = loggedEntry(e.EventNotification.OldEntry), loggedEntry(e.EventNotification.NewEntry)
			}
			return err
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bm.read(bm.data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
