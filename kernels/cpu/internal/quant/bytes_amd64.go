package quant

import "unsafe"

// dotsBytes reports whether an instruction adds four products of bytes to each sum. Then blocks of panels are unpacked
// to bytes where that pays, and panels of bytes are multiplied as they are.
func (f family) dotsBytes() bool { return f == familyVNNI || f == familyAMX }

// digitsTime is the time of a product with digits of many rows and columns, relative to one of float32.
func (f family) digitsTime() float64 {
	switch f {
	case familyAVX2:
		return 2.2
	case familyGo:
		return 0 // unpacking would take long too
	}
	return 0.86
}

// unpackBytes unpacks rows of 64 columns. It subtracts the zero points and excess, and sets start to -128 times the
// sums of the columns.
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

// addDigits multiplies n rows of digits by the columns of unpacked bytes, and adds the float32 results to rows of y,
// which are ldy numbers apart. There are 64 columns, or at least as many as columns says.
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

// joinDigits turns rows of sums, to which start is added, into float32 numbers, with one factor for each row, and adds
// them to rows of y, which have 64 columns and are ldy apart.
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
