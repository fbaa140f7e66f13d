package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Comparisons of integers, derived from the two that processors have.
func equalInts(v, x vector) Mask        { return CompareInt(Equal, v, x) }
func notEqualInts(v, x vector) Mask     { return Not(CompareInt(Equal, v, x)) }
func lessInts(v, x vector) Mask         { return CompareInt(LessThan, v, x) }
func lessEqualInts(v, x vector) Mask    { return Not(CompareInt(LessThan, x, v)) }
func greaterInts(v, x vector) Mask      { return CompareInt(LessThan, x, v) }
func greaterEqualInts(v, x vector) Mask { return Not(CompareInt(LessThan, v, x)) }

// comparedInts is compared for integers.
func comparedInts(f func(v, x vector) Mask) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) { StoreMask(c.byteAt(c.y, i), f(v, c.m.copy(c.at(c.x, i)))) })
	}
}

// heldInts is heldOf for integers.
func heldInts(f func(v, x vector) Mask) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) { MaskLanes(c.held[i], f(v, c.m.copy(c.at(c.x, i)))) })
	}
}

// heldIntsNumber is heldInts with a single number x.
func heldIntsNumber(f func(v, x vector) Mask) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(i int, v vector) { MaskLanes(c.held[i], f(v, a)) })
	}
}
