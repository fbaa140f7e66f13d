package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Blocks of short lines of any type, length and layout are sorted like the reference's, by one worker or two. They have
// equal elements, NaN, both zeros, and 64-bit keys that differ only in their lowest bits.
func TestManyShortLines(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0))
	r := rand.New(rand.NewPCG(8, 19))
	types := []ir.DType{ir.Float32, ir.Float64, ir.Int64, ir.Int32, ir.Int16, ir.Uint8, ir.Int8, ir.Uint32, ir.Uint64}
	rounds := 90
	if testing.Short() {
		rounds = 30
	}
	for i := range rounds {
		d := types[i%len(types)]
		n := 1 + r.IntN(networkLength+2)
		if i%3 == 0 {
			n = 2 + r.IntN(15)
		}
		shape := []ir.Shape{{1 + r.IntN(40), n, 1 + r.IntN(20)}, {16 + r.IntN(600), n}, {n, 16 + r.IntN(600)}}[r.IntN(3)]
		x := crowded(t, r, d, shape, true)
		if numbers := wideNumbers(r, d, shape.Size()); numbers != nil && r.IntN(2) == 0 {
			var err error
			x, err = reference.New(d, shape, numbers...)
			require.NoError(t, err)
		}
		axis := slices.Index(shape, n)
		kth := []int{r.IntN(n), n / 2}
		slices.Sort(kth)
		kth = slices.Compact(kth)
		p := ir.New(fmt.Sprintf("%d: %v %v, axis %d, %v", i, d, shape, axis, kth))
		in := p.AddInput("x", x.Type)
		add := func(op ir.Op, attrs ir.Attrs, v ir.Value) []ir.Value {
			out, err := p.Add("", op, attrs, v)
			require.NoError(t, err)
			return out
		}
		all := add(ir.Sort, ir.SortAttrs{Axis: axis, Descending: i%2 == 0}, in)
		if axis == len(shape)-1 {
			all = append(all, add(ir.TopK, ir.TopKAttrs{K: 1 + r.IntN(n)}, in)...)
		}
		places := add(ir.Sort, ir.SortAttrs{Axis: axis, Kth: kth}, in)[0]
		for _, k := range kth {
			start, limit, stride := make([]int, len(shape)), slices.Clone(shape), make([]int, len(shape))
			for j := range stride {
				stride[j] = 1
			}
			start[axis], limit[axis] = k, k+1
			all = append(all, add(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: stride}, places)...)
		}
		for _, v := range all {
			p.AddOutput("", v)
		}
		want, err := reference.Run(p, []reference.Value{x})
		require.NoError(t, err)
		for workers := 1; workers <= 2; workers++ {
			goruntime.GOMAXPROCS(workers)
			for j, got := range runOnce(t, p, []reference.Value{x}, false) {
				require.NoError(t, kernelstest.Compare(got, want[j], 0, true), "%s, result %d", p.Name, j)
			}
		}
	}
}

// wideNumbers are 64-bit numbers that need all, or nearly all, of their bits.
func wideNumbers(r *rand.Rand, d ir.DType, n int) []float64 {
	var number func() float64
	switch {
	case d == ir.Float64 && r.IntN(2) == 0:
		number = func() float64 {
			return math.Ldexp(1+math.Ldexp(float64(r.IntN(9)), -52), r.IntN(2)*900) * float64(1-2*r.IntN(2))
		}
	case d == ir.Float64:
		number = func() float64 { return math.Ldexp(r.NormFloat64(), r.IntN(2000)-1000) }
	case d == ir.Int64:
		number = func() float64 {
			return float64(r.IntN(2)*2-1) * (math.Ldexp(1, 52) - float64(r.IntN(9))) * float64(1+1023*r.IntN(2))
		}
	default:
		return nil
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = number()
	}
	return x
}
