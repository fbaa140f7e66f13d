package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// mixRows emits sums of two and of four rows with weights: for each row of dst there are as many distances in bytes of
// rows of x, and as many weights. size is the bytes of a row, a vector's at least; what is left over of whole vectors
// is done by one that repeats elements of those before it.
func (m machine) mixRows() {
	for _, taps := range []int{2, 4} {
		m.begin("", fmt.Sprintf("mixRows%d", taps), "dst, x *float32, places *int, weights *float32, count, size uintptr", "")
		dst, x, places, weights, count, size := param("dst"), param("x"), param("places"), param("weights"), param("count"), param("size")
		at := make([]Scalar, taps)
		for t := range at {
			at[t] = NewScalar()
		}
		left, back := NewScalar(), NewScalar()
		Label("row")
		w := m.vectors(taps)
		for t, p := range at {
			Assign(p, Memory{Base: places, Offset: 8 * t})
			Increase(p, x)
			Broadcast(w[t], Memory{Base: weights, Offset: 4 * t})
		}
		Assign(left, size)
		Label("vector")
		sum := m.vector()
		Multiply(sum, w[0], Memory{Base: at[0]})
		for t := 1; t < taps; t++ {
			AddProduct(sum, w[t], Memory{Base: at[t]})
		}
		Store(Memory{Base: dst}, sum)
		for _, p := range append([]Scalar{dst}, at...) {
			Increase(p, Number(m.bytes()))
		}
		Decrease(left, Number(m.bytes()))
		JumpAtLeast(left, Number(m.bytes()), "vector")
		JumpZero(left, "whole")
		Assign(back, Number(m.bytes()))
		Decrease(back, left)
		for _, p := range append([]Scalar{dst}, at...) {
			Decrease(p, back)
		}
		Assign(left, Number(m.bytes()))
		Jump("vector")
		Label("whole")
		Increase(places, Number(8*taps))
		Increase(weights, Number(4*taps))
		Countdown(count, 1, "row")
		End()
	}
}
