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

func splitPairs32(xre, xim, yre, yim, zre, zim []float32, n, width int) bool {
	wide, ok := vectors()
	if !ok || width != Lanes {
		return false
	}
	for k := 1; k <= n/2; k += pairBlock {
		f, b := k*width, (n-k)*width
		callSplitPairs(wide, at(xre, f), at(xim, f), at(yre, f), at(yim, f), at(zre, f), at(zim, f), at(zre, b), at(zim, b), uintptr(min(pairBlock, n/2+1-k)))
	}
	return true
}

func joinPairs32(zre, zim, xre, xim, yre, yim []float32, n, width int) bool {
	wide, ok := vectors()
	if !ok || width != Lanes {
		return false
	}
	for k := 1; k <= (n-1)/2; k += pairBlock {
		f, b := k*width, (n-k)*width
		callJoinPairs(wide, at(zre, f), at(zim, f), at(zre, b), at(zim, b), at(xre, f), at(xim, f), at(yre, f), at(yim, f), uintptr(min(pairBlock, (n-1)/2+1-k)))
	}
	return true
}
