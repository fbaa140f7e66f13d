package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// bothSizes records functions for float32 and float64. Those of float64 round every product before it is added, like
// the loops without vectors, so that they give the same bits.
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

// channelDoubles records what batch normalization of float64 needs; see bothSizes.
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

// constant is the memory of a constant that both sizes have, repeated over a vector.
func (m machine) constant(v float64) Memory {
	if m.double {
		return double(v)
	}
	return number(v)
}

// multiplyThenAdd is v = v·a + b with a rounded product, so that the result is exactly 0 where b is −v·a. Hence
// normalizing numbers that equal their mean, as in a batch of one example, gives exactly 0, and so does the gradient.
func multiplyThenAdd(v, a Vector, b Operand) {
	Multiply(v, v, a)
	Add(v, v, b)
}
