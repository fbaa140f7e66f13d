package ir_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/ir"
)

func TestPaddedRows(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, 7: 7, 8: 8, 9: 16, 33: 64, 64: 64, 65: 128, 129: 192, 500: 512, 513: 640, 1000: 1024, 1025: 1280, 4000: 4096} {
		assert.Equal(t, want, ir.PaddedRows(n), n)
	}
	for n := range 5000 {
		padded := ir.PaddedRows(n)
		assert.GreaterOrEqual(t, padded, n)
		assert.Equal(t, padded, ir.PaddedRows(padded), "a padded batch is padded no more")
		if n > 128 {
			assert.LessOrEqual(t, float64(padded), 1.5*float64(n), n)
		}
	}
}
