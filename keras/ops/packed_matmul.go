package ops

import "github.com/gokeras/gokeras/kernels/ir"

// PackedMatmul multiplies x (..., K) by a matrix of K rows of 4-bit integers, packed two to a byte: packed is int8 (K,
// ⌈columns/2⌉), with columns 2j and 2j+1 in the lower and upper bits of byte j, as
// [github.com/gokeras/gokeras/layers/quantizers.PackInt4] writes them. With scale and zero, each (⌈K/block⌉, columns),
// an integer q in row k stands for (q - zero)·scale of block ⌊k/block⌋; zero is int8. For the integers themselves both
// are nil and block is 0. The result is (..., columns), of the type of x. If the backend has a kernel, the matrix is
// never unpacked to memory.
func PackedMatmul(x, packed, scale, zero *Tensor, columns, block int) *Tensor {
	x = float(x)
	in := []*Tensor{x, packed}
	if scale != nil {
		in = []*Tensor{Cast(x, scale.DType()), packed, scale, zero}
	}
	return Cast(apply(ir.PackedDot, ir.PackedDotAttrs{Columns: columns, Block: block}, in...)[0], x.DType())
}

// PackedColumnsMatmul is [PackedMatmul] with a matrix in the layout of the modes gptq and awq: packed is uint8
// (⌈columns/2⌉, K), whose byte (j, k) has the numbers of columns 2j and 2j+1, from 0 to 15, in its lower and upper
// bits. scale and zero are (columns, ⌈K/block⌉): an integer q in row k stands for (q - zero)·scale of block ⌊k/block⌋.
// zero is any uint8.
func PackedColumnsMatmul(x, packed, scale, zero *Tensor, columns, block int) *Tensor {
	x = float(x)
	a := ir.PackedDotAttrs{Columns: columns, Block: block, ByColumns: true}
	return Cast(apply(ir.PackedDot, a, Cast(x, scale.DType()), packed, scale, zero)[0], x.DType())
}

// BytesMatmul is [PackedColumnsMatmul] with one number in each byte: matrix is uint8 (columns, K) with numbers below
// 1<<bits, for bits from 1 to 8.
func BytesMatmul(x, matrix, scale, zero *Tensor, bits, block int) *Tensor {
	x = float(x)
	a := ir.PackedDotAttrs{Columns: matrix.Dim(0), Block: block, ByColumns: true, Bits: bits}
	return Cast(apply(ir.PackedDot, a, Cast(x, scale.DType()), matrix, scale, zero)[0], x.DType())
}
