package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestCdistOfManyPoints computes distances, and the gradient of their sum, of fewer and of more points than are
// computed side by side.
func TestCdistOfManyPoints(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		for _, n := range []int{1, 31, 32, 33, 70} {
			for _, size := range []int{1, 3, 33} {
				requireDistances(t, d, 5, n, size)
			}
		}
	}
}

func requireDistances(t *testing.T, d ir.DType, m, n, size int) {
	a, b := opstest.Random(1, -2, 2, 2, m, size).As(d), opstest.Random(2, -2, 2, 2, n, size).As(d)
	distances := func(g *ops.Graph, x tensors) tensors {
		y := ops.Cdist(x[0], x[1])
		return list(y, ops.Grad(ops.Sum(y), x[0])[0])
	}
	want, gradient := opstest.Array{Shape: []int{2, m, n}, DType: d}, opstest.Array{Shape: a.Shape, DType: d, F: make([]float64, len(a.F))}
	for entry := range 2 {
		for i := range m {
			for j := range n {
				x, y := a.F[(entry*m+i)*size:][:size], b.F[(entry*n+j)*size:][:size]
				squares := 0.0
				for k := range x {
					squares += (x[k] - y[k]) * (x[k] - y[k])
				}
				want.F = append(want.F, math.Sqrt(squares))
				for k := range x {
					gradient.F[(entry*m+i)*size+k] += (x[k] - y[k]) / math.Sqrt(squares)
				}
			}
		}
	}
	got := opstest.EvalOn(t, "cpu", distances, a, b)
	name := fmt.Sprintf("%v: %d points to %d of %d coordinates", d, m, n, size)
	opstest.Near(t, name, got[0], want, 1e-5, 1e-6)
	opstest.Near(t, name+", gradient", got[1], gradient, 1e-5, 1e-5)
}
