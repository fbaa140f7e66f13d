//go:build amd64 || arm64

package vec

import "unsafe"

// packs reports whether packedBytes computes anything.
func packs() bool {
	_, ok := vectors()
	return ok
}

// packedBytes computes the bytes that are whole vectors, and returns their number.
func packedBytes(op packedOp, dst, a, b []uint8) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := wholeBytes(wide, len(dst))
	for i := 0; i < n; i += 4 * callElements {
		callPacked(wide, op, place(dst, i), place(a, i), place(b, i), uintptr(min(4*callElements, n-i)))
	}
	return n
}

func packedUnaryBytes(op packedUnaryOp, dst, x []uint8) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := wholeBytes(wide, len(dst))
	for i := 0; i < n; i += 4 * callElements {
		callPackedUnary(wide, op, place(dst, i), place(x, i), uintptr(min(4*callElements, n-i)))
	}
	return n
}

// wholeBytes returns the part of n that is whole vectors.
func wholeBytes(wide bool, n int) int {
	if wide {
		return n &^ 63
	}
	return n &^ 31
}

// widenPacked converts the whole vectors among n elements of size bytes, and returns how many elements they have.
func widenPacked(op wideningOp, dst, x unsafe.Pointer, size, n int) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n = whole(wide, n)
	for i := 0; i < n; i += callElements {
		callWidening(wide, op, unsafe.Add(dst, 4*i), unsafe.Add(x, size*i), uintptr(min(callElements, n-i)))
	}
	return n
}
