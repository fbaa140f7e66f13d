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

// butterflies are the steps of lengths 2 to 5, of both sizes.
var butterflies = [2][4]func(wide bool, yre, yim, xre, xim, w unsafe.Pointer, count, part, run, in uintptr){
	{callButterfly2, callButterfly3, callButterfly4, callButterfly5}, {callButterfly2Doubles, callButterfly3Doubles, callButterfly4Doubles, callButterfly5Doubles},
}

func butterflyVectors(yre, yim, xre, xim, w unsafe.Pointer, size, radix, count, run int) bool {
	wide, ok := vectors()
	if !ok || radix < 2 || radix > 5 || run%Lanes != 0 {
		return false
	}
	call := butterflies[size/8][radix-2]
	block, part := max(callElements/(radix*run), 1), min(run, callElements/radix&^(Lanes-1))
	for p := 0; p < count; p += block {
		for q := 0; q < run; q += part {
			x, y := size*(p*run+q), size*(p*radix*run+q)
			call(wide, unsafe.Add(yre, y), unsafe.Add(yim, y), unsafe.Add(xre, x), unsafe.Add(xim, x), unsafe.Add(w, 2*size*(radix-1)*p),
				uintptr(min(block, count-p)), uintptr(size*min(part, run-q)), uintptr(size*run), uintptr(size*count*run))
		}
	}
	return true
}

// pairBlock bounds a call to as many elements as others.
const pairBlock = callElements / Lanes

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

func eachPair(call func(wide bool, fre, fim, bre, bim, w unsafe.Pointer, count uintptr), zre, zim, w unsafe.Pointer, size, m, width int) bool {
	wide, ok := vectors()
	if !ok || width != Lanes {
		return false
	}
	for k := 1; k <= m/2; k += pairBlock {
		f, b := size*k*width, size*(m-k)*width
		call(wide, unsafe.Add(zre, f), unsafe.Add(zim, f), unsafe.Add(zre, b), unsafe.Add(zim, b), unsafe.Add(w, 2*size*k), uintptr(min(pairBlock, m/2+1-k)))
	}
	return true
}
