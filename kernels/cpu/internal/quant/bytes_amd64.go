package quant

import "unsafe"

// dotsBytes reports whether an instruction adds four products of bytes to each number. Blocks of panels are unpacked to
// bytes then where that pays, and panels of bytes are multiplied as they are.
func (f family) dotsBytes() bool { return f == familyVNNI || f == familyAMX }

// timeOfDigits is how many times as long as a product of float32 one of many rows and columns takes.
func (f family) timeOfDigits() float64 {
	switch f {
	case familyAVX2:
		return 2.2
	case familyGo:
		return 0 // and unpacking would take long
	}
	return 0.86
}

// unpackBytes unpacks so many rows of 64 columns, minus their zero points, which are so much more, and sets start to
// -128 times the sums of the columns.
func unpackBytes(dst, w []byte, zero []int8, excess int32, start []int32, rows int) {
	whole := rows / group
	_, _, _, _ = dst[groups(rows)*group*Width-1], w[groups(rows)*group*halfWidth-1], zero[Width-1], start[Width-1]
	if clear(start); whole > 0 {
		unpackBytesVNNI(unsafe.Pointer(&dst[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&zero[0]), unsafe.Pointer(&excess), unsafe.Pointer(&start[0]), uintptr(whole))
	}
	if rows%group == 0 {
		return
	}
	last := dst[whole*group*Width:][:group*Width]
	clear(last)
	for j := range Width {
		for k := whole * group; k < rows; k++ {
			number := nibble(w, k, j) - excess - int32(zero[j])
			last[j*group+k%group] = byte(number)
			start[j] -= 128 * number
		}
	}
}

// addDigits adds what n rows of digits times the columns of unpacked bytes, 64 or at least as many as there are, stand
// for to rows of y, which lie ldy numbers apart.
func addDigits(n, columns int, y []float32, ldy int, x []byte, plane int, w []byte, start []int32, scale, factors []float32, groups int) {
	_, _, _, _ = y[(n-1)*ldy+Width-1], x[(n*digits-1)*plane+groups*group-1], w[groups*group*Width-1], start[Width-1]
	_, _ = scale[Width-1], factors[n-1]
	ys, xs, ws, from, by, factor := unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&start[0]), unsafe.Pointer(&scale[0]), unsafe.Pointer(&factors[0])
	count, planes, ld := uintptr(groups), uintptr(plane), uintptr(4*ldy)
	switch narrow := columns <= Width/2; {
	case n == 2 && narrow:
		digits2x32VNNI(ys, xs, ws, count, planes, from, by, factor, ld)
	case n == 2:
		digits2x64VNNI(ys, xs, ws, count, planes, from, by, factor, ld)
	case narrow:
		digits1x32VNNI(ys, xs, ws, count, planes, from, by, factor, ld)
	default:
		digits1x64VNNI(ys, xs, ws, count, planes, from, by, factor, ld)
	}
}

// joinDigits adds what rows of sums, which begin with start, stand for, one for each factor, to rows of y of 64
// columns, which lie ldy apart.
func joinDigits(y []float32, ldy int, sums, start []int32, scale, factors []float32) {
	n := len(factors)
	_, _, _, _ = y[(n-1)*ldy+Width-1], sums[n*digits*Width-1], start[Width-1], scale[Width-1]
	joinDigitsVNNI(unsafe.Pointer(&y[0]), unsafe.Pointer(&sums[0]), unsafe.Pointer(&start[0]), unsafe.Pointer(&scale[0]), unsafe.Pointer(&factors[0]), uintptr(n), uintptr(4*ldy))
}

//go:noescape
func joinDigitsVNNI(y, sums, start, scale, factor unsafe.Pointer, rows, ldy uintptr)

//go:noescape
func unpackBytesVNNI(dst, w, zero, excess, sums unsafe.Pointer, groups uintptr)

//go:noescape
func digits1x32VNNI(y, x, w unsafe.Pointer, groups, plane uintptr, start, scale, factor unsafe.Pointer, ldy uintptr)

//go:noescape
func digits1x64VNNI(y, x, w unsafe.Pointer, groups, plane uintptr, start, scale, factor unsafe.Pointer, ldy uintptr)

//go:noescape
func digits2x32VNNI(y, x, w unsafe.Pointer, groups, plane uintptr, start, scale, factor unsafe.Pointer, ldy uintptr)

//go:noescape
func digits2x64VNNI(y, x, w unsafe.Pointer, groups, plane uintptr, start, scale, factor unsafe.Pointer, ldy uintptr)
