package vec

import "unsafe"

// Chains reports whether [Chain] can run here.
func Chains() bool {
	_, ok := vectors()
	return ok
}

// Chain runs the steps on n elements, a few thousand at most: each step on all of them before the next, as far as anybody can see. It must
// not be called where [Chains] is false.
func Chain(steps []ChainStep, n int) {
	wide, _ := vectors()
	for i := range steps { // the instructions take a number that is not NaN
		if s := &steps[i]; s.Op == ChainMaxNumber || s.Op == ChainMinNumber {
			if v := *(*float32)(s.X); v != v {
				s.Op = ChainLoadNumber
			}
		}
	}
	m := whole(wide, n)
	if m > 0 {
		callChain(wide, unsafe.Pointer(unsafe.SliceData(steps)), uintptr(len(steps)), uintptr(m))
	}
	if m < n {
		chainRest(wide, steps, m, n-m)
	}
}

// chainRest runs the steps on the last n elements, less than a vector, in buffers. The same address has the same buffer.
func chainRest(wide bool, steps []ChainStep, first, n int) {
	var floats [MaxChain]buffer
	var bytes [MaxChain][16]uint8
	var local [MaxChain]ChainStep
	for i, s := range steps {
		x, y := s.Op.elements()
		local[i] = s
		switch x {
		case 4:
			at := i
			for j := range i {
				if e, _ := steps[j].Op.elements(); e == 4 && steps[j].X == s.X {
					at = j
					break
				}
			}
			if at == i {
				copy(floats[i][:n], unsafe.Slice((*float32)(unsafe.Add(s.X, 4*first)), n))
			}
			local[i].X = unsafe.Pointer(&floats[at])
		case 1:
			local[i].X = chainBytes(&bytes, steps, i, s.X, first, n)
		}
		if y == 1 {
			local[i].Y = chainBytes(&bytes, steps, i, s.Y, first, n)
		}
	}
	callChain(wide, unsafe.Pointer(&local), uintptr(len(steps)), uintptr(len(floats[0])))
	for i, s := range steps {
		x, y := s.Op.stores()
		if x {
			copy(unsafe.Slice((*float32)(unsafe.Add(s.X, 4*first)), n), (*buffer)(local[i].X)[:])
		}
		if y {
			copy(unsafe.Slice((*uint8)(unsafe.Add(s.Y, first)), n), (*[16]uint8)(local[i].Y)[:])
		}
	}
}

// chainBytes returns the buffer for the bytes at p, which step i is the user of.
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
