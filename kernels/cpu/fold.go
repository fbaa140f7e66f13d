package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// foldScalar evaluates the only node of p, an elementwise one, on scalar literals, with the same kernels as programs.
func foldScalar(p *ir.Program, literals []ir.Literal) ([]byte, bool) {
	n := &p.Nodes[0]
	d := p.Type(n.Outputs[0]).DType
	result := make([]byte, d.Size())
	var regs [4][8]byte
	operands := [4]unsafe.Pointer{}
	for i := range operands {
		operands[i] = unsafe.Pointer(&regs[i][0])
	}
	var ops []vmOp
	for i, l := range literals {
		if l.Type.DType.IsHalf() {
			block.Widen(l.Type.DType)(operands[i+1], plan.PointerTo(l.Data), nil, nil, 1)
			continue
		}
		copy(regs[i+1][:], l.Data)
	}
	ops = appendKernel(ops, p, n, 0, []uint8{1, 2, 3}[:len(literals)])
	for _, op := range ops {
		op.fn(operands[op.dst], operands[op.a], operands[op.b], operands[op.c], 1)
	}
	if d.IsHalf() {
		block.Narrow(d)(plan.PointerTo(result), operands[0], nil, nil, 1)
	} else {
		copy(result, regs[0][:])
	}
	return result, true
}
