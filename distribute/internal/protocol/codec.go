package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"
)

// Version is the version of the protocol. Servers, workers and coordinators of other versions are refused.
const Version = 10

// Writer builds a message. Numbers are little-endian; arrays begin at multiples of their elements' size, so that they
// can be read in place.
type Writer struct {
	B []byte

	sink    io.Writer // nil: everything stays in B
	flushed int
	err     error
}

// NewWriter returns a writer that writes its bytes to sink, so that a large state is not in memory twice. Call Flush at
// the end.
func NewWriter(sink io.Writer) *Writer { return &Writer{sink: sink} }

// Flush writes the remaining bytes, and returns the first error.
func (w *Writer) Flush() error {
	w.drain(0)
	return w.err
}

// drain writes B to the sink if it has more than limit bytes.
func (w *Writer) drain(limit int) {
	if w.sink == nil || len(w.B) <= limit {
		return
	}
	w.through(w.B)
	w.flushed += len(w.B)
	w.B = w.B[:0]
}

func (w *Writer) through(b []byte) {
	if w.err == nil {
		_, w.err = w.sink.Write(b)
	}
}

// pendingBytes is the number of bytes that are buffered before they go to the sink.
const pendingBytes = 1 << 16

// Byte appends one byte.
//
//go:noinline
func (w *Writer) Byte(v byte) { w.B = append(w.B, v) }

// Bool appends a truth value.
//
//go:noinline
func (w *Writer) Bool(v bool) {
	if v {
		w.Byte(1)
		return
	}
	w.Byte(0)
}

// Uint appends a number that is usually small.
func (w *Writer) Uint(v uint64) { w.B = binary.AppendUvarint(w.B, v) }

// Float appends a float64.
func (w *Writer) Float(v float64) {
	w.B = binary.LittleEndian.AppendUint64(w.B, math.Float64bits(v))
}

// Bytes appends a text with its length.
//
//go:noinline
func (w *Writer) Bytes(v []byte) {
	w.Uint(uint64(len(v)))
	w.B = append(w.B, v...)
}

// String appends a text with its length.
func (w *Writer) String(v string) {
	w.Uint(uint64(len(v)))
	w.B = append(w.B, v...)
}

// pad pads to a multiple of n.
func (w *Writer) pad(n int) {
	for (w.flushed+len(w.B))%n != 0 {
		w.B = append(w.B, 0)
	}
}

// Floats appends numbers with their count.
func (w *Writer) Floats(v []float32) {
	w.Uint(uint64(len(v)))
	w.pad(4)
	if w.sink != nil && 4*len(v) > pendingBytes {
		w.drain(0)
		w.through(bytesOf(v))
		w.flushed += 4 * len(v)
		return
	}
	w.B = append(w.B, bytesOf(v)...)
	w.drain(pendingBytes)
}

// Ints appends numbers with their count.
func (w *Writer) Ints(v []int64) {
	w.Uint(uint64(len(v)))
	w.pad(8)
	w.B = append(w.B, bytesOf(v)...)
}

// bytesOf views numbers as bytes. All supported machines are little-endian.
func bytesOf[T float32 | int64](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// viewOf views bytes as numbers if they are aligned, and otherwise copies them.
func viewOf[T float32 | int64](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%uintptr(size) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
	}
	out := make([]T, n)
	copy(bytesOf(out), b)
	return out
}

// ErrMessage is the error for broken messages.
var ErrMessage = errors.New("parameterserver: broken message")

// Reader decodes a message. After the first error all methods return zeros.
type Reader struct {
	b    []byte
	at   int
	err  error
	find func(Place) ([]float32, error) // nil: everything is in b
}

// NewReader returns a reader of b, which must not change while the decoded values are in use.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

func (r *Reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s at byte %d of %d", ErrMessage, what, r.at, len(r.b))
	}
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// End returns the first error; unread bytes are an error too.
func (r *Reader) End() error {
	if r.err == nil && r.at != len(r.b) {
		r.fail("more bytes than expected")
	}
	return r.err
}

// Left is the number of bytes not read yet.
func (r *Reader) Left() int { return len(r.b) - r.at }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.err != nil || r.at >= len(r.b) {
		r.fail("it ends early")
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// Bool reads a truth value.
func (r *Reader) Bool() bool {
	v := r.Byte()
	if v > 1 {
		r.fail("a truth value is neither 0 nor 1")
	}
	return v == 1
}

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.at:])
	if n <= 0 {
		r.fail("a number is cut off or too large")
		return 0
	}
	r.at += n
	return v
}

// Int reads a number that fits an int.
func (r *Reader) Int() int {
	v := r.Uint()
	if v > math.MaxInt {
		r.fail("a number is too large")
		return 0
	}
	return int(v)
}

// Float reads a float64.
func (r *Reader) Float() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// count reads the number of elements of the given size that follow; there cannot be more than fit the remaining bytes.
func (r *Reader) count(size int) int {
	n := r.Uint()
	if r.err == nil && n > uint64(r.Left()/size) {
		r.fail("a length is beyond the end")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > r.Left() {
		r.fail("it ends early")
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

// Bytes reads a text in place.
func (r *Reader) Bytes() []byte { return r.take(r.count(1)) }

// String reads a text.
func (r *Reader) String() string { return string(r.Bytes()) }

func (r *Reader) align(n int) {
	for r.at%n != 0 && r.err == nil {
		if r.Byte() != 0 {
			r.fail("what fills up is not 0")
		}
	}
}

// Floats reads numbers, in place if they are aligned.
func (r *Reader) Floats() []float32 {
	n := r.count(4)
	r.align(4)
	return viewOf[float32](r.take(4 * n))
}

// Ints reads numbers, in place if they are aligned.
func (r *Reader) Ints() []int64 {
	n := r.count(8)
	r.align(8)
	return viewOf[int64](r.take(8 * n))
}

// Skip skips bytes.
func (r *Reader) Skip(n int) { r.take(n) }

// Count reads the number of elements of at least the given size that follow.
func (r *Reader) Count(size int) int { return r.count(size) }
