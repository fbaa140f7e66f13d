package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// rowPrograms grows programs of elementwise operations on matrices and on one number for each row, with reductions of
// rows and broadcasts back.
type rowPrograms struct {
	stacks
	whole, each []ir.Value // values with an element for each of the matrix, and for each row
	wide        ir.Shape
}

func (s *rowPrograms) ofRows() ir.Shape { return s.wide[:len(s.wide)-1] }

// on adds an elementwise operation on one kind of values.
func (s *rowPrograms) on(values *[]ir.Value, shape ir.Shape) {
	s.values, s.shape = *values, shape
	*values = append(*values, s.elementwise())
}

func (s *rowPrograms) extreme(v ir.Value, axes ...int) ir.Value {
	return s.add(ir.Reduce, ir.ReduceAttrs{Kind: []ir.Kind{ir.Max, ir.Min}[s.rng.IntN(2)], Axes: axes}, v)
}

func (s *rowPrograms) any(values []ir.Value) ir.Value { return values[s.rng.IntN(len(values))] }

// step adds one operation, or an output.
func (s *rowPrograms) step(k int) {
	axes := make([]int, len(s.wide))
	for i := range axes {
		axes[i] = i
	}
	last := len(axes) - 1
	switch s.rng.IntN(12) {
	case 10, 11:
		s.normalized(axes)
	case 0, 1:
		s.each = append(s.each, s.extreme(s.any(s.whole), last))
	case 2:
		s.on(&s.each, s.ofRows())
	case 3, 4:
		row := s.each[len(s.each)-1-s.rng.IntN(min(len(s.each), 2))]
		s.whole = append(s.whole, s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.wide, Axes: axes[:last]}, row))
	case 5:
		switch s.rng.IntN(4) {
		case 0:
			s.p.AddOutput(fmt.Sprint("columns", k), s.extreme(s.any(s.whole), axes[:last]...))
		case 1:
			s.p.AddOutput(fmt.Sprint("total", k), s.extreme(s.any(s.whole), axes...))
		case 2:
			s.p.AddOutput(fmt.Sprint("rows", k), s.any(s.each))
		case 3: // what an op with a kernel of its own makes of it
			flat := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{s.wide.Size()}}, s.any(s.whole))
			s.p.AddOutput(fmt.Sprint("whole", k), s.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, flat))
		}
	default:
		s.on(&s.whole, s.wide)
	}
}

// normalized adds what normalizations do: a sum of rows or of their products, operations on the sum, and one on the
// rows and the result.
func (s *rowPrograms) normalized(axes []int) {
	last := len(axes) - 1
	v := s.any(s.whole)
	x := s.any(s.whole)
	product, kind := s.add(ir.Mul, nil, x, x), []ir.Kind{ir.Sum, ir.Sum, ir.Max}[s.rng.IntN(3)]
	switch s.rng.IntN(4) {
	case 0:
		product, kind = s.add(ir.Neg, nil, x), ir.Min
	case 1: // of two values
		product = s.add(ir.Mul, nil, s.add(ir.Abs, nil, x), s.add(ir.Abs, nil, s.any(s.whole)))
	}
	row := s.add(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{last}}, product)
	for range 1 + s.rng.IntN(3) {
		row = s.add(ir.Sqrt, nil, s.add(ir.Abs, nil, row))
		if s.rng.IntN(2) == 0 {
			row = s.add(ir.Neg, nil, row)
		}
	}
	wide := s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.wide, Axes: axes[:last]}, row)
	pair := [2]ir.Value{v, wide}
	if s.rng.IntN(2) == 0 {
		pair = [2]ir.Value{wide, v}
	}
	y := s.add([]ir.Op{ir.Mul, ir.Mul, ir.Add, ir.Sub, ir.Maximum}[s.rng.IntN(5)], nil, pair[0], pair[1])
	s.p.AddOutput(fmt.Sprint("normalized", len(s.p.Outputs)), y)
	if s.rng.IntN(4) == 0 {
		s.p.AddOutput(fmt.Sprint("of rows", len(s.p.Outputs)), row)
	}
}

func randomRows(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 13))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64}
	s := &rowPrograms{stacks: stacks{p: ir.New(fmt.Sprint("rows ", seed)), rng: rng, dtype: types[rng.IntN(len(types))]}}
	s.wide = []ir.Shape{{37, 129}, {5, 40, 65}, {70, 100}, {9, 257}, {2, 4096}, {3, 4100}, {64, 64}, {1, 80}, {300, 63}}[rng.IntN(9)]
	s.shape = s.wide
	s.whole = []ir.Value{s.input(s.wide), s.input(s.wide), s.spread()}
	s.each = []ir.Value{s.input(s.ofRows()), s.extreme(s.whole[0], len(s.wide)-1)}
	for k := range 6 + rng.IntN(20) {
		s.step(k)
	}
	s.p.AddOutput("row", s.each[len(s.each)-1])
	s.p.AddOutput("last", s.whole[len(s.whole)-1])
	s.p.AddAlias("next", s.any(s.whole[1:]), 0)
	return s.p, s.inputs
}

// plannedUnits plans a program, checks the plan, and returns how many units are of a kind.
func plannedUnits(t *testing.T, p *ir.Program, is func(u *fuse.Unit) bool) (n int) {
	rt := &runtime{pool: pool.Shared(), workers: make([]worker, pool.Shared().Size())}
	c := &compiler{rt: rt, replicas: 1, device: testDevice}
	q, err := pipelineFor(1).normal.Run(p)
	require.NoError(t, err)
	g := fuse.NewGraph(q)
	g.Group()
	pl := &placement{Placement: plan.Place(g, true)}
	s := &schedule{}
	for _, u := range g.Units {
		_, err := c.lower(pl, u, s)
		require.NoError(t, err)
		if is(u) {
			n++
		}
	}
	plan.Memory(pl.Storages)
	checkPlan(t, pl)
	return n
}

// TestRowsJoinUnits compares units that compute with sums of their rows with the reference, for every family of
// kernels.
func TestRowsJoinUnits(t *testing.T) {
	joined := 0
	paths := isa.Paths()
	for seed := range uint64(rowProgramCount) {
		p, inputs := randomRows(seed)
		joined += plannedUnits(t, p, func(u *fuse.Unit) bool { return u.Rows > 0 })
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		restore := isa.Override(paths[int(seed)%len(paths)])
		results := runOnce(t, p, inputs, false)
		restore()
		for i, got := range results {
			if err := kernelstest.Compare(got, want[i], 256, true); err != nil {
				t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
			}
		}
	}
	require.Greater(t, joined, rowProgramCount/4)
}

const rowProgramCount = 150

// TestRowsStayInUnits: the norm of rows, and the rows divided by it, are one step that stores only the result.
func TestRowsStayInUnits(t *testing.T) {
	s := &rowPrograms{stacks: stacks{p: ir.New("normalize"), rng: rand.New(rand.NewPCG(1, 1)), dtype: ir.Float32, shape: ir.Shape{64, 100}}}
	x := s.input(s.shape)
	sum := s.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1}}, s.add(ir.Mul, nil, x, x))
	scale := s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape, Axes: []int{0}}, s.add(ir.Rsqrt, nil, sum))
	s.p.AddOutput("y", s.add(ir.Mul, nil, x, scale))
	units := 0
	require.Equal(t, 1, plannedUnits(t, s.p, func(u *fuse.Unit) bool {
		units++
		return u.Rows == 64 && u.Columns == 100 && slices.Equal(u.Writes, []ir.Value{s.p.Outputs[0].Value})
	}))
	require.Equal(t, 1, units)
}
