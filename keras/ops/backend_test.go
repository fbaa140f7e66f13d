package ops_test

import (
	"fmt"
	"testing"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	_ "github.com/gokeras/gokeras/kernels/cpu"
)

// The programs of the gradient cases and random ones are a fair sample of what is traced; the backend must agree with
// the interpreter on all of them.
func TestGradientsOnTheBackend(t *testing.T) {
	cases := gradientCases[:len(gradientCases):len(gradientCases)]
	for seed := range uint64(60) {
		cases = append(cases, gradientCase{fmt.Sprint("random program ", seed), true, randomProgram(seed), randomInputs})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fn := func(g *ops.Graph, in tensors) tensors {
				ys := c.fn(g, in)
				return append(ys, derivatives(g, ys, in)...)
			}
			want, got := opstest.Eval(t, fn, c.in...), opstest.EvalOn(t, "cpu", fn, c.in...)
			for i, w := range want {
				opstest.Near(t, c.name, got[i], w, 1e-9, 1e-9)
			}
		})
	}
}

// derivatives returns the gradients of the sum of the float results.
func derivatives(g *ops.Graph, ys, in tensors) (found tensors) {
	for _, y := range ys {
		if !y.DType().IsFloat() {
			continue
		}
		for _, grad := range ops.Grad(y, in...) {
			if grad != nil {
				found = append(found, grad)
			}
		}
	}
	return found
}
