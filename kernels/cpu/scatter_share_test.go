package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestScattersAreShared compares scatters of random shapes along any axis with the reference, for several numbers of
// workers: duplicate indices, indices out of range in the modes that allow them, no indices, and no elements.
func TestScattersAreShared(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Int8, ir.BFloat16}
	kinds := []ir.Kind{ir.Sum, ir.Sum, ir.Sum, ir.Set, ir.Max, ir.Min}
	pieces := 0
	for try := range 80 {
		d, kind, mode := types[r.IntN(len(types))], kinds[r.IntN(len(kinds))], []ir.IndexMode{ir.IndexError, ir.IndexDrop, ir.IndexClip}[r.IntN(3)]
		shape := ir.Shape{}
		for range 1 + r.IntN(3) {
			shape = append(shape, []int{1, 3, 17, 40, 150}[r.IntN(5)])
		}
		axis, count := r.IntN(len(shape)), []int{0, 1, 5, 300, 3000}[r.IntN(5)]
		if try%5 == 0 { // large enough to be shared
			shape, axis, d = ir.Shape{400, []int{1, 16, 33}[r.IntN(3)]}, 0, ir.Float32
			count = 3 * chunkWork / shape[1]
		}
		words := try%10 == 5 // sums of single elements whose indices are read as they are
		if words {
			shape[1], count, kind, mode = 1, 3*chunkWork, ir.Sum, ir.IndexError
		}
		if shape.Size()/shape[axis]*max(count, shape[axis]) > 1<<17 {
			count, shape = min(count, 5), shape[:1]
			axis = 0
		}
		length := shape[axis]
		if r.IntN(20) == 0 {
			shape[r.IntN(len(shape))] = 0
			length = shape[axis]
		}
		if length == 0 && mode == ir.IndexError {
			count = 0
		}
		at := make([]float64, count)
		for i := range at {
			if at[i] = float64(r.IntN(max(length, 1))); mode != ir.IndexError && r.IntN(4) == 0 {
				at[i] = float64(r.IntN(3*length+4) - length - 2)
			}
		}
		updates := shape.Clone()
		updates[axis] = count
		p := ir.New(fmt.Sprint("scatter", try))
		var inputs []reference.Value
		input := func(name string, d ir.DType, shape ir.Shape, values []float64) ir.Value {
			if values == nil {
				values = make([]float64, shape.Size())
				for i := range values {
					values[i] = float64(r.IntN(3) - 1) // sums are exact
				}
			}
			v, err := reference.New(d, shape, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			return p.AddInput(name, v.Type)
		}
		whole := []ir.DType{ir.Int32, ir.Int32, ir.Int64}[r.IntN(3)]
		if words {
			whole = ir.Int32
		}
		x, i := input("x", d, shape, nil), input("at", whole, ir.Shape{count}, at)
		y, err := p.Add("", ir.Scatter, ir.ScatterAttrs{Axis: axis, Kind: kind, Mode: mode}, x, i, input("dy", d, updates, nil))
		require.NoError(t, err)
		p.AddOutput("y", y[0])
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for _, workers := range []int{1, 3} {
			got, err := reference.FromBytes(want[0].Type, runWith(t, p, inputs, workers)[0])
			require.NoError(t, err)
			if err := kernelstest.Compare(got, want[0], 0, true); err != nil {
				t.Fatalf("%d workers: %v\n%v", workers, err, p)
			}
		}
		share := newScatterShare(lines(shape, axis), count, d.Size(), 3)
		pieces += share.rowPieces*share.colPieces - 1
	}
	require.Greater(t, pieces, 8)
}

// TestScattersSumInOrder: sums that round have the same bits for any number of workers.
func TestScattersSumInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	for _, inner := range []int{1, 16, 33} {
		for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16} {
			count := 3 * chunkWork / inner
			p, inputs := ir.New(fmt.Sprint("scatter", inner, d)), []reference.Value{}
			input := func(d ir.DType, shape ir.Shape, draw func() float64) ir.Value {
				values := make([]float64, shape.Size())
				for i := range values {
					values[i] = draw()
				}
				v, err := reference.New(d, shape, values...)
				require.NoError(t, err)
				inputs = append(inputs, v)
				return p.AddInput(fmt.Sprint("in", len(inputs)), v.Type)
			}
			x := input(d, ir.Shape{64, inner}, r.NormFloat64)
			at := input(ir.Int32, ir.Shape{count}, func() float64 { return float64(r.IntN(64)) })
			y, err := p.Add("", ir.Scatter, ir.ScatterAttrs{Kind: ir.Sum}, x, at, input(d, ir.Shape{count, inner}, r.NormFloat64))
			require.NoError(t, err)
			p.AddOutput("y", y[0])
			want := runWith(t, p, inputs, 1)
			for _, workers := range []int{2, 3, 5} {
				require.Equal(t, want, runWith(t, p, inputs, workers), "%d workers\n%v", workers, p)
			}
		}
	}
}
