package collective

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"google.golang.org/grpc/mem"
)

// headerSize is the number of bytes before the payload of a frame. With gRPC's 5-byte prefix of each message they make
// 32, and gRPC cuts messages into pieces of 16 KiB; so elements arrive aligned, and no piece ends within an element. A
// payload of at least longPayload bytes follows longHeader bytes, the last of them unused: then pieces also begin at
// multiples of 64 bytes in the tensor, and the kernel copies them a quarter faster.
const (
	headerSize  = 27
	longHeader  = 59
	longPayload = 64 << 10
)

// headerBytes returns the number of bytes before the payload of a message of the given size.
func headerBytes(message int) int {
	if message >= headerSize+longPayload {
		return longHeader
	}
	return headerSize
}

// sequenceMask selects the bits of a sequence number that are sent.
const sequenceMask = 1<<40 - 1

// frame is one message of a data stream: a header and bytes of tensors.
type frame struct {
	view     uint64 // digest of the sender's view
	sequence uint64 // of the collective in the view, modulo 2^40
	call     uint64 // hash of what the sender does as this collective
	round    uint32 // below 2^16
	index    uint32

	payload mem.Buffer      // to be sent; may be nil
	data    mem.BufferSlice // received, with the header
	landed  int             // bytes of a received payload that is not in data: it is where it belongs
}

// size is the number of bytes of a received payload.
func (f *frame) size() int {
	if f.landed > 0 {
		return f.landed
	}
	total := f.data.Len()
	return total - headerBytes(total)
}

// each calls do with each piece of the received payload and its offset. There are no pieces if the payload has landed.
func (f *frame) each(do func(at int, piece []byte)) {
	if f.landed > 0 {
		return
	}
	skip, at := headerBytes(f.data.Len()), 0
	for _, b := range f.data {
		piece := b.ReadOnlyData()
		if skip >= len(piece) {
			skip -= len(piece)
			continue
		}
		do(at, piece[skip:])
		at += len(piece) - skip
		skip = 0
	}
}

// copyTo copies the received payload to dst, which has its size.
func (f *frame) copyTo(dst []byte) {
	f.each(func(at int, piece []byte) { copy(dst[at:], piece) })
}

// decode reads a header.
func (f *frame) decode(header []byte) {
	f.view = binary.LittleEndian.Uint64(header[0:])
	f.call = binary.LittleEndian.Uint64(header[8:])
	f.sequence = binary.LittleEndian.Uint64(header[16:]) & sequenceMask
	f.round = uint32(binary.LittleEndian.Uint16(header[21:]))
	f.index = binary.LittleEndian.Uint32(header[23:])
}

// whole reports whether all pieces of the received payload hold whole elements of the given size, aligned in memory.
func (f *frame) whole(size int) bool {
	ok := true
	f.each(func(_ int, piece []byte) {
		ok = ok && len(piece)%size == 0 && uintptr(unsafe.Pointer(unsafe.SliceData(piece)))%uintptr(size) == 0
	})
	return ok
}

// free gives the received memory back.
func (f *frame) free() {
	f.data.Free()
	f.data = nil
}

// blob is one message of a control stream.
type blob struct{ data []byte }

// codec passes frames and blobs without further encoding: payload bytes go from the tensor to the socket unchanged.
type codec struct{}

var errShortFrame = errors.New("a frame is shorter than its header")

func (codec) Name() string { return "gokeras-raw" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case *frame:
		size := headerSize
		if v.payload != nil {
			size = headerBytes(headerSize + v.payload.Len())
		}
		header := make([]byte, size)
		binary.LittleEndian.PutUint64(header[0:], v.view)
		binary.LittleEndian.PutUint64(header[8:], v.call)
		binary.LittleEndian.PutUint64(header[16:], v.sequence&sequenceMask|uint64(v.round)<<40) // a byte of 0 is left for the next
		binary.LittleEndian.PutUint32(header[23:], v.index)
		if v.payload == nil {
			return mem.BufferSlice{mem.SliceBuffer(header)}, nil
		}
		return mem.BufferSlice{mem.SliceBuffer(header), v.payload}, nil
	case *blob:
		return mem.BufferSlice{mem.SliceBuffer(v.data)}, nil
	}
	return nil, fmt.Errorf("collective: cannot send a %T", v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch v := v.(type) {
	case *frame:
		if data.Len() < headerSize {
			return errShortFrame
		}
		var header [longHeader]byte
		rest := header[:]
		for _, b := range data {
			if rest = rest[copy(rest, b.ReadOnlyData()):]; len(rest) == 0 {
				break
			}
		}
		v.decode(header[:])
		if data.Len() == longHeader {
			v.landed, _ = landedSize(header[:])
		}
		data.Ref()
		v.data = data
		return nil
	case *blob:
		v.data = data.Materialize()
		return nil
	}
	return fmt.Errorf("collective: cannot receive a %T", v)
}

// lending counts buffers of the caller that are being sent. gRPC takes it for the pool to which it returns buffers.
type lending struct {
	loans *loans
	out   atomic.Int64
	idle  chan struct{}
}

func newLending(l *loans) *lending { return &lending{loans: l, idle: make(chan struct{}, 1)} }

// lend wraps memory, which must not change until gRPC returns it. Small pieces are copied instead.
func (l *lending) lend(data []byte) mem.Buffer {
	if len(data) == 0 {
		return nil
	}
	if mem.IsBelowBufferPoolingThreshold(cap(data)) || len(data) <= 1024 {
		return mem.SliceBuffer(append([]byte(nil), data...))
	}
	l.out.Add(1)
	l.loans.add(data)
	return mem.NewBuffer(&data, l)
}

// Get completes the interface of a pool.
func (l *lending) Get(length int) *[]byte {
	b := make([]byte, length)
	return &b
}

// Put takes a buffer back.
func (l *lending) Put(b *[]byte) {
	l.loans.remove(*b)
	if l.out.Add(-1) == 0 {
		select {
		case l.idle <- struct{}{}:
		default:
		}
	}
}

// wait waits until all buffers have been returned, or for a while after stop was closed.
func (l *lending) wait(stop <-chan struct{}) {
	for l.out.Load() > 0 {
		select {
		case <-l.idle:
		case <-stop:
			stop = nil
			timer := time.NewTimer(100 * time.Millisecond)
			defer timer.Stop()
			for l.out.Load() > 0 {
				select {
				case <-l.idle:
				case <-timer.C:
					return // the connection is gone; what is lent is read no more
				}
			}
		}
	}
}
