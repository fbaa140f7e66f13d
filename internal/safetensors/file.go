package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// File is a safetensors file opened for reading.
type File struct {
	r        io.ReaderAt
	start    int64 // of the data
	list     []*Tensor
	tensors  map[string]*Tensor
	metadata map[string]string
}

// Tensor is an array in a file.
type Tensor struct {
	f          *File
	name       string
	dtype      DType
	shape      []int
	begin, end uint64
}

// Open reads and checks the header of a file of the given size in bytes. Nothing needs to be closed.
func Open(r io.ReaderAt, size int64) (*File, error) {
	var b [8]byte
	if size < int64(len(b)) {
		return nil, invalid("%d bytes, expected at least 8", size)
	}
	if err := readFull(r, b[:], 0); err != nil {
		return nil, fmt.Errorf("safetensors: length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint64(b[:])
	switch {
	case n > uint64(size)-8:
		return nil, invalid("a header of %d bytes in a file of %d", n, size)
	case n > MaxHeader:
		return nil, invalid("a header of %d bytes, at most %d", n, MaxHeader)
	}
	header := make([]byte, n)
	if err := readFull(r, header, 8); err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	p, err := parse(header)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, start: 8 + int64(n), tensors: p.tensors, metadata: p.metadata}
	if f.list, err = inOrder(p.tensors, uint64(size)-8-n); err != nil {
		return nil, err
	}
	for _, t := range f.list {
		t.f = f
	}
	return f, nil
}

// readFull fills b. A ReaderAt may return io.EOF together with the last bytes.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Tensors lists the tensors in the order of their names.
func (f *File) Tensors() []*Tensor { return slices.Clone(f.list) }

// Metadata returns the texts of the file's metadata, or nil if there are none.
func (f *File) Metadata() map[string]string { return maps.Clone(f.metadata) }

// Tensor gives one tensor, or an error that wraps ErrNotFound.
func (f *File) Tensor(name string) (*Tensor, error) {
	if t, ok := f.tensors[name]; ok {
		return t, nil
	}
	return nil, fmt.Errorf("safetensors: tensor %q: %w", name, ErrNotFound)
}

// Name is the tensor's name.
func (t *Tensor) Name() string { return t.name }

// DType is the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Shape gives the axes; it is empty for a scalar.
func (t *Tensor) Shape() []int { return slices.Clone(t.shape) }

// Size is the number of bytes that ReadInto fills. The file is known to hold that many, so allocating them is safe.
func (t *Tensor) Size() int64 { return int64(t.end - t.begin) }

// ReadInto reads all elements, row-major and little-endian, into dst, which must have Size() bytes.
func (t *Tensor) ReadInto(dst []byte) error {
	if int64(len(dst)) != t.Size() {
		return fmt.Errorf("safetensors: tensor %q: ReadInto got %d bytes, expected %d: shape %v of %s", t.name, len(dst), t.Size(),
			t.shape, t.dtype)
	}
	if err := readFull(t.f.r, dst, t.f.start+int64(t.begin)); err != nil {
		return fmt.Errorf("safetensors: tensor %q: %w", t.name, err)
	}
	return nil
}

// Float32s reads a tensor of F32, F16, BF16 or F64, the last of which is rounded.
func (t *Tensor) Float32s() ([]float32, error) {
	switch t.dtype {
	case F32, F16, BF16, F64:
	default:
		return nil, fmt.Errorf("safetensors: tensor %q is of %s, expected F32, F16, BF16 or F64", t.name, t.dtype)
	}
	b := make([]byte, t.Size())
	if err := t.ReadInto(b); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	values := make([]float32, len(b)*8/t.dtype.Bits())
	for i := range values {
		switch t.dtype {
		case F32:
			values[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		case F64:
			values[i] = float32(math.Float64frombits(le.Uint64(b[8*i:])))
		case BF16:
			values[i] = math.Float32frombits(uint32(le.Uint16(b[2*i:])) << 16)
		case F16:
			values[i] = half(le.Uint16(b[2*i:]))
		}
	}
	return values, nil
}

// half widens an IEEE binary16: 1 sign, 5 exponent and 10 fraction bits.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	case 0: // zero, subnormal: fraction · 2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
