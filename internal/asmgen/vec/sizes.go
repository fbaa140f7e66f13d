package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// bothSizes records functions for floats of 32 and of 64 bits. Those of 64 bits round every product before it is added,
// as the loops without vectors do, so that they give the same bits.
func (m machine) bothSizes() {
	m.sized = true
	for _, m.double = range []bool{false, true} {
		for _, count := range []int{1, 4} {
			m.addRows(count)
		}
		m.pooling()
		m.pixels()
		m.windows()
		m.addRowsAt()
	}
}

// channelDoubles records what batch normalization of floats of 64 bits needs; see bothSizes.
func (m machine) channelDoubles() {
	m.double = true
	for _, count := range []int{1, 4} {
		m.moments(count)
		m.productRows(count, false)
		m.productRows(count, true)
	}
	m.lines()
}

// addProduct is sum += a·b.
func (m machine) addProduct(sum, a Vector, b Operand) {
	if !m.double {
		AddProduct(sum, a, b)
		return
	}
	Add(sum, sum, m.mul(a, b))
}

// multiplyAdd is v = v·a + b.
func (m machine) multiplyAdd(v, a Vector, b Operand) {
	if !m.double {
		MultiplyAdd(v, a, b)
		return
	}
	multiplyThenAdd(v, a, b)
}

// constant is the place of a number that both sizes have, repeated over a vector.
func (m machine) constant(v float64) Memory {
	if m.double {
		return double(v)
	}
	return number(v)
}

// multiplyThenAdd is v = v·a + b with a rounded product, so that nothing is left where b is −v·a: normalizations of
// numbers that are equal to their mean, those of a batch of one example, and their gradients are exactly 0.
func multiplyThenAdd(v, a Vector, b Operand) {
	Multiply(v, v, a)
	Add(v, v, b)
}
