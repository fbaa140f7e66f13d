package cpu

import (
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Under a policy of mixed precision, predictions read weights of float32 in 16 bits. What they are in 16 bits stays
// with their buffer, in a buffer of its own, until they change: all programs share it, and products keep panels of it
// (weights.go) as they do of weights that are of 16 bits from the start.

// halves are a buffer's numbers in 16-bit types.
type halves struct {
	mu   sync.Mutex
	each [2]rounded
}

// rounded are the numbers in one type.
type rounded struct {
	in    *buffer
	holds uint64 // the version that they were converted from; 0: none
}

// of returns the numbers in type t; its lock must be held.
func (h *halves) of(t ir.Type, d kernels.Device) *rounded {
	r := &h.each[0]
	if t.DType == ir.Float16 {
		r = &h.each[1]
	}
	if r.in == nil {
		r.in = newBuffer(d, ir.Type{DType: t.DType, Shape: ir.Shape{t.Shape.Size()}})
	}
	return r
}

// forget gives the memory back.
func (h *halves) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each = [2]rounded{}
}

// keepConversion returns the step of a unit that converts an input, which convert does: it points the unit's result at
// numbers that are kept if there are any. An input that may change unseen is converted in each run.
func (p *placement) keepConversion(u *fuse.Unit, d kernels.Device, convert func()) func() {
	from, to := p.Converts(u), p.Operands[u.Writes[0]]
	var own halves
	return func() {
		h, version := &own, uint64(0)
		if b, _ := from.Whose.(*buffer); b != nil {
			var ok bool
			if version, ok = b.steady(); ok {
				h = &b.halves
			}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		r := h.of(to.Typ, d)
		to.Mem.Whose, to.Mem.Ptr = r.in, plan.PointerTo(r.in.data)
		if h != &own && r.holds == version && version != 0 {
			return
		}
		r.in.changing()
		convert()
		r.in.changing()
		r.holds = version
	}
}
