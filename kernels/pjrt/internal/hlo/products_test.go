package hlo_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/pjrt/internal/hlo"
)

// node is an instruction with an id, a shape and operands.
func node(id byte, opcode string, shape []byte, operands []byte, more ...byte) []byte {
	own := append(message(2, []byte(opcode)...), message(3, message(3, shape...)...)...)
	own = append(own, 35<<3&0x7f|0x80, 35>>4, id)
	own = append(own, message(36, operands...)...)
	return message(2, append(own, more...)...)
}

func block(number byte, nodes ...[]byte) []byte {
	own := []byte{5 << 3, number}
	for _, n := range nodes {
		own = append(own, n...)
	}
	return message(3, own...)
}

// Products of matrices are 2 m k n operations; a convolution has two for each element of its window that lies inside
// the input and not between its elements; a loop's are apart, and additions are none.
func TestProducts(t *testing.T) {
	axis := func(size, stride, low, dilation, base byte) []byte {
		return message(1, 1<<3, size, 2<<3, stride, 3<<3, low, 5<<3, dilation, 6<<3, base)
	}
	// An input of 2 x 5 x 3 with a window of 3 and padding of 1 on both sides, so that 2 of 15 meet nothing; 3 -> 4
	// features.
	padded := append(message(15, axis(3, 1, 1, 1, 1)...), message(16, 3<<3, 1, 11<<3, 1, 12<<3, 1)...)
	// An input of 2 x 3 x 3, whose elements are two apart: 5 places of a window of 1, 3 of which meet an element.
	apart := append(message(15, axis(1, 1, 0, 1, 2)...), message(16, 3<<3, 1, 11<<3, 1, 12<<3, 1)...)
	code := append([]byte{6 << 3, 1},
		block(1,
			node(1, "parameter", []byte{4, 8}, nil), node(2, "parameter", []byte{8, 16}, nil),
			node(3, "dot", []byte{4, 16}, []byte{1, 2}, message(30, 1<<3, 1, 2<<3, 0)...),
			node(4, "add", []byte{4, 16}, []byte{3, 3}),
			node(5, "while", nil, []byte{4}, message(38, 2)...))...)
	code = append(code, block(2,
		node(6, "parameter", []byte{2, 5, 3}, nil), node(7, "parameter", []byte{3, 3, 4}, nil), node(8, "parameter", []byte{2, 3, 3}, nil), node(9, "parameter", []byte{1, 3, 4}, nil),
		node(10, "convolution", []byte{2, 5, 4}, []byte{6, 7}, padded...),
		node(11, "convolution", []byte{2, 5, 4}, []byte{8, 9}, apart...))...)
	once, inLoops, err := hlo.Products(code, "hlo")
	require.NoError(t, err)
	require.EqualValues(t, 2*4*8*16, once)
	require.EqualValues(t, 2*2*4*3*13+2*2*4*3*3, inLoops)
	_, _, err = hlo.Products(code, "text")
	require.ErrorContains(t, err, `a program in format "text"`)
	_, _, err = hlo.Products(code[:len(code)-1], "hlo")
	require.ErrorContains(t, err, "hlo: field")
}
