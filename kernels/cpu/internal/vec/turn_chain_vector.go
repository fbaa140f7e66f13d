//go:build amd64 || arm64

package vec

import "unsafe"

// chainKernels lists the functions for floats of 4 and of 8 bytes, for four, two and one vectors of a row.
var chainKernels = [2][3]func(wide bool, x, angles unsafe.Pointer, turns, stride uintptr){
	{callTurnChain4, callTurnChain2, callTurnChain1},
	{callTurnChain4Doubles, callTurnChain2Doubles, callTurnChain1Doubles},
}

func chainVectors(x, angles unsafe.Pointer, size, turns, width, stride int) bool {
	wide, ok := vectors()
	if !ok {
		return false
	}
	vector := vectorBytes(wide)
	for kernel, at, end := 0, 0, width*size; at < end; kernel++ {
		for part := vector << 2 >> kernel; at+part <= end; at += part {
			block := max(callElements*size/part, 1)
			for done := 0; done < turns; done += block {
				chainKernels[size/8][kernel](wide, unsafe.Add(x, size*(turns-done)*stride+at), unsafe.Add(angles, 2*size*done), uintptr(min(block, turns-done)), uintptr(size*stride))
			}
		}
	}
	return true
}
