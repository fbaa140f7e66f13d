package keras

import (
	"unsafe"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
)

// Large outputs are written directly into the caller's result: copying them would take as long as computing many of
// them.

// leastLent is the size in bytes from which on an output is written in place. Below, copying costs nothing, while the
// caller's memory, which need not be aligned, may make the computation slower.
const leastLent = 1 << 14

// hasLarge reports whether the instance has outputs that may be written in place.
func (p *prediction) hasLarge(inst *distribute.Instance) bool {
	f := p.binder
	if !f.sized {
		f.sized, f.large = true, false
		for i := range p.m.outputTypes {
			f.large = f.large || inst.Output(0, i).Type().Bytes() >= leastLent
		}
	}
	return f.large
}

// lend makes the instance write the outputs for n examples straight into the results, if it computes exactly that many
// rows and its output memory can be exchanged for theirs. collect reports any error after the computation.
func (p *prediction) lend(inst *distribute.Instance, n int) {
	if len(p.binder.sizes) != 1 || p.binder.pads || p.outputs() != len(p.results) {
		return
	}
	total := max(n, p.parts.rows())
	for i := range p.results {
		b := inst.Output(0, i)
		t := b.Type()
		if t.Bytes() < leastLent || len(t.Shape) == 0 || t.Shape[0] != n {
			continue
		}
		o := &p.results[i]
		buffer, ok := b.(kernels.Borrower)
		if !ok {
			continue
		}
		if into, err := o.room(i, t, n, total); err == nil && !p.shares(i, into) {
			o.lent = buffer.Borrow(into) == nil
		}
	}
}

// takeBack gives outputs that used lent memory their own back.
func (p *prediction) takeBack(inst *distribute.Instance) {
	for i := range p.results {
		if p.results[i].lent {
			p.results[i].lent = false
			inst.Output(0, i).(kernels.Borrower).Borrow(nil) //nolint:errcheck // cannot fail
		}
	}
}

// shares reports whether the memory of result i overlaps an array of the caller's that is still read or written: an
// input, or another result.
func (p *prediction) shares(i int, memory []byte) bool {
	if !p.given {
		return false
	}
	for _, x := range p.parts.x {
		if overlap(memory, x.Data) {
			return true
		}
	}
	for j := range p.results {
		if j != i && overlap(memory, p.results[j].array.Data) {
			return true
		}
	}
	return false
}

// overlap reports whether two slices have a byte in common.
func overlap(a, b []byte) bool {
	at := func(s []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
	return len(a) > 0 && len(b) > 0 && at(a) < at(b)+uintptr(len(b)) && at(b) < at(a)+uintptr(len(a))
}
