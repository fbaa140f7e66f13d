package vec

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

func repeatLanes() int {
	wide, ok := vectors()
	switch {
	case wide:
		return 16
	case ok:
		return 8
	}
	return 0
}

// anyBytes reports whether single bytes can be looked up anywhere in two vectors.
func anyBytes() bool { return isa.Active().Has(isa.Vectors512 | isa.AVX512VBMI) }

func (r *Repeats) run(dst, src unsafe.Pointer, periods int) {
	entries := len(r.table) / (2*r.wide + 8)
	most := max(4*callElements/(entries*r.wide), 1)
	for at := 0; at < periods; at += most {
		callRepeated(r.wide == 64, unsafe.Add(dst, at*entries*r.wide), unsafe.Add(src, at*r.period*r.group), uintptr(min(most, periods-at)),
			uintptr(r.period*r.group), unsafe.Pointer(&r.table[0]), uintptr(entries))
	}
}

func (r *Rearranged) run(dst, src unsafe.Pointer, periods int) {
	most := max(4*callElements/(r.entries*r.wide), 1)
	for at := 0; at < periods; at += most {
		if r.unit == 1 {
			callRearrangedBytes(unsafe.Add(dst, at*r.boxes*r.box), unsafe.Add(src, at*r.boxes*r.step), uintptr(min(most, periods-at)),
				uintptr(r.boxes*r.step), unsafe.Pointer(&r.table[0]), uintptr(r.entries))
			continue
		}
		callRearranged(r.wide == 64, unsafe.Add(dst, at*r.boxes*r.box), unsafe.Add(src, at*r.boxes*r.step), uintptr(min(most, periods-at)),
			uintptr(r.boxes*r.step), unsafe.Pointer(&r.table[0]), uintptr(r.entries))
	}
}
