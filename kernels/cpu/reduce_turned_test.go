package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestReduceShortLines reduces many short lines of random lengths, interleaved or not, by themselves and in an
// elementwise unit. The results agree with float64, and a line has the same bits wherever it is.
func TestReduceShortLines(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 3))
	for range 300 {
		d := []ir.DType{ir.Float32, ir.Float64}[r.IntN(2)]
		kind := []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min}[r.IntN(4)]
		length, inner := 1+r.IntN(70), 1
		if r.IntN(2) == 0 {
			length, inner = 1+r.IntN(40), 2+r.IntN(20)
		}
		lines := 1 + r.IntN(200)
		program := func(lines int) *ir.Program {
			g := graphBuilder{t, ir.New("lines")}
			x := g.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{lines, length, inner}})
			g.p.AddOutput("alone", g.one(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, x))
			g.p.AddOutput("unit", g.one(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{1}}, g.one(ir.Neg, nil, g.one(ir.Neg, nil, g.one(ir.Abs, nil, x)))))
			return g.p
		}
		many := program(lines)
		size := length * inner
		values := make([]float64, lines*size)
		for i := range values {
			values[i] = math.Exp(0.2*r.NormFloat64()) * float64(1-2*r.IntN(2))
		}
		if r.IntN(2) == 0 {
			values[r.IntN(len(values))] = math.NaN()
		}
		x, err := reference.New(d, ir.Shape{lines, length, inner}, values...)
		require.NoError(t, err)
		want, err := reference.Run(many, []reference.Value{x})
		require.NoError(t, err)
		got := runOnce(t, many, []reference.Value{x}, false)
		for i := range got {
			require.NoError(t, kernelstest.Compare(got[i], want[i], 300, true), "%v of %d lines of %dx%d, output %d", kind, lines, length, inner, i)
		}
		at := r.IntN(lines)
		one, err := reference.New(d, ir.Shape{1, length, inner}, values[at*size:(at+1)*size]...)
		require.NoError(t, err)
		for i, y := range runOnce(t, program(1), []reference.Value{one}, false)[:2-min(inner-1, 1)] { // a unit adds up lines between each other of a single example as rows
			for k := range inner {
				w, g := got[i].At(at*inner+k), y.At(k)
				require.True(t, math.Float64bits(w) == math.Float64bits(g) || w != w && g != g, "%v of %d lines of %dx%d, output %d, line %d: %v, %v", kind, lines, length, inner, i, at, w, g)
			}
		}
	}
}
