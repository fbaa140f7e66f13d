package ints

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

type shape []int

func TestInts(t *testing.T) {
	s := make(shape, 2, 4)
	joined := Concat(s[:1], shape{5}, nil, s[1:])
	assert.Equal(t, shape{0, 5, 0}, joined)
	assert.Equal(t, shape{0, 0, 0, 0}, s[:4], "parts are not written over")
	assert.Empty(t, Concat[shape]())
	assert.Equal(t, []int{7, 7, 7}, Repeat(7, 3))
	assert.Empty(t, Repeat(7, 0))
	copied := Clone(s)
	copied[0] = 1
	assert.Equal(t, shape{0, 0}, s)
	assert.Nil(t, Clone(shape(nil)))
	assert.Equal(t, []int{1, 3, 0, 2}, Inverse([]int{2, 0, 3, 1}))
}
