package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// randomLongRows returns a program that reduces long rows computed from whole values, pieces of larger ones and
// broadcasts, its inputs, and the number of reduced axes.
func randomLongRows(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 55))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Uint8, ir.Int16}
	s := &stacks{p: ir.New(fmt.Sprint("long rows ", seed)), rng: rng, dtype: types[rng.IntN(len(types))]}
	s.shape = []ir.Shape{{3, 4097}, {2, 9000}, {5, 2, 5003}, {3, 12345}, {4, 50, 100}, {2, 3, 96, 64}, {2, 130, 33}}[rng.IntN(7)]
	first := 1 // of the axes that are reduced
	if len(s.shape) == 3 && s.shape[2] > fuse.MaxColumns {
		first = 1 + rng.IntN(2)
	}
	var axes []int
	for k := first; k < len(s.shape); k++ {
		axes = append(axes, k)
	}
	s.values = []ir.Value{s.input(s.shape), s.input(s.shape), s.leading(first), s.lines(), s.spread()}
	kinds := []ir.Kind{ir.Sum, ir.Sum, ir.Max, ir.Min}
	for k := range 1 + rng.IntN(4) {
		v := s.elementwise()
		if rng.IntN(2) == 0 {
			v = s.add(ir.Mul, nil, s.pick(), s.pick())
		} else if rng.IntN(3) == 0 {
			s.values = append(s.values, v)
		}
		if rng.IntN(8) == 0 {
			c, _ := s.concat()
			s.p.AddOutput(fmt.Sprint("stack", k), c)
		}
		s.p.AddOutput(fmt.Sprint("rows", k), s.add(ir.Reduce, ir.ReduceAttrs{Kind: kinds[rng.IntN(4)], Axes: axes}, v))
	}
	return s.p, s.inputs
}

// longRowUnits returns how many units of a program reduce rows so long that a block holds only part of one.
func longRowUnits(t *testing.T, p *ir.Program) (count int) {
	q, err := pipelineFor(1).normal.Run(p)
	require.NoError(t, err)
	g := fuse.NewGraph(q)
	g.Group()
	pl := &placement{Placement: plan.Place(g, true)}
	for _, u := range g.Units {
		if len(u.Nodes) > 0 && newVMBuilder(pl, u).longRows() {
			count++
		}
	}
	return count
}

// TestLongRows compares reductions of rows longer than a block, which join what computes them, with the reference: sums
// of products, sums and extremes, several in one unit, of floats and integers.
func TestLongRows(t *testing.T) {
	units := 0
	for seed := range uint64(60) {
		p, inputs := randomLongRows(seed)
		units += longRowUnits(t, p)
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for i, got := range runOnce(t, p, inputs, false) {
			if err := kernelstest.Compare(got, want[i], 200, true); err != nil {
				t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
			}
		}
	}
	require.Greater(t, units, 60)
}
