package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestRealLinesAreApart: the transform of a line has the same bits beside a line of large numbers, or of NaN.
func TestRealLinesAreApart(t *testing.T) {
	for _, lines := range []int{2, 5, 21, 64} {
		for _, n := range []int{1, 2, 8, 9, 45, 130, 512} {
			for _, op := range []ir.Op{ir.RealFourier, ir.HermitianFourier} {
				t.Run(fmt.Sprint(lines, n, op), func(t *testing.T) { linesAreApart(t, lines, n, op) })
			}
		}
	}
}

func linesAreApart(t *testing.T, lines, n int, op ir.Op) {
	a := ir.FourierAttrs{Axis: 1, Length: n}
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	g := graphBuilder{t, ir.New("lines")}
	length, operands := n, 1
	if op == ir.HermitianFourier {
		length, operands = a.Bins(), 2
	}
	var in []ir.Value
	var inputs []reference.Value
	for range operands {
		in = append(in, g.p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{lines, length}}))
		elements := make([]float64, lines*length)
		for i := range elements {
			elements[i] = rng.NormFloat64()
		}
		v, err := reference.New(ir.Float32, ir.Shape{lines, length}, elements...)
		require.NoError(t, err)
		inputs = append(inputs, v)
	}
	out, err := g.p.Add("", op, a, in...)
	require.NoError(t, err)
	for _, v := range out {
		g.p.AddOutput("y", v)
	}
	before := runOnce(t, g.p, inputs, false)
	for i := range length {
		inputs[0].F[length+i] = []float64{1e20, math.NaN(), math.Inf(1)}[i%3]
	}
	for i, v := range runOnce(t, g.p, inputs, false) {
		row := len(v.F) / lines
		require.Equal(t, before[i].F[:row], v.F[:row], "the line before")
		require.Equal(t, before[i].F[2*row:], v.F[2*row:], "the lines after")
	}
}

// TestColumns transforms interleaved lines, each with two nonzero elements, whose transforms are known. Some lines are
// long, and there are more or fewer of them than lanes; lengths have small or other factors. Some are short, and
// several times as many are loaded at a time.
func TestColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 48))
	for _, c := range []struct {
		d        ir.DType
		n, lines int
	}{{ir.Float32, 9000, 9}, {ir.Float32, 1 << 14, 35}, {ir.Float32, 9009, 16}, {ir.Float64, 10_000, 19},
		{ir.Float32, 12, 531}, {ir.Float32, 45, 300}, {ir.Float32, 146, 260}, {ir.Float64, 60, 400}} {
		x := [2][]float64{make([]float64, c.n*c.lines), make([]float64, c.n*c.lines)}
		want := [2][]float64{make([]float64, c.n*c.lines), make([]float64, c.n*c.lines)}
		for line := range c.lines {
			for range 2 {
				at, re, im := rng.IntN(c.n), float64(rng.IntN(9)-4), float64(rng.IntN(9)-4)
				x[0][at*c.lines+line] += re
				x[1][at*c.lines+line] += im
				for k := range c.n {
					sin, cos := math.Sincos(-2 * math.Pi * float64(k*at%c.n) / float64(c.n))
					want[0][k*c.lines+line] += re*cos - im*sin
					want[1][k*c.lines+line] += re*sin + im*cos
				}
			}
		}
		g := graphBuilder{t, ir.New("columns")}
		var in []ir.Value
		var inputs []reference.Value
		for _, elements := range x {
			v, err := reference.New(c.d, ir.Shape{c.n, c.lines}, elements...)
			require.NoError(t, err)
			in, inputs = append(in, g.p.AddInput("x", v.Type)), append(inputs, v)
		}
		out, err := g.p.Add("", ir.Fourier, ir.FourierAttrs{Axis: 0, Length: c.n}, in...)
		require.NoError(t, err)
		for _, v := range out {
			g.p.AddOutput("y", v)
		}
		for part, got := range runOnce(t, g.p, inputs, false) {
			for i, w := range want[part] {
				if !(math.Abs(got.F[i]-w) <= 3e-5) {
					t.Fatalf("%v: part %d of element %d is %v, want %v", c, part, i, got.F[i], w)
				}
			}
		}
	}
}
