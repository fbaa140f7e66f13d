package vec

import "unsafe"

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

func (r *Repeats) run(dst, src unsafe.Pointer, periods int) {
	entries := len(r.table) / (r.lanes + 2)
	most := max(callElements/(entries*r.lanes), 1)
	for at := 0; at < periods; at += most {
		callRepeated(r.lanes == 16, unsafe.Add(dst, at*4*entries*r.lanes), unsafe.Add(src, at*4*r.period*r.words), uintptr(min(most, periods-at)),
			uintptr(4*r.period*r.words), unsafe.Pointer(&r.table[0]), uintptr(entries))
	}
}
