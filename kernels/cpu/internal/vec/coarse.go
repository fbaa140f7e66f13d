package vec

// Functions whose results are rounded to bfloat16 next, which keeps 8 significant bits. On AVX-512 they compute 15
// bits, whatever the number's size, in about half the instructions, and package jit writes the same instructions into
// its loops. Elsewhere they are the functions without Coarse. Of all 65,536 numbers of bfloat16, at most 20 get a
// rounded result other than that of the exact function.

// CoarseGelu is [Gelu] to 2⁻¹⁵ of the result.
func CoarseGelu(dst, x []float32) {
	if x = x[:len(dst)]; !coarse32(coarseGelu, dst, x) {
		Gelu(dst, x)
	}
}

// CoarseExp is [Exp] to 2⁻¹⁶ of the result.
func CoarseExp(dst, x []float32) {
	if x = x[:len(dst)]; !coarse32(coarseExp, dst, x) {
		Exp(dst, x)
	}
}

// CoarseSigmoid is [Sigmoid] to 2⁻¹⁶ of the result.
func CoarseSigmoid(dst, x []float32) {
	if x = x[:len(dst)]; !coarse32(coarseSigmoid, dst, x) {
		Sigmoid(dst, x)
	}
}

type coarseFunction int

const (
	coarseGelu coarseFunction = iota
	coarseExp
	coarseSigmoid
)

// CoarseGeluGrad is [GeluGrad] to 2⁻¹⁵ of the result, and to 2⁻²⁴·dy near the zero of gelu'.
func CoarseGeluGrad(dst, dy, x []float32) {
	dy, x = dy[:len(dst)], x[:len(dst)]
	if !coarseGeluGrad(dst, dy, x) {
		GeluGrad(dst, dy, x)
	}
}
