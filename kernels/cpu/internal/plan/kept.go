package plan

import (
	"slices"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
)

const (
	keptMinElements = 1 << 4 // fewer are converted as fast as it takes to check that they have not changed
	keptPart        = 64     // one conversion may take this part of the machine's memory: one in 64
)

// Converts returns the input of a unit that only converts it from float32 to 16 bits, or from 16 bits to float32. It
// returns nil for other units, and if an output replaces the input, which is never the case for the weights of programs
// that predict. Such a conversion is valid until the input changes.
func (p *Placement) Converts(u *fuse.Unit) *Storage {
	if p.Plain || !u.Elementwise || len(u.Nodes) != 1 || len(u.Sinks) > 0 || len(u.Writes) != 1 {
		return nil
	}
	n := &p.Program.Nodes[u.Nodes[0]]
	if n.Op != ir.Convert {
		return nil
	}
	x, offset := p.Root(n.Inputs[0])
	from, to := p.Program.Type(x), p.Program.Type(n.Outputs[0])
	m := p.Operands[x].Mem
	if m == nil || m.Kind != InInput || offset != 0 || from.DType.IsHalf() == to.DType.IsHalf() || from.DType != ir.Float32 && to.DType != ir.Float32 {
		return nil
	}
	size := to.Shape.Size()
	if from.Shape.Size() != size || size < keptMinElements || to.Bytes() > memory.Limit()/keptPart ||
		slices.ContainsFunc(p.Program.Outputs, func(o ir.Output) bool { return o.Alias == m.Index }) {
		return nil
	}
	return m
}
