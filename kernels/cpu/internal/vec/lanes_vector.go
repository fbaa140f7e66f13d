//go:build amd64 || arm64

package vec

func addOuter32(dst, f, x []float32, rows, cols, dstStride, fStride int) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	block := max(callElements/(cols*Lanes), 1)
	for r := 0; r < rows; r += block {
		callAddOuter(wide, at(dst, r*dstStride), at(f, r*fStride), &x[0], uintptr(min(block, rows-r)), uintptr(cols), uintptr(4*dstStride), uintptr(4*fStride))
	}
	return true
}

func butterfly32(yre, yim, xre, xim, w []float32, radix, count, run int) bool {
	wide, ok := vectors()
	if !ok || radix < 2 || radix > 4 || run%Lanes != 0 {
		return false
	}
	call := [...]func(wide bool, yre, yim, xre, xim, w *float32, count, run, in uintptr){callButterfly2, callButterfly3, callButterfly4}[radix-2]
	block := max(callElements/(radix*run), 1)
	for p := 0; p < count; p += block {
		x, y := p*run, p*radix*run
		call(wide, at(yre, y), at(yim, y), at(xre, x), at(xim, x), at(w, 2*(radix-1)*p), uintptr(min(block, count-p)), uintptr(4*run), uintptr(4*count*run))
	}
	return true
}

// pairBlock bounds a call to as many elements as others.
const pairBlock = callElements / Lanes

func splitReal32(zre, zim, w []float32, m, width int) bool {
	return eachPair32(callSplitReal, zre, zim, w, m, width)
}

func joinReal32(zre, zim, w []float32, m, width int) bool {
	return eachPair32(callJoinReal, zre, zim, w, m, width)
}

func eachPair32(call func(wide bool, fre, fim, bre, bim, w *float32, count uintptr), zre, zim, w []float32, m, width int) bool {
	wide, ok := vectors()
	if !ok || width != Lanes {
		return false
	}
	for k := 1; k <= m/2; k += pairBlock {
		f, b := k*width, (m-k)*width
		call(wide, at(zre, f), at(zim, f), at(zre, b), at(zim, b), at(w, 2*k), uintptr(min(pairBlock, m/2+1-k)))
	}
	return true
}
