//go:build amd64 || arm64

package vec

import (
	"math"
	"unsafe"
)

// Chain64 is [Chain] of floats of 64 bits. Of the steps, those on integers and on 16 bits do not exist.
func Chain64(steps []ChainStep, n int) {
	wide, _ := vectors()
	for i := range steps {
		if s := &steps[i]; s.Op == ChainMaxNumber || s.Op == ChainMinNumber {
			if v := *(*float64)(s.X); v != v {
				s.Op = ChainLoadNumber
			}
		}
	}
	m := n &^ 3
	if wide {
		m = n &^ 7
	}
	if m > 0 {
		callChain64(wide, unsafe.Pointer(unsafe.SliceData(steps)), uintptr(len(steps)), uintptr(m))
	}
	if m < n {
		chain64Rest(wide, steps, m, n-m)
	}
}

// chain64Rest runs the steps on the last n elements in buffers, as chainRest.
func chain64Rest(wide bool, steps []ChainStep, first, n int) {
	var floats [2 * MaxChain][8]float64
	var bytes [MaxChain][16]uint8
	var local [MaxChain]ChainStep
	for i, s := range steps {
		x, y := s.Op.elements()
		local[i] = s
		switch x {
		case 4:
			local[i].X = chainDoubles(&floats, steps, 2*i, s.X, first, n)
		case 1:
			local[i].X = chainBytes(&bytes, steps, i, s.X, first, n)
		}
		switch y {
		case 4:
			local[i].Y = chainDoubles(&floats, steps, 2*i+1, s.Y, first, n)
		case 1:
			local[i].Y = chainBytes(&bytes, steps, i, s.Y, first, n)
		}
	}
	callChain64(wide, unsafe.Pointer(&local), uintptr(len(steps)), uintptr(len(floats[0])))
	for i, s := range steps {
		x, y := s.Op.stores()
		switch width, _ := s.Op.elements(); {
		case x && width == 1:
			copy(unsafe.Slice((*uint8)(unsafe.Add(s.X, first)), n), (*[16]uint8)(local[i].X)[:])
		case x:
			copy(unsafe.Slice((*float64)(unsafe.Add(s.X, 8*first)), n), (*[8]float64)(local[i].X)[:])
		}
		if y {
			copy(unsafe.Slice((*uint8)(unsafe.Add(s.Y, first)), n), (*[16]uint8)(local[i].Y)[:])
		}
	}
}

func chainDoubles(floats *[2 * MaxChain][8]float64, steps []ChainStep, i int, p unsafe.Pointer, first, n int) unsafe.Pointer {
	for j := range i {
		s := &steps[j/2]
		x, y := s.Op.elements()
		if j%2 == 0 && x == 4 && s.X == p || j%2 == 1 && y == 4 && s.Y == p {
			return unsafe.Pointer(&floats[j])
		}
	}
	copy(floats[i][:n], unsafe.Slice((*float64)(unsafe.Add(p, 8*first)), n))
	return unsafe.Pointer(&floats[i])
}

// double2 is a chain of one operation, on whole vectors; it returns how many elements it computed.
func double2(op ChainOp, dst, a, b unsafe.Pointer, n int) int {
	wide, ok := vectors()
	if n &^= 7; !ok {
		return 0
	}
	for i := 0; i < n; i += callElements {
		steps := [3]ChainStep{{Op: ChainLoad, X: unsafe.Add(a, 8*i)}, {Op: op, X: b}, {Op: ChainStore, X: unsafe.Add(dst, 8*i)}}
		if x, _ := op.elements(); x != 0 {
			steps[1].X = unsafe.Add(b, 8*i)
		}
		callChain64(wide, unsafe.Pointer(&steps), 3, uintptr(min(callElements, n-i)))
	}
	return n
}

// bytes64 computes the bytes of a step of a chain for whole vectors; it returns how many elements it computed.
func bytes64(op ChainOp, dst []uint8, a, b []float64) int {
	wide, ok := vectors()
	n := len(dst) &^ 7
	if !ok {
		return 0
	}
	for i := 0; i < n; i += callElements {
		steps := [2]ChainStep{{Op: ChainLoad, X: unsafe.Pointer(&a[i])}, {Op: op, X: unsafe.Pointer(&b[i]), Y: unsafe.Pointer(&dst[i])}}
		callChain64(wide, unsafe.Pointer(&steps), 2, uintptr(min(callElements, n-i)))
	}
	return n
}

// choose64 is ChooseWords of whole vectors; it returns how many elements it computed.
func choose64(dst []uint64, where []uint8, a, b []uint64) int {
	wide, ok := vectors()
	n := len(dst) &^ 7
	if !ok {
		return 0
	}
	for i := 0; i < n; i += callElements {
		steps := [3]ChainStep{{Op: ChainLoad, X: unsafe.Pointer(&a[i])}, {Op: ChainChoose, X: unsafe.Pointer(&b[i]), Y: unsafe.Pointer(&where[i])},
			{Op: ChainStore, X: unsafe.Pointer(&dst[i])}}
		callChain64(wide, unsafe.Pointer(&steps), 3, uintptr(min(callElements, n-i)))
	}
	return n
}

// lanes64 adds the first elements of x, a multiple of 8 whose number it returns, to eight sums.
func lanes64(sums *[8]float64, x []float64) int {
	wide, ok := vectors()
	n := len(x) &^ 7
	if !ok || n == 0 {
		return 0
	}
	callAddLanes64(wide, unsafe.Pointer(sums), unsafe.Pointer(unsafe.SliceData(x)), uintptr(n))
	return n
}

// extreme64 is the largest or the smallest of the first n elements, a multiple of 8.
func extreme64(largest bool, x []float64) (m float64, n int) {
	m = math.Inf(1)
	if largest {
		m = math.Inf(-1)
	}
	wide, ok := vectors()
	if n = len(x) &^ 7; !ok {
		return m, 0
	}
	for i := 0; i < n; i += callElements {
		p, count := unsafe.Pointer(&x[i]), uintptr(min(callElements, n-i))
		if largest {
			if v := callLargest64(wide, p, count); v > m || v != v {
				m = v
			}
		} else if v := callSmallest64(wide, p, count); v < m || v != v {
			m = v
		}
	}
	return m, n
}
