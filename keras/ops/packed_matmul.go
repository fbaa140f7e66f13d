package ops

import "github.com/gokeras/gokeras/kernels/ir"

// PackedMatmul multiplies x (..., K) by a matrix of K rows whose integers of four bits lie two in a byte: packed is
// int8 (K, ⌈columns/2⌉), with columns 2j and 2j+1 in the lower and the upper bits of byte j, as
// [github.com/gokeras/gokeras/layers/quantizers.PackInt4] writes them. With scale and zero, each (⌈K/block⌉, columns),
// the integers q of row k stand for (q - zero)·scale of block ⌊k/block⌋; zero is int8. Both are nil and block is 0 for
// the integers themselves. The result is (..., columns), of the type of x. The matrix is never unpacked to memory where
// the backend has a kernel.
func PackedMatmul(x, packed, scale, zero *Tensor, columns, block int) *Tensor {
	x = float(x)
	in := []*Tensor{x, packed}
	if scale != nil {
		in = []*Tensor{Cast(x, scale.DType()), packed, scale, zero}
	}
	return Cast(apply(ir.PackedDot, ir.PackedDotAttrs{Columns: columns, Block: block}, in...)[0], x.DType())
}

// PackedColumnsMatmul is [PackedMatmul] with a matrix as the modes gptq and awq keep it: packed is uint8 (⌈columns/2⌉,
// K), whose byte (j, k) has the numbers of columns 2j and 2j+1, from 0 to 15, in its lower and upper bits. scale and
// zero, any uint8, are (columns, ⌈K/block⌉): the integers q of row k stand for (q - zero)·scale of block ⌊k/block⌋.
func PackedColumnsMatmul(x, packed, scale, zero *Tensor, columns, block int) *Tensor {
	x = float(x)
	a := ir.PackedDotAttrs{Columns: columns, Block: block, ByColumns: true}
	return Cast(apply(ir.PackedDot, a, Cast(x, scale.DType()), packed, scale, zero)[0], x.DType())
}

// BytesMatmul is [PackedColumnsMatmul] with one number in each byte: matrix is uint8 (columns, K) of numbers below
// 1<<bits, with bits from 1 to 8.
func BytesMatmul(x, matrix, scale, zero *Tensor, bits, block int) *Tensor {
	x = float(x)
	a := ir.PackedDotAttrs{Columns: matrix.Dim(0), Block: block, ByColumns: true, Bits: bits}
	return Cast(apply(ir.PackedDot, a, Cast(x, scale.DType()), matrix, scale, zero)[0], x.DType())
}
