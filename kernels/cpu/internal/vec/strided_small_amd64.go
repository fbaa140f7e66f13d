package vec

import "unsafe"

// The kernels for elements of one and two bytes.

func callStridedSmall(wide bool, size, group int, dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer) {
	switch {
	case size == 1 && group == 2:
		callStrided2of8(wide, dst, src, count, table)
	case size == 1 && group == 3:
		callStrided3of8(wide, dst, src, count, table)
	case size == 1 && group == 4:
		callStrided4of8(wide, dst, src, count, table)
	case size == 2 && group == 2:
		callStrided2of16(wide, dst, src, count, table)
	case size == 2 && group == 3:
		callStrided3of16(wide, dst, src, count, table)
	default:
		callStrided4of16(wide, dst, src, count, table)
	}
}

func callApartSmall(wide bool, size, group int, destinations, src unsafe.Pointer, at, count uintptr, table unsafe.Pointer) {
	switch {
	case size == 1 && group == 2:
		callApart2of8(wide, destinations, src, at, count, table)
	case size == 1 && group == 3:
		callApart3of8(wide, destinations, src, at, count, table)
	case size == 1 && group == 4:
		callApart4of8(wide, destinations, src, at, count, table)
	case size == 2 && group == 2:
		callApart2of16(wide, destinations, src, at, count, table)
	case size == 2 && group == 3:
		callApart3of16(wide, destinations, src, at, count, table)
	default:
		callApart4of16(wide, destinations, src, at, count, table)
	}
}

func callTurnsSmall(wide bool, size, group int, dst, sources unsafe.Pointer, at, count uintptr, table unsafe.Pointer) {
	switch {
	case size == 1 && group == 2:
		callTurns2of8(wide, dst, sources, at, count, table)
	case size == 1 && group == 3:
		callTurns3of8(wide, dst, sources, at, count, table)
	case size == 1 && group == 4:
		callTurns4of8(wide, dst, sources, at, count, table)
	case size == 2 && group == 2:
		callTurns2of16(wide, dst, sources, at, count, table)
	case size == 2 && group == 3:
		callTurns3of16(wide, dst, sources, at, count, table)
	default:
		callTurns4of16(wide, dst, sources, at, count, table)
	}
}
