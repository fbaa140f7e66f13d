package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/ir"
)

// appendKernel appends the block operations that compute node n of p, and the rounding that half precision needs. They
// read the pointers args and write pointer dst.
func appendKernel(ops []vmOp, p *ir.Program, n *ir.Node, dst uint8, args []uint8) []vmOp {
	from, to := p.Type(n.Inputs[0]).DType, p.Type(n.Outputs[0]).DType
	op := vmOp{dst: dst, a: args[0], chain: formOf(n, from, to)}
	switch {
	case n.Op == ir.Convert:
		op.fn = block.Convert(from, to)
	case n.Op == ir.Compare:
		op.fn, op.b = block.Compare(n.Attrs.(ir.CompareAttrs).Direction, block.ComputeType(from)), args[1]
	case n.Op == ir.Select:
		op.fn, op.b, op.c = block.Select(block.ComputeType(to).Size()), args[1], args[2]
	case len(args) == 2:
		op.fn, op.b = block.Binary(n.Op, block.ComputeType(from)), args[1]
	default:
		op.fn = block.Unary(n.Op, block.ComputeType(from))
	}
	if coarse := block.Coarse(n.Op); coarse != nil && to == ir.BFloat16 {
		op.fn, op.chain.first = coarse, coarseFunctions[n.Op]
	}
	ops = append(ops, op)
	if to.IsHalf() && !keepsHalf(n.Op) {
		ops = append(ops, roundOp(to, dst))
	}
	return ops
}

// keepsHalf reports whether the op's results need no rounding if its operands are in half precision.
func keepsHalf(op ir.Op) bool {
	switch op {
	case ir.Select, ir.Neg, ir.Abs, ir.Relu, ir.Maximum, ir.Minimum, ir.Sign, ir.Floor, ir.Ceil, ir.Round, ir.Identity:
		return true
	}
	return false
}
