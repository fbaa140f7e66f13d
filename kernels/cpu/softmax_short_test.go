package cpu_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestShortSoftmax compares rows of every short length with float64, and the bits of rows with those of the same rows
// among others.
func TestShortSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for n := 1; n <= 100; n += 1 + n/40*7 {
		rows := 1 + r.IntN(300)
		x, dy := make([]float32, rows*n), make([]float32, rows*n)
		for i := range x {
			x[i], dy[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		if rows > 3 {
			x[n] = float32(math.NaN())
			x[2*n] = float32(math.Inf(-1))
		}
		y, dx := softmaxOf(t, x, dy, rows, n)
		for k := range rows {
			if k == 1 {
				require.True(t, math.IsNaN(float64(y[n])))
				continue
			}
			sum, weighed := 0.0, 0.0
			for i := range n {
				sum += math.Exp(float64(x[k*n+i]))
			}
			for i := range n {
				weighed += float64(y[k*n+i]) * float64(dy[k*n+i])
			}
			for i := k * n; i < k*n+n && sum > 0; i++ {
				require.InDelta(t, math.Exp(float64(x[i]))/sum, y[i], 1e-6)
				require.InDelta(t, float64(y[i])*(float64(dy[i])-weighed), dx[i], 1e-6)
			}
		}
		few := min(rows, 5)
		first, d := softmaxOf(t, x[:few*n], dy[:few*n], few, n)
		for i := range first {
			if math.IsNaN(float64(y[i])) { // of either sign
				require.True(t, math.IsNaN(float64(first[i])) && math.IsNaN(float64(d[i])) && math.IsNaN(float64(dx[i])))
				continue
			}
			require.Equal(t, math.Float32bits(first[i]), math.Float32bits(y[i]), "row %d of %d", i/n, n)
			require.Equal(t, math.Float32bits(d[i]), math.Float32bits(dx[i]), "row %d of %d", i/n, n)
		}
	}
}

// TestShortLogSoftmax compares rows of every short length, and their gradient, with float64, and the bits with those of
// the same rows among fewer.
func TestShortLogSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 5))
	for n := 1; n <= 100; n += 1 + n/40*7 {
		rows := 1 + r.IntN(300)
		x, dy := make([]float32, rows*n), make([]float32, rows*n)
		for i := range x {
			x[i], dy[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		y, dx := rowsOf(t, ir.LogSoftmax, ir.LogSoftmaxGrad, x, dy, rows, n)
		for k := range rows {
			exponentials, sum := 0.0, 0.0
			for i := k * n; i < k*n+n; i++ {
				exponentials += math.Exp(float64(x[i]))
				sum += float64(dy[i])
			}
			for i := k * n; i < k*n+n; i++ {
				require.InDelta(t, float64(x[i])-math.Log(exponentials), y[i], 1e-5)
				require.InDelta(t, float64(dy[i])-math.Exp(float64(x[i]))/exponentials*sum, dx[i], 1e-5)
			}
		}
		few := min(rows, 5)
		l, d := rowsOf(t, ir.LogSoftmax, ir.LogSoftmaxGrad, x[:few*n], dy[:few*n], few, n)
		for i, v := range d {
			require.Equal(t, math.Float32bits(v), math.Float32bits(dx[i]), "row %d of %d", i/n, n)
			require.Equal(t, math.Float32bits(l[i]), math.Float32bits(y[i]), "row %d of %d", i/n, n)
		}
	}
}

// softmaxOf returns the softmax of rows and its gradient.
func softmaxOf(t *testing.T, x, dy []float32, rows, n int) (y, dx []float32) {
	return rowsOf(t, ir.Softmax, ir.SoftmaxGrad, x, dy, rows, n)
}

// rowsOf returns the results of an op on rows and of its gradient.
func rowsOf(t *testing.T, op, gradient ir.Op, x, dy []float32, rows, n int) (y, dx []float32) {
	g := tape{p: &ir.Program{}}
	a, b := g.input("x", ir.Float32, rows, n), g.input("dy", ir.Float32, rows, n)
	p := g.op(op, nil, a)
	g.p.AddOutput("y", p)
	g.p.AddOutput("dx", g.op(gradient, nil, p, b))
	s := newSession(t, g.p)
	for i, values := range [][]float32{x, dy} {
		_, err := binary.Encode(s.inputs[i].Bytes(), binary.NativeEndian, values)
		require.NoError(t, err)
	}
	s.run(t)
	y, dx = make([]float32, rows*n), make([]float32, rows*n)
	for i, values := range [][]float32{y, dx} {
		_, err := binary.Decode(s.outputs[i].Bytes(), binary.NativeEndian, values)
		require.NoError(t, err)
	}
	return y, dx
}
