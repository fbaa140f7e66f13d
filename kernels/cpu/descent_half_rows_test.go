package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/reference"
)

// halfTableStep is tableStep for a table of 16 bits whose gradient is computed in float32.
func halfTableStep(t *testing.T, r *rand.Rand, d ir.DType, rows, width, count int) (p *ir.Program, inputs []reference.Value) {
	p = ir.New("table")
	input := drawnInputs(t, p, &inputs)
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("", op, a, in...)
		require.NoError(t, err)
		return v[0]
	}
	few := 1 + r.IntN(rows)
	table := input(d, r.NormFloat64, rows, width)
	at := input(ir.Int32, func() float64 { return float64(r.IntN(few)) }, count)
	rate, step := input(d, r.Float64), input(d, func() float64 { return 1 })
	wide := add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, table)
	gradient := add(ir.EmbeddingGrad, nil, wide, at, input(ir.Float32, r.NormFloat64, count, width))
	p.AddOutput("looked up", add(ir.Embedding, nil, table, at))
	p.AddAlias("table", add(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "sgd"}, table, add(ir.Convert, ir.ConvertAttrs{DType: d}, gradient), rate, step), 0)
	return p, inputs
}

// TestRowDescentOfHalves: of a table of 16 bits, too, only the rows that were looked up are updated, and neither the
// table nor its gradient is converted as a whole. Rows are rounded once, and others keep their bits.
func TestRowDescentOfHalves(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 4))
	for i := range 24 {
		d, width := []ir.DType{ir.BFloat16, ir.Float16}[i%2], []int{1, 3, 16, 40}[r.IntN(4)]
		p, inputs := halfTableStep(t, r, d, fuse.BucketVariable/width+1+r.IntN(200), width, []int{0, 1, 5, 300}[r.IntN(4)])
		p, err := pass.DecomposeHalfUpdates(addsInPlace).Run(p)
		require.NoError(t, err)
		g := fuse.NewGraph(p)
		g.Group()
		g.JoinWidening()
		g.JoinDescent()
		g.ScheduleUpdates()
		require.Len(t, g.Units, 2, "the lookup and the update: %v", p)
		got := runOnce(t, p, inputs, false)
		require.Equal(t, inputs[0].Type, got[1].Type)
		unit := map[ir.DType]float64{ir.BFloat16: 0x1p-8, ir.Float16: 0x1p-11}[d]
		want, size := slices.Clone(inputs[0].F), make([]float64, len(inputs[0].F))
		for k, row := range inputs[1].I {
			for j := range width {
				step := inputs[2].F[0] * inputs[4].F[k*width+j]
				want[int(row)*width+j] -= step
				size[int(row)*width+j] += math.Abs(step) * 1e-6
			}
		}
		for k, w := range want {
			if size[k] == 0 {
				require.Equal(t, inputs[0].F[k], got[1].F[k])
			}
			require.InDelta(t, w, got[1].F[k], size[k]+unit*math.Abs(w)+0x1p-25, "%d, number %d\n%v", i, k, p)
		}
		require.Equal(t, len(inputs[1].I)*width, len(got[0].F))
		for k, row := range inputs[1].I { // before the update
			require.Equal(t, inputs[0].F[int(row)*width:][:width], got[0].F[k*width:][:width])
		}
	}
}

// TestGradientOfHalfTable: the gradient of a table of 16 bits needs its shape alone, so the table is not widened for
// it, whatever rule updates it.
func TestGradientOfHalfTable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 5))
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		p := ir.New("table")
		var inputs []reference.Value
		input := drawnInputs(t, p, &inputs)
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			v, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return v[0]
		}
		table, at := input(d, r.NormFloat64, 300, 40), input(ir.Int32, func() float64 { return float64(r.IntN(300)) }, 20)
		gradient := add(ir.EmbeddingGrad, nil, add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, table), at, input(ir.Float32, r.NormFloat64, 20, 40))
		p.AddOutput("gradient", gradient)
		g := fuse.NewGraph(p)
		g.Group()
		require.Len(t, g.Units, 1, "the gradient alone: %v", p)
		got, want := runOnce(t, p, inputs, false), make([]float64, 300*40)
		for k, row := range inputs[1].I {
			for j := range 40 {
				want[int(row)*40+j] += inputs[2].F[k*40+j]
			}
		}
		require.InDeltaSlice(t, want, got[0].F, 1e-5)
	}
}
