package cpu_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestShortLayerNorm compares rows of every short length and their gradients with float64, also with more rows than a
// block has. It compares the bits of rows with those of the same rows among others.
func TestShortLayerNorm(t *testing.T) {
	for n := 1; n <= 50; n += 1 + n/20 {
		testShortLayerNorm[float32](t, n, ir.Float32, 1)
		testShortLayerNorm[float64](t, n, ir.Float64, 1e-9)
	}
}

func testShortLayerNorm[T float32 | float64](t *testing.T, n int, d ir.DType, tolerance float64) {
	const epsilon = 1e-3
	r := rand.New(rand.NewPCG(10, uint64(n)))
	rows := 1 + r.IntN(300)
	if n <= 3 {
		rows = 5000
	}
	in := [][]T{make([]T, rows*n), make([]T, n), make([]T, n), make([]T, rows*n)} // x, gamma, beta, dy
	for _, v := range in {
		for i := range v {
			v[i] = T(r.NormFloat64())
		}
	}
	x, gamma, beta, dy := in[0], in[1], in[2], in[3]
	got := layerNormOf(t, d, in, rows, n, epsilon)
	dgamma, dbeta := make([]float64, n), make([]float64, n)
	for k := range rows {
		mean, variance, a, b := 0.0, 0.0, 0.0, 0.0
		for i := range n {
			mean += float64(x[k*n+i]) / float64(n)
		}
		for i := range n {
			variance += math.Pow(float64(x[k*n+i])-mean, 2) / float64(n)
		}
		rstd := 1 / math.Sqrt(variance+epsilon)
		for i := range n {
			g := float64(gamma[i]) * float64(dy[k*n+i])
			norm := (float64(x[k*n+i]) - mean) * rstd
			a, b = a+g/float64(n), b+g*norm/float64(n)
			dgamma[i] += float64(dy[k*n+i]) * norm
			dbeta[i] += float64(dy[k*n+i])
		}
		for i := range n {
			norm := (float64(x[k*n+i]) - mean) * rstd
			want := rstd * (float64(gamma[i])*float64(dy[k*n+i]) - a - norm*b)
			require.InDelta(t, norm*float64(gamma[i])+float64(beta[i]), got[0][k*n+i], tolerance*2e-5*(1+math.Abs(norm)))
			require.InDelta(t, want, got[1][k*n+i], tolerance*2e-5*rstd*(1+math.Abs(norm)))
		}
	}
	for i := range n {
		require.InDelta(t, dgamma[i], got[2][i], tolerance*1e-4*math.Sqrt(float64(rows)))
		require.InDelta(t, dbeta[i], got[3][i], tolerance*1e-4*math.Sqrt(float64(rows)))
	}
	few := min(rows, 5)
	first := layerNormOf(t, d, [][]T{x[:few*n], gamma, beta, dy[:few*n]}, few, n, epsilon)
	require.Equal(t, got[0][:few*n], first[0])
	require.Equal(t, got[1][:few*n], first[1])
}

// layerNormOf returns y, dx, dgamma and dbeta.
func layerNormOf[T float32 | float64](t *testing.T, d ir.DType, in [][]T, rows, n int, epsilon float64) (results [][]T) {
	g := tape{p: &ir.Program{}}
	x, gamma, beta, dy := g.input("x", d, rows, n), g.input("gamma", d, n), g.input("beta", d, n), g.input("dy", d, rows, n)
	attrs := ir.NormAttrs{Epsilon: epsilon}
	forward := g.ops(ir.LayerNorm, attrs, x, gamma, beta)
	backward := g.ops(ir.LayerNormGrad, attrs, x, gamma, forward[1], forward[2], dy)
	for i, v := range []ir.Value{forward[0], backward[0], backward[1], backward[2]} {
		g.p.AddOutput([]string{"y", "dx", "dgamma", "dbeta"}[i], v)
	}
	s := newSession(t, g.p)
	for i, values := range in {
		_, err := binary.Encode(s.inputs[i].Bytes(), binary.NativeEndian, values)
		require.NoError(t, err)
	}
	s.run(t)
	for i, size := range []int{rows * n, rows * n, n, n} {
		values := make([]T, size)
		_, err := binary.Decode(s.outputs[i].Bytes(), binary.NativeEndian, values)
		require.NoError(t, err)
		results = append(results, values)
	}
	return results
}
