package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// crowded is a value with many equal elements, zeros of both signs, infinities and NaN.
func crowded(t *testing.T, r *rand.Rand, d ir.DType, shape ir.Shape, nan bool) reference.Value {
	x := make([]float64, shape.Size())
	for i := range x {
		x[i] = float64(r.IntN(41))
		if d.IsFloat() {
			x[i] = float64(float32(r.NormFloat64()))
			switch r.IntN(12) {
			case 0:
				x[i] = 0
			case 1:
				x[i] = math.Copysign(0, -1)
			case 2:
				x[i] = math.Inf(1 - 2*r.IntN(2))
			case 3:
				x[i] = float64(r.IntN(3))
			case 4:
				if nan && r.IntN(8) == 0 {
					x[i] = math.NaN()
				}
			}
		} else if d != ir.Uint8 && d != ir.Uint16 && d != ir.Uint32 {
			x[i] -= 20
		}
	}
	v, err := reference.New(d, shape, x...)
	require.NoError(t, err)
	return v
}

// Lines long enough for vectors, blocks and digits, along every axis, compared with the reference.
func TestLongLines(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	shapes := []ir.Shape{{1300}, {3, 700}, {700, 3}, {2, 300, 40}, {5, 9, 33}}
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.Int8, ir.Uint16, ir.Uint32, ir.Int64} {
		for _, shape := range shapes {
			for _, nan := range []bool{false, true} {
				if nan && !d.IsFloat() {
					continue
				}
				p := ir.New(fmt.Sprintf("%v %v", d, shape))
				x := p.AddInput("x", ir.Type{DType: d, Shape: shape})
				add := func(op ir.Op, attrs ir.Attrs) {
					out, err := p.Add("", op, attrs, x)
					require.NoError(t, err)
					for i, v := range out {
						p.AddOutput(fmt.Sprintf("%v %+v: %d", op, attrs, i), v)
					}
				}
				for axis := range shape {
					for _, descending := range []bool{false, true} {
						add(ir.Sort, ir.SortAttrs{Axis: axis, Descending: descending})
					}
					add(ir.ArgMax, ir.AxisAttrs{Axis: axis})
					add(ir.ArgMin, ir.AxisAttrs{Axis: axis})
					add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{axis}})
					add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Min, Axes: []int{axis}})
					for _, exclusive := range []bool{false, true} {
						add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max, Axis: axis, Exclusive: exclusive, Reverse: !exclusive})
						if !d.IsFloat() {
							add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum, Axis: axis, Exclusive: exclusive})
						}
					}
				}
				for _, k := range []int{1, 16, 30} {
					if k <= shape[len(shape)-1] {
						add(ir.TopK, ir.TopKAttrs{K: k})
					}
				}
				value := crowded(t, r, d, shape, nan)
				got := runOnce(t, p, []reference.Value{value}, false)
				want, err := reference.Run(p, []reference.Value{value})
				require.NoError(t, err)
				for i := range want {
					require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "%s: %s", p.Name, p.Outputs[i].Name)
				}
			}
		}
	}
}

func TestTransposes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for _, d := range []ir.DType{ir.Float32, ir.Int8, ir.Float16, ir.Int64} {
		for _, c := range []struct{ shape, perm []int }{
			{[]int{70, 133}, []int{1, 0}}, {[]int{3, 1000}, []int{1, 0}}, {[]int{1000, 3}, []int{1, 0}}, {[]int{9, 7}, []int{1, 0}},
			{[]int{2, 30, 31, 3}, []int{0, 3, 1, 2}}, {[]int{2, 3, 30, 31}, []int{0, 2, 3, 1}}, {[]int{4, 17, 5, 66}, []int{3, 1, 0, 2}},
			{[]int{4, 17, 5, 66}, []int{1, 3, 0, 2}}, {[]int{4, 17, 20, 66}, []int{2, 3, 0, 1}}, {[]int{300, 8, 8}, []int{1, 2, 0}}, {[]int{2, 1024, 19}, []int{0, 2, 1}}, {[]int{70, 256, 19}, []int{2, 1, 0}},
			{[]int{300, 128, 33}, []int{2, 1, 0}},
		} {
			p := ir.New(fmt.Sprintf("%v %v %v", d, c.shape, c.perm))
			x := p.AddInput("x", ir.Type{DType: d, Shape: c.shape})
			out, err := p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: c.perm}, x)
			require.NoError(t, err)
			p.AddOutput("y", out[0])
			value := crowded(t, r, d, c.shape, true)
			got := runOnce(t, p, []reference.Value{value}, false)
			want, err := reference.Run(p, []reference.Value{value})
			require.NoError(t, err)
			require.NoError(t, kernelstest.Compare(got[0], want[0], 0, true), p.Name)
		}
	}
}

// TestRowsWithLines counts, for rows at some distances, how many first lines fall into each of 64 sets. With as many
// rows as are transposed at a time, no set may get more than eight.
func TestRowsWithLines(t *testing.T) {
	for to := 64; to <= 16384; to += 64 {
		rows := rowsWithLines(to)
		var sets [64]int
		for i := range rows {
			set := i * to / 64 % 64
			sets[set]++
			require.LessOrEqual(t, sets[set], 8, "rows %d bytes apart, %d at a time", to, rows)
		}
	}
	require.Equal(t, []int{64, 64, 32, 16, 8}, []int{rowsWithLines(4100), rowsWithLines(1536), rowsWithLines(3072), rowsWithLines(2048), rowsWithLines(4096)})
}
