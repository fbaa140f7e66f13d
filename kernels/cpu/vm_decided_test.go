package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// randomDecisions returns a program whose units select by conditions of one bool, and its inputs, of which the first
// ones are the conditions. Some of its outputs replace inputs.
func randomDecisions(seed uint64, conditions ...bool) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 41))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.BFloat16, ir.Float16, ir.Int32, ir.Int64, ir.Uint8}
	s := &stacks{p: ir.New(fmt.Sprint("decisions ", seed)), rng: rng, shape: []ir.Shape{{5000}, {70, 33}, {3, 5, 200}, {300}, {9, 4096}}[rng.IntN(5)]}
	d := types[rng.IntN(len(types))]
	var spread []ir.Value
	for i, yes := range conditions {
		x, err := reference.New(ir.Bool, ir.Shape{}, map[bool]float64{true: 1}[yes])
		if err != nil {
			panic(err)
		}
		s.inputs = append(s.inputs, x)
		c := s.p.AddInput(fmt.Sprint("condition", i), x.Type)
		spread = append(spread, s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape}, c))
	}
	s.dtype = d
	first := len(s.inputs)
	s.values = []ir.Value{s.input(s.shape), s.input(s.shape), s.input(s.shape)}
	variables := slices.Clone(s.values)
	wide := d.IsHalf() && rng.IntN(2) == 0
	converted := func(v ir.Value, to ir.DType) ir.Value {
		if !wide {
			return v
		}
		return s.add(ir.Convert, ir.ConvertAttrs{DType: to}, v)
	}
	if wide {
		s.dtype = ir.Float32
		for i, v := range s.values {
			s.values[i] = converted(v, ir.Float32)
		}
	}
	for range 3 + rng.IntN(8) {
		s.values = append(s.values, s.elementwise())
		if rng.IntN(2) == 0 {
			s.values = append(s.values, s.add(ir.Select, nil, spread[rng.IntN(len(spread))], s.pick(), s.pick()))
		}
	}
	for i, v := range variables[:1+rng.IntN(3)] {
		old, next := converted(v, ir.Float32), s.pick()
		if rng.IntN(2) == 0 {
			next, old = old, next
		}
		next = s.add(ir.Select, nil, spread[rng.IntN(len(spread))], next, old)
		s.p.AddAlias(fmt.Sprint("next", i), converted(next, d), first+i)
	}
	s.p.AddOutput("last", s.add(ir.Select, nil, spread[0], s.elementwise(), s.pick()))
	return s.p, s.inputs
}

// TestDecidedUnits compares units with conditions of one bool with the reference, for all values of the conditions,
// where outputs replace inputs and where they have memory of their own.
func TestDecidedUnits(t *testing.T) {
	for seed := range uint64(120) {
		for k := range 4 {
			p, inputs := randomDecisions(seed, k&1 > 0, k&2 > 0)
			want, err := reference.Run(p, inputs)
			require.NoError(t, err)
			for _, inPlace := range []bool{false, true} {
				got := runOnce(t, p, inputs, false)
				if inPlace {
					got = runInPlace(t, p, inputs)
				}
				for i, x := range got {
					if err := kernelstest.Compare(x, want[i], 0, true); err != nil {
						t.Fatalf("seed %d, conditions %b, in place %v: output %d of %v: %v\n%v", seed, k, inPlace, i, x.Type, err, p)
					}
				}
			}
		}
	}
}

// TestDecidedUnitsDoLess: where gradients are added up, the other side of the selection is not computed, and what
// replaces itself is not copied.
func TestDecidedUnitsDoLess(t *testing.T) {
	for _, d := range []ir.DType{ir.Float32, ir.BFloat16, ir.Float16} {
		s := &stacks{p: ir.New("accumulates"), rng: rand.New(rand.NewPCG(1, 1)), dtype: d, shape: ir.Shape{1 << 12}}
		due := s.p.AddInput("due", ir.Type{DType: ir.Bool})
		w, sum, g := s.input(s.shape), s.input(s.shape), s.input(s.shape)
		spread := s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape}, due)
		total := s.add(ir.Add, nil, sum, g)
		moved := s.add(ir.Sub, nil, w, s.add(ir.Sqrt, nil, s.add(ir.Abs, nil, total)))
		if d.IsHalf() { // as where updates are computed in float32
			wide := func(v ir.Value) ir.Value { return s.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, v) }
			chosen := s.add(ir.Select, nil, spread, wide(moved), wide(w))
			s.p.AddAlias("w", s.add(ir.Convert, ir.ConvertAttrs{DType: d}, chosen), 1)
		} else {
			s.p.AddAlias("w", s.add(ir.Select, nil, spread, moved, w), 1)
		}
		s.p.AddAlias("sum", s.add(ir.Select, nil, spread, s.add(ir.Sub, nil, total, total), total), 2)
		q, err := pipelineFor(1).normal.Run(s.p)
		require.NoError(t, err)
		graph := fuse.NewGraph(q)
		graph.Group()
		require.Len(t, graph.Units, 1)
		pl, u := &placement{Placement: plan.Place(graph, true)}, graph.Units[0]
		c, ok := pl.condition(u, nil)
		require.True(t, ok)
		count := func(known map[ir.Value]bool) (reads, places int) {
			b := newVMBuilder(pl, u)
			b.decide(known)
			b.prog.block, b.prog.parts = 64, 1
			b.compileNodes()
			return len(b.prog.memory), len(b.inPlace)
		}
		reads, _ := count(nil)
		require.Equal(t, 5, reads, "w, sum, g, and two results")
		reads, places := count(map[ir.Value]bool{c: false})
		require.Equal(t, []int{3, 1}, []int{reads, places}, "of %v", d)
	}
}
