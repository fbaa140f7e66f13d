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

// Large reductions are made in parts by many blocks. Their results are those of the reference, in every order of
// threads, for axes that lie together or apart, lengths that the parts do not divide, and every kind.
func TestLargeReductions(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for i, c := range []struct {
		shape ir.Shape
		axes  []int
		dtype ir.DType
		kind  ir.Kind
	}{
		{ir.Shape{4099, 33}, []int{0}, ir.Float32, ir.Sum},
		{ir.Shape{37, 61, 64}, []int{0, 1}, ir.Float32, ir.Sum},
		{ir.Shape{3, 50001}, []int{1}, ir.Float32, ir.Max},
		{ir.Shape{50001, 3}, []int{0}, ir.Float64, ir.Sum},
		{ir.Shape{311, 503}, []int{0, 1}, ir.Float32, ir.Sum},
		{ir.Shape{7, 700, 3, 13}, []int{1, 3}, ir.Float32, ir.Min},
		{ir.Shape{2, 1100, 70}, []int{1}, ir.BFloat16, ir.Sum},
		{ir.Shape{1100, 2, 70}, []int{0, 2}, ir.Float16, ir.Max},
		{ir.Shape{20, 10000}, []int{1}, ir.Int32, ir.Sum},
		{ir.Shape{1000, 150}, []int{0}, ir.Int8, ir.Sum},
		{ir.Shape{900, 150}, []int{0}, ir.Int64, ir.Prod},
		{ir.Shape{1, 1, 140000}, []int{2}, ir.Bool, ir.Or},
		{ir.Shape{2000, 80}, []int{0}, ir.Bool, ir.And},
		{ir.Shape{1500, 100}, []int{0}, ir.Float32, ir.Prod},
	} {
		t.Run(fmt.Sprintf("%v of %v%v over %v", c.kind, c.dtype, c.shape, c.axes), func(t *testing.T) {
			f := fakedriver.New(fakedriver.Options{Order: ptxsim.Orders()[i%3], Races: i%2 == 0})
			b := on(t, f)
			d := kernels.Device{Kind: Kind}
			p := ir.New("reduction")
			x := p.AddInput("x", ir.Type{DType: c.dtype, Shape: c.shape})
			y, err := p.Add("layer", ir.Reduce, ir.ReduceAttrs{Kind: c.kind, Axes: c.axes}, x)
			require.NoError(t, err)
			if c.dtype == ir.Float32 { // something before it, and after it
				y, err = p.Add("layer", ir.Neg, nil, y[0])
				require.NoError(t, err)
			}
			p.AddOutput("y", y[0])
			elements := make([]float64, c.shape.Size())
			for i := range elements {
				elements[i] = float64(random.IntN(5) - 2)
				if c.kind == ir.Prod {
					elements[i] = float64(2*random.IntN(2) - 1)
				}
				if c.kind == ir.And {
					elements[i] = float64(min(1, random.IntN(3000)))
				}
			}
			in, err := reference.New(c.dtype, c.shape, elements...)
			require.NoError(t, err)
			want, err := reference.Run(p, []reference.Value{in})
			require.NoError(t, err)
			e, err := kernels.Load(b, p, d)
			require.NoError(t, err)
			defer e.Close()
			require.Equal(t, 1, e.Stats().Steps, "launches")
			from, err := b.NewBuffer(d, in.Type)
			require.NoError(t, err)
			defer from.Free()
			require.NoError(t, from.Write(in.Bytes()))
			to, err := b.NewBuffer(d, want[0].Type)
			require.NoError(t, err)
			defer to.Free()
			require.NoError(t, e.Run(t.Context(), []kernels.Buffer{from}, []kernels.Buffer{to}))
			data := make([]byte, len(want[0].Bytes()))
			require.NoError(t, to.Read(data))
			got, err := reference.FromBytes(want[0].Type, data)
			require.NoError(t, err)
			require.NoError(t, kernelstest.Compare(got, want[0], 64, true))
		})
	}
}
