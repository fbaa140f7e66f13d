//go:build amd64 || arm64

package vec

import "unsafe"

// The functions of this file take floats of size bytes, 4 or 8.

func outerVectors(dst, f, x unsafe.Pointer, size, rows, cols, dstStride, fStride int) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	call := callAddOuter
	if size == 8 {
		call = callAddOuterDoubles
	}
	block := max(callElements/(cols*Lanes), 1)
	for r := 0; r < rows; r += block {
		call(wide, unsafe.Add(dst, size*r*dstStride), unsafe.Add(f, size*r*fStride), x, uintptr(min(block, rows-r)), uintptr(cols), uintptr(size*dstStride), uintptr(size*fStride))
	}
	return true
}

// butterflies are the steps of lengths 2 to 8, as far as there are, of both sizes.
var butterflies = [2][7]func(wide bool, yre, yim, xre, xim, w unsafe.Pointer, count, part, in, out, skipX, skipY uintptr){
	{callButterfly2, callButterfly3, callButterfly4, callButterfly5, nil, nil, callButterfly8},
	{callButterfly2Doubles, callButterfly3Doubles, callButterfly4Doubles, callButterfly5Doubles, nil, nil, callButterfly8Doubles},
}

func butterflyVectors(y, x runsAt, w unsafe.Pointer, size, radix, count, run int) bool {
	wide, ok := vectors()
	if !ok || radix < 2 || radix > 8 || run%Lanes != 0 || butterflies[size/8][radix-2] == nil {
		return false
	}
	call := butterflies[size/8][radix-2]
	block, part := max(callElements/(radix*run), 1), min(run, callElements/radix&^(Lanes-1))
	factors := w
	for p := 0; p < count; p += block {
		if w != nil {
			factors = unsafe.Add(w, 2*size*(radix-1)*p)
		}
		for q := 0; q < run; q += part {
			now := size * min(part, run-q)
			from, to := p*x.step+size*q, p*y.step+size*q
			call(wide, unsafe.Add(y.re, to), unsafe.Add(y.im, to), unsafe.Add(x.re, from), unsafe.Add(x.im, from), factors,
				uintptr(min(block, count-p)), uintptr(now), uintptr(x.part), uintptr(y.part), uintptr(x.step-now), uintptr(y.step-now))
		}
	}
	return true
}

func turnRowVectors(yre, yim, xre, xim, s, vre, vim unsafe.Pointer, size, rows, width, yStep, xStep, vStep int) bool {
	wide, ok := vectors()
	if !ok || width == 0 {
		return false
	}
	call := callTurnRows
	if size == 8 {
		call = callTurnRowsDoubles
	}
	block, part := max(callElements/width, 1), min(width, callElements)
	for r := 0; r < rows; r += block {
		for q := 0; q < width; q += part {
			now := min(part, width-q)
			x, y, v := size*(r*xStep+q), size*(r*yStep+q), size*(r*vStep+q)
			call(wide, unsafe.Add(yre, y), unsafe.Add(yim, y), unsafe.Add(xre, x), unsafe.Add(xim, x), unsafe.Add(s, 2*size*r), unsafe.Add(vre, v), unsafe.Add(vim, v),
				uintptr(min(block, rows-r)), uintptr(size*now), uintptr(size*(xStep-now)), uintptr(size*(yStep-now)), uintptr(size*(vStep-now)))
		}
	}
	return true
}

func splitRealVectors(zre, zim, w unsafe.Pointer, size, m, width int) bool {
	call := callSplitReal
	if size == 8 {
		call = callSplitRealDoubles
	}
	return eachPair(call, zre, zim, w, size, m, width)
}

func joinRealVectors(zre, zim, w unsafe.Pointer, size, m, width int) bool {
	call := callJoinReal
	if size == 8 {
		call = callJoinRealDoubles
	}
	return eachPair(call, zre, zim, w, size, m, width)
}

func eachPair(call func(wide bool, fre, fim, bre, bim, w unsafe.Pointer, count, width uintptr), zre, zim, w unsafe.Pointer, size, m, width int) bool {
	wide, ok := vectors()
	if !ok || width%Lanes != 0 {
		return false
	}
	block := max(callElements/width, 1) // pairs of elements
	for k := 1; k <= m/2; k += block {
		f, b := size*k*width, size*(m-k)*width
		call(wide, unsafe.Add(zre, f), unsafe.Add(zim, f), unsafe.Add(zre, b), unsafe.Add(zim, b), unsafe.Add(w, 2*size*k), uintptr(min(block, m/2+1-k)), uintptr(size*width))
	}
	return true
}
