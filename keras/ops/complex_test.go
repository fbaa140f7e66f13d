package ops_test

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

// TestPolar: the numbers are Go's, with broadcasting, and views convert in both directions.
func TestPolar(t *testing.T) {
	abs, angle := opstest.Floats([]int{2, 1}, 1.5, -2), opstest.Floats([]int{3}, 0.25, -2, 40)
	out := opstest.Eval(t, func(_ *ops.Graph, in tensors) tensors {
		re, im := ops.Polar(in[0], in[1])
		pairs := ops.ViewAsReal(re, im)
		backRe, backIm := ops.ViewAsComplex(pairs)
		return tensors{re, im, pairs, backRe, backIm}
	}, abs, angle)
	assert.Equal(t, []int{2, 3}, out[0].Shape)
	assert.Equal(t, []int{2, 3, 2}, out[2].Shape)
	for i := range 6 {
		want := complex(abs.F[i/3], 0) * cmplx.Exp(complex(0, angle.F[i%3]))
		assert.InDelta(t, real(want), out[0].F[i], 1e-14)
		assert.InDelta(t, imag(want), out[1].F[i], 1e-14)
		assert.Equal(t, []float64{out[0].F[i], out[1].F[i]}, out[2].F[2*i:2*i+2])
	}
	assert.Equal(t, out[0].F, out[3].F)
	assert.Equal(t, out[1].F, out[4].F)
	assert.False(t, math.IsNaN(out[0].F[0]))
}
