// Package vec holds the elementwise kernels of the CPU backend: loops over plain slices, on the calling goroutine.
//
// # API
//
// T is float32 or float64. All slices of a call have the length of dst (a longer one is cut, a shorter one panics). dst
// may be the same slice as any input; other overlaps are not allowed. To use several workers, callers split long arrays
// into blocks that fit the second-level cache, and run chains of operations block by block.
//
//	Add, Sub, Mul, Div, Max, Min      (dst, a, b []T)              Max and Min: NaN if either is NaN
//	Neg, Abs, Relu, Square, Sqrt, Rsqrt, Exp, Log, Tanh, Sigmoid, Erf, Gelu (dst, x []T)
//	Floor, Ceil, Round, Sign, Expm1, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh, ErfInv, Erfc, Exp2 (dst, x []T)
//	Lgamma                            (dst, x []T)                 of positive numbers in float64 vectors, of others Go's
//	Pow, Rem, Atan2                   (dst, a, b []T)
//	CompareFloats, CompareInts        (Relation, dst []uint8, a, b)   1 where it holds
//	NotZero, Finite                   (dst []uint8, x []float32)
//	Choose                            (dst, mask, a, b)            a where the mask is not 0, else b; 32 bits each
//	AddInts, SubInts, MulInts, MaxInts, MinInts, ShiftInts, ShiftIntsRight, ShiftUintsRight   32 bits; Bits, Flip: bitwise, of any type
//	AddLongs, SubLongs, MaxLongs, MinLongs, MaxUlongs, MinUlongs, OrderLongs, NegLongs, AbsLongs, SignLongs, CompareLongs   64 bits
//	FloatsToDoubles, DoublesToFloats                               exact, and rounded to nearest
//	BytesToFloats, IntsToFloats, FloatsToInts                      rounded to nearest; towards zero and saturating
//	Affine                            (dst, x []T, a, b T)         a·x + b
//	AffineMul                         (dst, x, y []T, a, b T)      (a·x + b)·y
//	ExpAffine                         (dst, x []T, a, b, c T) T    c·exp(a·x + b), returns the sum
//	Scale, AddScalar                  (dst, x []T, a T)            a·x;  x + a
//	Axpy                              (dst []T, a T, x []T)        dst += a·x
//	MulAdd                            (dst, a, b, c []T)           a·b + c
//	ReluGrad                          (dst, dy, y []T)             dy where y > 0, else 0
//	Share                             (dst, dy, a, b []T)          dy where a > b, dy/2 where a = b, else 0
//	TanhGrad, SigmoidGrad             (dst, dy, y []T)             dy·(1 − y²);  dy·y·(1 − y)
//	GeluGrad                          (dst, dy, x []T)             dy·(Φ(x) + x·φ(x))
//	FillRows                          (dst []uint32, src, n, step)  rows of one number each
//	CopyRows                          (dst, src, n, bytes, to, from)  rows that lie to and from bytes apart
//	Sum, MaxOf                        (x []T) T                    MaxOf of nothing is −Inf
//	Dot                               (a, b []T) T
//	SumRows                           (dst, x []T, rows, cols, stride int)   dst[c] = Σ_r x[r·stride + c]
//	Moments, MergeMoments             (mean, squares []float64, x []T, rows, cols int)   of the columns: Σ x / rows and Σ (x − mean)²
//	SumProducts                       (sum, product []float64, dy, x []T, rows, cols int, mean, scale, shift []T)   Σ dy and Σ dy·(x − mean)
//	AffineRows                        (dst, x, addend, scale, shift []T, relu bool)   x·scale + shift + addend
//	CombineRows                       (dst, x, dy, onX, onDy, constant, scale, shift []T)   x·onX + dy·onDy + constant
//	Softmax                           (dst, x []T)                 of one row
//	LogSoftmaxLines, LogSumLines      (dst, x []T, cols int, scratch []T); (totals, x []T, cols int, scratch []T)   of rows
//	SoftmaxRows, SoftmaxRowsGrad      (x, total []T, s Scores, scale T); (p, d, total []T, s Scores, scale T)   in place, of rows of attention scores
//	Fetch                             (x []T, rows, cols, stride int)   brings rows into the second-level cache
//	Adam                              (*AdamArgs[T])               one fused step, see the type
//	SGD, Momentum                     (w, [velocity,] g []T, ...)
//	BF16ToFloat32, Float32ToBF16, F16ToFloat32, Float32ToF16       uint16 holds the 16-bit number; rounds to nearest even
//	MaxPool2x2, MaxPool2x2Backward                                 NHWC, window and stride 2
//	PixelsMax, PixelsAdd, PixelsClaim                              one cell of all windows of a row of pixels
//	HitsCount, HitsShare                                           where rows are equal to the extremes of their columns
//	LayerNorm, LayerNormGrad                                       of the rows of a matrix
//
// # Accuracy
//
// Add to Div, Neg, Abs, Relu, Square, Sqrt, Affine (which rounds twice where there is no fused multiply-add), the steps
// of optimizers and the conversions are correctly rounded in each operation. The errors of the others in float32,
// against the exact value (ULP is a unit in the last place):
//
//	Exp      1 ULP for normal results; results below 2⁻¹²⁶ within 2⁻¹⁴⁹; overflow to +Inf, underflow to 0
//	Log      0.9 ULP; Log(0) = −Inf, of negative numbers NaN
//	Tanh     1.9 ULP
//	Sigmoid  2 ULP, also for large negative x
//	the gates of LstmCell and GruCell relative 4e-7; Sigmoid of x below −87 is at most 2e-38
//	Erf      1.3 ULP
//	Gelu     relative 4e-7 + 6e-8·x² for x < 0, however small the result is; 4e-7 for the others
//	GeluGrad the same, and absolute 2e-7·e^(−x²/2)·(1 + |x|), since the two terms cancel each other near −0.75
//	Rsqrt    1.5 ULP: 1/sqrt(x), not the hardware's estimate
//	CoarseGelu, CoarseGeluGrad, CoarseExp, CoarseSigmoid relative 2⁻¹⁵, and absolute 2⁻²⁴ of GeluGrad near its zero
//
// With assembly, the functions of functions.go, Pow and Atan2 are within 2 ULP, most of them within 1.5; Floor, Ceil,
// Round, Sign and Rem are exact. Without it, they are Go's float64 functions, rounded once. For large operands, Go's
// functions take over, element by element: sines and cosines of more than 105615, tangents of more than 32768, and
// remainders of quotients above 2²².
//
// In float64, the assembly is within 2 ULP, Gelu within 4, ErfInv within 5, and Rem is exact. Without assembly, Sin,
// Cos, Tan and Pow are computed in the same way, with the same bound, and the others are Go's math functions. So are
// sines, cosines and tangents of more than 2²⁹ and remainders of quotients above 2⁵¹. NaN always gives NaN.
//
// Sums and dot products are added in blocks, and the blocks pairwise. The length and the kernel family determine the
// order, and the error grows with the logarithm of the length.
//
// Except in sums, an element's result depends neither on its position nor on the length of the slice. It may differ in
// the last bit between kernel families, because assembly uses fused multiply-add.
package vec
