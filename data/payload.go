package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// maxRank bounds the rank in a file header. It is NumPy's limit.
const maxRank = 64

// unknownSize is the size hint if nothing is known about the amount of data.
const unknownSize = 1 << 16

// readPayload reads exactly n bytes of array data. Memory grows with the data that arrives: at first min(n, hint)
// bytes, then at most twice what was read. So a header that promises more than the file holds costs no memory. The
// result is aligned for every element type.
func readPayload(r io.Reader, n, hint int) ([]byte, error) {
	buf := alignedBytes(min(n, max(hint, 512)))
	for have := 0; ; {
		k, err := io.ReadFull(r, buf[have:])
		have += k
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, shortOf(n, have)
		}
		if err != nil {
			return nil, err
		}
		if have == n {
			return buf, nil
		}
		grown := alignedBytes(int(min(uint(n), 2*uint(have))))
		copy(grown, buf)
		buf = grown
	}
}

// shortOf returns the error for values that are cut off.
func shortOf(n, have int) error {
	return fmt.Errorf("the header promises %d bytes of values, but only %d follow: %w", n, have, io.ErrUnexpectedEOF)
}

// expectEnd returns an error if data follows the values.
func expectEnd(r io.Reader) error {
	var one [1]byte
	switch _, err := io.ReadFull(r, one[:]); err {
	case io.EOF:
		return nil
	case nil:
		return errors.New("more data follows the values that the header promises")
	default:
		return err
	}
}

// alignedBytes allocates n bytes at an address that suits 8-byte elements.
func alignedBytes(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n:n]
}

// fromNative makes an array from bytes of alignedBytes that hold numbers in this machine's byte order, without copying.
func fromNative(dt ir.DType, raw []byte, shape ...int) Array {
	if dt == ir.Bool {
		for i, b := range raw {
			raw[i] = min(b, 1) // any other bit pattern would not be a Go bool
		}
	}
	if !nativeIsLittle {
		swapBytes(raw, dt.Size())
	}
	return Array{Type: ir.Type{DType: dt, Shape: slices.Clone(ir.Shape(shape))}, Data: raw}
}

func viewAs[T any](raw []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/int(unsafe.Sizeof(zero)))
}

// nativeIsLittle reports whether this machine is little-endian.
var nativeIsLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// swapBytes reverses the bytes of every word of the given size.
func swapBytes(raw []byte, word int) {
	if word == 1 {
		return
	}
	for ; len(raw) >= word; raw = raw[word:] {
		slices.Reverse(raw[:word])
	}
}
