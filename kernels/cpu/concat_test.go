package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestConcatenationsOfSlices cuts random pieces out of values of every size of element and puts them together along any
// axis, some behind a whole value; now and then a slice is also a result of its own.
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
