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

// leading returns a value with one element for each index of the leading axes.
func (s *stacks) leading(axes int) ir.Value {
	list := make([]int, axes)
	for i := range list {
		list[i] = i
	}
	return s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape, Axes: list}, s.input(s.shape[:axes].Clone()))
}

// randomNumbers returns a program of elementwise operations on rows and on numbers for each row, some compiled and some
// only with kernels, and its inputs.
func randomNumbers(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 77))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Uint32, ir.BFloat16, ir.Uint8, ir.Bool}
	s := &stacks{p: ir.New(fmt.Sprint("numbers ", seed)), rng: rng, dtype: types[rng.IntN(len(types))]}
	s.shape = []ir.Shape{{37, 129}, {5, 9, 150}, {64, 128}, {4, 3, 200}, {2, 9000}, {3, 4, 2000}, {20, 47}, {2, 2, 4097}, {31, 32}, {9, 4, 25}, {1000, 64}}[rng.IntN(11)]
	last := len(s.shape) - 1
	s.values = []ir.Value{s.input(s.shape), s.leading(last), s.leading(1 + rng.IntN(last))}
	if rng.IntN(2) == 0 {
		s.values = append(s.values, s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape, Axes: []int{last}}, s.input(s.shape[last:])))
	}
	if d := s.dtype; rng.IntN(3) == 0 && (d == ir.Float64 || d == ir.Float32) { // numbers that are converted first, from as many bytes and from fewer
		s.dtype = []ir.DType{ir.Int32, ir.Uint8}[rng.IntN(2)]
		number := s.leading(last)
		s.p.AddOutput("whole", s.add(ir.Maximum, nil, number, s.input(s.shape)))
		s.dtype = d
		s.values = append(s.values, s.add(ir.Convert, ir.ConvertAttrs{DType: d}, number))
	}
	for k := range 1 + rng.IntN(8) {
		switch x := rng.IntN(12); {
		case x == 0:
			s.values = append(s.values, s.lines())
		case x == 1 && s.dtype.IsFloat():
			s.values = append(s.values, s.add(ir.Rem, nil, s.pick(), s.pick()))
		case x == 2 && s.dtype != ir.Bool:
			s.p.AddOutput(fmt.Sprint("most", k), s.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{last}}, s.elementwise()))
		default:
			s.values = append(s.values, s.elementwise())
		}
	}
	s.p.AddOutput("last", s.elementwise())
	s.p.AddAlias("next", s.elementwise(), 0)
	return s.p, s.inputs
}

// numbersOf counts the operands of a program that are one number for each row, those that only compiled code reads, and
// the units with short rows as blocks.
func numbersOf(t *testing.T, p *ir.Program) (all, direct, short int) {
	q, err := pipelineFor(1).normal.Run(p)
	require.NoError(t, err)
	g := fuse.NewGraph(q)
	g.Group()
	pl := &placement{Placement: plan.Place(g, true)}
	for _, u := range g.Units {
		if !u.Elementwise || u.Size == 0 {
			continue
		}
		if newVMBuilder(pl, u).byShortRows(32) != nil {
			short++
		}
		b := newVMBuilder(pl, u)
		b.chooseBlock(32)
		b.compileNodes()
		b.chain()
		b.compileSegments()
		b.findDirect()
		for i := range b.prog.numbers {
			if all++; b.prog.numbers[i].direct {
				direct++
			}
		}
	}
	return all, direct, short
}

// TestNumbersOfRows compares units that compute with a number for each row with the reference: every element size, with
// repeated rows and lines of slices, in rows longer than a block, with and without compiled code.
func TestNumbersOfRows(t *testing.T) {
	all, direct, short := 0, 0, 0
	for seed := range uint64(120) {
		p, inputs := randomNumbers(seed)
		a, d, s := numbersOf(t, p)
		all, direct, short = all+a, direct+d, short+s
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for _, code := range []bool{true, false} {
			withCode = code
			outputs := runOnce(t, p, inputs, false)
			withCode = true
			for i, got := range outputs {
				if err := kernelstest.Compare(got, want[i], 0, true); err != nil {
					t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
				}
			}
		}
	}
	t.Log(all, direct, short)
	require.Greater(t, all, 40)
	if direct > 0 { // there is code here
		require.Greater(t, direct, 20)
		require.Greater(t, all, direct)
		require.Greater(t, short, 5)
	}
}
