package cpu

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Slices of one value that are results are copied in one step: of any type, shape and stride, with gaps and overlaps,
// by one worker or two.
func TestSlicesTogether(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0))
	r := rand.New(rand.NewPCG(7, 23))
	joined := 0
	for i := range 150 {
		d := []ir.DType{ir.Float32, ir.Float64, ir.Uint8, ir.BFloat16, ir.Int32}[r.IntN(5)]
		shape := make(ir.Shape, 1+r.IntN(4))
		for axis := range shape {
			shape[axis] = 1 + r.IntN([]int{4, 9, 40, 300}[r.IntN(4)])
		}
		for shape.Size() > 60_000 {
			shape[r.IntN(len(shape))] = 1 + r.IntN(9)
		}
		x := crowded(t, r, d, shape, false)
		p := ir.New(fmt.Sprintf("%d: %v %v", i, d, shape))
		in := p.AddInput("x", x.Type)
		cuts := 2 + r.IntN(4)
		axis := r.IntN(len(shape))
		for k := range cuts {
			a := ir.SliceAttrs{Start: make([]int, len(shape)), Limit: shape.Clone(), Stride: make([]int, len(shape))}
			for j, n := range shape {
				a.Stride[j] = 1
				switch {
				case i%3 == 0: // anything
					a.Start[j] = r.IntN(n)
					a.Limit[j] = a.Start[j] + 1 + r.IntN(n-a.Start[j])
					a.Stride[j] = 1 + r.IntN(3)
				case j == axis: // equal parts, or nearly
					a.Start[j], a.Limit[j] = k*n/cuts, max((k+1)*n/cuts, k*n/cuts+1)
				}
			}
			out, err := p.Add("", ir.Slice, a, in)
			require.NoError(t, err, "%+v", a)
			p.AddOutput("", out[0])
		}
		want, err := reference.Run(p, []reference.Value{x})
		require.NoError(t, err)
		for workers := 1; workers <= 2; workers++ {
			goruntime.GOMAXPROCS(workers)
			for j, got := range runOnce(t, p, []reference.Value{x}, false) {
				require.NoError(t, kernelstest.Compare(got, want[j], 0, true), "%s, result %d", p.Name, j)
			}
		}
		e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
		require.NoError(t, err)
		if e.Stats().Steps == 1 {
			joined++
		}
		e.Close()
	}
	require.Greater(t, joined, 50, "many programs should cut out slices together")
}

// Several slices along more axes than copies support are an error, like a single one.
func TestSlicesAlongManyAxes(t *testing.T) {
	for cuts := 1; cuts <= 2; cuts++ {
		p := ir.New("slices")
		shape, a := make(ir.Shape, maxAxes+1), ir.SliceAttrs{Start: make([]int, maxAxes+1)}
		for i := range shape {
			shape[i] = 3
			a.Limit, a.Stride = append(a.Limit, 3), append(a.Stride, 2)
		}
		in := p.AddInput("x", ir.Type{DType: ir.Uint8, Shape: shape})
		for k := range cuts {
			a.Start = append([]int{k}, a.Start[1:]...)
			a.Limit, a.Stride = append([]int{3}, a.Limit[1:]...), append([]int{2 - k}, a.Stride[1:]...)
			out, err := p.Add("", ir.Slice, a, in)
			require.NoError(t, err)
			p.AddOutput("", out[0])
		}
		_, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
		require.ErrorContains(t, err, "moves data along 13 axes; at most 12 are supported")
	}
}
