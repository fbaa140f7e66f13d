package data

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

const dtypeHint = "expected numbers or bools"

// newArray returns a zero-filled array.
func newArray(dt ir.DType, shape ...int) Array {
	return kernels.NewArray(ir.Type{DType: dt, Shape: slices.Clone(ir.Shape(shape))})
}

// wrap makes an array from a slice without copying it. The length of the slice must fit the shape; no shape means a
// scalar.
func wrap[T Element](values []T, shape ...int) Array {
	if shape == nil {
		shape = []int{}
	}
	return kernels.Must(kernels.ArrayOf(values, shape...))
}

// describe returns element type and shape: "float32[32 10]", "int64[]" for a scalar.
func describe(d Array) string {
	if d.IsZero() {
		return "none"
	}
	return d.Type.String()
}

// maxBytes is the largest size that is tried, more than a machine can address: 64 TiB, or 2 GiB if int has 32 bits.
const maxBytes = min(1<<46, math.MaxInt)

// volume multiplies dimensions; ok is false if one is negative or the product of the non-zero ones exceeds maxBytes.
func volume(shape []int, itemSize int) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxBytes/itemSize/d {
			return 0, false
		}
		n *= max(d, 1)
	}
	if slices.Contains(shape, 0) {
		n = 0
	}
	return n, true
}

// packStrided copies an array whose element (i, j, ...) starts at byte itemSize*(i*strides[0] + j*strides[1] + ...) of
// raw into a fresh row-major array.
func packStrided(dt ir.DType, raw []byte, shape, strides []int) Array {
	out := newArray(dt, shape...)
	item, rank := dt.Size(), len(shape)
	index := make([]int, rank)
	inner, innerStride := shape[rank-1], strides[rank-1]*item
	for dst := out.Data; len(dst) > 0; {
		src := 0
		for axis, i := range index[:rank-1] {
			src += i * strides[axis] * item
		}
		for range inner {
			copy(dst[:item], raw[src:src+item])
			dst, src = dst[item:], src+innerStride
		}
		for axis := rank - 2; axis >= 0; axis-- { // count up like an odometer, last axis fastest
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	return out
}

// stack copies arrays of one shape into a fresh array with a new axis 0.
func stack(parts []Array) Array {
	first := parts[0]
	out := newArray(first.DType(), append([]int{len(parts)}, first.Shape()...)...)
	size := len(out.Data) / len(parts)
	for i, p := range parts {
		copy(out.Data[i*size:(i+1)*size], p.Data)
	}
	return out
}
