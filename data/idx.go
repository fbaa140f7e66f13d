package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/kernels/ir"
)

// idxTypes maps the third byte of an IDX file to an element type. All numbers are big-endian.
var idxTypes = map[byte]ir.DType{
	0x08: ir.Uint8, 0x09: ir.Int8, 0x0B: ir.Int16, 0x0C: ir.Int32, 0x0D: ir.Float32, 0x0E: ir.Float64,
}

// ReadIDX reads an array in the IDX format of the MNIST files: two zero bytes, a type code, the rank, the dimensions as
// big-endian 32-bit numbers, and the values in row-major order. Data after the values is an error.
//
// Source of the format: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits".
func ReadIDX(r io.Reader) (Array, error) {
	d, err := readIDX(r, unknownSize)
	if err != nil {
		return Array{}, fmt.Errorf("data: ReadIDX: %w", err)
	}
	return d, nil
}

// LoadIDX reads an IDX file, plain or compressed with gzip, regardless of its name.
func LoadIDX(path string) (Array, error) {
	d, err := loadIDX(path)
	if err != nil {
		return Array{}, fmt.Errorf("data: LoadIDX: %w", atomicfile.Named(path, err))
	}
	return d, nil
}

func loadIDX(path string) (Array, error) {
	return readFile(path, func(r *bufio.Reader, size int) (Array, error) {
		if magic, _ := r.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
			return readIDX(r, size)
		}
		z, err := gzip.NewReader(r)
		if err != nil {
			return Array{}, err
		}
		return readIDX(z, 8*size) // images compress about five times
	})
}

func readIDX(r io.Reader, hint int) (Array, error) {
	if r == nil {
		return Array{}, errNoReader
	}
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Array{}, fmt.Errorf("header: %w", noEOF(err))
	}
	dtype, ok := idxTypes[head[2]]
	if head[0] != 0 || head[1] != 0 || !ok {
		return Array{}, fmt.Errorf("header starts with % x; expected 00 00, then a type code 08, 09, 0b, 0c, 0d or 0e: not an IDX file", head[:3])
	}
	rank := int(head[3])
	if rank == 0 || rank > maxRank {
		return Array{}, fmt.Errorf("rank %d; expected 1 to %d", rank, maxRank)
	}
	dims := make([]byte, 4*rank)
	if _, err := io.ReadFull(r, dims); err != nil {
		return Array{}, fmt.Errorf("dimensions: %w", noEOF(err))
	}
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = int(binary.BigEndian.Uint32(dims[4*i:]))
	}
	item := dtype.Size()
	n, ok := volume(shape, item)
	switch {
	case !ok:
		return Array{}, fmt.Errorf("shape %v is too large for memory", shape)
	case n == 0:
		return Array{}, fmt.Errorf("shape %v holds no values", shape)
	}
	raw, err := readPayload(r, n*item, hint)
	if err != nil {
		return Array{}, err
	}
	if err := expectEnd(r); err != nil {
		return Array{}, err
	}
	if nativeIsLittle {
		swapBytes(raw, item)
	}
	return fromNative(dtype, raw, shape...), nil
}

// noEOF turns io.EOF, which inside a header means a truncated file, into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
