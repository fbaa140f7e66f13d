package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestTallColumn sums rows multiplied by numbers, along one axis or two, and compares with float64.
func TestTallColumn(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 7))
	for range 20 {
		rows, steps, columns := 300+r.IntN(3000), 1+r.IntN(4), columnLeast+r.IntN(100)
		g := graphBuilder{t, ir.New("column")}
		x, y := g.p.AddInput("x", single(rows, steps, columns)), g.p.AddInput("y", single(rows, steps, 1))
		g.p.AddOutput("sums", g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{0, 1}, RhsContract: []int{0, 1}}, x, y))
		inputs := randomInputs(t, g.p)
		want, err := reference.Run(g.p, inputs)
		require.NoError(t, err)
		got := runOnce(t, g.p, inputs, false)
		for i := range columns {
			size := 0.0
			for k := range rows * steps {
				size += math.Abs(inputs[0].At(k*columns+i) * inputs[1].At(k))
			}
			require.InDelta(t, want[0].At(i), got[0].At(i), 1e-6*size, "%d rows, column %d of %d", rows*steps, i, columns)
		}
	}
}

// TestTallColumnTwice: the sums of a run contain nothing of the previous one.
func TestTallColumnTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 8))
	for range 5 {
		rows, columns := 1100+r.IntN(3000), columnLeast+r.IntN(100)
		g := graphBuilder{t, ir.New("column")}
		x, y := g.p.AddInput("x", single(rows, columns)), g.p.AddInput("y", single(rows, 1))
		g.p.AddOutput("sums", g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, x, y))
		e, err := Backend{}.load(g.p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		var in []kernels.Buffer
		for _, v := range randomInputs(t, g.p) {
			b := newBuffer(testDevice, v.Type)
			require.NoError(t, b.Write(v.Bytes()))
			in = append(in, b)
		}
		out := newBuffer(testDevice, g.p.Type(g.p.Outputs[0].Value))
		var first []byte
		for range 3 {
			require.NoError(t, e.Run(context.Background(), in, []kernels.Buffer{out}))
			if first == nil {
				first = append(first, out.Bytes()...)
			}
			require.Equal(t, first, out.Bytes())
		}
		e.Close()
	}
}
