package cpu

import (
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Under a mixed-precision policy, predictions read float32 weights in 16 bits. Where weights have 16 bits, small models
// compute in float32 (excess.go). The converted weights stay with their buffer, in a buffer of their own, until the
// weights change. All programs share them, and products keep panels of them (weights.go) as they do of weights that
// have 16 bits from the start.

// halves holds the contents of a buffer in 16-bit types, or those of a buffer of 16 bits in float32.
type halves struct {
	mu   sync.Mutex
	each [3]rounded
}

// rounded holds the contents in one type.
type rounded struct {
	in    *buffer
	holds uint64 // the version that was converted; 0: none
}

// of returns the contents in type t. The caller must hold the lock.
func (h *halves) of(t ir.Type, d kernels.Device) *rounded {
	r := &h.each[0]
	switch t.DType {
	case ir.Float16:
		r = &h.each[1]
	case ir.Float32:
		r = &h.each[2]
	}
	if r.in == nil {
		r.in = newBuffer(d, ir.Type{DType: t.DType, Shape: ir.Shape{t.Shape.Size()}})
	}
	return r
}

// forget drops the memory.
func (h *halves) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.each = [3]rounded{}
}

// keepConversion returns a step that converts an input, by convert if necessary. If the input's buffer keeps converted
// numbers, it points the unit's result at these. An input that may change unnoticed is converted in each run.
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
