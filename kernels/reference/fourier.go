package reference

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// fourier is the sum from the definition.
func (c *call) fourier() error {
	a := c.node.Attrs.(ir.FourierAttrs)
	for _, line := range lines(c.in[0].Type.Shape, a.Axis) {
		x := make([]complex128, len(line))
		for t, at := range line {
			x[t] = complex(c.in[0].F[at], c.in[1].F[at])
		}
		for k, y := range transform(x, -1) {
			c.out[0].F[line[k]], c.out[1].F[line[k]] = real(y), imag(y)
		}
	}
	return nil
}

func (c *call) realFourier() error {
	a := c.node.Attrs.(ir.FourierAttrs)
	out := lines(c.out[0].Type.Shape, a.Axis)
	for i, line := range lines(c.in[0].Type.Shape, a.Axis) {
		x := make([]complex128, len(line))
		for t, at := range line {
			x[t] = complex(c.in[0].F[at], 0)
		}
		y := transform(x, -1)
		for k, at := range out[i] {
			c.out[0].F[at], c.out[1].F[at] = real(y[k]), imag(y[k])
		}
	}
	return nil
}

func (c *call) hermitianFourier() error {
	a := c.node.Attrs.(ir.FourierAttrs)
	out := lines(c.out[0].Type.Shape, a.Axis)
	for i, line := range lines(c.in[0].Type.Shape, a.Axis) {
		x := make([]complex128, a.Length)
		for k, at := range line {
			re, im := c.in[0].F[at], c.in[1].F[at]
			if k == 0 || 2*k == a.Length {
				im = 0
			}
			x[k] = complex(re, im)
			x[(a.Length-k)%a.Length] = complex(re, -im)
			if k == 0 {
				x[0] = complex(re, 0)
			}
		}
		for t, y := range transform(x, 1) {
			c.out[0].F[out[i][t]] = real(y)
		}
	}
	return nil
}

// transform returns Σ_t x[t]·exp(sign·2πi·kt/n).
func transform(x []complex128, sign float64) []complex128 {
	n := len(x)
	roots := make([]complex128, n)
	for k := range roots {
		sin, cos := ir.SincosTurn(k, n)
		roots[k] = complex(cos, sign*sin)
	}
	y := slices.Repeat([]complex128{0}, n)
	for k := range y {
		for t, v := range x {
			y[k] += v * roots[t*k%n]
		}
	}
	return y
}
