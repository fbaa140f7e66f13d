package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Bartlett returns the triangular window of n numbers: 1 - |2i/(n-1) - 1|.
func Bartlett(t Traced, dtype ir.DType, n int) *Tensor {
	return window(t, "bartlett", dtype, n, func(u float64) float64 { return 1 - math.Abs(2*u-1) })
}

// Hanning returns the window 1/2 - 1/2·cos(2πi/(n-1)) of n numbers.
func Hanning(t Traced, dtype ir.DType, n int) *Tensor {
	return window(t, "hanning", dtype, n, func(u float64) float64 { return 0.5 - 0.5*math.Cos(2*math.Pi*u) })
}

// Hamming returns the window 0.54 - 0.46·cos(2πi/(n-1)) of n numbers.
func Hamming(t Traced, dtype ir.DType, n int) *Tensor {
	return window(t, "hamming", dtype, n, func(u float64) float64 { return 0.54 - 0.46*math.Cos(2*math.Pi*u) })
}

// Blackman returns the window 0.42 - 0.5·cos(2πi/(n-1)) + 0.08·cos(4πi/(n-1)) of n numbers.
func Blackman(t Traced, dtype ir.DType, n int) *Tensor {
	return window(t, "blackman", dtype, n, func(u float64) float64 { return 0.42 - 0.5*math.Cos(2*math.Pi*u) + 0.08*math.Cos(4*math.Pi*u) })
}

// Kaiser returns the window I0(beta·sqrt(1 - (2i/(n-1) - 1)²)) / I0(beta) of n numbers.
func Kaiser(t Traced, dtype ir.DType, n int, beta float64) *Tensor {
	x := window(t, "kaiser", ir.Float64, n, func(u float64) float64 { return beta * math.Sqrt(max(1-(2*u-1)*(2*u-1), 0)) })
	if n == 1 {
		return Ones(t, dtype, 1)
	}
	return Cast(Divide(I0(x), I0(Full(t, ir.Float64, beta))), dtype)
}

// window is f of i/(n-1); a window of one number is 1.
func window(t Traced, what string, dtype ir.DType, n int, f func(u float64) float64) *Tensor {
	if n == 1 {
		return Ones(t, dtype, 1)
	}
	return spaced(t, what, dtype, 0, 1, n, f)
}
