//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// A table with more elements than threads are given to it: each thread has several rows.
func TestLargeScatter(t *testing.T) {
	// Last threads first: one that writes a row of the next one's is not covered up by what that writes later.
	b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Down}))
	d := kernels.Device{Kind: Kind}
	const rows, width, count = 9000, 9, 40
	for _, kind := range []ir.Kind{ir.Sum, ir.Set} {
		for _, mode := range []ir.IndexMode{ir.IndexError, ir.IndexClip, ir.IndexDrop} {
			t.Run(string(kind)+" "+string(mode), func(t *testing.T) {
				p := ir.New("scatter")
				table := p.AddInput("table", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, width}})
				where := p.AddInput("where", ir.Type{DType: ir.Int32, Shape: ir.Shape{count}})
				updates := p.AddInput("updates", ir.Type{DType: ir.Float32, Shape: ir.Shape{count, width}})
				y, err := p.Add("layer", ir.Scatter, ir.ScatterAttrs{Kind: kind, Mode: mode}, table, where, updates)
				require.NoError(t, err)
				p.AddOutput("y", y[0])
				numbers := func(n int, f func(i int) float64) []float64 {
					all := make([]float64, n)
					for i := range all {
						all[i] = f(i)
					}
					return all
				}
				var in []reference.Value
				for _, v := range []struct {
					t ir.Type
					f func(i int) float64
				}{
					{p.Type(table), func(i int) float64 { return float64(i%7) - 3 }},
					{p.Type(where), func(i int) float64 {
						if mode != ir.IndexError && i%5 == 4 {
							return float64(rows + i) // outside
						}
						return float64(i * i * 37 % rows / (1 + i%2*3))
					}},
					{p.Type(updates), func(i int) float64 { return float64(i%11) - 5 }},
				} {
					value, err := reference.New(v.t.DType, v.t.Shape, numbers(v.t.Shape.Size(), v.f)...)
					require.NoError(t, err)
					in = append(in, value)
				}
				want, err := reference.Run(p, in)
				require.NoError(t, err)
				e, err := kernels.Load(b, p, d)
				require.NoError(t, err)
				defer e.Close()
				var buffers []kernels.Buffer
				for _, v := range append(in, want...) {
					x, err := b.NewBuffer(d, v.Type)
					require.NoError(t, err)
					defer x.Free()
					require.NoError(t, x.Write(v.Bytes()))
					buffers = append(buffers, x)
				}
				require.NoError(t, buffers[3].Write(make([]byte, want[0].Type.Bytes())))
				require.NoError(t, e.Run(t.Context(), buffers[:3], buffers[3:]))
				data := make([]byte, want[0].Type.Bytes())
				require.NoError(t, buffers[3].Read(data))
				got, err := reference.FromBytes(want[0].Type, data)
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(got, want[0], 8, true))
			})
		}
	}
}
