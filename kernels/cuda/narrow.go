//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Large sums of float32 can travel between devices in 16 bits. Each replica converts its values; the sums are formed in
// float32 in the order of the replicas, and rounded; each replica converts the results back. So all get the same bits,
// in one go and in shares, with NCCL and without.

// narrowing is the type in which the float32 sums of a collective travel; Invalid: their own type.
func (g *group) narrowing(step *lower.Step) ir.DType {
	total := 0
	for _, v := range step.Values[:len(step.Values)/2] {
		total += v.Type.Bytes()
	}
	if k := step.Attrs.Kind; step.Op != ir.AllReduce || k != ir.Sum && k != ir.Mean || total <= narrowFrom {
		return ir.Invalid
	}
	return g.narrow
}

// planNarrow makes the programs that convert length numbers to a type, and back.
func (g *group) planNarrow(replica int, before, after **session, narrow ir.DType, length int) error {
	from, to := ir.Type{DType: ir.Float32, Shape: ir.Shape{length}}, ir.Type{DType: narrow, Shape: ir.Shape{length}}
	if err := g.helper(replica, before, fmt.Sprint("to ", narrow), from, func(t ir.Type) (*ir.Program, error) { return convert(t, narrow) }); err != nil {
		return err
	}
	return g.helper(replica, after, fmt.Sprint("to ", ir.Float32), to, func(t ir.Type) (*ir.Program, error) { return convert(t, ir.Float32) })
}

// from runs a small program of one input.
func (s *session) from(lane driver.Handle, from, to driver.Address) error {
	s.begin(lane)
	s.inputs = append(s.inputs, from)
	return s.small(to)
}

// brings is where a replica's operand lies as it travels, and gives where the result does.
func (g *group) brings(replica, k int) driver.Address {
	if m := &g.of(replica).values[k]; m.before != nil {
		return g.areas[replica].scratch + driver.Address(m.travels)
	}
	return g.operand(replica, k)
}

func (g *group) gives(replica, k int) driver.Address {
	if m := &g.of(replica).values[k]; m.before != nil {
		return g.areas[replica].scratch + driver.Address(m.whole)
	}
	return g.result(replica, k)
}

// narrowed converts what a replica brings, and widened the results.
func (g *group) narrowed(replica int, _ *device, c *combining) error {
	for k := range c.values {
		if m := &c.values[k]; m.before != nil {
			if err := m.before.from(g.lanes[replica], g.operand(replica, k), g.brings(replica, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *group) widened(replica int, _ *device, c *combining) error {
	for k := range c.values {
		if m := &c.values[k]; m.after != nil {
			if err := m.after.from(g.lanes[replica], g.gives(replica, k), g.result(replica, k)); err != nil {
				return err
			}
		}
	}
	return nil
}
