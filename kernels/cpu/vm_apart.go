package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// vmApart reads small groups, such as coordinates, of which a unit reads several elements. Each group is read only
// once, and its elements are spread over the registers.
type vmApart struct {
	parts  []*vmLoad
	low    int   // offset of the first element that is read, in bytes
	span   int   // from there to the last one, in elements
	stride int   // elements of a group, two to four
	spare  uint8 // pointer that receives unused elements
}

// findApart combines loads from the same groups.
func (b *vmBuilder) findApart() {
	p := &b.prog
	var groups []*vmApart
next:
	for i := range p.each {
		l := &p.each[i]
		for _, a := range groups {
			if a.join(l) {
				continue next
			}
		}
		groups = append(groups, &vmApart{parts: []*vmLoad{l}, low: l.o.Off, stride: l.groupOf()})
	}
	var kept []vmLoad
	var spare uint8
	for _, a := range groups {
		if len(a.parts) == 1 {
			kept = append(kept, *a.parts[0])
			continue
		}
		if len(a.parts) < a.stride && spare == 0 { // the kernel stores all elements
			spare = b.newRegister(8).ptr
		}
		a.spare = spare
		p.apart = append(p.apart, a)
	}
	p.each = kept
}

// join adds the load if it reads from the same groups.
func (a *vmApart) join(l *vmLoad) bool {
	first := a.parts[0]
	if a.stride == 0 || l.groupOf() != a.stride || l.o.Mem != first.o.Mem || l.size != first.size || l.dims[0] != first.dims[0] {
		return false
	}
	low := min(a.low, l.o.Off)
	span := max(a.low+a.span*l.size, l.o.Off) - low
	if span >= a.stride*l.size || span%l.size != 0 {
		return false
	}
	for _, other := range a.parts {
		if other.o.Off == l.o.Off { // the same element, by another access
			return false
		}
	}
	a.low, a.span, a.parts = low, span/l.size, append(a.parts, l)
	return true
}

// groupOf returns the distance between the elements of a load if that is the size of a small group, else 0.
func (l *vmLoad) groupOf() int {
	if len(l.dims) != 1 || l.period > 0 || l.size > 8 || l.strides[0]%l.size != 0 {
		return 0
	}
	if s := l.strides[0] / l.size; s >= 2 && s <= 4 {
		return s
	}
	return 0
}

// fill writes groups [first, first+n) to the registers.
func (a *vmApart) fill(ptrs *[maxPointers]unsafe.Pointer, first, n int) {
	var to [4]unsafe.Pointer
	for i := range to {
		to[i] = ptrs[a.spare]
	}
	for _, l := range a.parts {
		to[(l.o.Off-a.low)/l.size] = ptrs[l.ptr]
	}
	l := a.parts[0]
	done := vec.Apart(to[:a.stride], unsafe.Add(l.o.Mem.Ptr, a.low+first*l.strides[0]), l.size, a.stride-1-a.span, n)
	if done == n {
		return
	}
	for _, l := range a.parts {
		l.fill(unsafe.Add(ptrs[l.ptr], done*l.size), first+done, n-done)
	}
}
