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

// lines returns a slice of a larger value, along one axis or two.
func (s *stacks) lines() ir.Value {
	big := append(ir.Shape(nil), s.shape...)
	axis := s.rng.IntN(len(big))
	big[axis] += s.rng.IntN(9)
	if s.rng.IntN(2) == 0 {
		big[len(big)-1] += s.rng.IntN(3) * s.shape[len(big)-1]
	}
	v := s.input(big)
	for axis := range big {
		if big[axis] > s.shape[axis] {
			shape := s.shape
			s.shape = s.p.Type(v).Shape.Clone()
			s.shape[axis] = shape[axis]
			v = s.piece(v, axis)
			s.shape = shape
		}
	}
	return v
}

// randomLines returns a program of elementwise operations on pieces of larger values, and its inputs.
func randomLines(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 31))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16, ir.Int32, ir.Int64, ir.Uint8, ir.Bool}
	s := &stacks{p: ir.New(fmt.Sprint("lines ", seed)), rng: rng, dtype: types[rng.IntN(len(types))]}
	s.shape = []ir.Shape{{37, 129}, {5, 9, 50}, {3, 64, 3}, {4, 3, 200}, {2, 9000}, {3, 12345}, {20, 47}, {2, 2, 4097}}[rng.IntN(8)]
	s.values = []ir.Value{s.input(s.shape), s.lines(), s.lines()}
	if rng.IntN(2) == 0 {
		s.values = append(s.values, s.spread())
	}
	for k := range 1 + rng.IntN(10) {
		switch rng.IntN(6) {
		case 0:
			s.values = append(s.values, s.lines())
		case 1:
			if s.dtype != ir.Bool {
				axes := [][]int{{0}, {len(s.shape) - 1}, {0, 1}}[rng.IntN(3)]
				s.p.AddOutput(fmt.Sprint("most", k), s.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: axes}, s.elementwise()))
			}
		case 2:
			if rng.IntN(2) == 0 {
				c, _ := s.concat()
				s.p.AddOutput(fmt.Sprint("stack", k), c)
			}
		default:
			s.values = append(s.values, s.elementwise())
		}
	}
	s.p.AddOutput("last", s.elementwise())
	s.p.AddAlias("next", s.elementwise(), 0)
	return s.p, s.inputs
}

// unitsOfLines returns how many units of a program run line by line, and how many of those in parts of lines.
func unitsOfLines(t *testing.T, p *ir.Program) (whole, parts int) {
	q, err := pipelineFor(1).normal.Run(p)
	require.NoError(t, err)
	g := fuse.NewGraph(q)
	g.Group()
	pl := &placement{Placement: plan.Place(g, true)}
	for _, u := range g.Units {
		if len(u.Nodes) == 0 || u.Size == 0 {
			continue
		}
		b := newVMBuilder(pl, u)
		if b.prog.line == 0 {
			continue
		}
		if b.prog.cutLine(2000, len(u.Sinks) > 0); b.prog.parts > 1 {
			parts++
		}
		whole++
	}
	return whole, parts
}

// TestUnitsReadLines compares units that read lines through slices with the reference: every element size, broadcasts,
// reductions, concatenations, and lines longer than a block.
func TestUnitsReadLines(t *testing.T) {
	whole, parts := 0, 0
	for seed := range uint64(50) {
		p, inputs := randomLines(seed)
		w, m := unitsOfLines(t, p)
		whole, parts = whole+w, parts+m
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for i, got := range runOnce(t, p, inputs, false) {
			if err := kernelstest.Compare(got, want[i], 0, true); err != nil {
				t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
			}
		}
	}
	require.Greater(t, whole, 25)
	require.Greater(t, parts, 6)
}
