package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// TestConcatenationsOfParts concatenates results of elementwise units, whole or sliced, together with values that are
// read elsewhere too, inputs and slices. The operands of the parts are read again afterwards, and the concatenation may
// be overwritten.
func TestConcatenationsOfParts(t *testing.T) {
	parts := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 13))
		s := &stacks{rng: r, dtype: []ir.DType{ir.Uint8, ir.Float16, ir.Float32, ir.Float64}[r.IntN(4)], p: ir.New(fmt.Sprint("parts ", seed))}
		rank := 1 + r.IntN(3)
		axis, shape := r.IntN(rank), make(ir.Shape, rank)
		for i := range shape {
			shape[i] = 1 + r.IntN([]int{3, 9, 70}[r.IntN(3)])
		}
		var operands []ir.Value
		for range 2 + r.IntN(4) {
			own := shape.Clone()
			own[axis] = 1 + r.IntN([]int{3, 30, 300}[r.IntN(3)])
			operands = append(operands, s.partOperand(own, axis))
		}
		y := s.add(ir.Concat, ir.AxisAttrs{Axis: axis}, operands...)
		if r.IntN(2) == 0 {
			y = s.add(ir.Maximum, nil, y, s.add(ir.Add, nil, y, y))
		}
		if r.IntN(3) == 0 {
			s.p.AddOutput("again", s.add(ir.Add, nil, operands[0], operands[0]))
		}
		s.p.AddOutput("y", y)
		want, got := runOnce(t, s.p, s.inputs, true), runOnce(t, s.p, s.inputs, false)
		for i := range want {
			require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "seed %d: %v", seed, s.p)
		}
		parts += len(fuse.Build(s.p, fuse.Options{}).Parts())
	}
	require.Greater(t, parts, 150)
}

// partOperand is an operand of a concatenation: computed, of a whole value or of two slices, an input, or a slice.
func (s *stacks) partOperand(shape ir.Shape, axis int) ir.Value {
	switch s.rng.IntN(5) {
	case 0:
		return s.input(shape)
	case 1:
		return s.slice(s.input(longer(shape, axis)), shape, 0, axis)
	case 2:
		x := s.input(longer(shape, axis))
		return s.add(ir.Maximum, nil, s.slice(x, shape, 1, axis), s.slice(x, shape, 0, axis))
	}
	x := s.input(shape)
	return s.add(ir.Add, nil, x, x)
}

// longer is a shape with one more element along an axis.
func longer(shape ir.Shape, axis int) ir.Shape {
	shape = shape.Clone()
	shape[axis]++
	return shape
}

// slice cuts a shape out of x, from the given element along an axis on.
func (s *stacks) slice(x ir.Value, shape ir.Shape, first, axis int) ir.Value {
	a := ir.SliceAttrs{Start: make([]int, len(shape)), Limit: shape.Clone(), Stride: make([]int, len(shape))}
	for i := range a.Stride {
		a.Stride[i] = 1
	}
	a.Start[axis], a.Limit[axis] = first, first+shape[axis]
	return s.add(ir.Slice, a, x)
}
