//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
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

// Many indices are sorted first: whatever the type, the kind, the axis and the mode, each row gets its updates in their
// order.
func TestSortedScatter(t *testing.T) {
	rounds := 24
	if brief() {
		rounds = 4
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 37))
			b := on(t, fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Races: true}))
			d := []ir.DType{ir.Float32, ir.BFloat16, ir.Float16, ir.Int32}[i%4]
			where := []ir.Shape{{4096 + rng.IntN(300)}, {65, 64 + rng.IntN(9)}}[rng.IntN(2)]
			rows, width, axis := 1+rng.IntN(3000), 1+rng.IntN(5), rng.IntN(2)
			table := ir.Shape{rows, width}
			updates := append(where.Clone(), width)
			if axis == 1 {
				table, updates = ir.Shape{width, rows}, append(ir.Shape{width}, where...)
			}
			a := ir.ScatterAttrs{Axis: axis, Kind: []ir.Kind{ir.Sum, ir.Set, ir.Max, ir.Sum}[rng.IntN(4)], Mode: []ir.IndexMode{ir.IndexError, ir.IndexClip, ir.IndexDrop}[rng.IntN(3)]}
			p := ir.New("scatter")
			var in []reference.Value
			input := func(d ir.DType, shape ir.Shape, f func() float64) ir.Value {
				numbers := make([]float64, shape.Size())
				for i := range numbers {
					numbers[i] = f()
				}
				v, err := reference.New(d, shape, numbers...)
				require.NoError(t, err)
				in = append(in, v)
				return p.AddInput("in", v.Type)
			}
			whole := func() float64 { return float64(rng.IntN(9) - 4) }
			index := func() float64 {
				k := rng.IntN(rows)
				switch {
				case rng.IntN(3) == 0:
					k = min(k, 2) // rows that many updates meet in
				case a.Mode != ir.IndexError && rng.IntN(8) == 0:
					k += rows
				case a.Mode != ir.IndexError && rng.IntN(8) == 0:
					k -= 2 * rows
				}
				return float64(k)
			}
			y, err := p.Add("layer", ir.Scatter, a, input(d, table, whole), input(ir.Int32, where, index), input(d, updates, whole))
			require.NoError(t, err)
			p.AddOutput("y", y[0])
			want, err := reference.Run(p, in)
			require.NoError(t, err)
			e, err := kernels.Load(b, p, kernels.Device{Kind: Kind})
			require.NoError(t, err)
			defer e.Close()
			var buffers []kernels.Buffer
			for i, v := range append(in, want...) {
				x, err := b.NewBuffer(kernels.Device{Kind: Kind}, v.Type)
				require.NoError(t, err)
				defer x.Free()
				if i < len(in) {
					require.NoError(t, x.Write(v.Bytes()))
				}
				buffers = append(buffers, x)
			}
			require.NoError(t, e.Run(t.Context(), buffers[:3], buffers[3:]))
			data := make([]byte, want[0].Type.Bytes())
			require.NoError(t, buffers[3].Read(data))
			got, err := reference.FromBytes(want[0].Type, data)
			require.NoError(t, err)
			require.NoError(t, kernelstest.Compare(got, want[0], 8, true), "%v", p)
		})
	}
}
