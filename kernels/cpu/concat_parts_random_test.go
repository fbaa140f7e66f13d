package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// TestConcatenationsOfAnyParts concatenates the same value twice, what is computed with a maximum of its rows or with
// numbers of rows and columns, several results of one unit, views, lookups and concatenations, on one worker and on
// three.
func TestConcatenationsOfAnyParts(t *testing.T) {
	parts := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 47))
		s := &stacks{rng: r, dtype: []ir.DType{ir.Int16, ir.BFloat16, ir.Float32, ir.Float32, ir.Float64}[r.IntN(5)], p: ir.New(fmt.Sprint("parts ", seed))}
		rank := 1 + r.IntN(3)
		axis := r.IntN(rank)
		for range rank {
			s.shape = append(s.shape, 1+r.IntN([]int{3, 9, 70, 300}[r.IntN(4)]))
		}
		for s.shape.Size() > 1<<16 {
			s.shape[r.IntN(rank)] = 2
		}
		s.values = []ir.Value{s.input(s.shape), s.input(s.shape)}
		for range r.IntN(8) {
			s.values = append(s.values, s.anyPart(axis))
		}
		var operands []ir.Value
		for range 2 + r.IntN(4) {
			if v := s.anyPart(axis); r.IntN(3) > 0 {
				operands = append(operands, v)
			} else {
				operands = append(operands, s.pick())
			}
			if r.IntN(5) == 0 {
				operands = append(operands, operands[len(operands)-1])
			}
		}
		other := s.shape.Clone() // operands of one shape are put in turn instead
		other[axis] += 1 + r.IntN(3)
		operands = slices.Insert(operands, r.IntN(len(operands)+1), s.input(other))
		y := s.add(ir.Concat, ir.AxisAttrs{Axis: axis}, operands...)
		switch r.IntN(4) {
		case 0:
			y = s.add(ir.Maximum, nil, y, s.add(ir.Abs, nil, y))
		case 1:
			y = s.add(ir.Concat, ir.AxisAttrs{Axis: r.IntN(rank)}, y, s.add(ir.Abs, nil, y))
		}
		if r.IntN(3) == 0 {
			s.p.AddOutput("again", s.add(ir.Minimum, nil, s.pick(), s.pick()))
		}
		s.p.AddOutput("y", y)
		want, got := runOnce(t, s.p, s.inputs, true), runOnce(t, s.p, s.inputs, false)
		several := runWith(t, s.p, s.inputs, 3)
		for i := range want {
			require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "seed %d: %v", seed, s.p)
			require.Equal(t, got[i].Bytes(), several[i], "seed %d on three workers: %v", seed, s.p)
		}
		parts += len(fuse.Build(s.p, fuse.Options{}).Parts())
	}
	t.Log(parts)
	require.Greater(t, parts, 150)
}

// anyPart is a value of the shape whose elements are exact.
func (s *stacks) anyPart(axis int) ir.Value {
	last, all := len(s.shape)-1, make([]int, len(s.shape))
	for i := range all {
		all[i] = i
	}
	switch s.rng.IntN(6) {
	case 0: // rows and their maximum
		v := s.pick()
		top := s.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{last}}, v)
		return s.add(ir.Minimum, nil, v, s.add(ir.Neg, nil, s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.shape, Axes: all[:last]}, top)))
	case 1:
		return s.add(ir.Maximum, nil, s.spread(), s.pick())
	case 2: // a part of something longer
		x := s.input(longer(s.shape, axis))
		return s.add(ir.Maximum, nil, s.slice(x, s.shape, 1, axis), s.slice(x, s.shape, 0, axis))
	case 3:
		flat := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{s.shape.Size()}}, s.add(ir.Abs, nil, s.pick()))
		return s.add(ir.Reshape, ir.ReshapeAttrs{Shape: s.shape}, flat)
	}
	return s.elementwise()
}
