package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// mixRows emits weighted sums of two and of four rows. For each row of dst there are as many distances, in bytes, to
// rows of x, and as many weights. size is the bytes of a row, at least a vector; if it is not a multiple of a vector,
// the last vector overlaps the one before it.
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

// mixManyRows emits sums of any number of rows, like mixRows for two and four: several vectors of a row at a time,
// whose sums stay in registers.
func (m machine) mixManyRows() {
	m.begin("", "mixManyRows", "dst, x *float32, places *int, weights *float32, count, size, taps uintptr", "")
	dst, places, weights := param("dst"), param("places"), param("weights")
	at, left, row := NewScalar(), NewScalar(), NewScalar()
	count := param("count")
	sums := func(n int) {
		suffix := fmt.Sprint(n)
		place, weight, k, p := NewScalar(), NewScalar(), NewScalar(), NewScalar()
		Assign(place, places)
		Assign(weight, weights)
		Assign(k, param("taps"))
		sum, w := m.vectors(n), m.vector()
		sum.each(func(i int) { Zero(sum[i]) })
		Label("tap" + suffix)
		Assign(p, Memory{Base: place})
		Increase(p, at)
		Broadcast(w, Memory{Base: weight})
		sum.each(func(i int) { AddProduct(sum[i], w, Memory{Base: p, Offset: i * m.bytes()}) })
		Increase(place, Number(8))
		Increase(weight, Number(4))
		Countdown(k, 1, "tap"+suffix)
		sum.each(func(i int) { Store(Memory{Base: row, Offset: i * m.bytes()}, sum[i]) })
		Increase(row, Number(n*m.bytes()))
		Increase(at, Number(n*m.bytes()))
		Decrease(left, Number(n*m.bytes()))
	}
	Label("row")
	Assign(at, param("x"))
	Assign(row, dst)
	Assign(left, param("size"))
	const several = 4
	Label("several")
	JumpBelow(left, Number(several*m.bytes()), "single")
	sums(several)
	Jump("several")
	Label("single")
	JumpBelow(left, Number(m.bytes()), "rest")
	Label("last")
	sums(1)
	Jump("single")
	Label("rest")
	JumpZero(left, "whole")
	back := NewScalar()
	Assign(back, Number(m.bytes()))
	Decrease(back, left)
	Decrease(row, back)
	Decrease(at, back)
	Assign(left, Number(m.bytes()))
	Jump("last")
	Label("whole")
	Increase(dst, param("size"))
	Assign(back, param("taps"))
	for range 2 {
		Increase(back, back)
	}
	Increase(weights, back)
	Increase(back, back)
	Increase(places, back)
	Countdown(count, 1, "row")
	End()
}
