//go:build amd64 || arm64

package vec

import "unsafe"

// Chains reports whether [Chain] can run here.
func Chains() bool {
	_, ok := vectors()
	return ok
}

// Chain runs the steps on n elements, a few thousand at most. The result is as if each step ran on all elements before
// the next. It must not be called if [Chains] is false.
func Chain(steps []ChainStep, n int) { chain[float32](steps, n) }

// Chain64 is [Chain] for 64-bit floats. It has no steps on integers or on 16 bits.
func Chain64(steps []ChainStep, n int) { chain[float64](steps, n) }

func chain[F float32 | float64](steps []ChainStep, n int) {
	wide, _ := vectors()
	for i := range steps { // the instructions need a number that is not NaN
		if s := &steps[i]; s.Op == ChainMaxNumber || s.Op == ChainMinNumber {
			if v := *(*F)(s.X); v != v {
				s.Op = ChainLoadNumber
			}
		}
	}
	size := int(unsafe.Sizeof(F(0)))
	vector := vectorBytes(wide) / size
	m := n &^ (vector - 1)
	if m > 0 {
		callSteps(wide, unsafe.Pointer(unsafe.SliceData(steps)), len(steps), m, size)
	}
	if m < n {
		chainRest(wide, steps, m, n-m, size)
	}
}

// callSteps runs steps on whole vectors of floats of size bytes.
func callSteps(wide bool, steps unsafe.Pointer, count, n, size int) {
	if size == 8 {
		callChain64(wide, steps, uintptr(count), uintptr(n))
		return
	}
	callChain(wide, steps, uintptr(count), uintptr(n))
}

// row holds the floats of the longest vector, of either size.
type row [rowBytes / 8]uint64

const rowBytes = 64

// chainRest runs the steps on the last n elements, less than a vector, in buffers. Operands at the same address share a
// buffer.
func chainRest(wide bool, steps []ChainStep, first, n, size int) {
	var floats [2 * MaxChain]row
	var bytes [MaxChain][16]uint8
	var words [MaxChain][16]uint16
	var local [MaxChain]ChainStep
	for i, s := range steps {
		x, y := s.Op.elements()
		local[i] = s
		switch x {
		case 4:
			local[i].X = chainFloats(&floats, steps, 2*i, s.X, first, n, size)
		case 2:
			local[i].X = chainWords(&words, steps, i, s.X, first, n)
		case 1:
			local[i].X = chainBytes(&bytes, steps, i, s.X, first, n)
		}
		switch y {
		case 4:
			local[i].Y = chainFloats(&floats, steps, 2*i+1, s.Y, first, n, size)
		case 1:
			local[i].Y = chainBytes(&bytes, steps, i, s.Y, first, n)
		}
	}
	callSteps(wide, unsafe.Pointer(&local), len(steps), rowBytes/size, size)
	for i, s := range steps {
		x, y := s.Op.stores()
		switch width, _ := s.Op.elements(); {
		case x && width == 2:
			copy(unsafe.Slice((*uint16)(unsafe.Add(s.X, 2*first)), n), (*[16]uint16)(local[i].X)[:])
		case x && width == 1:
			copy(unsafe.Slice((*uint8)(unsafe.Add(s.X, first)), n), (*[16]uint8)(local[i].X)[:])
		case x:
			copy(unsafe.Slice((*uint8)(unsafe.Add(s.X, size*first)), size*n), (*[rowBytes]uint8)(local[i].X)[:])
		}
		if y {
			copy(unsafe.Slice((*uint8)(unsafe.Add(s.Y, first)), n), (*[16]uint8)(local[i].Y)[:])
		}
	}
}

// chainFloats returns the buffer for the floats at p, which are operand i: X or Y of step i/2.
func chainFloats(floats *[2 * MaxChain]row, steps []ChainStep, i int, p unsafe.Pointer, first, n, size int) unsafe.Pointer {
	for j := range i {
		s := &steps[j/2]
		x, y := s.Op.elements()
		if j%2 == 0 && x == 4 && s.X == p || j%2 == 1 && y == 4 && s.Y == p {
			return unsafe.Pointer(&floats[j])
		}
	}
	copy((*[rowBytes]uint8)(unsafe.Pointer(&floats[i]))[:], unsafe.Slice((*uint8)(unsafe.Add(p, size*first)), size*n))
	return unsafe.Pointer(&floats[i])
}

// chainBytes returns the buffer for the bytes at p, which step i uses.
func chainBytes(bytes *[MaxChain][16]uint8, steps []ChainStep, i int, p unsafe.Pointer, first, n int) unsafe.Pointer {
	for j := range i {
		x, y := steps[j].Op.elements()
		if x == 1 && steps[j].X == p || y == 1 && steps[j].Y == p {
			return unsafe.Pointer(&bytes[j])
		}
	}
	copy(bytes[i][:n], unsafe.Slice((*uint8)(unsafe.Add(p, first)), n))
	return unsafe.Pointer(&bytes[i])
}

// chainWords returns the buffer for the 16-bit numbers at p, which step i uses.
func chainWords(words *[MaxChain][16]uint16, steps []ChainStep, i int, p unsafe.Pointer, first, n int) unsafe.Pointer {
	for j := range i {
		if x, _ := steps[j].Op.elements(); x == 2 && steps[j].X == p {
			return unsafe.Pointer(&words[j])
		}
	}
	copy(words[i][:n], unsafe.Slice((*uint16)(unsafe.Add(p, 2*first)), n))
	return unsafe.Pointer(&words[i])
}

// share32 is a chain of one operation.
func share32(dst, dy, a, b []float32) bool {
	if !Chains() || len(dst) == 0 {
		return false
	}
	p := func(x []float32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
	steps := [3]ChainStep{{Op: ChainLoad, X: p(dy)}, {Op: ChainShare, X: p(a), Y: p(b)}, {Op: ChainStore, X: p(dst)}}
	Chain(steps[:], len(dst))
	return true
}
