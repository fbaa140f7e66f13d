package vec

import (
	"math"
	"unsafe"
)

// Neg stores −x.
func Neg[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() && unary32(opNeg, as32(dst), as32(x)) {
		return
	}
	for i := start64(ChainNeg, dst, x, nil); i < len(dst); i++ {
		dst[i] = -x[i]
	}
}

// Abs stores |x|.
func Abs[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opAbs, d, s) {
			for i := range d {
				d[i] = math.Float32frombits(math.Float32bits(s[i]) &^ (1 << 31))
			}
		}
		return
	}
	for i := start64(ChainAbs, dst, x, nil); i < len(dst); i++ {
		dst[i] = T(math.Abs(float64(x[i])))
	}
}

// Relu stores max(x, 0); NaN stays NaN.
func Relu[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() && unary32(opRelu, as32(dst), as32(x)) {
		return
	}
	for i := start64(ChainRelu, dst, x, nil); i < len(dst); i++ {
		v := x[i]
		if v < 0 {
			v = 0
		}
		dst[i] = v
	}
}

// Square stores x².
func Square[T Float](dst, x []T) { Mul(dst, x, x) }

// Sqrt stores the square root of x, NaN for negative x.
func Sqrt[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() && unary32(opSqrt, as32(dst), as32(x)) {
		return
	}
	for i := start64(ChainSqrt, dst, x, nil); i < len(dst); i++ {
		dst[i] = T(math.Sqrt(float64(x[i])))
	}
}

// Rsqrt stores 1/√x: +Inf for 0, NaN for negative x.
func Rsqrt[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() && unary32(opRsqrt, as32(dst), as32(x)) {
		return
	}
	if function64(opRsqrt, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = 1 / T(math.Sqrt(float64(x[i])))
	}
}

// Exp stores eˣ.
func Exp[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opExp, d, s) {
			for i := range d {
				d[i] = exp32(s[i])
			}
		}
		return
	}
	if function64(opExp, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Exp(float64(x[i])))
	}
}

// Log stores the natural logarithm of x: −Inf for 0, NaN for negative x.
func Log[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opLog, d, s) {
			for i := range d {
				d[i] = log32(s[i])
			}
		}
		return
	}
	if function64(opLog, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Log(float64(x[i])))
	}
}

// Tanh stores the hyperbolic tangent of x.
func Tanh[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opTanh, d, s) {
			for i := range d {
				d[i] = tanh32(s[i])
			}
		}
		return
	}
	if function64(opTanh, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Tanh(float64(x[i])))
	}
}

// Sigmoid stores 1/(1 + e⁻ˣ), computed from e^−|x| so that it neither overflows nor loses relative accuracy.
func Sigmoid[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opSigmoid, d, s) {
			for i := range d {
				d[i] = sigmoid32(s[i])
			}
		}
		return
	}
	if function64(opSigmoid, dst, x) {
		return
	}
	for i := range dst {
		v := float64(x[i])
		e := math.Exp(-math.Abs(v))
		if v < 0 {
			dst[i] = T(e / (1 + e))
		} else {
			dst[i] = T(1 / (1 + e))
		}
	}
}

// Erf stores the error function of x.
func Erf[T Float](dst, x []T) {
	x = x[:len(dst)]
	if single[T]() {
		if d, s := as32(dst), as32(x); !unary32(opErf, d, s) {
			for i := range d {
				d[i] = erf32(s[i])
			}
		}
		return
	}
	if function64(opErf, dst, x) {
		return
	}
	for i := range dst {
		dst[i] = T(math.Erf(float64(x[i])))
	}
}

// Affine stores a·x + b.
func Affine[T Float](dst, x []T, a, b T) {
	x = x[:len(dst)]
	if single[T]() && affine32(opAffine, as32(dst), as32(x), float32(a), float32(b)) {
		return
	}
	for i := range dst {
		dst[i] = a*x[i] + b
	}
}

// AffineMul stores (a·x + b)·y.
func AffineMul[T Float](dst, x, y []T, a, b T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if single[T]() && affineMul32(as32(dst), as32(x), as32(y), [2]float32{float32(a), float32(b)}) {
		return
	}
	if !single[T]() && len(dst) >= 8 && unsafe.SliceData(dst) != unsafe.SliceData(y) {
		Scale(dst, x, a)
		AddScalar(dst, dst, b)
		Mul(dst, dst, y)
		return
	}
	for i := range dst {
		dst[i] = (T(a*x[i]) + b) * y[i]
	}
}

// Scale stores a·x.
func Scale[T Float](dst, x []T, a T) {
	x = x[:len(dst)]
	if single[T]() && affine32(opScale, as32(dst), as32(x), float32(a), 0) {
		return
	}
	for i := number64(ChainMulNumber, dst, x, a); i < len(dst); i++ {
		dst[i] = a * x[i]
	}
}

// AddScalar stores x + a.
func AddScalar[T Float](dst, x []T, a T) {
	x = x[:len(dst)]
	if single[T]() && affine32(opAddScalar, as32(dst), as32(x), float32(a), 0) {
		return
	}
	for i := number64(ChainAddNumber, dst, x, a); i < len(dst); i++ {
		dst[i] = x[i] + a
	}
}

// MaxScalar stores the larger of x and a, NaN if either is NaN.
func MaxScalar[T Float](dst, x []T, a T) {
	x = x[:len(dst)]
	if single[T]() && a == a && affine32(opMaxScalar, as32(dst), as32(x), float32(a), 0) {
		return
	}
	for i := number64(ChainMaxNumber, dst, x, a); i < len(dst); i++ {
		v := x[i]
		if a > v || a != a {
			v = a
		}
		dst[i] = v
	}
}

// MinScalar stores the smaller of x and a, NaN if either is NaN.
func MinScalar[T Float](dst, x []T, a T) {
	x = x[:len(dst)]
	if single[T]() && a == a && affine32(opMinScalar, as32(dst), as32(x), float32(a), 0) {
		return
	}
	for i := number64(ChainMinNumber, dst, x, a); i < len(dst); i++ {
		v := x[i]
		if a < v || a != a {
			v = a
		}
		dst[i] = v
	}
}

// Axpy adds a·x to dst.
func Axpy[T Float](dst []T, a T, x []T) {
	x = x[:len(dst)]
	if single[T]() && affine32(opAxpy, as32(dst), as32(x), float32(a), 0) {
		return
	}
	for i := range dst {
		dst[i] += a * x[i]
	}
}
