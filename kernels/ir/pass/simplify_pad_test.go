package pass_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestMovementsKeepTheirMeaning runs random slices of slices, pads of pads and sums of pads as they are and simplified.
func TestMovementsKeepTheirMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	fewer := 0
	for range 2000 {
		p := ir.New("movements")
		b := b{t, p}
		x, y := b.input("x", ir.Float32, 5, 9), b.input("y", ir.Float32, 5, 9)
		v := randomMovement(b, r, x)
		if r.IntN(3) > 0 {
			v = randomMovement(b, r, v)
		}
		p.AddOutput("v", v)
		zero := b.splat(0)
		overlap := func(name string, low, length int, negated bool) ir.Value { // whole values, so that their sum is taken apart
			rows := b.input(name, ir.Float32, 5, length)
			if negated {
				rows = b.add(ir.Neg, nil, rows)
			}
			return b.add(ir.Pad, ir.PadAttrs{Low: []int{0, low}, High: []int{0, 9 - low - length}, Interior: []int{0, 0}}, rows, zero)
		}
		long, short := 2+r.IntN(5), 1+r.IntN(6)
		p.AddOutput("overlap", b.add(ir.Add, nil, overlap("long", r.IntN(10-long), long, true), overlap("short", r.IntN(10-short), short, r.IntN(2) == 0)))
		// A part of x and a part of y, side by side, apart, in the same place or overlapping.
		first, second := r.IntN(4), r.IntN(4)
		pad := func(v ir.Value, low int) ir.Value {
			piece := b.add(ir.Slice, ir.SliceAttrs{Start: []int{0, 0}, Limit: []int{5, 2}, Stride: []int{1, 1}}, v)
			return b.add(ir.Pad, ir.PadAttrs{Low: []int{0, low}, High: []int{0, 4 - low}, Interior: []int{0, 0}}, piece, zero)
		}
		sum := b.add(ir.Add, nil, pad(x, first), pad(y, second))
		p.AddOutput("sum", b.add(ir.Add, nil, pad(x, 4), sum))
		for range r.IntN(4) { // parts once more, or beside the others
			more := pad([]ir.Value{x, y}[r.IntN(2)], r.IntN(5))
			if r.IntN(2) == 0 {
				sum = b.add(ir.Add, nil, sum, more)
			} else {
				sum = b.add(ir.Add, nil, more, sum)
			}
		}
		p.AddOutput("sums", sum)
		cut := func(from, to, rows int) ir.Value {
			return b.add(ir.Slice, ir.SliceAttrs{Start: []int{0, from}, Limit: []int{rows, to}, Stride: []int{1, 1}}, y)
		}
		rows, at := 4+r.IntN(2), 2+r.IntN(3)
		p.AddOutput("joined", b.add(ir.Concat, ir.AxisAttrs{Axis: 1}, cut(r.IntN(2), 2, rows), cut(2, at+1, rows), cut(at+r.IntN(2), 9, rows)))
		var in []reference.Value
		for _, input := range p.Inputs {
			shape := p.Type(input.Value).Shape
			values := make([]float64, shape.Size())
			for i := range values {
				values[i] = float64(1 + r.IntN(99))
			}
			value, err := reference.New(ir.Float32, shape, values...)
			require.NoError(t, err)
			in = append(in, value)
		}
		q, err := pass.Run(p, nil, pass.Simplify(pass.SimplifyOptions{}))
		require.NoError(t, err)
		if first+2 == second || second+2 == first {
			for i := range q.Nodes {
				if q.Nodes[i].Op == ir.Concat {
					fewer++
					break
				}
			}
		}
		want, err := reference.Run(p, in)
		require.NoError(t, err)
		got, err := reference.Run(q, in)
		require.NoError(t, err)
		require.Equal(t, want, got, "%s\n%s", p, q)
	}
	require.Greater(t, fewer, 100, "neighbours are put side by side")
}

// randomMovement slices or pads a matrix.
func randomMovement(b b, r *rand.Rand, v ir.Value) ir.Value {
	shape := b.p.Type(v).Shape
	if r.IntN(2) == 0 {
		a := ir.SliceAttrs{Start: make([]int, 2), Limit: make([]int, 2), Stride: make([]int, 2)}
		for i, n := range shape {
			a.Start[i] = r.IntN(n + 1) // an empty slice too, at the end as well
			a.Limit[i] = a.Start[i] + r.IntN(n-a.Start[i]+1)
			a.Stride[i] = 1 + r.IntN(3)
		}
		return b.add(ir.Slice, a, v)
	}
	a := ir.PadAttrs{Low: make([]int, 2), High: make([]int, 2), Interior: make([]int, 2)}
	for i := range shape {
		a.Low[i], a.High[i], a.Interior[i] = r.IntN(3), r.IntN(3), r.IntN(4)/3
	}
	return b.add(ir.Pad, a, v, b.splat(float64(r.IntN(2))))
}
