package cpu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestConcatenationsOfSlices cuts random pieces out of values of every element size and concatenates them along any
// axis, some after a whole value. Now and then a slice is also an output.
func TestConcatenationsOfSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 11))
	device := kernels.Device{Kind: Kind}
	cuts := 0
	for try := range 400 {
		d := []ir.DType{ir.Uint8, ir.Int16, ir.Float32, ir.Float64}[r.IntN(4)]
		rank := 1 + r.IntN(4)
		axis, shape := r.IntN(rank), make(ir.Shape, rank)
		for i := range shape {
			shape[i] = 1 + r.IntN([]int{3, 9, 40}[r.IntN(3)])
		}
		p := ir.New(fmt.Sprint("concat", try))
		var in []kernels.Buffer
		var parts []ir.Value
		var want []byte
		pieces := make([]func(row int) []byte, 0, 4)
		inner, size := shape[axis+1:].Size(), d.Size()
		for k := range 1 + r.IntN(4) {
			whole, a := shape.Clone(), ir.SliceAttrs{Start: make([]int, rank), Limit: make([]int, rank), Stride: make([]int, rank)}
			for i, n := range shape {
				if i == axis {
					n = 1 + r.IntN(40)
				}
				a.Start[i], a.Stride[i] = r.IntN(3), 1+r.IntN(4)/3
				a.Limit[i] = a.Start[i] + (n-1)*a.Stride[i] + 1
				whole[i] = a.Limit[i] + r.IntN(3)
			}
			typ := ir.Type{DType: d, Shape: whole}
			x := p.AddInput(fmt.Sprint("x", k), typ)
			buffer, err := Backend{}.NewBuffer(device, typ)
			require.NoError(t, err)
			data := buffer.Bytes()
			for i := range data {
				data[i] = byte(r.IntN(100))
			}
			in = append(in, buffer)
			cut, err := p.Add("", ir.Slice, a, x)
			require.NoError(t, err)
			parts = append(parts, cut[0])
			if r.IntN(6) == 0 {
				p.AddOutput(fmt.Sprint("cut", k), cut[0])
			}
			piece, strides := p.Type(cut[0]).Shape, whole.Strides()
			pieces = append(pieces, func(row int) (out []byte) { // what belongs to a row of the axes in front
				for e := range piece[axis] * inner {
					at, rest := 0, row*piece[axis]*inner+e
					for i := rank - 1; i >= 0; i-- {
						at += (a.Start[i] + rest%piece[i]*a.Stride[i]) * strides[i]
						rest /= piece[i]
					}
					out = append(out, data[at*size:(at+1)*size]...)
				}
				return out
			})
		}
		for row := range shape[:axis].Size() {
			for _, piece := range pieces {
				want = append(want, piece(row)...)
			}
		}
		y, err := p.Add("", ir.Concat, ir.AxisAttrs{Axis: axis}, parts...)
		require.NoError(t, err)
		p.AddOutput("y", y[0])
		e, err := kernels.Load(Backend{}, p, device)
		require.NoError(t, err)
		var out []kernels.Buffer
		for _, o := range p.Outputs {
			buffer, err := Backend{}.NewBuffer(device, p.Type(o.Value))
			require.NoError(t, err)
			out = append(out, buffer)
		}
		require.NoError(t, e.Run(context.Background(), in, out))
		require.Equal(t, want, out[len(out)-1].Bytes(), "%v", p)
		e.Close()
		if len(parts) > 1 {
			cuts++
		}
	}
	require.Greater(t, cuts, 200)
}

// TestConcatenationsOfWindows concatenates steps of one value. Some continue where the previous one ends, at the next
// step or further along the same one.
func TestConcatenationsOfWindows(t *testing.T) {
	merged := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 12))
		s := &stacks{rng: r, dtype: []ir.DType{ir.Uint8, ir.Int16, ir.Float32, ir.Float64}[r.IntN(4)], p: ir.New(fmt.Sprint("windows ", seed))}
		rows, steps, width := 1+r.IntN(3), 3+r.IntN(9), (1+r.IntN(3))*64/s.dtype.Size()
		x, count := s.input(ir.Shape{rows, steps, width}), 1+r.IntN(steps-2)
		at, column := 0, 0
		var parts []ir.Value
		for range 2 + r.IntN(4) {
			end := width
			if r.IntN(3) == 0 {
				end = column + (width-column+1)/2
			}
			a := ir.SliceAttrs{Start: []int{0, at, column}, Limit: []int{rows, at + count, end}, Stride: []int{1, 1, 1}}
			parts = append(parts, s.add(ir.Slice, a, x))
			if column = end % width; column == 0 {
				at++
			}
			if r.IntN(4) == 0 || at+count > steps {
				at, column = r.IntN(steps-count+1), 0
			}
		}
		s.p.AddOutput("y", s.add(ir.Concat, ir.AxisAttrs{Axis: 2}, parts...))
		want, err := reference.Run(s.p, s.inputs)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want[0].Bytes(), runOnce(t, s.p, s.inputs, false)[0].Bytes()), "seed %d: %v", seed, s.p)
		merged += len(parts) - movesOf(t, s.p)
	}
	require.Greater(t, merged, 50)
}

// movesOf counts the copies of a program that is a single concatenation.
func movesOf(t *testing.T, p *ir.Program) int {
	g := fuse.Build(p, fuse.Options{})
	pl := &placement{Placement: plan.Place(g, false)}
	u := g.Units[len(g.Units)-1]
	n := &p.Nodes[u.Nodes[len(u.Nodes)-1]]
	require.Equal(t, ir.Concat, n.Op)
	return len((&build{placement: pl, u: u, n: n}).concatMoves(n.Attrs.(ir.AxisAttrs).Axis))
}
